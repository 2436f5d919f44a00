//! The custom fields of tasks, and what their values link to.
use super::Loader;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::plan::{Step, Then};
use crate::registry::{Kind, Part, Source, rel};
use crate::resources::custom_field::{self, FIELDS_MAX};
use crate::resources::task;
use crate::snapshot::Depth;
use crate::values;
use std::sync::Arc;

impl Loader<'_> {
    /// Has the edges from a task to the custom fields of what it is in, and their definitions.
    pub(crate) fn fields(&mut self, gid: Gid) -> Result<(), StoreError> {
        let own = match self.own_fields {
            Some(own) => own,
            // One look for all rows of a page; for one task only if it is the viewer's.
            None if self.many || self.is_mine(gid) => self.own_fields()?,
            None => false,
        };
        if own {
            self.band(gid, rel::SECTION, rel::MY_TASKS, Depth::Edge)?;
        }
        let places: Vec<Gid> = values::places(&self.view, gid).collect();
        for place in places {
            self.ins(place, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
        }
        Ok(())
    }

    /// Whether a task is assigned to the viewer.
    fn is_mine(&self, gid: Gid) -> bool {
        let assignee = self.view.node(gid).and_then(|n| n.get(task::ASSIGNEE));
        assignee == Some(self.view.viewer.user)
    }

    /// Whether a task list of the viewer has custom fields, which is seldom.
    fn own_fields(&mut self) -> Result<bool, StoreError> {
        let mut own = false;
        for list in Arc::clone(&self.view.viewer)
            .seats
            .iter()
            .filter_map(|s| s.task_list)
        {
            self.ins(list, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
            own |= !self.view.sources(list, rel::FIELD_ON).is_empty();
        }
        self.own_fields = Some(own);
        Ok(own)
    }

    /// Whether a field of a place gives its tasks automatic ids.
    fn numbers(&self, place: Gid) -> bool {
        let fields = self.view.sources(place, rel::FIELD_ON).iter();
        let mut fields = fields.filter_map(|e| self.view.node(e.src));
        fields.any(|field| field.raw("id_prefix").is_some())
    }

    /// Has the custom fields of a task, and what its values link to.
    pub(super) fn values(&mut self, gid: Gid, key: &str, then: &Then) -> Result<(), StoreError> {
        self.fields(gid)?;
        let Then::Plans(plans) = then else {
            return Ok(());
        };
        let (Some(plan), Some(task)) = (plans.first(), self.view.nodes.get(&gid).cloned()) else {
            return Ok(());
        };
        let places: Vec<Gid> = values::places(&self.view, gid).collect();
        if places.iter().any(|place| self.numbers(*place)) {
            self.band(gid, rel::NUMBERED, rel::NUMBERED, Depth::Edge)?;
        }
        for place in places {
            // The fields of a place are those of all tasks in it.
            let at = (std::ptr::from_ref(then) as usize, place);
            if self.reached.insert(at) {
                for edge in self.view.sources(place, rel::FIELD_ON).to_vec() {
                    self.reach(edge.src, then)?;
                }
            }
        }
        for (field, value) in task.raw(key).into_iter().flat_map(values::stored) {
            self.reach(field, then)?;
            let kind = match self.kinds.get(&field) {
                Some(kind) => *kind,
                None => {
                    let kind = self.view.node(field).map(custom_field::kind);
                    self.kinds.insert(field, kind);
                    kind
                }
            };
            let Some(kind) = kind.filter(|k| k.links()) else {
                continue;
            };
            let part = |s: &&Step| match s.def.source {
                Source::Value(Part::Linked(of)) => of == kind,
                Source::Value(Part::Display) => true,
                _ => false,
            };
            // The links themselves stand before the one string that shows them.
            let Some(step) = plan.steps.iter().find(part) else {
                continue;
            };
            for target in values::linked(kind, value) {
                if matches!(kind, Kind::Enum | Kind::MultiEnum) {
                    let level = self.view.level(field);
                    self.seen_through(target, level);
                }
                self.reach(target, &step.then)?;
            }
        }
        Ok(())
    }
}
