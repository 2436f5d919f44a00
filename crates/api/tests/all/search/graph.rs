//! A large workspace for searches: nearly all tasks are alike, and a few, the last to be found in the
//! usual order, are otherwise in everything that is searched by.
use crate::world::{Kind, World};
use std::collections::BTreeMap;
use workgraph_api::Settings;
use workgraph_core::Gid;
use workgraph_core::draft::Draft;
use workgraph_core::graph::Place;
use workgraph_core::index::{Entry, Key};
use workgraph_core::registry::{Kind as Fields, Rel, Type, rel};
use workgraph_core::resources::{story, task};
use workgraph_core::time::{Date, Time};
use workgraph_testkit::Fixture;

/// How many tasks there are.
pub(super) const TASKS: i64 = 20_000;
/// How many are otherwise than the rest; they are the first that were made. As many come after them
/// that others wait for.
pub(super) const FEW: i64 = 30;
/// How many objects a search may look at.
pub(super) const CAP: u32 = 3_000;
const DAY: i64 = 86_400_000;

/// What tasks have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// The few have everything, the rest nothing.
    Plain,
    /// The few have nothing, the rest everything.
    Full,
}

/// A world with such a workspace. What full tasks have is called `zone` (a section) in `crowd` (a
/// project), `crew` (a team), `mark` (a tag), `size`, `note` and `day` (custom fields).
pub(super) fn world(rest: Rest) -> World {
    let settings = Settings {
        set_cap: CAP,
        ..Settings::default()
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
        let (home, ada) = (names["orchid"], names["ada"]);
        let crew = fixture.team(home, "Crew", ada);
        let crowd = fixture.project(home, "Crowd", ada);
        fixture.link(crowd, rel::TEAM, crew, Place::Rank(0), None);
        let mut field = |name, kind| fixture.custom_field(home, name, kind, &[]).0;
        let (size, note) = (field("Size", Fields::Number), field("Note", Fields::Text));
        let day = field("Day", Fields::Date);
        let made = [
            ("crew", crew),
            ("crowd", crowd),
            ("zone", fixture.section_in(crowd)),
            ("mark", fixture.tag(home, "mark")),
            ("stem", fixture.task(home, "stem", ada)),
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

    /// A task of a time of its own: the few are a hundred days old, the others fifty.
    fn task(&mut self, number: i64, fill: impl FnOnce(&mut Draft)) -> Gid {
        let age = if number < FEW { 100 } else { 50 };
        let at = Time::from_millis(self.fixture.now().millis() - age * DAY + number);
        let gate = usize::try_from(number - FEW)
            .ok()
            .and_then(|at| self.gates.get(at));
        let (home, ada, gate) = (self.names["orchid"], self.names["ada"], gate.copied());
        self.fixture.with(|work| {
            let gid = gate.unwrap_or_else(|| work.fresh());
            let mut draft = Draft::new(Type::Task, gid, Some(home));
            draft.set(task::CREATED_AT, at);
            draft.set(task::MODIFIED_AT, at);
            draft.set(task::CREATED_BY, ada);
            fill(&mut draft);
            work.create(&draft, Some(home))
        })
    }

    /// A task with everything; one that others wait for is open and waits for nothing.
    fn full(&mut self, number: i64) {
        let (mel, vic, gus) = (self.names["mel"], self.names["vic"], self.names["gus"]);
        let gate = (FEW..2 * FEW).contains(&number);
        let days = |days| Time::from_millis(self.fixture.now().millis() + days * DAY);
        let (due, done) = (days(10), days(-10));
        let gid = self.task(number, |draft| {
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
        let mut link = |of: Rel, to: Gid, place, aux| self.fixture.link(gid, of, to, place, aux);
        let crowd = Some(self.names["crowd"]);
        link(rel::SECTION, self.names["zone"], Place::Rank(number), crowd);
        link(rel::PARENT, self.names["stem"], Place::Rank(number), None);
        link(rel::TAGS, self.names["mark"], Place::Rank(0), None);
        link(rel::FOLLOWERS, vic, Place::Rank(0), None);
        link(rel::LIKES, gus, Place::Rank(0), None);
        if !gate {
            let on = self.gates[number as usize % self.gates.len()];
            link(rel::DEPENDS, on, Place::Rank(0), None);
        }
        let comment = self.fixture.node(Type::Story, None, |draft, _| {
            draft.set(story::CREATED_BY, gus);
            draft.set(story::SUBTYPE, story::COMMENT);
        });
        self.fixture
            .link(comment, rel::STORY_OF, gid, Place::Rank(0), None);
        let keys = [
            ("size", Key::number(7.0)),
            ("note", Some(Key::text("Red Zinnia"))),
            ("day", Key::number(due.millis() as f64)),
        ];
        let entries = keys.map(|(field, key)| Entry {
            node: gid,
            field: self.names[field],
            keys: key.into_iter().collect(),
        });
        self.fixture
            .with(|work| work.changes.values.extend(entries));
    }
}
