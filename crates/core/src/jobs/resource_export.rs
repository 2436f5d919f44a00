//! Exports of resources: all tasks or teams of a workspace that pass filters, each as a line of JSON.
//!
//! The requested parts are walked one after the other, in the order of gids. A page of a walk is read whole and then filtered, so
//! the time of a step does not depend on the filters.
use super::output_buffer::FileEnd;
use super::{JobKind, NextStep, OutputBuffer};
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::registry::{Direction, FieldDef, Inclusion, Type, TypedField, rel};
use crate::model::resources::export;
use crate::plan::{FieldPaths, Plan};
use crate::projection::projector::Projector;
use crate::search::{Clause, IndexColumn, SearchLink, SearchQuery, SortOrder};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListSource, NodeWrite, PageQuery, ReadQuery, ReadView};
use crate::{byte_budgets, plan};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Number of objects read at once: tasks come with their stories.
const AT_ONCE: usize = 25;

/// Filters that name users, each with the link from a task to the user.
pub const PEOPLE: &[(&str, SearchLink)] = &[
    ("assigned_by.any", SearchLink::Assigner),
    ("assignee.any", SearchLink::Responsible),
    ("commented_on_by.any", SearchLink::Commenter),
    ("created_by.any", SearchLink::Creator),
    ("followers.any", SearchLink::Follower),
    ("liked_by.any", SearchLink::Liker),
];
/// Times that filters can bound, each with `.after` and `.before`.
pub const TIMES: &[(&str, IndexColumn)] = &[
    ("created_at", IndexColumn::Created),
    ("modified_at", IndexColumn::Modified),
];

/// Kind of resources that can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportedKind {
    /// Tasks, with their stories.
    Task,
    /// Teams, with their members.
    Team,
    /// Messages, of which this server has none.
    Message,
}

impl ExportedKind {
    /// All kinds, with their names.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("task", Self::Task),
        ("team", Self::Team),
        ("message", Self::Message),
    ];

    /// Returns the type of the kind's nodes, and the fields that they have only in an export.
    const fn nodes(self) -> Option<(Type, &'static [FieldDef])> {
        match self {
            Self::Task => Some((Type::Task, OF_TASKS)),
            Self::Team => Some((Type::Team, OF_TEAMS)),
            Self::Message => None,
        }
    }
}

/// Conditions that every exported object meets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportFilters {
    /// Users by the name of a filter in [`PEOPLE`]. The object must have the filter's link to at least one of them.
    #[serde(rename = "people")]
    pub user_filters: Vec<(String, Vec<Gid>)>,
    /// First and last millisecond of a time, with its name in [`TIMES`].
    #[serde(rename = "times")]
    pub time_filters: Vec<(String, i64, i64)>,
}

/// Part of an export: one kind of resources with its filters and fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportPart {
    /// Kind of the exported resources.
    #[serde(rename = "what")]
    pub kind: ExportedKind,
    /// Filters of the export.
    pub filters: ExportFilters,
    /// Requested fields, as in `opt_fields`; `None` for the fields of the full record.
    pub fields: Option<String>,
}

/// Export of resources, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceExport {
    /// Workspace whose resources are exported.
    pub workspace: Gid,
    /// Node of the file.
    #[serde(rename = "to")]
    pub file_node: Gid,
    /// Address of the API, for the links in records.
    pub base_url: String,
    /// End of the file.
    #[serde(rename = "mark")]
    pub file_end: FileEnd,
    /// Parts that are still to be exported; the current one is first.
    pub parts: Vec<ExportPart>,
    /// Keyset after which the next page of the current part starts.
    pub after: Option<Vec<i64>>,
}

const OF_TASKS: &[FieldDef] = &[
    TypedField::edges(
        "attachments",
        &[Type::Attachment],
        rel::ATTACHED_TO,
        Direction::In,
    )
    .record(Inclusion::Compact)
    .doc("The files of the task, and its links to files elsewhere.")
    .def,
    TypedField::edges("stories", &[Type::Story], rel::STORY_OF, Direction::In)
        .record(Inclusion::Compact)
        .doc("The comments on the task, and what changed.")
        .def,
];
const OF_TEAMS: &[FieldDef] =
    &[
        TypedField::edges("members", &[Type::User], rel::TEAM_MEMBERS, Direction::Out)
            .doc("Who belongs to the team.")
            .def,
    ];

impl ExportFilters {
    /// Returns the conditions as a query for tasks; `None` without conditions.
    fn query(&self) -> Option<SearchQuery> {
        let people = self.user_filters.iter().filter_map(|(name, users)| {
            let (_, by) = PEOPLE.iter().find(|(known, _)| known == name)?;
            Some(Clause::Any(users.iter().map(|user| (*by, *user)).collect()))
        });
        let times = self.time_filters.iter().filter_map(|(name, first, last)| {
            let (_, column) = TIMES.iter().find(|(known, _)| known == name)?;
            Some(Clause::Within(*column, *first..=*last))
        });
        let clauses: Vec<Clause> = people.chain(times).collect();
        (!clauses.is_empty()).then_some(SearchQuery {
            ty: Type::Task,
            clauses,
            order: SortOrder::Column(IndexColumn::Gid),
            ascending: true,
        })
    }
}

impl ExportPart {
    /// Returns the type of the rows and the plan of their fields; `None` if that kind has no rows.
    fn plan(&self) -> Result<Option<(Type, Arc<Plan>)>, DomainError> {
        let Some((ty, extra)) = self.kind.nodes() else {
            return Ok(None);
        };
        // Stored names that cannot be parsed must not become `None`, which means the full record.
        let names = self.fields.as_deref().map(FieldPaths::parse).transpose()?;
        Ok(Some((ty, plan::extended_plan(ty, extra, names.as_ref()))))
    }
}

impl ResourceExport {
    /// Adds the reads of a step.
    pub(super) fn needs(&self, want: ReadQuery) -> Result<ReadQuery, DomainError> {
        let mut want = want.node(self.file_node);
        let anchor = want.add_ref(self.workspace);
        let Some(part) = self.parts.first() else {
            return Ok(want);
        };
        let Some((ty, plan)) = part.plan()? else {
            return Ok(want);
        };
        want.page = Some(PageQuery {
            after: self.after.clone(),
            ..PageQuery::of(ListSource::InWorkspace { anchor, ty }, false, AT_ONCE)
        });
        want.row_query = part.filters.query();
        want.page_plan = Some(plan);
        Ok(want)
    }

    /// Takes the next step: exports a page of the current part.
    pub(super) fn step(
        &self,
        view: &ReadView,
        work: &mut ChangeBuilder<'_>,
        out: &mut OutputBuffer,
    ) -> Result<NextStep, DomainError> {
        if view.level(self.workspace) < Level::Viewer {
            return Err(DomainError::invalid("The workspace is no longer shared."));
        }
        let mut next = self.clone();
        let plan = self.parts.first().map_or(Ok(None), ExportPart::plan)?;
        if let Some((_, plan)) = plan {
            let bytes = std::mem::take(&mut out.bytes);
            let mut projector =
                Projector::appending(bytes, view, &self.base_url, byte_budgets::JOB_STEP_BYTES);
            projector.lines(&view.rows.gids, &plan);
            out.put(projector)?;
            next.after.clone_from(&view.rows.next);
        }
        if next.after.is_none() && !next.parts.is_empty() {
            next.parts.remove(0);
        }
        if !next.parts.is_empty() {
            return Ok(NextStep::Continue(JobKind::ExportResources(next)));
        }
        if let Some(node) = view.node(self.file_node) {
            let mut draft = Draft::edit(node);
            draft.set(export::COMPLETED_AT, work.now);
            work.changes.node_writes.push(NodeWrite {
                node: draft.finish(),
            });
        }
        Ok(NextStep::Done)
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
        let filters = ExportFilters {
            user_filters: people.collect(),
            time_filters: times.collect(),
        };
        let clauses = filters.query().unwrap().clauses;
        assert_eq!(clauses.len(), PEOPLE.len() + TIMES.len());
        assert!(ExportFilters::default().query().is_none());
    }

    fn part(fields: Option<&str>) -> ExportPart {
        ExportPart {
            kind: ExportedKind::Task,
            filters: ExportFilters::default(),
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
