//! What a record links to: nested records, and the inline objects of edges.
use super::{BYTES, Projector};
use crate::gid::Gid;
use crate::graph::Edge;
use crate::node::Node;
use crate::plan::{Plan, Step, Then};
use crate::registry::{Shape, Source};
use crate::resources::resource;

impl Projector<'_> {
    pub(super) fn items(&mut self, edges: &[Edge], parts: &[Step]) {
        self.out.push(b'[');
        let mut first = true;
        for edge in edges {
            let seen = parts.iter().all(|p| match p.def.source {
                Source::ItemTarget => self.visible(edge.dst).is_some(),
                Source::ItemAux => edge.aux.is_some_and(|aux| self.visible(aux).is_some()),
                _ => true,
            });
            if !seen {
                continue;
            }
            self.comma(&mut first);
            self.out.push(b'{');
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
            self.out.push(b'}');
        }
        self.out.push(b']');
    }

    pub(super) fn links(&mut self, targets: impl Iterator<Item = Gid>, step: &Step) {
        let types = match step.def.shape {
            Shape::Many(types) | Shape::One(types) => types,
            _ => &[],
        };
        self.out.push(b'[');
        let mut first = true;
        for gid in targets {
            if !self.steps(1) {
                break;
            }
            if self.visible(gid).is_some_and(|n| types.contains(&n.ty)) {
                self.comma(&mut first);
                self.link(Some(gid), step);
            }
        }
        self.out.push(b']');
    }

    pub(super) fn link(&mut self, target: Option<Gid>, step: &Step) {
        let types = match step.def.shape {
            Shape::Many(types) | Shape::One(types) => types,
            _ => &[],
        };
        let Some(node) = target
            .and_then(|g| self.visible(g))
            .filter(|n| types.contains(&n.ty))
        else {
            self.raw("null");
            return;
        };
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
        self.tally.links += 1;
    }

    /// Writes a linked record, or copies what was written for it before.
    fn repeated(&mut self, node: &Node, plan: &Plan) {
        let key = (std::ptr::from_ref(plan) as usize, node.gid);
        if let Some(range) = self.written.get(&key).cloned() {
            if self.steps(1 + range.len() / BYTES) {
                self.out.extend_from_within(range);
            }
            return;
        }
        let start = self.out.len();
        self.object(node, plan);
        self.written.insert(key, start..self.out.len());
    }
}
