//! Exports of resources: all tasks or teams of a workspace that fit some filters, each as a line of JSON.
//!
//! The parts that were asked for are walked one after the other, in the order of gids. A page of a walk
//! is read whole and then sifted, so that a step takes as long whatever the filters let through.
use super::export::Mark;
use super::{Next, Plot, Unsent};
use crate::access::Level;
use crate::budget;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Listing, Page, Put, View, Want};
use crate::plan::{self, Names, Plan};
use crate::project::Projector;
use crate::registry::{Def, Dir, Field, Rep, Shape, Source, Type, rel};
use crate::resources::export;
use crate::search::{By, Clause, Column, Order, Query};
use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many objects are read at once: tasks come with their stories.
const AT_ONCE: usize = 25;

/// The filters that name users, and what those are to a task.
pub const PEOPLE: &[(&str, By)] = &[
    ("assigned_by.any", By::Assigner),
    ("assignee.any", By::Who),
    ("commented_on_by.any", By::Commenter),
    ("created_by.any", By::Creator),
    ("followers.any", By::Follower),
    ("liked_by.any", By::Liker),
];
/// The times that filters bound, each `.after` and `.before`.
pub const TIMES: &[(&str, Column)] = &[
    ("created_at", Column::Created),
    ("modified_at", Column::Modified),
];

/// What can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Tasks, with their stories.
    Task,
    /// Teams, with their members.
    Team,
    /// Messages, of which there are none here.
    Message,
}

impl What {
    /// Everything, by its name.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("task", Self::Task),
        ("team", Self::Team),
        ("message", Self::Message),
    ];

    /// The type of its nodes, and the fields they have in an export only.
    const fn nodes(self) -> Option<(Type, &'static [Def])> {
        match self {
            Self::Task => Some((Type::Task, OF_TASKS)),
            Self::Team => Some((Type::Team, OF_TEAMS)),
            Self::Message => None,
        }
    }
}

/// Conditions, all of which hold for what is exported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filters {
    /// Users of whom one is something to it, by names of [`PEOPLE`].
    pub people: Vec<(String, Vec<Gid>)>,
    /// The first and the last millisecond of a time, by names of [`TIMES`].
    pub times: Vec<(String, i64, i64)>,
}

/// A part of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What it is of.
    pub what: What,
    /// What is left out.
    pub filters: Filters,
    /// The fields that were named, as in `opt_fields`; those of the full record, if none were.
    pub fields: Option<String>,
}

/// An export of resources, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bulk {
    /// The workspace.
    pub workspace: Gid,
    /// The node that the file belongs to.
    pub to: Gid,
    /// The address of the API, for the links in records.
    pub base_url: String,
    /// Where the file ends.
    pub mark: Mark,
    /// What is still to be exported, the part that is walked now first.
    pub parts: Vec<Part>,
    /// Where its next page starts.
    pub after: Option<Vec<i64>>,
}

const OF_TASKS: &[Def] = &[
    Field::other("attachments", Shape::Json, Source::Always("[]"))
        .doc("The files of the task; none are kept here.")
        .def,
    Field::edges("stories", &[Type::Story], rel::STORY_OF, Dir::In)
        .record(Rep::Compact)
        .doc("The comments on the task, and what changed.")
        .def,
];
const OF_TEAMS: &[Def] = &[
    Field::edges("members", &[Type::User], rel::TEAM_MEMBERS, Dir::Out)
        .doc("Who belongs to the team.")
        .def,
];

impl Filters {
    /// The conditions as a query for tasks; none if there are none.
    fn query(&self) -> Option<Query> {
        let people = self.people.iter().filter_map(|(name, users)| {
            let (_, by) = PEOPLE.iter().find(|(known, _)| known == name)?;
            Some(Clause::Any(users.iter().map(|user| (*by, *user)).collect()))
        });
        let times = self.times.iter().filter_map(|(name, first, last)| {
            let (_, column) = TIMES.iter().find(|(known, _)| known == name)?;
            Some(Clause::Within(*column, *first..=*last))
        });
        let clauses: Vec<Clause> = people.chain(times).collect();
        (!clauses.is_empty()).then_some(Query {
            ty: Type::Task,
            clauses,
            order: Order::Column(Column::Gid),
            ascending: true,
        })
    }
}

impl Part {
    /// The type of its rows, and what is sent of each; none if there are no rows of that kind.
    fn plan(&self) -> Result<Option<(Type, Arc<Plan>)>, Fault> {
        let Some((ty, extra)) = self.what.nodes() else {
            return Ok(None);
        };
        // Names that cannot be read must not become none, which is the full record.
        let names = self.fields.as_deref().map(Names::parse).transpose()?;
        Ok(Some((ty, plan::beyond(ty, extra, names.as_ref()))))
    }
}

impl Bulk {
    /// What a step must read.
    pub(super) fn needs(&self, want: Want) -> Result<Want, Fault> {
        let mut want = want.node(self.to);
        let anchor = want.add(self.workspace);
        let Some(part) = self.parts.first() else {
            return Ok(want);
        };
        let Some((ty, plan)) = part.plan()? else {
            return Ok(want);
        };
        want.page = Some(Page {
            after: self.after.clone(),
            ..Page::of(Listing::Home { anchor, ty }, false, AT_ONCE)
        });
        want.sieve = part.filters.query();
        want.page_plan = Some(plan);
        Ok(want)
    }

    /// The next step.
    pub(super) fn step(
        &self,
        view: &View,
        work: &mut Work<'_>,
        out: &mut Unsent,
    ) -> Result<Next, Fault> {
        if view.level(self.workspace) < Level::Viewer {
            return Err(Fault::invalid("The workspace is no longer shared."));
        }
        let mut next = self.clone();
        let plan = self.parts.first().map_or(Ok(None), Part::plan)?;
        if let Some((_, plan)) = plan {
            let bytes = std::mem::take(&mut out.bytes);
            let mut projector = Projector::onto(bytes, view, &self.base_url, budget::STEP);
            projector.lines(&view.rows.gids, &plan);
            out.put(projector)?;
            next.after.clone_from(&view.rows.next);
        }
        if next.after.is_none() && !next.parts.is_empty() {
            next.parts.remove(0);
        }
        if !next.parts.is_empty() {
            return Ok(Next::On(Plot::Bulk(next)));
        }
        if let Some(node) = view.node(self.to) {
            let mut draft = Draft::edit(node);
            draft.set(export::COMPLETED_AT, work.now);
            work.changes.puts.push(Put {
                node: draft.finish(),
            });
        }
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_is_a_condition() {
        let user = Gid::new(7).unwrap();
        let people = PEOPLE
            .iter()
            .map(|(name, _)| ((*name).to_owned(), vec![user]));
        let times = TIMES.iter().map(|(name, _)| ((*name).to_owned(), 1, 2));
        let filters = Filters {
            people: people.collect(),
            times: times.collect(),
        };
        let clauses = filters.query().unwrap().clauses;
        assert_eq!(clauses.len(), PEOPLE.len() + TIMES.len());
        assert!(Filters::default().query().is_none());
    }

    fn part(fields: Option<&str>) -> Part {
        Part {
            what: What::Task,
            filters: Filters::default(),
            fields: fields.map(str::to_owned),
        }
    }

    #[test]
    fn stored_names_that_cannot_be_read_are_an_error_and_not_the_full_record() {
        assert!(part(Some("this.(name")).plan().is_err());
    }

    #[test]
    fn named_fields_are_all_that_is_sent_and_those_of_exports_can_be_named() {
        let names = |fields: Option<&str>| {
            let (_, plan) = part(fields).plan().unwrap().unwrap();
            let names = plan.steps.iter().map(|s| s.def.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(Some("name,nonsense")), ["gid", "name"]);
        assert_eq!(names(Some("stories.text")), ["gid", "stories"]);
        let all = names(None);
        let full = plan::full(Type::Task).steps.len();
        assert_eq!(all.len(), full + 2);
        assert!(all.ends_with(&["attachments", "stories"]));
    }
}
