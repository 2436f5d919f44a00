//! Walls inside a workspace: no row reveals a name to a reader who may not see it, for any request.
mod found;
mod in_events;
mod in_job_results;
mod levels_of_access;
mod oracles;

use super::place_choice::PlaceChoice;
use super::sample::{Sample, Tenant, parameters, sample, sender};
use super::tenant_isolation::{body_slots, forms, query_slots};
use super::turns::has_turn;
use crate::hidden::{HIDDEN, MEMBERS, scene};
use crate::world::{Answer, Kind, World, is_orchid};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use workgraph_api::ApiSettings;
use workgraph_api::request::Method;
use workgraph_core::model::registry::{FieldDef, Type, ValueType, Writability};
use workgraph_core::model::resources::resource;
use workgraph_core::storage::{NodeRef, ReadQuery, ViewerKey};
use workgraph_core::{Gid, Level, Node};
use workgraph_operations::all;
use workgraph_operations::operation::Operation;
use workgraph_operations::operation::inputs::path;

const MEADOW: Tenant = Tenant {
    admin: "ada",
    workspace: "orchid",
    team: "open_team",
    member: "mel",
    project: "meadow",
    section: "meadow_section",
    spare: "meadow_section-second",
    task: "shared",
    other_task: "second",
    tag: "s_tag",
    story: "comment",
    list: "ada_list",
    membership: "mel_seat",
    in_team: "mel_in_gardeners",
    in_project: "gus_in_meadow",
    field: "m_text",
    option: "m_option_enum",
    other_option: "m_option_multi_enum",
    job: "h_job",
    export: "orchid_export",
    project_template: "s_template",
    task_template: "weeding",
    status: "s_status",
    attachment: "s_attachment",
    portfolio: "s_portfolio",
    in_portfolio: "gus_in_s_portfolio",
    portfolio_setting: "meadow_in_s_portfolio",
    item: "meadow",
};

/// An app of moe's with few scopes, some of which write.
const APP: &str = "moe[tasks:read,tasks:write,stories:read,stories:write,tags:read,tags:write,jobs:read,webhooks:read,webhooks:write]";

/// The readers with the starts of the names that each may not get: a member without access, a guest, an app with fewer
/// scopes, and a member and the service account of another workspace.
const READERS: &[(&str, &[&str])] = &[
    ("moe", &["HIDDEN"]),
    ("gus", &["HIDDEN", "MEMBERS", "members-nia"]),
    (APP, &["HIDDEN"]),
    ("ben", &["HIDDEN", "MEMBERS", "members-nia", "Meadow"]),
    ("rocky", &["HIDDEN", "MEMBERS", "members-nia", "Meadow"]),
];

/// The twin of all of them: ada, who created everything and sees it.
const ADA: &[(&str, &[&str])] = &[("ada", &[])];

/// Types whose nodes cannot be hidden or named: events are rendered from the journal when they are sent, the tasks of a
/// project template are read only with it, everybody sees all time periods, a webhook is no node, nor is a reaction, and a
/// project status is the node of a status update.
const UNNAMED: &[Type] = &[
    Type::Event,
    Type::TemplateTask,
    Type::ProjectTotals,
    Type::TimePeriod,
    Type::Webhook,
    Type::ProjectStatus,
    Type::Reaction,
];

/// The scene, with its nodes by type.
struct Place {
    world: World,
    things: BTreeMap<Type, Vec<String>>,
}

impl Place {
    fn new() -> Self {
        Self::with(ApiSettings::default())
    }

    /// Returns the scene with other settings. It is built once and copied.
    fn with(settings: ApiSettings) -> Self {
        static BUILT: OnceLock<Place> = OnceLock::new();
        let built = BUILT.get_or_init(|| Self::of(scene(Kind::Memory)));
        built.copy(settings)
    }

    /// Returns a copy of the scene as it is now.
    fn copy(&self, settings: ApiSettings) -> Self {
        Self {
            world: self.world.copy(settings, 2),
            things: self.things.clone(),
        }
    }

    /// Collects the nodes of a scene.
    fn of(mut world: World) -> Self {
        world.names.insert("rocky".to_owned(), world.gid("robot"));
        world.serve("rocky", "basalt");
        let own = [
            "orchid", "moe", "gus", "ada", "moe_list", "ada_list", "moe_seat", "weeding",
        ];
        let plain = World::new(Kind::Memory);
        let names = world.names.iter();
        let names = names
            .filter(|(name, _)| !plain.names.contains_key(*name) || own.contains(&name.as_str()));
        let gids: Vec<Gid> = names.map(|(_, gid)| *gid).collect();
        let key = ViewerKey {
            user: world.gid("ada"),
            service: None,
        };
        let want = gids
            .iter()
            .fold(ReadQuery::of(key), |want, gid| want.node(*gid));
        let view = world.run(world.graph.load(&want)).unwrap();
        let mut things: BTreeMap<Type, Vec<String>> = BTreeMap::new();
        for gid in gids {
            match view.node(gid) {
                Some(node) => things.entry(node.ty).or_default().push(gid.to_string()),
                // It is in no graph.
                None => things
                    .entry(Type::Webhook)
                    .or_default()
                    .push(gid.to_string()),
            }
        }
        Self { world, things }
    }

    /// Returns the viewer of a token.
    fn viewer(&self, reader: &str) -> ViewerKey {
        let user = reader.split('[').next().unwrap();
        ViewerKey {
            user: self.world.gid(user),
            service: (reader == "rocky").then(|| self.world.gid("basalt")),
        }
    }

    /// Returns all named nodes in the world, with the level of the reader.
    fn levels(&self, reader: &str) -> Vec<(&str, Node, Level)> {
        let names = &self.world.names;
        let want = ReadQuery::of(self.viewer(reader));
        let want = names.values().fold(want, |want, gid| want.node(*gid));
        let view = self.world.run(self.world.graph.load(&want)).unwrap();
        let mut all = Vec::new();
        for (name, gid) in names {
            if let Some(node) = view
                .node(*gid)
                .filter(|_| view.resolve(&NodeRef::Gid(*gid)).is_some())
            {
                all.push((name.as_str(), Node::clone(node), view.level(*gid)));
            }
        }
        all
    }

    /// Returns the name of one hidden node of each type: one with a hidden name if there is one, or else one of the
    /// workspace.
    fn hidden_from(&self, reader: &str) -> BTreeMap<Type, String> {
        let levels = self.levels(reader);
        let is_called_so = |node: &Node| {
            let title = node.title().to_uppercase();
            title.starts_with("HIDDEN") || title.starts_with("MEMBERS")
        };
        let mut found: BTreeMap<Type, String> = BTreeMap::new();
        for best in [0, 1, 2] {
            for (name, node, level) in &levels {
                let rank = match (is_called_so(node), is_orchid(name)) {
                    (true, _) => 0,
                    (false, true) => 1,
                    (false, false) => 2,
                };
                if *level == Level::None && rank == best {
                    let name = || (*name).to_owned();
                    found.entry(node.ty).or_insert_with(name);
                }
            }
        }
        found
    }

    /// Returns the row's sample, and a copy of it for every node that one of its path parameters may name.
    fn samples(&self, row: &Operation) -> Vec<Sample> {
        let base = sample(&self.world, &MEADOW, row);
        let mut all = vec![base.clone()];
        for (at, name) in parameters(row).iter().enumerate() {
            let things = parameter_type(name).and_then(|ty| self.things.get(&ty));
            for gid in things.into_iter().flatten() {
                let mut one = base.clone();
                one.path[at].1.clone_from(gid);
                all.push(one);
            }
        }
        all
    }
}

/// Returns every field of a type and every field of the linked types, in as few requests as possible.
fn everything(ty: Type) -> Vec<String> {
    let mut paths: BTreeSet<String> = BTreeSet::new();
    let types = std::iter::once(ty).chain(resource(ty).variants.iter().copied());
    for def in types.flat_map(|ty| resource(ty).fields) {
        let below = below(def);
        if below.is_empty() {
            paths.insert(def.name.to_owned());
        }
        paths.extend(below.iter().map(|sub| format!("{}.{sub}", def.name)));
    }
    let paths: Vec<String> = paths.into_iter().collect();
    paths.chunks(300).map(|some| some.join(",")).collect()
}

fn below(def: &FieldDef) -> Vec<String> {
    match def.value_type {
        ValueType::One(types) | ValueType::Many(types) => {
            let fields = types.iter().flat_map(|ty| resource(*ty).fields);
            fields.map(|sub| sub.name.to_owned()).collect()
        }
        ValueType::Items(parts) | ValueType::Group(parts) => {
            let deeper = |part: &FieldDef| {
                let below = below(part).into_iter();
                let named = below.map(|sub| format!("{}.{sub}", part.name));
                std::iter::once(part.name.to_owned())
                    .chain(named)
                    .collect::<Vec<_>>()
            };
            parts.iter().flat_map(deeper).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads these nodes by all rows, with all fields and without.
fn read_things(
    scene: &Place,
    reader: &str,
    things: &BTreeMap<Type, Vec<String>>,
    each: &mut dyn FnMut(&Answer, &str),
) {
    for row in all().filter(|row| row.method == Method::Get) {
        let views = row.record().map(everything).unwrap_or_default();
        let base = sample(&scene.world, &MEADOW, row);
        for (at, name) in parameters(row).iter().enumerate() {
            let of_type = parameter_type(name).and_then(|ty| things.get(&ty));
            for gid in of_type.into_iter().flatten() {
                for fields in std::iter::once(None).chain(views.iter().map(Some)) {
                    let mut one = base.clone();
                    one.path[at].1.clone_from(gid);
                    let fields = fields.map(|fields| ("opt_fields", fields.clone()));
                    one.query.extend(fields);
                    let answer = one.send(&scene.world, reader, row);
                    each(&answer, &format!("{reader} {}", one.target(row)));
                }
            }
        }
    }
}

/// Reads by these rows in all ways, with these nodes in queries; `each` gets every reply with its request.
fn read<'a>(
    scene: &Place,
    rows: impl Iterator<Item = &'a Operation>,
    reader: &str,
    named: &BTreeMap<Type, String>,
    each: &mut dyn FnMut(&Answer, &str),
) {
    let world = &scene.world;
    for row in rows.filter(|row| row.method == Method::Get) {
        let views = row.record().map(everything).unwrap_or_default();
        let mut send = |one: &Sample, what: &str| {
            let answer = one.send(world, reader, row);
            each(
                &answer,
                &format!("{reader} {} {} {what}", row.id, one.target(row)),
            );
        };
        let samples = scene.samples(row);
        for one in &samples {
            send(one, "as it is");
            for fields in &views {
                let mut all = one.clone();
                all.query.push(("opt_fields", fields.clone()));
                send(&all, "with all fields");
            }
        }
        let base = &samples[0];
        let mut alone = base.clone();
        alone
            .query
            .retain(|(name, _)| row.required_query().any(|n| n == *name));
        send(&alone, "with no parameter but the required ones");
        for slot in query_slots(row) {
            // What a row does not read is sent once.
            let count = match is_read(world, row, base, slot) {
                true => named.len(),
                false => 1,
            };
            for name in named.values().take(count) {
                let mut one = base.clone();
                one.query.retain(|(n, _)| *n != slot);
                one.query.push((slot, world.gid(name).to_string()));
                send(&one, name);
            }
        }
    }
}

/// A name that is no gid.
const MALFORMED: &str = "no-gid";

/// Returns true if a row reads a query parameter: a name that is no gid changes the reply to a user who may do
/// everything.
fn is_read(world: &World, row: &Operation, base: &Sample, slot: &str) -> bool {
    let mut without = base.clone();
    without.query.retain(|(name, _)| *name != slot);
    let mut with = without.clone();
    with.query.extend(
        query_slots(row)
            .get(slot)
            .map(|slot| (*slot, MALFORMED.to_owned())),
    );
    let [a, b] = [with, without].map(|one| {
        let mut answer = one.send(world, sender(row, "ada"), row);
        // A new token for events has random bytes.
        if let Some(token) = answer.json.get_mut("sync") {
            *token = Value::Null;
        }
        (answer.status, answer.json)
    });
    a != b
}

/// Returns the allowed words that the error for another word lists.
fn allowed_words(refusal: &Answer) -> Vec<String> {
    let (_, list) = refusal
        .message()
        .split_once("it is one of ")
        .unwrap_or_default();
    list.split(", ").map(str::to_owned).collect()
}

fn check(answer: &Answer, words: &[&str], what: &str) {
    for word in words {
        let at = answer.text.find(word);
        assert!(
            at.is_none(),
            "{what}: {word} in {} {}",
            answer.status,
            answer.text
        );
    }
}

/// S111. Every row that reads, at every node, with all fields and by every parameter. Readers take turns.
#[test]
fn no_read_gives_away_a_name() {
    let scene = Place::new();
    for (caller, (reader, words)) in READERS.iter().enumerate() {
        let named = scene.hidden_from(reader);
        let rows = all().enumerate();
        let rows = rows.filter(|(row, _)| has_turn(*row, (caller, READERS.len())));
        let rows = rows.map(|(_, row)| row);
        read(&scene, rows, reader, &named, &mut |answer, what| {
            check(answer, words, what)
        });
    }
}

/// The twin: a reader who sees everything finds every name, so the test would notice a name that another reader got.
#[test]
fn who_sees_everything_is_given_every_name() {
    let scene = Place::new();
    let mut left: BTreeSet<&str> = HIDDEN.iter().chain(MEMBERS).copied().collect();
    read(&scene, all(), "ada", &BTreeMap::new(), &mut |answer, _| {
        left.retain(|word| !answer.text.contains(word));
    });
    assert!(left.is_empty(), "{left:?}");
}

/// Returns the body fields of a row that get the gid of a hidden node.
fn slots(row: &Operation) -> impl Iterator<Item = &'static str> {
    let fields = row.record().map_or(&[][..], |ty| resource(ty).fields);
    let written = |slot: &str| {
        let mut fields = fields.iter();
        fields.any(|def| {
            let written = matches!(
                def.write,
                Writability::Always | Writability::OnCreate | Writability::ValueMap
            );
            def.name == slot && written
        })
    };
    let all = body_slots(row).iter().copied();
    all.filter(move |slot| row.required_body().any(|(name, _)| name == *slot) || written(slot))
}

/// S111. Every row that writes, at every node, with hidden nodes in every field that can name one. Readers take turns.
#[test]
fn no_write_gives_away_a_name() {
    let mut scene = Place::new();
    let named: BTreeMap<&str, BTreeMap<Type, String>> = READERS
        .iter()
        .map(|(reader, _)| (*reader, scene.hidden_from(reader)))
        .collect();
    for (number, row) in all().enumerate() {
        if row.method == Method::Get {
            continue;
        }
        let views = row.record().map(everything).unwrap_or_default();
        for (caller, (reader, words)) in READERS.iter().enumerate() {
            if !has_turn(number, (caller, READERS.len())) {
                continue;
            }
            let named = &named[reader];
            let mut done = false;
            let mut send = |scene: &Place, mut one: Sample, what: &str| {
                let fields = views.first().map(|fields| ("opt_fields", fields.clone()));
                one.query.extend(fields);
                let answer = one.send(&scene.world, reader, row);
                done |= answer.status < 300;
                let what = format!("{reader} {} {} {what}", row.id, one.target(row));
                check(&answer, words, &what);
            };
            let samples = scene.samples(row);
            for one in samples.iter().rev() {
                send(&scene, one.clone(), "as it is");
            }
            for slot in slots(row) {
                let choice = PlaceChoice::of(row, slot);
                let tried = named.iter().enumerate();
                let tried = tried.filter(|(at, (ty, _))| choice.takes(*at, Some(**ty)));
                for (_, (_, name)) in tried {
                    for form in forms(slot, &scene.world.gid(name).to_string()) {
                        let mut one = samples[0].clone();
                        one.put(slot, form);
                        send(&scene, one, &format!("{slot}={name}"));
                    }
                }
            }
            if done {
                scene.world.work();
                scene = Place::new();
            }
        }
    }
}

/// A node of each type is hidden from a reader, so that new types are tested like the others.
#[test]
fn of_each_type_something_is_hidden() {
    let scene = Place::new();
    let mut left: BTreeSet<Type> = Type::ALL.iter().copied().collect();
    left.retain(|ty| !UNNAMED.contains(ty));
    for (reader, _) in &READERS[..2] {
        for ty in scene.hidden_from(reader).keys() {
            left.remove(ty);
        }
    }
    assert!(left.is_empty(), "{left:?}");
}

/// Returns the type of the nodes that a path parameter names.
fn parameter_type(name: &str) -> Option<Type> {
    let ty = path::declaration(name)?.types().first()?;
    Some(resource(*ty).node_type())
}
