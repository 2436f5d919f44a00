//! The replies of each row: to its sample, without token, scope or an input, and to other gids.
use super::sample::{BASALT, ORCHID, parameter, sample, sender};
use super::{Planned, memory};
use crate::world::{Answer, all_scopes_but};
use serde_json::Value;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// S01. S35. S58. S91.
#[test]
fn every_row_answers_its_sample() {
    for row in all() {
        let world = memory();
        let answer = sample(&world, &ORCHID, row).send(&world, sender(row, "ada"), row);
        assert!(
            answer.status < 300,
            "{}: {} {}",
            row.id,
            answer.status,
            answer.text
        );
        assert_eq!(answer.operation, row.id);
        let created = matches!(
            row.response,
            workgraph_operations::operation::ResponseKind::Created(_)
        );
        assert_eq!(answer.status == 201, created, "{}", row.id);
        let location = answer.headers.iter().find(|(n, _)| *n == "Location");
        assert_eq!(location.is_some(), created, "{}", row.id);
        if let Some((_, url)) = location {
            assert!(url.starts_with("https://work.test/api/1.0/"), "{url}");
            assert!(url.ends_with(&format!("/{}", answer.gid())), "{url}");
        }
    }
}

/// S36.
#[test]
fn every_location_can_be_read() {
    for row in all() {
        let world = memory();
        let reader = sender(row, "ada");
        let answer = sample(&world, &ORCHID, row).send(&world, reader, row);
        let Some((_, url)) = answer.headers.iter().find(|(n, _)| *n == "Location") else {
            continue;
        };
        if ["/enum_options/", "/access_requests/"]
            .iter()
            .any(|path| url.contains(path))
        {
            // The catalogue has no operation that reads one of them.
            continue;
        }
        let read = world.get(reader, url.strip_prefix(crate::world::BASE).unwrap());
        assert_eq!((read.status, read.gid()), (200, answer.gid()), "{}", row.id);
    }
}

/// B49. S44. S66. Every operation, to the header.
#[test]
fn without_a_token_every_row_is_401() {
    let world = memory();
    for row in all() {
        let answer = sample(&world, &ORCHID, row).send(&world, "-", row);
        assert_eq!(
            (answer.status, answer.message()),
            (401, "Not Authorized"),
            "{}",
            row.id
        );
        assert_eq!(answer.headers, [("WWW-Authenticate", "Bearer".to_owned())]);
        assert_eq!(Planned::of(row).token, 1);
    }
}

/// S71.
#[test]
fn another_method_on_a_known_path_is_404_before_authentication() {
    let world = memory();
    for row in all() {
        let sample = sample(&world, &ORCHID, row);
        for method in [
            "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "get",
        ] {
            let known = all().any(|r| r.path == row.path && r.method.name() == method);
            if known {
                continue;
            }
            let target = sample.target(row);
            // A literal of another row may match in place of a parameter.
            let shadowed = all().any(|r| r.method.name() == method && same_shape(r.path, row.path));
            if shadowed {
                continue;
            }
            for token in ["-", "ada"] {
                let answer = world.send(world.request(token, method, &target, String::new()));
                assert_eq!(
                    (answer.status, answer.message()),
                    (404, "No matching route for request"),
                    "{method} {target}"
                );
            }
        }
    }
}

fn same_shape(a: &str, b: &str) -> bool {
    let part = |s: &str| {
        if s.starts_with('{') {
            "*".to_owned()
        } else {
            s.to_owned()
        }
    };
    a.split('/').map(part).eq(b.split('/').map(part))
}

/// B16. S60. S70. All other scopes together do not replace the one that is needed.
#[test]
fn without_its_scope_every_row_is_403() {
    let world = memory();
    for row in all().filter(|r| Planned::of(r).scope > 0) {
        let token = format!("ada[{}]", all_scopes_but(row.scope.unwrap_or("")));
        let answer = sample(&world, &ORCHID, row).send(&world, &token, row);
        assert_eq!(answer.status, 403, "{}: {}", row.id, answer.text);
        match row.scope {
            Some(scope) => assert!(
                answer.message().contains(scope),
                "{}: {}",
                row.id,
                answer.text
            ),
            None => assert!(
                answer.message().contains("full permissions"),
                "{}: {}",
                row.id,
                answer.text
            ),
        }
    }
}

/// S60.
#[test]
fn with_its_scope_alone_every_row_that_has_one_passes_authorization() {
    for row in all() {
        let Some(scope) = row.scope else { continue };
        let world = memory();
        let answer = sample(&world, &ORCHID, row).send(&world, &format!("ada[{scope}]"), row);
        if row.path.contains("{webhook_gid}") {
            // Authorized, but another app made the webhook.
            assert_eq!(answer.message(), "You do not have access to this webhook.");
            continue;
        }
        assert!(
            answer.status < 300,
            "{}: {} {}",
            row.id,
            answer.status,
            answer.text
        );
    }
}

/// S05.
#[test]
fn each_required_input_that_is_absent_is_400() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        let mut tried = 0;
        for name in row.required_query() {
            tried += 1;
            for value in [None, Some("")] {
                let mut part = whole.clone();
                part.query.retain(|(n, _)| *n != name);
                part.query.extend(value.map(|v| (name, v.to_owned())));
                expect_missing(&part.send(&world, "ada", row), row, name);
            }
        }
        for (name, nullable) in row.required_body() {
            tried += 1;
            let mut part = whole.clone();
            part.body.remove(name);
            expect_missing(&part.send(&world, "ada", row), row, name);
            if !nullable {
                part.body.insert(name.to_owned(), Value::Null);
                expect_missing(&part.send(&world, "ada", row), row, name);
            }
        }
        assert_eq!(tried, Planned::of(row).missing, "{}", row.id);
    }
}

fn expect_missing(answer: &Answer, row: &Operation, name: &str) {
    assert_eq!(
        (answer.status, answer.message()),
        (400, format!("{name}: Missing input").as_str()),
        "{}",
        row.id
    );
}

/// S64. S71.
#[test]
fn each_unknown_path_id_is_404_and_each_malformed_one_400() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        assert_eq!(whole.path.len(), Planned::of(row).unknown, "{}", row.id);
        for at in 0..whole.path.len() {
            let (name, _) = whole.path[at];
            let mut one = whole.clone();
            one.path[at].1 = "999999".to_owned();
            let answer = one.send(&world, "ada", row);
            // Favourites are the caller's own: other users are 403, known or not.
            let own = row.id == "getFavoritesForUser";
            assert_eq!(
                answer.status,
                if own { 403 } else { 404 },
                "{}: {}",
                row.id,
                answer.text
            );
            for bad in [
                "abc",
                "0",
                "-1",
                "01",
                "1.0",
                "9007199254740992",
                "1%00x",
                "%F0%9F%8C%B5",
            ] {
                one.path[at].1 = bad.to_owned();
                let answer = one.send(&world, "ada", row);
                let routed = !bad.contains("%00");
                let want = if routed { 400 } else { 404 };
                assert_eq!(
                    answer.status, want,
                    "{} {name}={bad}: {}",
                    row.id, answer.text
                );
            }
        }
    }
}

/// S69. The corresponding node of another tenant, for each gid of the path.
#[test]
fn what_the_caller_cannot_see_is_403() {
    for row in all() {
        let world = memory();
        let whole = sample(&world, &ORCHID, row);
        let hidden = sample(&world, &BASALT, row);
        assert_eq!(hidden.path.len(), Planned::of(row).hidden, "{}", row.id);
        for (at, (name, gid)) in hidden.path.iter().enumerate() {
            if *name == "time_period_gid" {
                // Everybody sees all time periods.
                continue;
            }
            let mut one = whole.clone();
            one.path[at].1 = match gid.as_str() {
                "me" => world.gid(&parameter(&BASALT, name)).to_string(),
                gid => gid.to_owned(),
            };
            let answer = one.send(&world, sender(row, "ada"), row);
            assert_eq!(answer.status, 403, "{} {name}: {}", row.id, answer.text);
        }
    }
}

#[test]
fn an_id_of_another_type_in_the_path_is_404() {
    let world = memory();
    for row in all() {
        let whole = sample(&world, &ORCHID, row);
        for at in 0..whole.path.len() {
            for other in [
                "orchid",
                "mel",
                "garden",
                "beds",
                "water",
                "thirsty",
                "water_note",
                "gardeners",
                "mel_seat",
            ] {
                if parameter(&ORCHID, whole.path[at].0) == other
                    || (other == "mel" && whole.path[at].0 == "user_gid")
                    || row.id == "getFavoritesForUser"
                {
                    continue;
                }
                let mut one = whole.clone();
                one.path[at].1 = world.gid(other).to_string();
                let answer = one.send(&world, "ada", row);
                let fits = one.path[at].1 == whole.path[at].1
                    || (whole.path[at].0 == "section_gid" && other == "beds")
                    || (whole.path[at].0 == "story_gid" && other == "water_note")
                    || (whole.path[at].0 == "task_gid" && other == "water");
                if !fits {
                    assert_eq!(answer.status, 404, "{} {other}: {}", row.id, answer.text);
                }
            }
        }
    }
}

/// S68.
#[test]
fn premium_rows_are_402_in_a_free_workspace_and_only_those() {
    for row in all() {
        let world = memory();
        let answer = sample(&world, &BASALT, row).send(&world, "bob", row);
        if row.id == "createTeam" {
            // A plain workspace has no teams.
            assert_eq!(answer.status, 400, "{}", answer.text);
            continue;
        }
        if row.id == "getTaskForCustomID" {
            // No field gives ids there.
            assert_eq!(answer.status, 404, "{}", answer.text);
            continue;
        }
        if sender(row, "bob") != "bob" && row.paid_only.is_none() {
            assert_eq!(answer.status, 403, "{}", answer.text);
            continue;
        }
        if let Some(message) = row.paid_only {
            assert_eq!(
                (answer.status, answer.message()),
                (402, message),
                "{}",
                row.id
            );
            assert_eq!(Planned::of(row).paid, 1);
        } else {
            assert!(
                answer.status < 300,
                "{}: {} {}",
                row.id,
                answer.status,
                answer.text
            );
        }
    }
}
