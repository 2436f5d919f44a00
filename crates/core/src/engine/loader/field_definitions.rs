//! Loading of the custom fields of tasks, and of the nodes that their values link to.
use super::Loader;
use crate::graph_store_error::GraphStoreError;
use crate::model::body_reader::BodyReader;
use crate::model::custom_field_values as values;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, FieldSource, Type, ValuePart, rel};
use crate::model::resources::custom_field::FIELDS_MAX;
use crate::model::resources::{custom_field, task};
use crate::plan::{LinkPlan, PlanStep};
use crate::storage::custom_field_view;
use crate::storage::snapshot::Depth;
use std::sync::Arc;

impl Loader<'_> {
    /// Loads the edges from a node to the custom fields of its containers, with their definitions.
    pub(crate) fn fields(
        &mut self,
        (gid, ty): (Gid, Type),
        body: &mut BodyReader<'_>,
    ) -> Result<(), GraphStoreError> {
        match rel::to_field_containers(ty) {
            Some(rel::ITEM_OF) => return self.item_fields(gid, ty),
            None => return self.field_settings(gid, ty),
            Some(_) => {}
        }
        let own = match self.own_fields {
            Some(own) => own,
            // One look-up for all rows of a page; for a single task only if it is the viewer's.
            None if self.many || self.is_mine(body) => self.own_fields()?,
            None => false,
        };
        if own {
            self.band(gid, rel::SECTION, rel::MY_TASKS, Depth::Edge)?;
        }
        self.field_settings(gid, ty)
    }

    /// Loads the custom fields of the containers of a node.
    fn field_settings(&mut self, gid: Gid, ty: Type) -> Result<(), GraphStoreError> {
        let containers = custom_field_view::field_containers(&self.view, gid, ty);
        for container in containers.collect::<Vec<Gid>>() {
            self.ins(container, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
        }
        Ok(())
    }

    /// Loads the custom fields of an item from its portfolios that are live.
    fn item_fields(&mut self, gid: Gid, ty: Type) -> Result<(), GraphStoreError> {
        let portfolios = self.view.links(gid, rel::ITEM_OF).iter();
        for portfolio in portfolios.map(|edge| edge.dst).collect::<Vec<Gid>>() {
            self.deep(portfolio, Depth::Head)?;
        }
        self.field_settings(gid, ty)
    }

    /// Returns true if the task with this body is assigned to the viewer.
    fn is_mine(&self, body: &mut BodyReader<'_>) -> bool {
        body.get(task::ASSIGNEE) == Some(self.view.viewer.user)
    }

    /// Returns true if a task list of the viewer has custom fields, which is rare.
    fn own_fields(&mut self) -> Result<bool, GraphStoreError> {
        let mut own = false;
        for list in Arc::clone(&self.view.viewer)
            .memberships
            .iter()
            .filter_map(|s| s.task_list)
        {
            self.ins(list, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
            own |= !self.view.sources(list, rel::FIELD_ON).is_empty();
        }
        self.own_fields = Some(own);
        Ok(own)
    }

    /// Returns true if a field of a project or task list gives its tasks automatic ids.
    fn numbers(&self, container: Gid) -> bool {
        let fields = self.view.sources(container, rel::FIELD_ON).iter();
        let mut fields = fields.filter_map(|e| self.view.node(e.src));
        fields.any(|field| field.raw("id_prefix").is_some())
    }

    /// Loads the custom fields of a task, and the nodes that its values link to.
    pub(super) fn values(
        &mut self,
        task: &Node,
        body: &mut BodyReader<'_>,
        key: &str,
        then: &LinkPlan,
    ) -> Result<(), GraphStoreError> {
        let gid = task.gid;
        self.fields((gid, task.ty), body)?;
        let LinkPlan::Plans(plans) = then else {
            return Ok(());
        };
        let Some(plan) = plans.first() else {
            return Ok(());
        };
        let containers: Vec<Gid> =
            custom_field_view::field_containers(&self.view, gid, task.ty).collect();
        if containers.iter().any(|container| self.numbers(*container)) {
            self.band(gid, rel::NUMBERED, rel::NUMBERED, Depth::Edge)?;
        }
        for container in containers {
            // A container's fields are the same for all tasks in it.
            let at = (std::ptr::from_ref(then) as usize, container);
            if self.reached.insert(at) {
                for edge in self.view.sources(container, rel::FIELD_ON).to_vec() {
                    self.reach(edge.src, then)?;
                }
            }
        }
        for (field, value) in body.find(key).into_iter().flat_map(values::stored_values) {
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
            let part = |s: &&PlanStep| match s.def.source {
                FieldSource::Value(ValuePart::Linked(of)) => of == kind,
                FieldSource::Value(ValuePart::Display) => true,
                _ => false,
            };
            // The links come before the one string that shows them.
            let Some(step) = plan.steps.iter().find(part) else {
                continue;
            };
            for target in values::linked(kind, value) {
                if matches!(kind, CustomFieldType::Enum | CustomFieldType::MultiEnum) {
                    let level = self.view.level(field);
                    self.seen_through(target, level);
                }
                self.reach(target, &step.link_plan)?;
            }
        }
        Ok(())
    }
}
