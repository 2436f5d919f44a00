//! Names in what is found: no result depends on one that the reader does not see.
use super::*;
use crate::hidden::{HIDDEN, MEMBERS};
use workgraph_core::search::is_found;

/// A word that is nowhere.
const NOWHERE: &str = "Zzyzx";

/// Every row that finds by words, in both workspaces and for every kind of thing it finds: a target to which
/// the words are added.
fn targets(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for row in workgraph_api::operations::all() {
        for slot in row
            .filters
            .iter()
            .filter(|slot| matches!(**slot, "text" | "query"))
        {
            for workspace in ["orchid", "basalt"] {
                let at = row
                    .path
                    .replace("{workspace_gid}", &world.gid(workspace).to_string());
                if !row.filters.contains(&"resource_type") {
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

/// The names of all that a reader may not see, but those that are part of one that they see, by what has them.
fn hidden_names(place: &Place, (reader, words): (&str, &[&str])) -> BTreeMap<String, Option<Type>> {
    let levels = place.levels(reader);
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
    // And values, texts and targets.
    let texts = HIDDEN.iter().chain(MEMBERS);
    for name in texts.filter(|name| words.iter().any(|word| name.starts_with(word))) {
        let name = name.trim_end_matches('@').to_owned();
        names.entry(name).or_insert(None);
    }
    names
}

/// An answer without its words: what is in it, and what is said about it.
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

/// S111. A query for a hidden name is answered like one for a word that is nowhere, whatever has the name.
#[test]
fn no_result_depends_on_a_hidden_name() {
    let place = Place::new();
    let world = &place.world;
    let targets = targets(world);
    let mut found: BTreeSet<Type> = BTreeSet::new();
    let mut named: BTreeSet<Type> = BTreeSet::new();
    for (reader, words) in READERS {
        let names = hidden_names(&place, (reader, words));
        for target in &targets {
            let nothing = shown(world, reader, target, NOWHERE);
            let nothing_for_all = shown(world, "ada", target, NOWHERE);
            for (name, ty) in &names {
                for part in [name.as_str(), &name[..name.len().min(9)]] {
                    // Others may have a name that begins like that.
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
    // The twin, who sees everything, finds each kind of thing that can be found; and each kind that has a name was
    // looked for.
    for ty in Type::ALL.iter().filter(|ty| is_found(**ty)) {
        assert!(found.contains(ty), "{ty:?}: {found:?}");
    }
    let nameless = [Type::UserTaskList, Type::Recipe];
    for ty in Type::ALL.iter().filter(|ty| !nameless.contains(ty)) {
        let has_name = resource(*ty).title.is_some();
        assert!(!has_name || named.contains(ty), "{ty:?}: {named:?}");
    }
}

/// S111. No search by the values of a custom field that the reader may not see.
#[test]
fn no_result_depends_on_a_hidden_value() {
    let place = Place::new();
    let world = &place.world;
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
