//! Progress of goals: computed from their supporters whenever a record shows it, and never stored. Only supporters that the
//! viewer may see count, at every depth, so the number reveals nothing hidden.
use super::{Loader, all_in};
use crate::access::Level;
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::goal_metric::{GoalMetric, ProgressSource};
use crate::model::resources::goal_relationship::CONTRIBUTION_WEIGHT;
use crate::model::resources::{goal, task};
use crate::storage::snapshot::Depth;
use std::sync::Arc;

/// Maximum length of a chain of goals that is followed.
const DEEPEST: u8 = 32;
/// Number of tasks that are read at once.
const TASKS: usize = 1_000;
/// Number of steps for reading a task in full and two of its fields.
const TASK_STEPS: usize = 4;

impl Loader<'_> {
    /// Computes the progress of a goal, and adds it to the view.
    pub(super) fn goal_progress(&mut self, goal: &Node) -> Result<(), GraphStoreError> {
        self.progress_of(goal, 0).map(|_| ())
    }

    fn progress_of(&mut self, goal: &Node, depth: u8) -> Result<f64, GraphStoreError> {
        if let Some(known) = self.view.progress.get(&goal.gid) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Ok(0.0);
        }
        // A goal that supports itself, after a race of two requests, is computed once.
        self.view.progress.insert(goal.gid, 0.0);
        let progress = match GoalMetric::of(goal) {
            Some(metric) if metric.progress_source.is_computed() => {
                self.supporters(goal.gid, &metric, depth)?
            }
            Some(metric) => metric.progress(),
            None if goal.get(goal::STATUS).as_deref() == Some("achieved") => 1.0,
            None => 0.0,
        };
        self.view.progress.insert(goal.gid, progress);
        Ok(progress)
    }

    /// Returns the weighted mean of the progress of the supporters that count.
    fn supporters(
        &mut self,
        goal: Gid,
        metric: &GoalMetric,
        depth: u8,
    ) -> Result<f64, GraphStoreError> {
        let mut edges = Vec::new();
        all_in(self.snap, goal, rel::SUPPORTS, &mut |edge| edges.push(edge))?;
        self.steps(edges.len())?;
        let (mut done, mut weights) = (0.0, 0.0);
        for edge in edges {
            if self.level_of(edge.src)? == Level::None || !self.load_full(edge.src)? {
                continue;
            }
            let Some(node) = self.view.nodes.get(&edge.src).cloned() else {
                continue;
            };
            let Some(progress) = self.supporter(&node, metric.progress_source, depth)? else {
                continue;
            };
            let weight = match edge.aux {
                Some(relationship) if metric.is_custom_weight => self.weight(relationship)?,
                _ => 1.0,
            };
            done += weight * progress;
            weights += weight;
        }
        Ok(if weights > 0.0 { done / weights } else { 0.0 })
    }

    /// Returns the progress of a supporter, or `None` if it does not count.
    fn supporter(
        &mut self,
        node: &Arc<Node>,
        source: ProgressSource,
        depth: u8,
    ) -> Result<Option<f64>, GraphStoreError> {
        Ok(match (source, node.ty) {
            (ProgressSource::SubgoalProgress, Type::Goal) => {
                Some(self.progress_of(node, depth + 1)?)
            }
            (ProgressSource::ProjectTaskCompletion, Type::Project) => {
                self.completed_part(node.gid, false)?
            }
            (ProgressSource::ProjectMilestoneCompletion, Type::Project) => {
                self.completed_part(node.gid, true)?
            }
            (ProgressSource::TaskCompletion, Type::Task) => {
                Some(f64::from(u8::from(node.get(task::COMPLETED))))
            }
            _ => None,
        })
    }

    /// Returns the weight of a goal relationship.
    fn weight(&mut self, relationship: Gid) -> Result<f64, GraphStoreError> {
        self.steps(1)?;
        let node = self.snap.node(relationship, Depth::Full)?;
        let key = CONTRIBUTION_WEIGHT.def.name;
        let raw = node.as_deref().and_then(|node| node.raw(key));
        let raw = raw.unwrap_or(CONTRIBUTION_WEIGHT.def.default);
        Ok(raw.parse().unwrap_or(1.0))
    }

    /// Returns the completed part of a project's tasks, or only of its milestones; `None` if it has none. It is counted once,
    /// however many goals the project supports.
    fn completed_part(
        &mut self,
        project: Gid,
        milestones: bool,
    ) -> Result<Option<f64>, GraphStoreError> {
        if let Some(known) = self.completed_parts.get(&(project, milestones)) {
            return Ok(*known);
        }
        let counts: fn(&Node) -> bool = match milestones {
            true => |task| task.get(task::SUBTYPE).as_deref() == Some("milestone"),
            false => |_| true,
        };
        let part = self.completed_tasks(project, counts)?;
        self.completed_parts.insert((project, milestones), part);
        Ok(part)
    }

    fn completed_tasks(
        &mut self,
        project: Gid,
        counts: fn(&Node) -> bool,
    ) -> Result<Option<f64>, GraphStoreError> {
        let mut sections = Vec::new();
        all_in(self.snap, project, rel::SECTION_OF, &mut |edge| {
            sections.push(edge.src)
        })?;
        let (mut all, mut completed) = (0u32, 0u32);
        for section in sections {
            let mut after = (i64::MIN, i64::MIN);
            loop {
                let mut read = 0;
                let (snap, full) = (&mut *self.snap, Depth::Full);
                snap.scan_in(
                    section,
                    rel::SECTION,
                    after,
                    TASKS,
                    full,
                    &mut |edge, node| {
                        read += 1;
                        after = (edge.rank, edge.src.as_i64());
                        if let Some(node) = node.filter(|node| counts(node)) {
                            all += 1;
                            completed += u32::from(node.get(task::COMPLETED));
                        }
                    },
                )?;
                self.steps(1 + read * TASK_STEPS)?;
                if read < TASKS {
                    break;
                }
            }
        }
        Ok((all > 0).then(|| f64::from(completed) / f64::from(all)))
    }
}
