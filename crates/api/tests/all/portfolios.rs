//! Portfolios: whose they are, their items in order, and the access that they give to projects.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::portfolio::ITEMS_MAX;
use workgraph_core::storage::{Changes, EdgeWrite, ListPosition, NodeWrite};

fn ok(answer: Answer) -> Answer {
    assert!(answer.status < 300, "{} {}", answer.status, answer.text);
    answer
}

fn gid(world: &World, name: &str) -> String {
    world.gid(name).to_string()
}

/// Creates a portfolio as ada; returns its gid and its path.
fn create(world: &World) -> (String, String) {
    let data = json!({"workspace": gid(world, "orchid"), "name": "Spring"});
    let made = ok(world.post("ada", "/portfolios", data)).gid();
    let path = format!("/portfolios/{made}");
    (made, path)
}

fn add(world: &World, portfolio: &str, data: Value) -> Answer {
    world.post("ada", &format!("{portfolio}/addItem"), data)
}

fn items(world: &World, portfolio: &str) -> Vec<String> {
    ok(world.get("ada", &format!("{portfolio}/items"))).gids()
}

/// S153. Added, moved, removed and refused; the journal tells each step at the portfolio.
#[test]
fn items_are_projects_and_portfolios_in_order() {
    for kind in KINDS {
        let world = World::new(kind);
        let [garden, moss, works] = ["garden", "moss", "works"].map(|name| gid(&world, name));
        let (own, spring) = create(&world);
        let start = world.events(0).len() as u64;
        for item in [&garden, &moss, &works] {
            ok(add(&world, &spring, json!({ "item": item })));
        }
        assert_eq!(items(&world, &spring), [&*garden, &*moss, &*works]);
        ok(add(
            &world,
            &spring,
            json!({"item": works, "insert_before": garden}),
        ));
        ok(add(
            &world,
            &spring,
            json!({"item": garden, "insert_after": moss}),
        ));
        ok(add(&world, &spring, json!({"item": moss})));
        assert_eq!(items(&world, &spring), [&*works, &*moss, &*garden]);
        for (item, why) in [
            (own.clone(), "item: A portfolio cannot be an item of itself"),
            (gid(&world, "quarry"), "You do not have access"),
            (gid(&world, "water"), "item: Unknown object"),
        ] {
            let refused = add(&world, &spring, json!({ "item": item }));
            assert!(refused.status >= 400, "{}", refused.text);
            assert!(refused.message().starts_with(why), "{}", refused.text);
        }
        let within = format!("/portfolios/{works}");
        let deeper = add(&world, &within, json!({ "item": own }));
        assert_eq!(deeper.status, 400, "{}", deeper.text);
        let remove = || {
            world.post(
                "ada",
                &format!("{spring}/removeItem"),
                json!({ "item": moss }),
            )
        };
        ok(remove());
        assert_eq!(items(&world, &spring), [&*works, &*garden]);
        assert_eq!(remove().status, 400, "it is no item any more");
        let own = Gid::parse(&own).unwrap();
        let heard = world.events(start);
        let heard = heard.iter().flat_map(|event| {
            let changes = event.change_records.iter();
            changes.filter(|change| event.is_heard_at(change, own))
        });
        assert_eq!(heard.count(), 4, "three were added, one was removed");
        // Of a deleted project nothing is left in the list.
        ok(world.call(
            "ada",
            "DELETE",
            &format!("/projects/{garden}"),
            &Value::Null,
        ));
        assert_eq!(items(&world, &spring), [&*works]);
    }
}

/// S153. The last place is refused, and a place that becomes free is taken.
#[test]
fn a_portfolio_has_no_more_items_than_it_may() {
    let world = World::new(Kind::Memory);
    let (own, spring) = create(&world);
    let (portfolio, home) = (Gid::parse(&own).unwrap(), Some(world.gid("orchid")));
    let mut full = Changes::default();
    for n in 1..=ITEMS_MAX as u64 {
        let item = Gid::new(9_000_000 + n).unwrap();
        let node = Draft::new(Type::Portfolio, item, home).finish();
        full.node_writes.push(NodeWrite { node });
        full.edge_writes.push(EdgeWrite {
            src: item,
            rel: rel::ITEM_OF,
            dst: portfolio,
            position: ListPosition::Rank(n as i64),
            aux: None,
        });
    }
    world.run(world.graph.commit(full)).unwrap();
    let garden = json!({"item": gid(&world, "garden")});
    let refused = add(&world, &spring, garden.clone());
    let message = "item: Too many: a portfolio has at most 1500 items";
    assert_eq!(refused.message(), message);
    let first = json!({"item": "9000001"});
    ok(world.post("robot", &format!("{spring}/removeItem"), first));
    ok(add(&world, &spring, garden));
}

/// S154. Each level, a public portfolio, and lists of one's own.
#[test]
fn a_portfolio_is_its_owners() {
    let world = World::new(Kind::Memory);
    let (own, spring) = create(&world);
    let status = |who: &str| {
        let rename = world.call(who, "PUT", &spring, &json!({"name": "Autumn"}));
        (world.get(who, &spring).status, rename.status)
    };
    assert_eq!(status("mel"), (403, 403));
    let public = json!({"privacy_setting": "public_to_domain"});
    ok(world.call("ada", "PUT", &spring, &public));
    assert_eq!(status("mel"), (200, 403));
    assert_eq!(status("gus").0, 403, "guests are no part of the domain");
    let seat = json!({"parent": own, "member": gid(&world, "mel"), "access_level": "editor"});
    let seat = ok(world.post("ada", "/memberships", seat)).gid();
    assert_eq!(status("mel"), (200, 200));
    let delete = |who: &str| world.call(who, "DELETE", &spring, &Value::Null).status;
    assert_eq!(delete("mel"), 403);
    for path in ["memberships", "portfolio_memberships"] {
        let shown = ok(world.get("mel", &format!("/{path}/{seat}"))).json["data"].take();
        assert_eq!(shown["access_level"], "editor");
        assert_eq!(shown["parent"]["gid"], own);
    }
    let listed = |who: &str| {
        let target = format!("/portfolios?workspace={}", gid(&world, "orchid"));
        ok(world.get(who, &target)).gids()
    };
    assert!(listed("ada").contains(&own));
    assert!(!listed("mel").contains(&own), "a member is no owner");
    assert!(listed("robot").contains(&own));
    assert_eq!(delete("ada"), 200);
    assert_eq!(status("mel").0, 404);
}

/// S155. A viewer and an admin of the portfolio at a private project, before and after each change.
#[test]
fn a_portfolio_gives_access_only_while_a_project_says_so() {
    for kind in KINDS {
        let world = World::new(kind);
        let moss = format!("/projects/{}", gid(&world, "moss"));
        let (own, spring) = create(&world);
        for (member, level) in [("mel", "viewer"), ("moe", "admin")] {
            let data = json!({"parent": own, "member": gid(&world, member), "access_level": level});
            ok(world.post("ada", "/memberships", data));
        }
        let item = json!({"item": gid(&world, "moss")});
        ok(add(&world, &spring, item.clone()));
        let seen = |who: &str| {
            let rename = world
                .call(who, "PUT", &moss, &json!({"name": "Moss"}))
                .status;
            let delete = world.call(who, "DELETE", &moss, &Value::Null).status;
            (world.get(who, &moss).status, rename, delete)
        };
        assert_eq!(seen("mel"), (403, 403, 403));
        assert_eq!(seen("moe"), (403, 403, 403));
        let settings = format!("{spring}/project_portfolio_settings");
        let setting = ok(world.get("ada", &settings)).gids().remove(0);
        let setting = format!("/project_portfolio_settings/{setting}");
        let set = |who: &str, on: bool| {
            let data = json!({ "is_access_control_inherited": on });
            world.call(who, "PUT", &setting, &data).status
        };
        assert_eq!(
            set("moe", true),
            403,
            "who has no access to the project gives none"
        );
        assert_eq!(set("ada", true), 200);
        assert_eq!(seen("mel"), (200, 403, 403));
        assert_eq!(seen("moe"), (200, 200, 403));
        assert_eq!(seen("vic").0, 403);
        assert_eq!(set("ada", false), 200);
        assert_eq!(seen("moe").0, 403);
        assert_eq!(set("ada", true), 200);
        ok(world.post("ada", &format!("{spring}/removeItem"), item.clone()));
        assert_eq!(seen("moe").0, 403);
        ok(add(&world, &spring, item));
        assert_eq!(seen("moe").0, 403, "the new setting says nothing yet");
    }
}

/// The copy has the items that its requester sees and asked for, in the same order, whenever the runner stops.
#[test]
fn a_copy_has_the_items_of_its_portfolio() {
    for kind in KINDS {
        let world = World::new(kind);
        let (own, spring) = create(&world);
        let project = |n: usize| {
            let data = json!({"name": format!("P{n}"), "team": gid(&world, "gardeners")});
            ok(world.post("ada", "/projects", data)).gid()
        };
        let mut projects: Vec<String> = (0..3).map(project).collect();
        projects.reverse();
        for item in &projects {
            ok(add(&world, &spring, json!({ "item": item })));
        }
        ok(add(&world, &spring, json!({"item": gid(&world, "works")})));
        for (include, count) in [
            ("", 0),
            ("child_projects", 3),
            ("child_projects,child_portfolios", 4),
        ] {
            let data = json!({"name": "Copy", "include": include});
            let job = ok(world.post("ada", &format!("{spring}/duplicate"), data));
            let copy = &job.json["data"]["new_portfolio"];
            assert_eq!(
                (&copy["name"], &copy["resource_type"]),
                (&json!("Copy"), &json!("portfolio"))
            );
            world.work();
            let copied = items(
                &world,
                &format!("/portfolios/{}", copy["gid"].as_str().unwrap()),
            );
            assert_eq!(copied, items(&world, &spring)[..count]);
        }
        // Only what the requester sees is taken over.
        let seat = json!({"parent": own, "member": gid(&world, "mel")});
        ok(world.post("ada", "/memberships", seat));
        let moss = json!({"item": gid(&world, "moss")});
        ok(add(&world, &spring, moss));
        let data = json!({"name": "Copy", "include": "child_projects"});
        let job = ok(world.post("mel", &format!("{spring}/duplicate"), data));
        world.work();
        let copy = job.json["data"]["new_portfolio"]["gid"].as_str().unwrap();
        let copied = ok(world.get("mel", &format!("/portfolios/{copy}/items"))).gids();
        assert_eq!(copied, projects);
    }
}

/// A project has the fields of its portfolios while it is in them and they are there; values are checked as those of
/// tasks are.
#[test]
fn projects_have_the_custom_fields_of_their_portfolios() {
    for kind in KINDS {
        let world = World::new(kind);
        let [vigor, lush, garden] = ["vigor", "lush", "garden"].map(|name| gid(&world, name));
        let project = format!("/projects/{garden}");
        let fields = || {
            let target = format!("{project}?opt_fields=custom_fields.(enabled|enum_value)");
            ok(world.get("ada", &target)).json["data"]["custom_fields"].take()
        };
        let put = |value: Value| {
            let data = json!({"custom_fields": {vigor.as_str(): value}});
            world.call("ada", "PUT", &project, &data)
        };
        let (_, spring) = create(&world);
        let item = json!({ "item": garden });
        ok(add(&world, &spring, item.clone()));
        assert_eq!(fields(), json!([]));
        let message = format!("Custom field with ID {vigor} is not on given object");
        assert_eq!(put(json!(lush)).message(), message);
        let field = json!({ "custom_field": vigor });
        ok(world.post(
            "ada",
            &format!("{spring}/addCustomFieldSetting"),
            field.clone(),
        ));
        assert_eq!(fields()[0]["enum_value"], Value::Null);
        assert_eq!(put(json!("12")).status, 400, "not one of its options");
        ok(put(json!(lush)));
        let shown = fields();
        assert_eq!(
            (&shown[0]["enum_value"]["gid"], &shown[0]["enabled"]),
            (&json!(lush), &json!(true))
        );
        // In a list, too.
        let listed = format!("{spring}/items?opt_fields=custom_fields.enum_value.name");
        let listed = ok(world.get("ada", &listed));
        assert_eq!(
            listed.json["data"][0]["custom_fields"][0]["enum_value"]["name"],
            "Lush"
        );
        ok(world.post("ada", &format!("{spring}/removeItem"), item.clone()));
        assert_eq!(fields()[0]["enabled"], false, "the value is kept");
        ok(add(&world, &spring, item));
        assert_eq!(fields()[0]["enabled"], true);
        ok(world.call("ada", "DELETE", &spring, &Value::Null));
        assert_eq!(fields()[0]["enabled"], false);
        ok(put(Value::Null));
        assert_eq!(fields(), json!([]));
    }
}

/// Tasks and projects are found by portfolio as they are by team: by those who see the portfolio.
#[test]
fn searches_find_what_is_in_a_portfolio() {
    for kind in KINDS {
        let world = World::new(kind);
        let search = |who: &str, what: &str, value: &str| {
            let orchid = gid(&world, "orchid");
            world.get(
                who,
                &format!("/workspaces/{orchid}/{what}/search?portfolios.any={value}"),
            )
        };
        let works = gid(&world, "works");
        assert_eq!(
            ok(search("ada", "projects", &works)).gids(),
            [gid(&world, "moss")]
        );
        assert_eq!(
            ok(search("ada", "tasks", &works)).gids(),
            [gid(&world, "lichen")]
        );
        let without = ok(search("ada", "projects", "null")).gids();
        assert!(
            without.contains(&gid(&world, "garden")) && !without.contains(&gid(&world, "moss"))
        );
        assert_eq!(search("moe", "projects", &works).status, 403);
        ok(world.call(
            "ada",
            "DELETE",
            &format!("/portfolios/{works}"),
            &Value::Null,
        ));
        assert_eq!(search("ada", "tasks", &works).status, 400);
        let without = ok(search("ada", "projects", "null")).gids();
        assert!(
            without.contains(&gid(&world, "moss")),
            "a deleted portfolio has nothing"
        );
    }
}
