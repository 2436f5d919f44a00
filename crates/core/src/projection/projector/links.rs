//! Links of a record: nested records, and the inline objects of edges.
use super::{OutputSpan, Projector};
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::{Node, write_json_string};
use crate::model::permalink;
use crate::model::registry::{FieldSource, Relation, ValueType};
use crate::model::resources::{is_one_of, resource};
use crate::plan::{LinkPlan, Plan, PlanStep};

impl<'a> Projector<'a> {
    pub(super) fn items(&mut self, edges: &[Edge], parts: &[PlanStep]) {
        self.byte(b'[');
        let mut first = true;
        for edge in edges {
            if self.stopped.is_some() {
                return;
            }
            let seen = parts.iter().all(|p| match p.def.source {
                FieldSource::ItemTarget => self.visible(edge.dst).is_some(),
                FieldSource::ItemAux => edge.aux.is_some_and(|aux| self.visible(aux).is_some()),
                _ => true,
            });
            if !seen {
                continue;
            }
            self.comma(&mut first);
            self.byte(b'{');
            let mut inner = true;
            for part in parts {
                self.name(part, &mut inner);
                match part.def.source {
                    FieldSource::ItemTarget => self.link(Some(edge.dst), part),
                    FieldSource::ItemAux => self.link(edge.aux, part),
                    FieldSource::ItemAuxGid => self.gid(edge.aux.unwrap_or(edge.dst)),
                    FieldSource::Always(json) => self.raw(json),
                    _ => self.raw("null"),
                }
            }
            self.byte(b'}');
        }
        self.byte(b']');
    }

    pub(super) fn links(&mut self, targets: impl Iterator<Item = Gid>, step: &PlanStep) {
        self.byte(b'[');
        let mut first = true;
        for gid in targets {
            if !self.steps(1) {
                return;
            }
            if let Some(node) = self.target(gid, step) {
                self.comma(&mut first);
                self.linked(node, step);
            }
        }
        self.byte(b']');
    }

    pub(super) fn link(&mut self, target: Option<Gid>, step: &PlanStep) {
        match target.and_then(|gid| self.target(gid, step)) {
            Some(node) => self.linked(node, step),
            None => self.raw("null"),
        }
    }

    /// Returns the node that a link leads to, if the viewer sees it and its type is one of the field's.
    #[inline]
    fn target(&self, gid: Gid, step: &PlanStep) -> Option<&'a Node> {
        let types = match step.def.value_type {
            ValueType::Many(types) | ValueType::One(types) => types,
            _ => &[],
        };
        self.visible(gid).filter(|node| is_one_of(node, types))
    }

    /// Writes a linked node in the form that the plan requires.
    fn linked(&mut self, node: &Node, step: &PlanStep) {
        match &step.link_plan {
            LinkPlan::ReferenceOnly => {
                self.raw("{\"gid\":");
                self.gid(node.gid);
                self.raw(",\"resource_type\":\"");
                self.raw(resource(node.ty).name);
                self.raw("\"}");
            }
            LinkPlan::Plans(plans) => match plans.iter().find(|p| p.node_type == node.ty) {
                Some(plan) => self.repeated(node, plan),
                None => self.raw(&node.head),
            },
            _ => self.raw(&node.head),
        }
        self.tally.links = self.tally.links.saturating_add(1);
    }

    /// Writes a linked record, or copies the bytes that were already written for it.
    fn repeated(&mut self, node: &Node, plan: &Plan) {
        #[cfg(test)]
        self.forget_if_plain();
        let key = (std::ptr::from_ref(plan) as usize, node.gid);
        if let Some(part) = self.written.get(&key).copied() {
            self.copy(part);
            return;
        }
        let (start, links) = (self.out.len(), self.tally.links);
        self.object(node, plan);
        let part = self.since(start, links);
        self.written.insert(key, part);
    }

    /// Writes the address of a node's page. In the address of a task, the project is the first auxiliary node of the edges
    /// of `rel` that the viewer sees.
    pub(super) fn permalink(&mut self, node: &Node, rel: Option<Relation>) {
        let edges = rel.map(|rel| self.scene.view.links(node.gid, rel));
        let mut parties = edges.into_iter().flatten().filter_map(|edge| edge.aux);
        let seen = parties.find(|gid| self.visible(*gid).is_some());
        match permalink::page_path(node.ty, node.gid, seen) {
            Some(path) => {
                let root = permalink::pages_url(self.scene.fields.base_url);
                write_json_string(&mut self.out, &[root, &path].concat());
                self.fits(0);
            }
            None => self.raw("null"),
        }
    }

    /// Returns the span of the buffer from `start`, with the links counted since `links`.
    pub(super) fn since(&self, start: usize, links: u32) -> OutputSpan {
        OutputSpan {
            start,
            end: self.out.len(),
            links: self.tally.links - links,
        }
    }
}
