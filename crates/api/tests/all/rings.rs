//! Rings: no object comes to wait for itself, to be below itself or to support itself, over however many others.
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ListPosition;

/// A relation of objects of one type that must have no rings.
struct Chain {
    /// The path of the collection in which the objects are made.
    collection: &'static str,
    /// Returns the path and the body that put the second object after the first one.
    link: fn(&str, &str) -> (String, Value),
    /// Returns the path and the body that end that.
    unlink: fn(&str, &str) -> (String, Value),
    /// The beginning of the refusal.
    refusal: &'static str,
    /// Most objects in a row.
    longest: usize,
}

const CHAINS: &[Chain] = &[
    Chain {
        collection: "/tasks",
        link: |before, after| {
            let data = json!({"dependencies": [before]});
            (format!("/tasks/{after}/addDependencies"), data)
        },
        unlink: |before, after| {
            let data = json!({"dependencies": [before]});
            (format!("/tasks/{after}/removeDependencies"), data)
        },
        refusal: "dependencies: ",
        longest: 12,
    },
    Chain {
        collection: "/tasks",
        link: |before, after| {
            let data = json!({"dependents": [after]});
            (format!("/tasks/{before}/addDependents"), data)
        },
        unlink: |before, after| {
            let data = json!({"dependents": [after]});
            (format!("/tasks/{before}/removeDependents"), data)
        },
        refusal: "dependents: ",
        longest: 12,
    },
    Chain {
        collection: "/tasks",
        link: |before, after| {
            (
                format!("/tasks/{after}/setParent"),
                json!({"parent": before}),
            )
        },
        unlink: |_, after| (format!("/tasks/{after}/setParent"), json!({"parent": null})),
        refusal: "parent: A task cannot be a subtask of itself or of its own subtasks",
        longest: 5,
    },
    Chain {
        collection: "/portfolios",
        link: |before, after| {
            (
                format!("/portfolios/{before}/addItem"),
                json!({"item": after}),
            )
        },
        unlink: |before, after| {
            (
                format!("/portfolios/{before}/removeItem"),
                json!({"item": after}),
            )
        },
        refusal: "item: A portfolio cannot be an item of itself",
        longest: 12,
    },
    Chain {
        collection: "/goals",
        link: |before, after| {
            let data = json!({"supporting_resource": after});
            (format!("/goals/{before}/addSupportingRelationship"), data)
        },
        unlink: |before, after| {
            let data = json!({"supporting_resource": after});
            (
                format!("/goals/{before}/removeSupportingRelationship"),
                data,
            )
        },
        refusal: "supporting_resource: A goal cannot support itself",
        longest: 12,
    },
];

fn post(world: &World, (path, data): (String, Value)) -> Answer {
    world.post("ada", &path, data)
}

#[test]
fn a_ring_of_any_length_is_refused() {
    let world = World::new(Kind::Memory);
    let orchid = world.gid("orchid").to_string();
    for chain in CHAINS {
        let make = || {
            let data = json!({"name": "Link", "workspace": orchid});
            world.post("ada", chain.collection, data).gid()
        };
        let mut row = vec![make()];
        while row.len() <= chain.longest {
            let (first, last) = (&row[0], &row[row.len() - 1]);
            let closed = post(&world, (chain.link)(last, first));
            let named = format!("{} of {}: {}", chain.collection, row.len(), closed.text);
            assert_eq!(closed.status, 400, "{named}");
            assert!(closed.message().starts_with(chain.refusal), "{named}");
            let next = make();
            let linked = post(&world, (chain.link)(last, &next));
            if row.len() < chain.longest {
                assert!(linked.status < 300, "{}", linked.text);
            }
            row.push(next);
        }
        row.pop();
        // The row may be cut, and the other end joined on.
        let (first, last) = (&row[0], &row[row.len() - 1]);
        let cut = post(&world, (chain.unlink)(&row[0], &row[1]));
        assert!(cut.status < 300, "{}", cut.text);
        let joined = post(&world, (chain.link)(last, first));
        if chain.refusal.starts_with("parent") {
            continue;
        }
        assert!(joined.status < 300, "{}: {}", chain.collection, joined.text);
    }
}

#[test]
fn a_ring_over_thousands_of_tasks_is_refused() {
    const MANY: usize = 3_000;
    let world = World::build(Kind::Memory, Default::default(), |f, names| {
        let (orchid, ada) = (names["orchid"], names["ada"]);
        let tasks: Vec<_> = (0..MANY).map(|_| f.task(orchid, "Link", ada)).collect();
        for pair in tasks.windows(2) {
            f.link(pair[1], rel::DEPENDS, pair[0], ListPosition::Rank(0), None);
        }
        names.insert("first".to_owned(), tasks[0]);
        names.insert("last".to_owned(), tasks[MANY - 1]);
    });
    let [first, last] = ["first", "last"].map(|name| world.gid(name).to_string());
    for (path, data) in [
        (
            format!("/tasks/{first}/addDependencies"),
            json!({"dependencies": [last]}),
        ),
        (
            format!("/tasks/{last}/addDependents"),
            json!({"dependents": [first]}),
        ),
    ] {
        let refused = world.post("ada", &path, data);
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(
            refused
                .message()
                .contains("Would make tasks wait for each other"),
            "{}",
            refused.text
        );
    }
}
