//! Two tenants: neither sees a byte of the other through any gid that a row takes.
use super::place_choice::PlaceChoice;
use super::record_samples::records;
use super::sample::{BASALT, ORCHID, Tenant, parameter, sample};
use super::turns::has_turn;
use super::{Planned, memory};
use crate::world::{Answer, BASALT_WORDS, Kind, ORCHID_WORDS, World, is_orchid};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use workgraph_api::ApiSettings;
use workgraph_api::request::Method;
use workgraph_core::Gid;
use workgraph_core::model::registry::{ValueType, Writability};
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Query parameters that can name a node, for any row that reads.
const QUERY_SLOTS: &[&str] = &[
    "resource",
    "workspace",
    "team",
    "user",
    "project",
    "section",
    "tag",
    "user_task_list",
    "assignee",
    "organization",
    "parent",
    "member",
];

/// Body fields that can name a node, for any row that writes.
const BODY_SLOTS: &[&str] = &[
    "custom_type",
    "custom_type_status_option",
    "workspace",
    "team",
    "organization",
    "user",
    "followers",
    "member",
    "members",
    "parent",
    "project",
    "projects",
    "memberships",
    "section",
    "task",
    "tag",
    "tags",
    "assignee",
    "assignee_section",
    "dependencies",
    "dependents",
    "insert_before",
    "insert_after",
    "before_section",
    "after_section",
    "owner",
    "html_notes",
    "html_text",
    "html_description",
    "custom_field",
    "custom_fields",
    "item",
    "time_period",
    "supporting_resource",
    "enum_option",
    "attributable_to",
    "categories",
    "before_enum_option",
    "after_enum_option",
    "resource",
    "requested_roles",
    "target",
    "actions",
    "export_request_parameters",
];

/// Returns the query parameters of a row that get foreign gids.
pub(super) fn query_slots(row: &Operation) -> BTreeSet<&'static str> {
    let known = if row.method == Method::Get {
        QUERY_SLOTS
    } else {
        &[]
    };
    let own = row.required_query().chain(row.optional_query());
    known.iter().copied().chain(own).collect()
}

/// Returns the body fields of a row that get foreign gids.
pub(super) fn body_slots(row: &Operation) -> &'static [&'static str] {
    if matches!(row.method, Method::Post | Method::Put) {
        BODY_SLOTS
    } else {
        &[]
    }
}

#[test]
fn every_field_that_can_name_something_is_a_slot() {
    for resource in workgraph_core::model::resources::ALL {
        for def in resource.fields {
            let written = matches!(def.write, Writability::Always | Writability::OnCreate);
            let names = matches!(
                def.value_type,
                ValueType::One(_) | ValueType::Many(_) | ValueType::Html
            );
            assert!(
                !(written && names) || BODY_SLOTS.contains(&def.name),
                "{} of {}",
                def.name,
                resource.name
            );
        }
    }
}

/// Returns the forms in which a body field can name a gid.
pub(super) fn forms(slot: &str, gid: &str) -> Vec<Value> {
    match slot {
        "memberships" => vec![
            json!([{"project": gid}]),
            json!([{"project": gid, "section": gid}]),
        ],
        "html_notes" | "html_text" | "html_description" => {
            vec![json!(format!("<body><a data-asana-gid=\"{gid}\"/></body>"))]
        }
        "followers" | "members" | "projects" | "tags" | "categories" | "dependencies"
        | "dependents" => {
            vec![json!([gid]), json!(gid)]
        }
        "requested_roles" => vec![json!([{"gid": "1", "value": gid}])],
        "actions" => vec![json!([{"relative_path": format!("/tasks/{gid}"), "method": "get"}])],
        "export_request_parameters" => {
            let filters = json!({"assignee.any": [gid], "commented_on_by.any": [gid]});
            vec![json!([{"resource_type": "task", "filters": filters}])]
        }
        "custom_fields" => vec![json!({gid: gid}), json!({gid: [gid]}), json!({gid: null})],
        _ => vec![json!(gid)],
    }
}

struct Walls {
    own: Tenant,
    own_is_orchid: bool,
    /// Names of the other tenant.
    words: &'static [&'static str],
    /// Nodes of the other tenant, one of each type and some more.
    foreign: &'static [&'static str],
}

const FROM_ORCHID: Walls = Walls {
    own: ORCHID,
    own_is_orchid: true,
    words: BASALT_WORDS,
    foreign: &[
        "basalt",
        "ben",
        "miners",
        "ben_seat",
        "ben_in_miners",
        "quarry",
        "ben_in_quarry",
        "pit",
        "blast",
        "brittle",
        "ben_list",
        "blast_note",
        "grain",
        "coarse",
        "grain_in_quarry",
        "bob_job",
        "basalt_export",
        "dig_plan",
        "drilling",
        "quarry_status",
        "quarry_works",
        "ben_in_works",
        "quarry_in_works",
        "basalt_goal_membership",
    ],
};
const FROM_BASALT: Walls = Walls {
    own: BASALT,
    own_is_orchid: false,
    words: ORCHID_WORDS,
    foreign: &[
        "orchid",
        "mel",
        "commons",
        "mel_seat",
        "mel_in_gardeners",
        "garden",
        "gus_in_garden",
        "beds",
        "water",
        "thirsty",
        "mel_list",
        "water_note",
        "vigor",
        "lush",
        "vigor_in_moss",
        "ada_job",
        "orchid_export",
        "plot_plan",
        "weeding",
        "moss_status",
        "works",
        "mel_in_works",
        "moss_in_works",
        "orchid_goal_membership",
    ],
};

/// Returns the numbers in a text that may be gids: those behind a quote or a slash.
fn shown_gids(text: &str) -> impl Iterator<Item = &str> {
    text.split(['"', '/']).skip(1).map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit());
        part.split_at(end.unwrap_or(part.len())).0
    })
}

impl Walls {
    /// Returns the names of nodes of the other tenant, its records among them.
    fn foreign(&self) -> Vec<String> {
        let other = if self.own_is_orchid {
            "basalt"
        } else {
            "orchid"
        };
        let nodes = self.foreign.iter().map(|name| (*name).to_owned());
        nodes.chain(records(other)).collect()
    }

    /// Returns the foreign nodes that a place of a row is tried with: those of the types that it takes, and of the others every
    /// twelfth, beginning elsewhere for each place. With `WORKGRAPH_CASES` it is all of them.
    fn tried(&self, world: &World, row: &Operation, place: &str) -> Vec<String> {
        let all = self.foreign();
        let choice = PlaceChoice::of(row, place);
        let viewer = if self.own_is_orchid { "bob" } else { "ada" };
        let view = world.view(viewer, all.iter().map(|name| world.gid(name)));
        let is_tried = |at, name: &str| {
            let node = view.node(world.gid(name));
            choice.takes(at, node.map(|node| node.ty))
        };
        let tried = all.into_iter().enumerate();
        let tried = tried.filter(|(at, name)| is_tried(*at, name));
        tried.map(|(_, name)| name).collect()
    }

    /// Checks that the reply has no byte of the other tenant; an error may repeat the bytes that the caller sent.
    fn check(&self, world: &World, answer: &Answer, sent: &str, what: &str) {
        for word in self.words {
            assert!(
                !answer.text.contains(word),
                "{what}: leaks {word}: {}",
                answer.text
            );
        }
        let shown: BTreeSet<&str> = shown_gids(&answer.text).collect();
        for (name, gid) in &world.names {
            let gid = gid.to_string();
            let is_own = is_orchid(name) == self.own_is_orchid;
            if is_own || (answer.status >= 400 && gid == sent) {
                continue;
            }
            assert!(
                !shown.contains(&*gid),
                "{what}: leaks {name}: {} {}",
                answer.status,
                answer.text
            );
        }
    }

    /// Checks that no node of the other tenant was changed, and none was linked.
    fn untouched(&self, world: &World, after: u64, what: &str) {
        let foreign: Vec<Gid> = world
            .names
            .iter()
            .filter(|(name, _)| is_orchid(name) != self.own_is_orchid)
            .map(|(_, gid)| *gid)
            .collect();
        for event in world.events(after) {
            for fact in event.change_records {
                let text = format!("{fact:?}");
                assert!(!foreign.contains(&fact.gid), "{what}: changes {text}");
                use workgraph_core::storage::ChangeAction;
                let named = match fact.action {
                    ChangeAction::Added { parent } => parent,
                    ChangeAction::Removed { parent } => Some(parent),
                    ChangeAction::Changed { added, removed, .. } => added.or(removed),
                    ChangeAction::Deleted => None,
                };
                assert!(
                    named.is_none_or(|g| !foreign.contains(&g)),
                    "{what}: ties {text}"
                );
            }
        }
    }
}

/// B54. S69. Every identifier of every path, from both sides.
#[test]
fn no_byte_of_another_tenant_through_any_path() {
    for walls in [FROM_ORCHID, FROM_BASALT] {
        for row in all() {
            let world = memory();
            let whole = sample(&world, &walls.own, row);
            let start = world.events(0).len() as u64;
            let slots = whole.path.len() + query_slots(row).len() + body_slots(row).len();
            assert_eq!(slots, Planned::of(row).slots, "{}", row.id);
            for at in 0..whole.path.len() {
                for name in &walls.foreign() {
                    let mut one = whole.clone();
                    one.path[at].1 = world.gid(name).to_string();
                    let what = format!("{} {}={name}", row.id, whole.path[at].0);
                    let answer = one.send(&world, walls.own.admin, row);
                    let other = if walls.own_is_orchid {
                        &BASALT
                    } else {
                        &ORCHID
                    };
                    let fits = world.gid(&parameter(other, whole.path[at].0)) == world.gid(name);
                    let fits =
                        fits && !matches!(whole.path[at].0, "webhook_gid" | "time_period_gid");
                    if fits || row.id == "getFavoritesForUser" {
                        assert_eq!(answer.status, 403, "{what}: {}", answer.text);
                    } else {
                        assert!(
                            matches!(answer.status, 403 | 404),
                            "{what}: {} {}",
                            answer.status,
                            answer.text
                        );
                    }
                    walls.check(&world, &answer, &one.path[at].1, &what);
                }
            }
            walls.untouched(&world, start, row.id);
        }
    }
}

/// B54. Every identifier of every query. The two sides take turns.
#[test]
fn no_byte_of_another_tenant_through_any_query() {
    for (side, walls) in [FROM_ORCHID, FROM_BASALT].into_iter().enumerate() {
        for (number, row) in all().enumerate() {
            if !has_turn(number, (side, 2)) {
                continue;
            }
            let world = memory();
            let whole = sample(&world, &walls.own, row);
            for slot in query_slots(row) {
                for name in &walls.tried(&world, row, slot) {
                    let gid = world.gid(name).to_string();
                    for alone in [false, true] {
                        let mut one = whole.clone();
                        if alone {
                            // Without the other parameters that select a list; then the reply may be a 400.
                            one.query
                                .retain(|(n, _)| row.required_query().any(|name| name == *n));
                        }
                        one.query.retain(|(n, _)| *n != slot);
                        one.query.push((slot, gid.clone()));
                        if slot == "assignee" {
                            one.query
                                .push(("workspace", world.gid(walls.own.workspace).to_string()));
                            one.query.retain(|(n, _)| !alone || *n != "project");
                        }
                        let what = format!("{} ?{slot}={name}", row.id);
                        let answer = one.send(&world, walls.own.admin, row);
                        // `next_page` repeats the query; these walks have no limit, so there is none.
                        walls.check(&world, &answer, &gid, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn no_byte_of_basalt_reaches_orchid_through_any_body() {
    through_any_body(0, FROM_ORCHID);
}

#[test]
fn no_byte_of_orchid_reaches_basalt_through_any_body() {
    through_any_body(1, FROM_BASALT);
}

/// Tries every identifier of every body from one side; the other side takes turns with it.
fn through_any_body(side: usize, walls: Walls) {
    for (number, row) in all().enumerate() {
        if body_slots(row).is_empty() || !has_turn(number, (side, 2)) {
            continue;
        }
        let mut world = memory();
        let mut whole = sample(&world, &walls.own, row);
        let mut start = world.events(0).len() as u64;
        for slot in body_slots(row) {
            // A field that accepts foreign nodes of two types without an error is not read at all.
            let mut taken = 0;
            for name in &walls.tried(&world, row, slot) {
                if taken == 2 {
                    break;
                }
                let gid = world.gid(name).to_string();
                for form in forms(slot, &gid) {
                    let mut one = whole.clone();
                    if slot.contains("before") {
                        one.body.remove("after_section");
                        one.body.remove("after_enum_option");
                    }
                    one.body.insert((*slot).to_owned(), form.clone());
                    let what = format!("{} {slot}={name}", row.id);
                    let answer = one.send(&world, walls.own.admin, row);
                    walls.check(&world, &answer, &gid, &what);
                    if row.required_body().any(|(name, _)| name == *slot) {
                        // For a batch, the status of its action.
                        let status = answer.json["data"][0]["status_code"].as_u64();
                        let status = status.unwrap_or(answer.status.into());
                        assert!(status >= 400, "{what}: {}", answer.text);
                    }
                    if answer.status < 300 {
                        taken += 1;
                        walls.untouched(&world, start, &what);
                        // The written record is read again in full.
                        if let Some(read) = answer.json["data"]["gid"].as_str() {
                            let kind = answer.json["data"]["resource_type"].as_str().unwrap_or("");
                            let path = match kind {
                                "task" => Some("tasks"),
                                "project" => Some("projects"),
                                "team" => Some("teams"),
                                "tag" => Some("tags"),
                                "story" => Some("stories"),
                                _ => None,
                            };
                            if let Some(path) = path {
                                let again = world.get(walls.own.admin, &format!("/{path}/{read}?opt_fields=html_notes,html_text,html_description,followers,projects,memberships,tags,owner,team,parent,assignee,workspace"));
                                walls.check(&world, &again, "", &what);
                            }
                        }
                        world = memory();
                        whole = sample(&world, &walls.own, row);
                        start = world.events(0).len() as u64;
                    }
                }
            }
        }
    }
}

#[test]
fn a_hidden_object_and_a_missing_one_look_the_same_when_hiding_is_on() {
    let settings = ApiSettings {
        hide_forbidden: true,
        ..ApiSettings::default()
    };
    let world = World::with(Kind::Memory, settings);
    for row in all().filter(|r| r.id != "getFavoritesForUser") {
        let whole = sample(&world, &ORCHID, row);
        for at in 0..whole.path.len() {
            let foreign = world.gid(&parameter(&BASALT, whole.path[at].0)).to_string();
            let mut one = whole.clone();
            one.path[at].1.clone_from(&foreign);
            let hidden = one.send(&world, "ada", row);
            one.path[at].1 = "999999".to_owned();
            let missing = one.send(&world, "ada", row);
            assert_eq!((hidden.status, missing.status), (404, 404), "{}", row.id);
            assert_eq!(
                hidden.text.replace(&foreign, "X"),
                missing.text.replace("999999", "X"),
                "{}",
                row.id
            );
        }
    }
}
