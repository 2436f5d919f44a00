//! What a record links to: nested records, and the inline objects of edges.
use super::{Projector, Written};
use crate::gid::Gid;
use crate::graph::Edge;
use crate::node::Node;
use crate::plan::{Plan, Step, Then};
use crate::registry::{Shape, Source};
use crate::resources::resource;

impl<'a> Projector<'a> {
    pub(super) fn items(&mut self, edges: &[Edge], parts: &[Step]) {
        self.byte(b'[');
        let mut first = true;
        for edge in edges {
            if self.stopped.is_some() {
                return;
            }
            let seen = parts.iter().all(|p| match p.def.source {
                Source::ItemTarget => self.visible(edge.dst).is_some(),
                Source::ItemAux => edge.aux.is_some_and(|aux| self.visible(aux).is_some()),
                _ => true,
            });
            if !seen {
                continue;
            }
            self.comma(&mut first);
            self.byte(b'{');
            let mut inner = true;
            for part in parts {
                self.name(part.def.name, &mut inner);
                match part.def.source {
                    Source::ItemTarget => self.link(Some(edge.dst), part),
                    Source::ItemAux => self.link(edge.aux, part),
                    Source::ItemAuxGid => self.gid(edge.aux.unwrap_or(edge.dst)),
                    Source::Always(json) => self.raw(json),
                    _ => self.raw("null"),
                }
            }
            self.byte(b'}');
        }
        self.byte(b']');
    }

    pub(super) fn links(&mut self, targets: impl Iterator<Item = Gid>, step: &Step) {
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

    pub(super) fn link(&mut self, target: Option<Gid>, step: &Step) {
        match target.and_then(|gid| self.target(gid, step)) {
            Some(node) => self.linked(node, step),
            None => self.raw("null"),
        }
    }

    /// The node that a link leads to, if the viewer sees it and it is of a type of the field.
    #[inline]
    fn target(&self, gid: Gid, step: &Step) -> Option<&'a Node> {
        let types = match step.def.shape {
            Shape::Many(types) | Shape::One(types) => types,
            _ => &[],
        };
        self.visible(gid).filter(|node| types.contains(&node.ty))
    }

    /// Writes what is shown of a linked node.
    fn linked(&mut self, node: &Node, step: &Step) {
        match &step.then {
            Then::Bare => {
                self.raw("{\"gid\":");
                self.gid(node.gid);
                self.raw(",\"resource_type\":\"");
                self.raw(resource(node.ty).name);
                self.raw("\"}");
            }
            Then::Plans(plans) => match plans.iter().find(|p| p.ty == node.ty) {
                Some(plan) => self.repeated(node, plan),
                None => self.raw(&node.head),
            },
            _ => self.raw(&node.head),
        }
        self.tally.links = self.tally.links.saturating_add(1);
    }

    /// Writes a linked record, or copies what was written for it before.
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

    /// What was written since the buffer was so long and held so many links.
    pub(super) fn since(&self, start: usize, links: u32) -> Written {
        Written {
            start,
            end: self.out.len(),
            links: self.tally.links - links,
        }
    }
}
