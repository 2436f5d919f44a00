//! A large workspace for searches: nearly all tasks are alike. A few, the last to be found in the usual order, differ
//! in every searchable property.
use crate::world::{Kind, World};
use std::collections::BTreeMap;
use workgraph_api::ApiSettings;
use workgraph_core::Gid;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{CustomFieldType, Relation, Type, rel};
use workgraph_core::model::resources::{story, task};
use workgraph_core::model::time::{Date, Time};
use workgraph_core::storage::ListPosition;
use workgraph_core::storage::custom_field_index::{IndexKey, ValueIndexEntry};
use workgraph_testkit::Fixture;

/// Number of tasks in the workspace.
pub(super) const TASKS: i64 = 20_000;
/// Number of tasks that differ from the rest; they are the first that were created. After them comes the same number of
/// tasks that others wait for.
pub(super) const FEW: i64 = 30;
/// The most objects that a search may read.
pub(super) const CAP: u32 = 3_000;
const DAY: i64 = 86_400_000;

/// The values of the tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// The few have every value, the rest none.
    Plain,
    /// The few have no value, the rest every one.
    Full,
}

/// Builds a world with such a workspace. The nodes that full tasks are linked to are named `zone` (a section) in
/// `crowd` (a project), `crew` (a team), `mark` (a tag), `size`, `note` and `day` (custom fields).
pub(super) fn world(rest: Rest) -> World {
    let settings = ApiSettings {
        set_cap: CAP,
        ..ApiSettings::default()
    };
    World::build(Kind::Sqlite, settings, |fixture, names| {
        Maker::new(fixture, names).all(rest);
    })
}

struct Maker<'m> {
    fixture: &'m mut Fixture,
    names: &'m mut BTreeMap<String, Gid>,
    gates: Vec<Gid>,
}

impl<'m> Maker<'m> {
    fn new(fixture: &'m mut Fixture, names: &'m mut BTreeMap<String, Gid>) -> Self {
        let (workspace, ada) = (names["orchid"], names["ada"]);
        let crew = fixture.team(workspace, "Crew", ada);
        let crowd = fixture.project(workspace, "Crowd", ada);
        fixture.link(crowd, rel::TEAM, crew, ListPosition::Rank(0), None);
        let mut field = |name, kind| fixture.custom_field(workspace, name, kind, &[]).0;
        let (size, note) = (
            field("Size", CustomFieldType::Number),
            field("Note", CustomFieldType::Text),
        );
        let day = field("Day", CustomFieldType::Date);
        let made = [
            ("crew", crew),
            ("crowd", crowd),
            ("zone", fixture.section_in(crowd)),
            ("mark", fixture.tag(workspace, "mark")),
            ("stem", fixture.task(workspace, "stem", ada)),
            ("size", size),
            ("note", note),
            ("day", day),
        ];
        names.extend(made.map(|(name, gid)| (name.to_owned(), gid)));
        Self {
            fixture,
            names,
            gates: Vec::new(),
        }
    }

    fn all(&mut self, rest: Rest) {
        let gates = (0..FEW).map(|_| self.fixture.gid());
        self.gates = gates.collect();
        for number in 0..TASKS {
            let few = number < FEW;
            if few == (rest == Rest::Plain) {
                self.full(number);
            } else {
                self.task(number, |draft| draft.set(task::NAME, "plan"));
            }
        }
    }

    /// Adds a task with a time of its own: the few are a hundred days old, the others fifty.
    fn task(&mut self, number: i64, fill: impl FnOnce(&mut Draft)) -> Gid {
        let age = if number < FEW { 100 } else { 50 };
        let at = Time::from_millis(self.fixture.now().millis() - age * DAY + number);
        let gate = usize::try_from(number - FEW)
            .ok()
            .and_then(|at| self.gates.get(at));
        let (workspace, ada, gate) = (self.names["orchid"], self.names["ada"], gate.copied());
        self.fixture.with(|work| {
            let gid = gate.unwrap_or_else(|| work.next_gid());
            let mut draft = Draft::new(Type::Task, gid, Some(workspace));
            draft.set(task::CREATED_AT, at);
            draft.set(task::MODIFIED_AT, at);
            draft.set(task::CREATED_BY, ada);
            fill(&mut draft);
            work.create(&draft, Some(workspace))
        })
    }

    /// Adds a task with every value; a task that others wait for is open and waits for nothing.
    fn full(&mut self, number: i64) {
        let (mel, vic, gus) = (self.names["mel"], self.names["vic"], self.names["gus"]);
        let gate = (FEW..2 * FEW).contains(&number);
        let days = |days| Time::from_millis(self.fixture.now().millis() + days * DAY);
        let (due, done) = (days(10), days(-10));
        let values = format!("{{\"{}\":7}}", self.names["size"]);
        let gid = self.task(number, |draft| {
            draft.set(task::CUSTOM_FIELDS, values);
            draft.set(task::NAME, "zinnia");
            draft.set(task::CREATED_BY, mel);
            draft.set(task::ASSIGNEE, Some(vic));
            draft.set(task::ASSIGNED_BY, Some(mel));
            draft.set(task::SUBTYPE, "approval");
            draft.set(task::START_ON, Some(Date::of(due)));
            draft.set(task::DUE_ON, Some(Date::of(due)));
            draft.set(task::DUE_AT, Some(due));
            draft.set(task::COMPLETED, !gate);
            draft.set(task::COMPLETED_AT, (!gate).then_some(done));
        });
        let mut link =
            |of: Relation, to: Gid, place, aux| self.fixture.link(gid, of, to, place, aux);
        let crowd = Some(self.names["crowd"]);
        link(
            rel::SECTION,
            self.names["zone"],
            ListPosition::Rank(number),
            crowd,
        );
        link(
            rel::PARENT,
            self.names["stem"],
            ListPosition::Rank(number),
            None,
        );
        link(rel::TAGS, self.names["mark"], ListPosition::Rank(0), None);
        link(rel::FOLLOWERS, vic, ListPosition::Rank(0), None);
        link(rel::LIKES, gus, ListPosition::Rank(0), None);
        if !gate {
            let on = self.gates[number as usize % self.gates.len()];
            link(rel::DEPENDS, on, ListPosition::Rank(0), None);
        }
        let comment = self.fixture.node(Type::Story, None, |draft, _| {
            draft.set(story::CREATED_BY, gus);
            draft.set(story::SUBTYPE, story::COMMENT);
        });
        self.fixture
            .link(comment, rel::STORY_OF, gid, ListPosition::Rank(0), None);
        let keys = [
            ("size", IndexKey::number(7.0)),
            ("note", Some(IndexKey::text("Red Zinnia"))),
            ("day", IndexKey::number(due.millis() as f64)),
        ];
        let entries = keys.map(|(field, key)| ValueIndexEntry {
            node: gid,
            field: self.names[field],
            keys: key.into_iter().collect(),
        });
        self.fixture
            .with(|work| work.changes.index_updates.extend(entries));
    }
}
