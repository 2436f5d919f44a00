//! Effort of searches: no search reads a whole workspace. Each documented filter alone, over tasks of which nearly all
//! or nearly none match, with its reads counted.
use super::graph::{CAP, FEW, Rest, TASKS, world};
use super::row;

use crate::world::{Kind, World};
use workgraph_api::ApiSettings;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::search::SearchEffort;

/// The way in which a filter is read, and its matches. The few are the last in the usual order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// There is a list of the tasks that have the value. Matches are the few of a plain workspace, the rest of a full
    /// one.
    Has,
    /// There is a list of the tasks that lack the value, too.
    Lacks,
    /// There is a list of the linked tasks, but not of the others: the order is walked, at most to the cap. If only the
    /// few match, they are beyond the cap.
    Unlinked,
    /// The few, which are old, have a list in both workspaces.
    Old,
    /// The rest of both workspaces comes first in the order.
    New,
    /// Matches are the tasks that others wait for: a few in both workspaces.
    Gates,
    /// The order is walked, at most to the cap, for the one match there may be.
    Walked,
    /// The search reads nothing.
    Nothing,
}

/// Every filter of a search of tasks.
const EACH: &[(&str, &str, Way)] = &[
    ("text", "zinnia", Way::Has),
    ("resource_subtype", "approval", Way::Has),
    ("resource_subtype", "default_task", Way::Lacks),
    ("resource_subtype", "custom", Way::Nothing),
    ("assignee.any", "{vic}", Way::Has),
    ("assignee.not", "{vic}", Way::Lacks),
    ("projects.any", "{crowd}", Way::Has),
    ("projects.not", "{crowd}", Way::Unlinked),
    ("projects.all", "{crowd}", Way::Has),
    ("sections.any", "{zone}", Way::Has),
    ("sections.not", "{zone}", Way::Unlinked),
    ("sections.all", "{zone}", Way::Has),
    ("tags.any", "{mark}", Way::Has),
    ("tags.not", "{mark}", Way::Unlinked),
    ("tags.all", "{mark}", Way::Has),
    ("teams.any", "{crew}", Way::Has),
    ("followers.any", "{vic}", Way::Has),
    ("followers.not", "{vic}", Way::Unlinked),
    ("created_by.any", "{mel}", Way::Has),
    ("created_by.not", "{mel}", Way::Lacks),
    ("assigned_by.any", "{mel}", Way::Has),
    ("assigned_by.not", "{mel}", Way::Lacks),
    ("liked_by.not", "{gus}", Way::Unlinked),
    ("commented_on_by.not", "{gus}", Way::Unlinked),
    ("due_on.before", "2026-01-26", Way::Has),
    ("due_on.after", "2026-01-24", Way::Has),
    ("due_on", "2026-01-25", Way::Has),
    ("due_on", "null", Way::Lacks),
    ("due_at.before", "2026-01-26T00:00:00Z", Way::Has),
    ("due_at.after", "2026-01-24T00:00:00Z", Way::Has),
    ("start_on.before", "2026-01-26", Way::Has),
    ("start_on.after", "2026-01-24", Way::Has),
    ("start_on", "2026-01-25", Way::Has),
    ("start_on", "null", Way::Lacks),
    ("created_on.before", "2025-11-01", Way::Old),
    ("created_on.after", "2025-11-01", Way::New),
    ("created_on", "2025-10-07", Way::Old),
    ("created_at.before", "2025-11-01T00:00:00Z", Way::Old),
    ("created_at.after", "2025-11-01T00:00:00Z", Way::New),
    ("completed_on.before", "2026-01-10", Way::Has),
    ("completed_on.after", "2025-10-01", Way::Has),
    ("completed_on", "2026-01-05", Way::Has),
    ("completed_on", "null", Way::Lacks),
    ("completed_at.before", "2026-01-10", Way::Has),
    ("completed_at.after", "2025-10-01", Way::Has),
    ("modified_on.before", "2025-11-01", Way::Old),
    ("modified_on.after", "2025-11-01", Way::New),
    ("modified_on", "2025-10-07", Way::Old),
    ("modified_at.before", "2025-11-01T00:00:00Z", Way::Old),
    ("modified_at.after", "2025-11-01T00:00:00Z", Way::New),
    ("is_blocking", "true", Way::Gates),
    ("is_blocking", "false", Way::New),
    ("is_blocked", "true", Way::Has),
    ("is_blocked", "false", Way::Unlinked),
    ("has_attachment", "true", Way::Walked),
    ("has_attachment", "false", Way::New),
    ("completed", "true", Way::Has),
    ("completed", "false", Way::Lacks),
    ("is_subtask", "true", Way::Has),
    ("is_subtask", "false", Way::Unlinked),
    ("custom_fields.{size}.is_set", "true", Way::Has),
    ("custom_fields.{size}.is_set", "false", Way::Unlinked),
    ("custom_fields.{size}.value", "7", Way::Has),
    ("custom_fields.{size}.less_than", "8", Way::Has),
    ("custom_fields.{size}.greater_than", "6", Way::Has),
    ("custom_fields.{note}.starts_with", "red", Way::Has),
    ("custom_fields.{note}.ends_with", "zinnia", Way::Has),
    ("custom_fields.{note}.contains", "d+z", Way::Has),
    ("custom_fields.{day}.before", "2026-01-26", Way::Has),
    ("custom_fields.{day}.after", "2026-01-24", Way::Has),
];

/// Every order, in both directions.
const ORDERS: &[&str] = &[
    "modified_at",
    "due_date",
    "created_at",
    "completed_at",
    "likes",
    "relevance",
];

/// Most entries that a search may read if its matches have a list, or come first in the order: a tenth of the
/// workspace. Most of them are read from the list before it turns out to be long.
const LISTED: u64 = TASKS as u64 / 10;
/// The filter whose list is read further, since it has the values of the order, and the most that is read for it.
const OF_RANKED_LIST: &str = "assignee.any";
const RANKED: u64 = CAP as u64 + 500;
/// The filters with two lists: tasks that are due, and tasks with a time.
const OF_TWO_LISTS: [&str; 2] = ["due_at.before", "due_at.after"];
/// Most entries that any search by one filter may read: its list up to the cap, again and again, until it turns out to
/// be longer; and a walk of as many index entries, each with its list entry.
const ANY: u64 = 6 * CAP as u64;
/// Most entries that a walk may read: as many index entries as the cap allows, and those that were read with the last.
const WALKED: u64 = CAP as u64 + 1_024;

/// Runs a search; returns the entries that it read, and the number of matches.
fn look(world: &World, path: &str) -> (u64, usize) {
    let mut path = path.to_owned();
    for (name, gid) in &world.names {
        path = path.replace(&format!("{{{name}}}"), &gid.to_string());
    }
    let answer = world.get(
        "ada",
        &format!("/workspaces/{}/{path}", world.gid("orchid")),
    );
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    (world.read(), answer.gids().len())
}

/// Checks each filter in the usual order.
fn check(world: &World, rest: Rest) -> Result<(), String> {
    // The usual world has some tasks besides.
    let (few, gates) = (
        FEW as usize..3 * FEW as usize,
        FEW as usize..FEW as usize + 5,
    );
    for (name, value, way) in EACH {
        let (read, found) = look(world, &format!("tasks/search?{name}={value}"));
        let right = match (way, rest) {
            (Way::Nothing, _) => found == 0,
            (Way::Walked, _) => found <= 1,
            (Way::Old | Way::Gates, _) => gates.contains(&found),
            (Way::New, _) | (Way::Has, Rest::Full) => found == 100,
            (Way::Lacks | Way::Unlinked, Rest::Plain) => found == 100,
            (Way::Has, Rest::Plain) | (Way::Lacks, Rest::Full) => few.contains(&found),
            (Way::Unlinked, Rest::Full) => found < FEW as usize,
        };
        let most = match way {
            Way::Unlinked | Way::Walked => WALKED,
            _ if OF_TWO_LISTS.contains(name) => 2 * LISTED,
            _ if *name == OF_RANKED_LIST => RANKED,
            _ => LISTED,
        };
        if !right || read > most {
            return Err(format!(
                "{rest:?} {name}={value} {way:?}: {found} of {read} read"
            ));
        }
    }
    Ok(())
}

/// The check fails without lists, because the few are then beyond the cap, and without orders, because long lists are
/// then read.
#[test]
fn no_filter_alone_reads_the_workspace() {
    for rest in [Rest::Plain, Rest::Full] {
        let world = world(rest);
        check(&world, rest).unwrap();
        let usual = SearchEffort::USUAL;
        let no_lists = SearchEffort {
            probe: 0,
            probe_ranked: 0,
            sort: 0,
            gather: 0,
            trial_scan: usize::MAX,
            ..usual
        };
        let no_order = SearchEffort {
            probe: usize::MAX,
            sort: usize::MAX,
            gather: usize::MAX,
            ..usual
        };
        for twin in [no_lists, no_order] {
            world.search_with(Some(twin));
            assert!(check(&world, rest).is_err(), "{twin:?} is not told");
        }
    }
}

#[test]
fn whatever_the_order_what_is_read_has_a_bound() {
    for rest in [Rest::Plain, Rest::Full] {
        let world = world(rest);
        for (order, ascending) in ORDERS.iter().flat_map(|o| [(o, false), (o, true)]) {
            for (name, value, _) in EACH {
                let path = format!(
                    "tasks/search?{name}={value}&sort_by={order}&sort_ascending={ascending}"
                );
                let (read, _) = look(&world, &path);
                assert!(read <= ANY, "{rest:?} {path}: {read} read");
            }
        }
    }
}

/// Number of tasks of vic that are due in time, and number of such tasks of others: more than a walk reads in vain.
const DUE: usize = 1_500;
const OTHERS: usize = 4_500;

/// Builds a world in which all tasks of vic that are due in time were modified before all other tasks.
fn with_due() -> World {
    World::build(Kind::Sqlite, ApiSettings::default(), |fixture, names| {
        let (workspace, ada, vic) = (names["orchid"], names["ada"], names["vic"]);
        let now = fixture.now();
        for number in 0..DUE + OTHERS {
            // Neither order is the order of the gids.
            let at = number as i64 * 7 % DUE as i64;
            let (who, age, days) = if number < DUE {
                (vic, 100, at % 14)
            } else {
                (ada, 50, -(at % 14) - 1)
            };
            let day = 86_400_000;
            let modified = Time::from_millis(now.millis() - age * day + at);
            let due = Time::from_millis(now.millis() + days * day);
            fixture.with(|work| {
                let mut draft = Draft::new(Type::Task, work.next_gid(), Some(workspace));
                draft.set(task::NAME, "plan");
                draft.set(task::CREATED_AT, modified);
                draft.set(task::MODIFIED_AT, modified);
                draft.set(task::CREATED_BY, ada);
                draft.set(task::ASSIGNEE, Some(who));
                draft.set(task::DUE_ON, Some(Date::of(due)));
                work.create(&draft, Some(workspace))
            });
        }
    })
}

/// The list of a user's tasks is read once to its end. Of the index entries, only the matches are read, and those that
/// show that the order is of no use.
#[test]
fn what_someone_has_in_time_is_sorted_without_its_cards() {
    let world = with_due();
    let today = Date::of(Time::from_system(world.now())).to_string();
    let most = SearchEffort::USUAL.probe_ranked + DUE + 200;
    for order in ["modified_at", "due_date"] {
        for ascending in [false, true] {
            let path = format!(
                "tasks/search?assignee.any={{vic}}&completed=false&due_on.after={today}&limit=20\
                 &sort_by={order}&sort_ascending={ascending}"
            );
            let (read, found) = look(&world, &path);
            assert_eq!(found, 20, "{path}");
            assert!(read <= most as u64, "{path}: {read} read");
        }
    }
}

#[test]
fn every_documented_filter_is_tried() {
    let world = World::new(Kind::Memory);
    let tried = |name: &str| EACH.iter().any(|(known, ..)| *known == name);
    for name in row("searchTasksForWorkspace").optional_query() {
        // No node is a portfolio, and orders are tried by a test of their own.
        assert!(
            tried(name) || ["portfolios.any", "sort_by", "sort_ascending"].contains(&name),
            "{name}"
        );
    }
    let orchid = world.gid("orchid");
    let path = format!("/workspaces/{orchid}/tasks/search?custom_fields.{orchid}.x=1");
    let refused = world.get("ada", &path);
    let (_, tests) = refused.message().split_once("one of ").unwrap();
    for test in tests.split(", ") {
        let end = format!("}}.{test}");
        assert!(EACH.iter().any(|(name, ..)| name.ends_with(&end)), "{test}");
    }
}

/// One letter is the start of nearly all names, or of a few that were modified long ago.
#[test]
fn typeahead_reads_as_little_however_little_is_typed() {
    for rest in [Rest::Plain, Rest::Full] {
        let world = world(rest);
        for typed in ["", "p", "pl", "plan", "z", "zi", "zinnia", "z+zin", "q"] {
            let path = format!("typeahead?resource_type=task&count=20&query={typed}");
            let (read, found) = look(&world, &path);
            let expected = if typed == "q" { 0 } else { 20 };
            assert_eq!(found, expected, "{rest:?} {typed}");
            assert!(read <= 2 * LISTED, "{rest:?} {typed}: {read} read");
        }
        // Objects that vic follows come first, even if they were modified long ago.
        let orchid = world.gid("orchid");
        let path = format!("/workspaces/{orchid}/typeahead?resource_type=task");
        let answer = world.get("vic", &path);
        assert!(
            world.read() <= 2 * LISTED,
            "{rest:?}: {} read",
            world.read()
        );
        let tasks = answer.json["data"].as_array().unwrap().iter();
        assert!(
            tasks.clone().all(|task| task["name"] == "zinnia"),
            "{}",
            answer.text
        );
        assert_eq!(tasks.len(), 20);
    }
}
