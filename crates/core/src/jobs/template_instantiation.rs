//! Instantiation of task templates: the recipe's tasks are created at once. A job then adds followers, projects and custom
//! fields, which must be looked up.
//!
//! Objects that the job's user cannot see, and fields that the user cannot set, are left out, as in duplications.
mod recipe_parser;

use super::{JobKind, NextStep};
use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::custom_field_values::DisplayFormat;
use crate::model::draft::Draft;
use crate::model::exact_json;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, Type, rel};
use crate::model::resources::custom_field::FIELDS_MAX;
use crate::model::resources::task::PROJECTS_MAX;
use crate::model::resources::{custom_field, task};
use crate::model::time::Date;
use crate::rules::sharing::follow_task;
use crate::rules::{auto_id_rules, custom_field_rules};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, ReadQuery, ReadView};
pub use recipe_parser::titled;
use recipe_parser::{RecipeTask, parse_recipe};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of tasks that one step fills.
const AT_ONCE: usize = 20;

/// Addition of the relations and values of a recipe to its new tasks, and its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateInstantiation {
    /// Task template with the recipe.
    pub template: Gid,
    /// Created tasks, in the order of the recipe: each before its subtasks.
    pub tasks: Vec<Gid>,
    /// Number of tasks that already have everything from their recipe.
    #[serde(rename = "done")]
    pub tasks_done: usize,
}

/// Returns the recipe of a task template: an object, empty if it has none.
///
/// # Errors
/// Fails if it cannot be read.
pub fn recipe(template: &Node) -> Result<Value, DomainError> {
    let read = exact_json::read(template.raw("template").unwrap_or("{}"));
    let recipe =
        read.map_err(|e| DomainError::invalid(format!("the recipe cannot be read: {e}")))?;
    Ok(match recipe {
        Value::Object(_) => recipe,
        _ => Value::Object(Default::default()),
    })
}

/// Creates the tasks of a recipe; returns them in the recipe's order. The first task is created in the project, with this
/// name.
pub fn create_tasks(
    work: &mut ChangeBuilder<'_>,
    recipe: &Value,
    workspace: Gid,
    project: Gid,
    name: &str,
) -> Vec<Gid> {
    let mut made: Vec<Gid> = Vec::new();
    for said in parse_recipe(recipe) {
        let under = said.parent.and_then(|at| made.get(at)).copied();
        let mut draft = work.draft(Type::Task, Some(workspace));
        let name = if under.is_none() { name } else { said.name() };
        draft.set(task::NAME, name);
        said.fill(&mut draft, Date::of(work.now));
        draft.set(task::CREATED_BY, work.changes.actor);
        draft.set(task::CREATED_AT, work.now);
        draft.set(task::MODIFIED_AT, work.now);
        let new = work.create(&draft, Some(under.unwrap_or(project)));
        if let Some(me) = work.changes.actor {
            follow_task(work, new, me, Level::Editor);
        }
        if let Some(parent) = under {
            work.link(new, rel::PARENT, parent, ListPosition::Last, None);
        }
        made.push(new);
    }
    made
}

impl TemplateInstantiation {
    /// Returns the tasks of the next step, with their indices in the recipe.
    fn next(&self) -> impl Iterator<Item = (usize, Gid)> {
        let tasks = self.tasks.iter().copied().enumerate();
        tasks.skip(self.tasks_done).take(AT_ONCE)
    }

    /// Adds the reads of a step.
    pub(super) fn needs(&self, want: ReadQuery) -> ReadQuery {
        let want = want.node(self.template);
        self.next()
            .fold(want, |want, (_, task)| want.edges(task, rel::SECTION))
    }

    /// Adds the further reads of a step: the objects that the recipe names for these tasks.
    pub(super) fn more(&self, view: &ReadView, mut want: ReadQuery) -> Option<ReadQuery> {
        // A recipe that cannot be read is reported by the step.
        let recipe = recipe(view.node(self.template)?).ok()?;
        let all = parse_recipe(&recipe);
        for (at, task) in self.next() {
            let said = all.get(at)?;
            for user in said.followers() {
                want = want.edges(user, rel::WORKSPACES);
            }
            let projects = view.links(task, rel::SECTION).iter().filter_map(|e| e.aux);
            for project in projects {
                want = want.incoming_edges(project, rel::FIELD_ON, FIELDS_MAX);
            }
            for (project, section) in said.memberships() {
                want = want
                    .incoming_edges(project, rel::SECTION_OF, 1)
                    .incoming_edges(project, rel::FIELD_ON, FIELDS_MAX);
                if let Some(section) = section {
                    want = want.edge(section, rel::SECTION_OF, project);
                }
            }
            for (field, value) in said.values() {
                want.add_ref(field);
                for gid in recipe_parser::named(value) {
                    want = want.edges(gid, rel::WORKSPACES);
                }
            }
        }
        Some(want)
    }

    /// Takes the next step: fills the next tasks.
    pub(super) fn step(
        &self,
        view: &ReadView,
        more: Option<&ReadView>,
        work: &mut ChangeBuilder<'_>,
    ) -> Result<NextStep, DomainError> {
        let template = view.node(self.template);
        let Some(template) = template.filter(|t| view.level(t.gid) >= Level::Viewer) else {
            return Err(DomainError::invalid("The template is no longer there."));
        };
        let recipe = recipe(template)?;
        let all = parse_recipe(&recipe);
        let more = more.unwrap_or(view);
        let mut next = self.clone();
        for (at, task) in self.next() {
            // Skip tasks that were deleted in the meantime.
            if let (Some(said), Some(node)) = (all.get(at), view.node(task)) {
                let dish = RecipeItem { said, node, more };
                let sections = view.links(task, rel::SECTION).iter();
                let sections = sections.filter_map(|e| Some((e.aux?, e.dst))).collect();
                let projects = dish.add_to_projects(work, sections);
                dish.follow(work);
                dish.value(work, &projects);
            }
            next.tasks_done = at + 1;
        }
        Ok(if next.tasks_done < self.tasks.len() {
            NextStep::Continue(JobKind::InstantiateTemplate(next))
        } else {
            NextStep::Done
        })
    }
}

/// Task with its part of the recipe.
struct RecipeItem<'s> {
    said: &'s RecipeTask<'s>,
    node: &'s Node,
    more: &'s ReadView,
}

impl RecipeItem<'_> {
    fn belongs(&self, user: Gid) -> bool {
        let workspace = self.node.workspace.unwrap_or(self.node.gid);
        self.more.link(user, rel::WORKSPACES, workspace).is_some()
    }

    /// Adds the followers that are members of the workspace.
    fn follow(&self, work: &mut ChangeBuilder<'_>) {
        let named = self.said.followers().map(|user| self.more.heir(user));
        for user in named.filter(|user| self.belongs(*user)) {
            follow_task(work, self.node.gid, user, Level::Editor);
        }
    }

    /// Adds the task to further projects that the user may edit, each with its section; returns all projects of the task.
    fn add_to_projects(&self, work: &mut ChangeBuilder<'_>, sections: Vec<(Gid, Gid)>) -> Vec<Gid> {
        let task = self.node.gid;
        let mut projects: Vec<Gid> = sections.iter().map(|(project, _)| *project).collect();
        for (project, section) in self.said.memberships() {
            let open = self.more.node(project).filter(|p| {
                p.ty == Type::Project
                    && p.workspace == self.node.workspace
                    && self.more.level(project) >= Level::Editor
            });
            let named = section.filter(|s| {
                let there = self.more.link(*s, rel::SECTION_OF, project);
                there.is_some()
            });
            let first = self.more.sources(project, rel::SECTION_OF).first();
            let section = named.or(first.map(|e| e.src));
            let (Some(node), Some(section)) = (open, section) else {
                continue;
            };
            let before = sections.iter().find(|(other, _)| *other == project);
            match before {
                // The task is already in the project, and only a section named by the recipe moves it.
                Some((_, at)) if named.is_none() || *at == section => continue,
                Some((_, at)) => work.unlink(task, rel::SECTION, *at),
                None if projects.contains(&project) || projects.len() >= PROJECTS_MAX => continue,
                None => {
                    projects.push(project);
                    auto_id_rules::number(work, Some(node), task);
                }
            }
            work.require_live(section);
            work.link(
                task,
                rel::SECTION,
                section,
                ListPosition::Last,
                Some(project),
            );
        }
        projects
    }

    /// Sets the values of custom fields that these projects have and the user may set.
    fn value(&self, work: &mut ChangeBuilder<'_>, projects: &[Gid]) {
        let view = self.more;
        let workspace = self.node.workspace.unwrap_or(self.node.gid);
        let paid = view.viewer.service_workspace == Some(workspace)
            || view
                .viewer
                .membership(workspace)
                .is_some_and(|membership| membership.paid);
        if !paid {
            return;
        }
        let has = |field: Gid| {
            let on = |p: &Gid| {
                view.sources(*p, rel::FIELD_ON)
                    .iter()
                    .any(|e| e.src == field)
            };
            projects.iter().any(on)
        };
        let mut given = Vec::new();
        for (field, value) in self.said.values().filter(|(field, _)| has(*field)) {
            let node = view
                .node(field)
                .filter(|n| view.level(field) >= Level::Viewer && !custom_field::is_computed(n));
            let Some(node) = node else { continue };
            let fit = |gid: Gid| Some(view.heir(gid)).filter(|gid| self.fits(node, *gid));
            let format = DisplayFormat::of(node).numbers;
            let kept = recipe_parser::stored((custom_field::kind(node), &format), value, &fit);
            if let Some(stored) = kept {
                given.push((field, Some(stored)));
            }
        }
        let before = self.node.raw(task::CUSTOM_FIELDS.def.name);
        let (object, changes) = custom_field_rules::merge(before, given);
        if !changes.is_empty() {
            let mut draft = Draft::edit(self.node);
            draft.set(task::CUSTOM_FIELDS, object);
            custom_field_rules::index_value_changes(work, self.node.gid, view, &changes);
            work.save(&draft);
            custom_field_rules::record_value_changes(work, (self.node.gid, self.node.ty), &changes);
        }
    }

    /// Returns true if a value of the field may name this node.
    fn fits(&self, field: &Node, gid: Gid) -> bool {
        let Some(node) = self.more.node(gid) else {
            return false;
        };
        match custom_field::kind(field) {
            CustomFieldType::Enum | CustomFieldType::MultiEnum => {
                custom_field::chooses(field, node)
            }
            CustomFieldType::People => node.ty == Type::User && self.belongs(gid),
            _ => {
                custom_field::refers(field, node)
                    && node.workspace == self.node.workspace
                    && self.more.level(gid) >= Level::Viewer
            }
        }
    }
}
