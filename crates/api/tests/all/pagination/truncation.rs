//! Ends of lists: the caps of unpaginated lists, of walks and of sets.
use super::*;

/// S80. S87.
#[test]
fn unpaginated_lists_end_in_an_error_above_the_cap() {
    let settings = ApiSettings {
        unpaginated_max: 10,
        ..ApiSettings::default()
    };
    for shape in LISTS.iter().filter(|s| !s.silent) {
        let mut list = Listed::new(
            crate::world::Kind::Memory,
            shape,
            10,
            false,
            settings.clone(),
        );
        let answer = list.ask_whole();
        assert_eq!(
            (answer.status, answer.gids().len()),
            (200, 10),
            "{}",
            shape.name
        );
        assert!(answer.json.get("next_page").is_none());
        list.insert(1);
        let answer = list.ask_whole();
        assert_eq!(answer.status, 400, "{}", shape.name);
        assert!(
            answer.message().starts_with("The result is too large."),
            "{}",
            answer.text
        );
        // With a limit it can be walked.
        stands_still_without_whole(&mut list, 11);
    }
}

fn stands_still_without_whole(list: &mut Listed, size: usize) {
    let mut seen = BTreeSet::new();
    let mut offset: Option<String> = None;
    loop {
        let ask = Ask {
            limit: 4,
            offset: offset.as_deref(),
            ..Ask::default()
        };
        let (gids, next) = list.page(&ask).unwrap();
        seen.extend(gids);
        let Some(next) = next else { break };
        offset = Some(next);
    }
    assert_eq!(seen.len(), size);
}

/// S80.
#[test]
fn the_default_cap_is_1000() {
    let shape = LISTS.iter().find(|s| s.name == "subtasks").unwrap();
    let mut list = Listed::new(
        crate::world::Kind::Memory,
        shape,
        1000,
        false,
        ApiSettings::default(),
    );
    assert_eq!(list.ask_whole().gids().len(), 1000);
    list.insert(1);
    assert_eq!(list.ask_whole().status, 400);
}

/// Returns the pages of a walk by 4, and its end.
fn by_four(list: &mut Listed) -> (Vec<usize>, Result<(), String>) {
    let mut sizes = Vec::new();
    let mut offset: Option<String> = None;
    loop {
        let ask = Ask {
            limit: 4,
            offset: offset.as_deref(),
            ..Ask::default()
        };
        match list.page(&ask) {
            Err(message) => return (sizes, Err(message)),
            Ok((gids, next)) => {
                sizes.push(gids.len());
                let Some(next) = next else {
                    return (sizes, Ok(()));
                };
                offset = Some(next);
            }
        }
    }
}

/// S80.
#[test]
fn a_walk_over_a_computed_list_ends_at_the_walk_cap() {
    let shape = LISTS.iter().find(|s| s.name == "assigned tasks").unwrap();
    for (cap, size, want) in [
        (10, 9, vec![4, 4, 1]),
        (10, 10, vec![4, 4, 2]),
        (10, 30, vec![4, 4, 2]),
        (8, 30, vec![4, 4]),
        (0, 30, vec![4, 4, 4, 4, 4, 4, 4, 2]),
    ] {
        let settings = ApiSettings {
            walk_cap: cap,
            ..ApiSettings::default()
        };
        let mut list = Listed::new(crate::world::Kind::Memory, shape, size, false, settings);
        assert_eq!(by_four(&mut list), (want, Ok(())), "cap {cap} of {size}");
    }
    // The walk over a container's list goes on.
    let shape = LISTS.iter().find(|s| s.name == "tasks").unwrap();
    let settings = ApiSettings {
        walk_cap: 10,
        ..ApiSettings::default()
    };
    let mut list = Listed::new(crate::world::Kind::Memory, shape, 14, false, settings);
    assert_eq!(by_four(&mut list), (vec![4, 4, 4, 2], Ok(())));
}

/// S65. S81.
#[test]
fn beyond_the_set_cap_the_last_page_is_400() {
    for shape in LISTS.iter().filter(|s| s.name != "assigned tasks") {
        for (cap, size, want, ends) in [
            (10, 10, vec![4, 4, 2], true),
            (10, 11, vec![4, 4, 2], false),
            (8, 11, vec![4, 4], false),
            (8, 8, vec![4, 4], true),
            (0, 11, vec![4, 4, 3], true),
        ] {
            let settings = ApiSettings {
                set_cap: cap,
                ..ApiSettings::default()
            };
            let mut list = Listed::new(crate::world::Kind::Memory, shape, size, false, settings);
            let (sizes, end) = by_four(&mut list);
            assert_eq!(sizes, want, "{}: cap {cap} of {size}", shape.name);
            match end {
                Ok(()) => assert!(ends, "{}: cap {cap} of {size}", shape.name),
                Err(message) => {
                    assert!(!ends, "{}: cap {cap} of {size}: {message}", shape.name);
                    assert!(message.contains("truncated data set"), "{message}");
                }
            }
        }
    }
}
