//! Names in results: no result depends on a name that the reader does not see.
use super::*;
use crate::hidden::{HIDDEN, MEMBERS};
use workgraph_core::search::is_searchable;

/// A word that no node has.
const NOWHERE: &str = "Zzyzx";

/// Returns every row that finds by words, in both workspaces and for every kind of node that it finds: a target to
/// which the words are added.
fn targets(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for row in workgraph_operations::all() {
        for slot in row
            .optional_query()
            .filter(|slot| matches!(*slot, "text" | "query"))
        {
            for workspace in ["orchid", "basalt"] {
                let at = row
                    .path
                    .replace("{workspace_gid}", &world.gid(workspace).to_string());
                if !row.optional_query().any(|name| name == "resource_type") {
                    all.push(format!("{at}?{slot}="));
                    continue;
                }
                let kinds = world.get("ada", &format!("{at}?resource_type=no-such-type"));
                let kinds = allowed_words(&kinds);
                assert!(kinds.len() > 5, "{kinds:?}");
                for kind in kinds {
                    all.push(format!("{at}?resource_type={kind}&count=100&{slot}="));
                }
            }
        }
    }
    all
}

/// Returns the names of all nodes that a reader may not see, by node. Names that are part of a visible one are left
/// out.
fn hidden_names(scene: &Place, (reader, words): (&str, &[&str])) -> BTreeMap<String, Option<Type>> {
    let levels = scene.levels(reader);
    let seen: Vec<String> = levels
        .iter()
        .filter(|(_, _, level)| *level > Level::None)
        .map(|(_, node, _)| node.title().to_lowercase())
        .collect();
    let mut names = BTreeMap::new();
    for (_, node, level) in &levels {
        let title = node.title();
        let is_seen = seen.iter().any(|seen| seen.contains(&title.to_lowercase()));
        if *level == Level::None && !title.is_empty() && !is_seen {
            names.insert(title, Some(node.ty));
        }
    }
    // Values, texts and targets, too.
    let texts = HIDDEN.iter().chain(MEMBERS);
    for name in texts.filter(|name| words.iter().any(|word| name.starts_with(word))) {
        let name = name.trim_end_matches('@').to_owned();
        names.entry(name).or_insert(None);
    }
    names
}

/// Returns a reply without its words: its content, and the messages about it.
fn shown(world: &World, reader: &str, target: &str, words: &str) -> (u16, String, String) {
    let escaped = words
        .replace('%', "%25")
        .replace(' ', "%20")
        .replace('&', "%26");
    let answer = world.get(reader, &format!("{target}{escaped}"));
    let text = answer
        .text
        .replace(words, NOWHERE)
        .replace(&escaped, NOWHERE);
    (answer.status, text, format!("{:?}", answer.headers))
}

/// S111. A query for a hidden name gets the same reply as one for a word that no node has, for names of every kind of
/// node.
#[test]
fn no_result_depends_on_a_hidden_name() {
    let scene = Place::new();
    let world = &scene.world;
    let targets = targets(world);
    let mut found: BTreeSet<Type> = BTreeSet::new();
    let mut named: BTreeSet<Type> = BTreeSet::new();
    for (reader, words) in READERS {
        let names = hidden_names(&scene, (reader, words));
        for target in &targets {
            let nothing = shown(world, reader, target, NOWHERE);
            let nothing_for_all = shown(world, "ada", target, NOWHERE);
            for (name, ty) in &names {
                for part in [name.as_str(), &name[..name.len().min(9)]] {
                    // Other nodes may have a name that begins in the same way.
                    if part.len() < name.len() && !words.iter().any(|w| part.starts_with(w)) {
                        continue;
                    }
                    let answer = shown(world, reader, target, part);
                    assert_eq!(answer, nothing, "{reader} {target}{part}");
                }
                named.extend(*ty);
                let all = shown(world, "ada", target, name);
                found.extend(ty.filter(|_| all != nothing_for_all));
            }
        }
    }
    // The twin, who sees everything, finds each kind of node that can be found; and each kind that has a name was
    // searched for.
    for ty in Type::ALL.iter().filter(|ty| is_searchable(**ty)) {
        assert!(found.contains(ty), "{ty:?}: {found:?}");
    }
    let nameless = [Type::UserTaskList, Type::TemplateTask];
    for ty in Type::ALL.iter().filter(|ty| !nameless.contains(ty)) {
        let has_name = resource(*ty).title.is_some();
        assert!(!has_name || named.contains(ty), "{ty:?}: {named:?}");
    }
}

/// S111. No search by the values of a custom field that the reader may not see.
#[test]
fn no_result_depends_on_a_hidden_value() {
    let scene = Place::new();
    let world = &scene.world;
    let orchid = world.gid("orchid");
    let date = world.gid("h_date");
    let ask = |reader: &str, day: &str| {
        let at = format!("/workspaces/{orchid}/tasks/search?custom_fields.{date}.value={day}");
        world.get(reader, &at).text
    };
    assert!(ask("ada", "2071-07-08").contains(&world.gid("shared").to_string()));
    for (reader, _) in READERS {
        assert_eq!(
            ask(reader, "2071-07-08"),
            ask(reader, "2071-07-09"),
            "{reader}"
        );
    }
}
