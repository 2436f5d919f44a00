//! Copying of the allocations of a project.
use super::copier::Copier;
use crate::model::registry::Type;
use crate::model::resources::{END_DATE, START_DATE, capacity};
use crate::rules::budget_rules::{self, ProjectTotals};
use crate::storage::change_builder::ChangeBuilder;

impl Copier<'_> {
    /// Copies the allocations of a page to the copy of the project. Their days move with the days of the tasks; the
    /// allocations of people who have left the workspace stay behind.
    pub(super) fn allocations(&self, work: &mut ChangeBuilder<'_>) {
        let Some(project) = self.view.node(self.plot.copy) else {
            return;
        };
        let mut totals = ProjectTotals::read(work, self.view, project);
        let rows = self.view.rows.gids.iter();
        for old in rows.filter_map(|gid| self.view.node(*gid)) {
            let assignee = old.get(capacity::ASSIGNEE).map(|gid| self.view.heir(gid));
            let Some(assignee) = assignee.filter(|user| self.is_member(old, *user)) else {
                continue;
            };
            let mut draft = work.draft(Type::Allocation, old.workspace);
            let moved = |day| self.plot.shift.day(day);
            draft.set(START_DATE, old.get(START_DATE).map(moved));
            draft.set(END_DATE, old.get(END_DATE).map(moved));
            draft.set(capacity::EFFORT, old.get(capacity::EFFORT).to_owned());
            draft.set(capacity::ASSIGNEE, assignee);
            draft.set(capacity::PARENT, project.gid);
            draft.set(capacity::CREATED_BY, work.changes.actor);
            work.create(&draft, Some(project.gid));
            totals.replace_minutes(None, budget_rules::planned(&draft));
        }
        totals.save(work, self.view);
    }
}
