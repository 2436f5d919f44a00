//! Following a plan: everything that projecting a record reads.
use super::Loader;
use crate::access::Level;
use crate::gid::Gid;
use crate::graph::StoreError;
use crate::mentions;
use crate::node::entries;
use crate::plan::{Plan, Step, Then};
use crate::registry::{Dir, Rel, Source, Type, rel};
use crate::snapshot::Depth;
use crate::values;

/// The most links of one field that a record carries.
const LINKS_MAX: usize = 1_000;
/// What following a link takes of the budget, in bytes, even one that was followed before: its place among those, at
/// first, and later the time it takes to find it there.
const LINK: usize = 16;

/// What is shown of a node of which only the name is.
static STUB: Then = Then::Stub;

impl Loader<'_> {
    /// Has everything that projecting `gid` by `plan` reads.
    pub(super) fn follow(&mut self, gid: Gid, plan: &Plan) -> Result<(), StoreError> {
        let ty = self.view.nodes.get(&gid).map_or(plan.ty, |n| n.ty);
        let plan = plan.of(ty);
        if plan.reads_body && !self.full(gid)? {
            return Ok(());
        }
        if let Some((lo, hi)) = plan.band {
            // Rows of a page mostly lead to the same nodes, which are then read once; a single
            // record gets its neighbours along with the edges.
            let depth = if self.many { Depth::Edge } else { Depth::Head };
            self.band(gid, lo, hi, depth)?;
        }
        for step in &plan.steps {
            self.step(gid, step)?;
        }
        if plan.mentions {
            self.mentions(gid, plan)?;
        }
        Ok(())
    }

    /// Has what the texts of a record name, and the viewer's levels there.
    fn mentions(&mut self, gid: Gid, plan: &Plan) -> Result<(), StoreError> {
        let Some(node) = self.view.nodes.get(&gid) else {
            return Ok(());
        };
        let named = mentions::named(node, plan);
        self.steps(named.steps + named.linked.len())?;
        for target in named.about {
            self.reach(target, &STUB)?;
        }
        for target in named.linked {
            // Users, too, only as far as the viewer may see them: nothing but the author's word links them.
            let there = self.deep(target, Depth::Head)?;
            let target = match there {
                true => Some(target),
                false => self.heir_of(target)?,
            };
            if let Some(target) = target {
                self.level(target)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, gid: Gid, step: &Step) -> Result<(), StoreError> {
        if let (Some(only), Some(node)) = (step.def.only, self.view.nodes.get(&gid))
            && !only(node)
        {
            return Ok(());
        }
        if let Some(link) = step.def.behind {
            let node = self.view.nodes.get(&gid);
            if let Some(target) = node.and_then(|n| n.raw(link)).and_then(inline) {
                self.reach(target, &STUB)?;
            }
        }
        match step.def.source {
            Source::Inline(key) => {
                let node = self.view.nodes.get(&gid);
                if let Some(target) = node.and_then(|n| n.raw(key)).and_then(inline) {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Stored(key) => {
                let (Then::Group(parts), Some(node)) = (&step.then, self.view.nodes.get(&gid))
                else {
                    return Ok(());
                };
                let inner: Vec<(&str, &str)> =
                    node.raw(key).map(entries).into_iter().flatten().collect();
                let mut links = Vec::new();
                for part in parts {
                    if let Source::Inline(key) = part.def.source {
                        let value = inner.iter().find(|(k, _)| *k == key);
                        links.extend(
                            value
                                .and_then(|(_, v)| inline(v))
                                .map(|to| (to, &part.then)),
                        );
                    }
                }
                for (to, then) in links {
                    self.reach(to, then)?;
                }
            }
            Source::Home => {
                if let Some(target) = self.view.nodes.get(&gid).and_then(|n| n.home) {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Edges(rel, Dir::Out) => self.each_link(gid, rel, &step.then)?,
            Source::Edges(rel, Dir::In) => {
                self.ins(gid, rel, LINKS_MAX, Depth::Head)?;
                if rel == rel::OPTION_OF {
                    // Whoever sees a field sees its options.
                    let level = self.view.level(gid);
                    for edge in self.view.sources(gid, rel).to_vec() {
                        self.seen_through(edge.src, level);
                    }
                }
                for edge in self.view.sources(gid, rel).to_vec() {
                    self.reach(edge.src, &step.then)?;
                }
            }
            Source::Aux(rel, dir) => {
                if dir == Dir::In {
                    self.ins(gid, rel, LINKS_MAX, Depth::Edge)?;
                }
                let edges = match dir {
                    Dir::Out => self.view.links(gid, rel),
                    Dir::In => self.view.sources(gid, rel),
                };
                let parties: Vec<Gid> = edges.iter().filter_map(|e| e.aux).collect();
                for aux in parties {
                    self.reach(aux, &step.then)?;
                }
            }
            Source::Gids(key) => {
                let node = self.view.nodes.get(&gid).cloned();
                for target in node
                    .iter()
                    .filter_map(|n| n.raw(key))
                    .flat_map(values::gids)
                {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Values(key) => self.values(gid, key, &step.then)?,
            Source::Count(rel, Dir::In) => {
                let count = self.snap.count_in(gid, rel)?;
                self.view.counts.insert((gid, rel), count);
            }
            _ => {}
        }
        Ok(())
    }

    fn each_link(&mut self, gid: Gid, rel: Rel, then: &Then) -> Result<(), StoreError> {
        for at in self.view.span(gid, rel) {
            let Some(edge) = self.view.edges.get(at).copied() else {
                break;
            };
            let Then::Items(parts) = then else {
                self.reach(edge.dst, then)?;
                continue;
            };
            for part in parts {
                let target = match part.def.source {
                    Source::ItemTarget => Some(edge.dst),
                    Source::ItemAux => edge.aux,
                    _ => None,
                };
                if let Some(target) = target {
                    self.reach(target, &part.then)?;
                    if Some(target) == edge.aux {
                        let level = self.view.level(target);
                        self.seen_through(edge.dst, level);
                    }
                }
            }
        }
        Ok(())
    }

    /// Has a linked node as deep as it will be shown, and the viewer's level on it.
    pub(super) fn reach(&mut self, gid: Gid, then: &Then) -> Result<(), StoreError> {
        self.steps(1)?;
        self.charge(LINK)?;
        if !self
            .reached
            .insert((std::ptr::from_ref(then) as usize, gid))
        {
            return Ok(());
        }
        if !self.deep(gid, Depth::Head)? {
            return match self.heir_of(gid)? {
                Some(heir) => self.reach(heir, then),
                None => Ok(()),
            };
        }
        let ty = self.view.nodes.get(&gid).map(|n| n.ty);
        if ty == Some(Type::User) {
            // Whoever sees the link sees the user, even where a text that only mentions them came first.
            self.at_least_seen(gid);
        } else {
            self.level(gid)?;
            if ty == Some(Type::Tag) {
                self.at_least_seen(gid);
            }
        }
        if let Then::Plans(plans) = then
            && let Some(plan) = plans.iter().find(|p| Some(p.ty) == ty)
            && self.view.level(gid) > Level::None
        {
            self.follow(gid, plan)?;
        }
        Ok(())
    }
}

impl Loader<'_> {
    /// Raises the viewer's level on what everybody sees who sees a link to it.
    fn at_least_seen(&mut self, gid: Gid) {
        let level = self.view.levels.entry(gid).or_default();
        *level = (*level).max(Level::Viewer);
    }
}

/// The gid of a link that is kept in a body.
fn inline(raw: &str) -> Option<Gid> {
    Gid::parse(raw.trim_matches('"'))
}
