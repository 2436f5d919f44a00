//! Following a plan: loads everything that the projection of a record reads.
use super::Loader;
use crate::access::Level;
use crate::graph_store_error::GraphStoreError;
use crate::model::body_reader::BodyReader;
use crate::model::custom_field_values;
use crate::model::gid::Gid;
use crate::model::json_members::members;
use crate::model::node::Node;
use crate::model::registry::{Direction, FieldSource, Relation, Type, rel};
use crate::plan::{LinkPlan, Plan, PlanStep};
use crate::projection::mentions;
use crate::storage::snapshot::Depth;

/// Maximum number of links of one field in a record.
const LINKS_MAX: usize = 1_000;
/// Number of bytes of the budget for one followed link. It pays for the node's entry in the set of followed nodes, and for
/// each later look-up there.
const LINK: usize = 16;

/// Link plan for a node of which only the name is shown.
static STUB: LinkPlan = LinkPlan::Compact;

impl Loader<'_> {
    /// Loads everything that the projection of `gid` by `plan` reads.
    pub(crate) fn follow(&mut self, gid: Gid, plan: &Plan) -> Result<(), GraphStoreError> {
        let ty = self.view.nodes.get(&gid).map_or(plan.ty, |n| n.ty);
        let plan = plan.of(ty);
        if plan.reads_body && !self.load_full(gid)? {
            return Ok(());
        }
        if let Some((lo, hi)) = plan.band {
            // Rows of a page mostly lead to the same nodes, which are then read once; a single
            // record gets its neighbours along with the edges.
            let depth = if self.many { Depth::Edge } else { Depth::Head };
            self.band(gid, lo, hi, depth)?;
        }
        let Some(node) = self.view.nodes.get(&gid).cloned() else {
            return Ok(());
        };
        let mut body = BodyReader::new(&node.body);
        for step in &plan.steps {
            self.step(&node, &mut body, step)?;
        }
        if plan.mentions {
            self.mentions(&node, plan)?;
        }
        Ok(())
    }

    /// Loads the nodes that the texts of a record name, with the viewer's levels on them.
    fn mentions(&mut self, node: &Node, plan: &Plan) -> Result<(), GraphStoreError> {
        let named = mentions::mentioned_nodes(node, plan);
        self.steps(named.steps + named.linked.len())?;
        for target in named.about {
            self.reach(target, &STUB)?;
        }
        for target in named.linked {
            // Even users are named only to viewers who may see them: the link was the author's choice alone.
            let there = self.deep(target, Depth::Head)?;
            let target = match there {
                true => Some(target),
                false => self.heir_of(target)?,
            };
            if let Some(target) = target {
                self.level_of(target)?;
            }
        }
        Ok(())
    }

    fn step<'n>(
        &mut self,
        node: &'n Node,
        body: &mut BodyReader<'n>,
        step: &PlanStep,
    ) -> Result<(), GraphStoreError> {
        let gid = node.gid;
        if step.def.applies_to.is_some_and(|only| !only(node)) {
            return Ok(());
        }
        if let Some(link) = step.def.visible_through
            && let Some(target) = body.find(link).and_then(inline)
        {
            self.reach(target, &STUB)?;
        }
        match step.def.source {
            FieldSource::Inline(key) => {
                if let Some(target) = body.find(key).and_then(inline) {
                    self.reach(target, &step.link_plan)?;
                }
            }
            FieldSource::Stored(key) => {
                let LinkPlan::Group(parts) = &step.link_plan else {
                    return Ok(());
                };
                let is_progress =
                    |part: &PlanStep| matches!(part.def.source, FieldSource::WithProgress(_));
                if parts.iter().any(is_progress) {
                    self.goal_progress(node)?;
                }
                let inner: Vec<(&str, &str)> =
                    body.find(key).map(members).into_iter().flatten().collect();
                let mut links = Vec::new();
                for part in parts {
                    if let FieldSource::Inline(key) = part.def.source {
                        let value = inner.iter().find(|(k, _)| *k == key);
                        links.extend(
                            value
                                .and_then(|(_, v)| inline(v))
                                .map(|to| (to, &part.link_plan)),
                        );
                    }
                }
                for (to, then) in links {
                    self.reach(to, then)?;
                }
            }
            FieldSource::Workspace => {
                if let Some(target) = node.workspace {
                    self.reach(target, &step.link_plan)?;
                }
            }
            FieldSource::Edges(rel, Direction::Out) => self.each_link(gid, rel, &step.link_plan)?,
            FieldSource::Edges(rel, Direction::In) => {
                self.ins(gid, rel, LINKS_MAX, Depth::Head)?;
                if rel == rel::OPTION_OF {
                    // A viewer who sees a field sees its options.
                    let level = self.view.level(gid);
                    for edge in self.view.sources(gid, rel).to_vec() {
                        self.seen_through(edge.src, level);
                    }
                }
                for edge in self.view.sources(gid, rel).to_vec() {
                    self.reach(edge.src, &step.link_plan)?;
                }
            }
            FieldSource::Aux(rel, dir) => {
                if dir == Direction::In {
                    self.ins(gid, rel, LINKS_MAX, Depth::Edge)?;
                }
                let edges = match dir {
                    Direction::Out => self.view.links(gid, rel),
                    Direction::In => self.view.sources(gid, rel),
                };
                let parties: Vec<Gid> = edges.iter().filter_map(|e| e.aux).collect();
                for aux in parties {
                    self.reach(aux, &step.link_plan)?;
                }
            }
            FieldSource::Permalink(Some(rel)) => {
                let edges = self.view.links(gid, rel);
                let parties: Vec<Gid> = edges.iter().filter_map(|e| e.aux).collect();
                for aux in parties {
                    self.reach(aux, &STUB)?;
                }
            }
            FieldSource::Gids(key) => {
                let gids = body.find(key).into_iter();
                for target in gids.flat_map(custom_field_values::gids) {
                    self.reach(target, &step.link_plan)?;
                }
            }
            FieldSource::Values(key) => self.values(node, body, key, &step.link_plan)?,
            FieldSource::Count(rel, Direction::In) => {
                let count = self.count_in(gid, rel)?;
                self.view.counts.insert((gid, rel), count);
            }
            _ => {}
        }
        Ok(())
    }

    fn each_link(
        &mut self,
        gid: Gid,
        rel: Relation,
        then: &LinkPlan,
    ) -> Result<(), GraphStoreError> {
        for at in self.view.span(gid, rel) {
            let Some(edge) = self.view.edges.get(at).copied() else {
                break;
            };
            let LinkPlan::Items(parts) = then else {
                self.reach(edge.dst, then)?;
                continue;
            };
            for part in parts {
                let target = match part.def.source {
                    FieldSource::ItemTarget => Some(edge.dst),
                    FieldSource::ItemAux => edge.aux,
                    _ => None,
                };
                if let Some(target) = target {
                    self.reach(target, &part.link_plan)?;
                    if Some(target) == edge.aux {
                        let level = self.view.level(target);
                        self.seen_through(edge.dst, level);
                    }
                }
            }
        }
        Ok(())
    }

    /// Loads a linked node as deep as it will be shown, with the viewer's level on it.
    pub(super) fn reach(&mut self, gid: Gid, then: &LinkPlan) -> Result<(), GraphStoreError> {
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
            // A viewer who sees the link sees the user, even if a text that only mentions the user came first.
            self.at_least_seen(gid);
        } else {
            self.level_of(gid)?;
            if ty == Some(Type::Tag) {
                self.at_least_seen(gid);
            }
        }
        if let LinkPlan::Plans(plans) = then
            && let Some(plan) = plans.iter().find(|p| Some(p.node_type) == ty)
            && self.view.level(gid) > Level::None
        {
            self.follow(gid, plan)?;
        }
        Ok(())
    }
}

impl Loader<'_> {
    /// Raises the viewer's level on a node that is visible to all who see a link to it.
    fn at_least_seen(&mut self, gid: Gid) {
        let level = self.view.levels.entry(gid).or_default();
        *level = (*level).max(Level::Viewer);
    }
}

/// Returns the gid that a body stores for a link.
fn inline(raw: &str) -> Option<Gid> {
    Gid::parse(raw.trim_matches('"'))
}
