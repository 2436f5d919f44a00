//! Exports of a tree: a walk down from a node writes the full record of each object on a separate line. The file is JSON
//! Lines, or one JSON array for a whole workspace.
//!
//! The walk keeps only its current lists, each inside the list before it. For each list it keeps the keyset of the page, and
//! the rows of the page that have lists still to be walked. After a page, the walk exports the objects below its rows, in
//! their order, and then the next page. An object that can be reached in several ways is written only once; its own edges
//! decide where.
mod exported_lists;

use super::output_buffer::FileEnd;
use super::{JobKind, NextStep, OutputBuffer, STEP_OBJECTS};
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::export;
use crate::projection::projector::Projector;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListSource, NodeRef, NodeWrite, PageQuery, ReadQuery, ReadView};
use crate::{byte_budgets, plan, tasks_of_container};
use exported_lists::{ExportedList, ExportedListSource, lists};
use serde::{Deserialize, Serialize};

/// Minimum number of tasks of a graph export that is kept, and returned again if the same user soon asks for it.
pub const CACHED_FROM: u64 = 1_000;
/// Time for which a large graph export is kept, in milliseconds.
pub const CACHED_MS: i64 = 4 * 3_600_000;
/// Types of nodes that can be the root of a graph export.
pub const ROOTS: &[Type] = &[Type::Team, Type::Project, Type::Task];

/// Export of a tree, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeExport {
    /// Root of the export.
    pub root: Gid,
    /// Type of the root.
    pub ty: Type,
    /// Node of the file.
    #[serde(rename = "to")]
    pub file_node: Gid,
    /// Address of the API, for the links in records.
    pub base_url: String,
    /// Length and checksum of the file at the last checkpoint.
    #[serde(rename = "mark")]
    pub file_end: FileEnd,
    /// Number of tasks that were written.
    pub tasks: u64,
    /// Current lists of the walk, the innermost last; `None` before the root is written.
    #[serde(rename = "within")]
    pub traversal: Option<Vec<TraversalPosition>>,
}

/// Position of the walk in the lists of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraversalPosition {
    /// Object whose lists are walked.
    #[serde(rename = "at")]
    object: Gid,
    /// Type of the object.
    #[serde(rename = "ty")]
    node_type: Type,
    /// Index of the current list among the object's lists.
    list: usize,
    /// Keyset after which the page starts.
    after: Option<Vec<i64>>,
    /// Rows of the last page whose lists are still to be walked, the next one last.
    #[serde(rename = "below")]
    pending_children: Vec<Gid>,
}

/// Text before the first record, between two records, and after the last.
struct FileFraming {
    start: &'static str,
    between: &'static str,
    end: &'static str,
}

const ARRAY: FileFraming = FileFraming {
    start: "[\n",
    between: ",\n",
    end: "\n]\n",
};
const LINES: FileFraming = FileFraming {
    start: "",
    between: "\n",
    end: "\n",
};

/// Returns the alias under which later requests find a large export.
#[must_use]
pub fn cached(user: Gid, root: Gid) -> String {
    format!("export:{user}:{root}")
}

impl TraversalPosition {
    fn start(at: Gid, ty: Type) -> Self {
        Self {
            object: at,
            node_type: ty,
            list: 0,
            after: None,
            pending_children: Vec::new(),
        }
    }

    fn list(&self, root: Type) -> Option<&'static ExportedList> {
        lists(root, self.node_type).get(self.list)
    }
}

impl TreeExport {
    /// Creates an export that has not begun.
    #[must_use]
    pub fn new(root: Gid, ty: Type, to: Gid, base_url: &str) -> Self {
        Self {
            root,
            ty,
            file_node: to,
            base_url: base_url.to_owned(),
            file_end: FileEnd::default(),
            tasks: 0,
            traversal: None,
        }
    }

    /// Adds the reads of a step.
    pub(super) fn needs(&self, mut want: ReadQuery) -> ReadQuery {
        let user = want.viewer.user;
        want = want
            .node(self.file_node)
            .node(self.root)
            .node(self.cached(user));
        let Some(within) = &self.traversal else {
            return want.follow(self.root, plan::full(self.ty));
        };
        let Some((level, list)) = within.last().and_then(|p| Some((p, p.list(self.ty)?))) else {
            return want;
        };
        let anchor = want.add_ref(level.object);
        let from = match list.of {
            ExportedListSource::Edges(rel, dir, give) => ListSource::Edges {
                anchor,
                rel,
                dir,
                give,
            },
            ExportedListSource::Tasks => tasks_of_container(anchor, false),
            ExportedListSource::Home => ListSource::InWorkspace {
                anchor,
                ty: list.ty,
            },
        };
        want.page = Some(PageQuery {
            after: level.after.clone(),
            ..PageQuery::of(from, false, STEP_OBJECTS)
        });
        want.page_plan = Some(plan::full(list.ty));
        want
    }

    /// Adds the further reads of a step: the edges that show whether rows have objects below them, and whether other projects of
    /// the rows are also exported.
    pub(super) fn more(&self, view: &ReadView, mut want: ReadQuery) -> Option<ReadQuery> {
        let list = self.traversal.as_ref()?.last()?.list(self.ty)?;
        if !list.deep || list.ty != Type::Task || view.rows.gids.is_empty() {
            return None;
        }
        for row in &view.rows.gids {
            for list in lists(self.ty, Type::Task) {
                if let ExportedListSource::Edges(rel, ..) = list.of {
                    want = want.incoming_edges(*row, rel, 1);
                }
            }
            if self.ty == Type::Team {
                for edge in view.links(*row, rel::SECTION) {
                    if let Some(project) = edge.aux {
                        want = want.edges(project, rel::TEAM);
                    }
                }
            }
        }
        Some(want)
    }

    /// Takes the next step: exports the root or a page of the current list.
    pub(super) fn step(
        &self,
        view: &ReadView,
        more: Option<&ReadView>,
        work: &mut ChangeBuilder<'_>,
        out: &mut OutputBuffer,
    ) -> Result<NextStep, DomainError> {
        let Some(root) = view.node(self.root) else {
            return Err(DomainError::invalid("What is exported was deleted."));
        };
        if view.level(self.root) < Level::Viewer {
            return Err(DomainError::invalid(
                "What is exported is no longer shared.",
            ));
        }
        let mut next = self.clone();
        match next.traversal.as_mut().map(Vec::pop) {
            None => {
                next.write(&[self.root], root.ty, view, self.form().start, out)?;
                next.traversal = Some(vec![TraversalPosition::start(self.root, self.ty)]);
            }
            Some(None) => {}
            Some(Some(mut level)) => {
                if let Some(list) = level.list(self.ty) {
                    let more = more.unwrap_or(view);
                    let rows = view.rows.gids.iter().copied();
                    let rows: Vec<Gid> = rows
                        .filter(|row| {
                            !list.deep || self.belongs(*row, list, level.object, view, more)
                        })
                        .collect();
                    next.write(&rows, list.ty, view, self.form().between, out)?;
                    if list.deep {
                        let rest = rows.into_iter().rev();
                        level.pending_children = rest
                            .filter(|row| self.goes_on(*row, list.ty, more))
                            .collect();
                    }
                    level.after.clone_from(&view.rows.next);
                    if level.after.is_none() {
                        level.list += 1;
                    }
                }
                next.traversal.get_or_insert_default().push(level);
            }
        }
        if next.advance() {
            return Ok(NextStep::Continue(JobKind::Export(next)));
        }
        out.bytes.extend_from_slice(self.form().end.as_bytes());
        self.seal(view, work, next.tasks);
        Ok(NextStep::Done)
    }

    /// Moves on to the next page to read; returns true if there is one.
    fn advance(&mut self) -> bool {
        let root = self.ty;
        let within = self.traversal.get_or_insert_default();
        loop {
            let Some(level) = within.last_mut() else {
                return false;
            };
            if let Some(row) = level.pending_children.pop() {
                // The pending rows belong to the list that was read last.
                let at = level.list - usize::from(level.after.is_none());
                let ty = lists(root, level.node_type)
                    .get(at)
                    .map_or(level.node_type, |list| list.ty);
                within.push(TraversalPosition::start(row, ty));
            } else if level.list(root).is_some() {
                return true;
            } else {
                within.pop();
            }
        }
    }

    /// Appends records to the output buffer.
    fn write(
        &mut self,
        rows: &[Gid],
        ty: Type,
        view: &ReadView,
        between: &str,
        out: &mut OutputBuffer,
    ) -> Result<(), DomainError> {
        let bytes = std::mem::take(&mut out.bytes);
        let mut projector =
            Projector::appending(bytes, view, &self.base_url, byte_budgets::JOB_STEP_BYTES);
        projector.joined(rows, &plan::full(ty), between);
        let tally = out.put(projector)?;
        if ty == Type::Task {
            self.tasks += u64::from(tally.objects);
        }
        Ok(())
    }

    /// Returns true if a row is written at this position. A task in several exported projects is written in the first of them. A
    /// task in any of them is not written below its parent.
    fn belongs(
        &self,
        row: Gid,
        list: &ExportedList,
        at: Gid,
        view: &ReadView,
        more: &ReadView,
    ) -> bool {
        if list.ty != Type::Task {
            return true;
        }
        let projects = view.links(row, rel::SECTION).iter().filter_map(|e| e.aux);
        let exported = projects.filter(|project| match self.ty {
            Type::Project => *project == self.root,
            Type::Team => {
                let teams = more.links(*project, rel::TEAM);
                teams.iter().any(|e| e.dst == self.root) && more.level(*project) > Level::None
            }
            _ => false,
        });
        match (exported.min(), &list.of) {
            (first, ExportedListSource::Tasks) => first.is_none_or(|first| first == at),
            (first, _) => first.is_none(),
        }
    }

    /// Returns true if a row may have objects below it.
    fn goes_on(&self, row: Gid, ty: Type, more: &ReadView) -> bool {
        let mut below = lists(self.ty, ty).iter();
        ty != Type::Task
            || below.any(|list| match list.of {
                ExportedListSource::Edges(rel, ..) => !more.sources(row, rel).is_empty(),
                ExportedListSource::Tasks | ExportedListSource::Home => true,
            })
    }

    fn form(&self) -> &'static FileFraming {
        if self.ty == Type::Workspace {
            &ARRAY
        } else {
            &LINES
        }
    }

    fn cached(&self, user: Gid) -> NodeRef {
        NodeRef::Alias(cached(user, self.root))
    }

    /// Marks the node of a graph export as done, and adds its alias if the export was expensive.
    fn seal(&self, view: &ReadView, work: &mut ChangeBuilder<'_>, tasks: u64) {
        let Some(node) = view
            .node(self.file_node)
            .filter(|n| n.ty == Type::GraphExport)
        else {
            return;
        };
        let mut draft = Draft::edit(node);
        draft.set(export::COMPLETED_AT, work.now);
        work.changes.node_writes.push(NodeWrite {
            node: draft.finish(),
        });
        if tasks <= CACHED_FROM {
            return;
        }
        let name = cached(view.viewer.user, self.root);
        if let Some(before) = view.resolve(&NodeRef::Alias(name.clone())) {
            work.changes.remove_aliases.push((name.clone(), before));
        }
        work.changes.add_aliases.push((name, self.file_node));
    }
}
