//! Reactions: the likes of an object, each as a thumb up.
use crate::world::{KINDS, Kind, World};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::{Changes, EdgeWrite, ListPosition};

/// The thumb up, and the same with a skin tone, as they stand in a query.
const THUMB: &str = "%F0%9F%91%8D";
const DARK_THUMB: &str = "%F0%9F%91%8D%F0%9F%8F%BF";
const HEART: &str = "%E2%9D%A4";

/// Makes a user like a task, story or status update, or end that. No operation does so for the last two.
fn like(world: &World, who: &str, name: &str, on: bool) {
    let (src, dst) = (world.gid(name), world.gid(who));
    if name == "water" {
        let path = format!("/tasks/{src}");
        let reply = world.call(who, "PUT", &path, &json!({ "liked": on }));
        assert_eq!(reply.status, 200, "{}", reply.text);
        return;
    }
    let mut changes = Changes::default();
    let rel = rel::STORY_LIKES;
    if on {
        changes.edge_writes.push(EdgeWrite {
            src,
            rel,
            dst,
            position: ListPosition::Rank(0),
            aux: Gid::new(900_000 + dst.get()),
        });
    } else {
        changes.edge_removals.push((src, rel, dst));
    }
    world.run(world.graph.commit(changes)).unwrap();
}

/// S272. Tasks and stories have likes of two relations; both are reactions.
#[test]
fn likes_are_reactions_with_a_thumb() {
    for kind in KINDS {
        let world = World::new(kind);
        for (name, path) in [("water", "tasks"), ("water_note", "stories")] {
            let target = world.gid(name).to_string();
            let path = format!("/{path}/{target}");
            let reactions = |who: &str, emoji: &str| {
                let query = format!("target={target}&emoji_base={emoji}");
                let list = world.get(who, &format!("/reactions?{query}"));
                assert_eq!(list.status, 200, "{}", list.text);
                list
            };
            assert!(reactions("ada", THUMB).gids().is_empty());
            like(&world, "ada", name, true);
            like(&world, "mel", name, true);
            let list = reactions("moe", THUMB);
            let likes = world.get("moe", &format!("{path}?opt_fields=likes"));
            let items = list.json["data"].as_array().unwrap();
            for (item, like) in items
                .iter()
                .zip(likes.json["data"]["likes"].as_array().unwrap())
            {
                assert_eq!(item["gid"], like["gid"]);
                assert_eq!(item["user"], like["user"]);
                assert_eq!(item["emoji"], "\u{1f44d}");
            }
            assert_eq!(items.len(), 2);
            assert_eq!(reactions("moe", DARK_THUMB).json, list.json);
            assert!(reactions("moe", HEART).gids().is_empty());
            let first = world.get(
                "moe",
                &format!("/reactions?target={target}&emoji_base={THUMB}&limit=1"),
            );
            let next = first.json["next_page"]["path"].as_str().unwrap();
            let second = world.get("moe", next.trim_start_matches("/api/1.0"));
            assert_eq!([first.gids(), second.gids()].concat(), list.gids());
            like(&world, "ada", name, false);
            assert_eq!(reactions("ada", THUMB).gids().len(), 1);
        }
    }
}

/// S272.
#[test]
fn the_summary_counts_the_likes() {
    let world = World::new(Kind::Memory);
    for (path, name) in [("stories", "water_note"), ("status_updates", "moss_status")] {
        let path = format!("/{path}/{}", world.gid(name));
        let summary = || {
            let named = world.get("ada", &format!("{path}?opt_fields=reaction_summary"));
            let whole = world.get("ada", &path);
            let summary = named.json["data"]["reaction_summary"].clone();
            assert_eq!(whole.json["data"]["reaction_summary"], summary);
            summary
        };
        assert_eq!(summary(), json!([]));
        like(&world, "ada", name, true);
        let thumb = "\u{1f44d}";
        let mut item = json!({"emoji_base": thumb, "variant": thumb, "count": 1, "reacted": true});
        assert_eq!(summary(), json!([item]));
        let counts = world.get("ada", &format!("{path}?opt_fields=reaction_summary.count"));
        assert_eq!(
            counts.json["data"]["reaction_summary"],
            json!([{"count": 1}])
        );
        if name == "water_note" {
            like(&world, "ada", name, false);
            like(&world, "mel", name, true);
            item["reacted"] = json!(false);
            assert_eq!(summary(), json!([item]));
        }
    }
}

/// S272.
#[test]
fn what_is_no_emoji_is_refused_by_name() {
    let world = World::new(Kind::Memory);
    let target = world.gid("water");
    for wrong in ["thumbsup", "1", "%20", "%C3%A4", "", &THUMB.repeat(33)] {
        let reply = world.get(
            "ada",
            &format!("/reactions?target={target}&emoji_base={wrong}"),
        );
        assert_eq!(reply.status, 400, "{wrong}: {}", reply.text);
        assert!(
            reply.message().starts_with("emoji_base: "),
            "{}",
            reply.text
        );
    }
    let garden = world.gid("garden");
    let reply = world.get(
        "ada",
        &format!("/reactions?target={garden}&emoji_base={THUMB}"),
    );
    assert_eq!(reply.status, 400, "a project has no reactions");
}
