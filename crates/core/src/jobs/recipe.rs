//! What the recipe of a task template makes: its tasks at once, and by a job what must be looked up
//! for them: followers, projects and custom fields.
//!
//! What the job's user cannot see or set is left out, as it is of copies.
mod said;

use super::{Next, Plot};
use crate::access::Level;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Place, View, Want};
use crate::node::Node;
use crate::registry::{Kind, Type, rel};
use crate::resources::custom_field::{self, FIELDS_MAX};
use crate::resources::task::{self, PROJECTS_MAX};
use crate::rules::{fields, ids};
use crate::time::Date;
use crate::work::Work;
pub use said::titled;
use said::{Said, all};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many tasks are seen to in one step.
const AT_ONCE: usize = 20;

/// Tasks that are given what their recipe says, and how far that is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooking {
    /// The task template.
    pub template: Gid,
    /// The tasks that were made, in the order of the recipe: each before what is below it.
    pub tasks: Vec<Gid>,
    /// How many of them have what they should.
    pub done: usize,
}

/// The recipe of a task template: an object, empty if it has none.
///
/// # Errors
/// When it cannot be read.
pub fn recipe(template: &Node) -> Result<Value, Fault> {
    let read = serde_json::from_str(template.raw("template").unwrap_or("{}"));
    let recipe = read.map_err(|e| Fault::invalid(format!("the recipe cannot be read: {e}")))?;
    Ok(match recipe {
        Value::Object(_) => recipe,
        _ => Value::Object(Default::default()),
    })
}

/// Makes the tasks of a recipe, the first with this name in a project; gives them in its order.
pub fn make(work: &mut Work<'_>, recipe: &Value, home: Gid, project: Gid, name: &str) -> Vec<Gid> {
    let mut made: Vec<Gid> = Vec::new();
    for said in all(recipe) {
        let under = said.under.and_then(|at| made.get(at)).copied();
        let mut draft = work.draft(Type::Task, Some(home));
        let name = if under.is_none() { name } else { said.name() };
        draft.set(task::NAME, name);
        said.fill(&mut draft, Date::of(work.now));
        draft.set(task::CREATED_BY, work.changes.actor);
        draft.set(task::CREATED_AT, work.now);
        draft.set(task::MODIFIED_AT, work.now);
        let new = work.create(&draft, Some(under.unwrap_or(project)));
        if let Some(me) = work.changes.actor {
            work.link(new, rel::FOLLOWERS, me, Place::Rank(0), None);
        }
        if let Some(parent) = under {
            work.link(new, rel::PARENT, parent, Place::Last, None);
        }
        made.push(new);
    }
    made
}

impl Cooking {
    /// The tasks of the next step, by their places in the recipe.
    fn next(&self) -> impl Iterator<Item = (usize, Gid)> {
        let tasks = self.tasks.iter().copied().enumerate();
        tasks.skip(self.done).take(AT_ONCE)
    }

    /// What a step must read.
    pub(super) fn needs(&self, want: Want) -> Want {
        let want = want.node(self.template);
        self.next()
            .fold(want, |want, (_, task)| want.edges(task, rel::SECTION))
    }

    /// What it must read besides: whatever the recipe names for these tasks.
    pub(super) fn more(&self, view: &View, mut want: Want) -> Option<Want> {
        // The step says what is wrong with one that cannot be read.
        let recipe = recipe(view.node(self.template)?).ok()?;
        let all = all(&recipe);
        for (at, task) in self.next() {
            let said = all.get(at)?;
            for who in said.followers() {
                want = want.edges(who, rel::WORKSPACES);
            }
            let held = view.links(task, rel::SECTION).iter().filter_map(|e| e.aux);
            for project in held {
                want = want.into(project, rel::FIELD_ON, FIELDS_MAX);
            }
            for (project, section) in said.places() {
                want =
                    want.into(project, rel::SECTION_OF, 1)
                        .into(project, rel::FIELD_ON, FIELDS_MAX);
                if let Some(section) = section {
                    want = want.edge(section, rel::SECTION_OF, project);
                }
            }
            for (field, value) in said.values() {
                want.add(field);
                for gid in said::named(value) {
                    want = want.edges(gid, rel::WORKSPACES);
                }
            }
        }
        Some(want)
    }

    /// The next step.
    pub(super) fn step(
        &self,
        view: &View,
        more: Option<&View>,
        work: &mut Work<'_>,
    ) -> Result<Next, Fault> {
        let template = view.node(self.template);
        let Some(template) = template.filter(|t| view.level(t.gid) >= Level::Viewer) else {
            return Err(Fault::invalid("The template is no longer there."));
        };
        let recipe = recipe(template)?;
        let all = all(&recipe);
        let more = more.unwrap_or(view);
        let mut next = self.clone();
        for (at, task) in self.next() {
            // Tasks that were deleted meanwhile are passed over.
            if let (Some(said), Some(node)) = (all.get(at), view.node(task)) {
                let dish = Dish { said, node, more };
                let held = view.links(task, rel::SECTION).iter();
                let held = held.filter_map(|e| Some((e.aux?, e.dst))).collect();
                let projects = dish.place(work, held);
                dish.follow(work);
                dish.value(work, &projects);
            }
            next.done = at + 1;
        }
        Ok(if next.done < self.tasks.len() {
            Next::On(Plot::Cook(next))
        } else {
            Next::Done
        })
    }
}

/// A task, and what is said of it.
struct Dish<'s> {
    said: &'s Said<'s>,
    node: &'s Node,
    more: &'s View,
}

impl Dish<'_> {
    fn belongs(&self, who: Gid) -> bool {
        let home = self.node.home.unwrap_or(self.node.gid);
        self.more.link(who, rel::WORKSPACES, home).is_some()
    }

    /// Lets those follow who have a seat.
    fn follow(&self, work: &mut Work<'_>) {
        let named = self.said.followers().map(|who| self.more.heir(who));
        for who in named.filter(|who| self.belongs(*who)) {
            work.link(self.node.gid, rel::FOLLOWERS, who, Place::Rank(0), None);
        }
    }

    /// Puts the task into the projects that its user edits, beside those it is in, each with its section;
    /// gives all.
    fn place(&self, work: &mut Work<'_>, held: Vec<(Gid, Gid)>) -> Vec<Gid> {
        let task = self.node.gid;
        let mut projects: Vec<Gid> = held.iter().map(|(project, _)| *project).collect();
        for (project, section) in self.said.places() {
            let open = self.more.node(project).filter(|p| {
                p.ty == Type::Project
                    && p.home == self.node.home
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
            let before = held.iter().find(|(held, _)| *held == project);
            match before {
                // It is in the project already, and only a section that is named moves it.
                Some((_, at)) if named.is_none() || *at == section => continue,
                Some((_, at)) => work.unlink(task, rel::SECTION, *at),
                None if projects.contains(&project) || projects.len() >= PROJECTS_MAX => continue,
                None => {
                    projects.push(project);
                    ids::number(work, Some(node), task);
                }
            }
            work.needs_live(section);
            work.link(task, rel::SECTION, section, Place::Last, Some(project));
        }
        projects
    }

    /// Sets the values of custom fields that these projects have and the user may set.
    fn value(&self, work: &mut Work<'_>, projects: &[Gid]) {
        let view = self.more;
        let home = self.node.home.unwrap_or(self.node.gid);
        let paid = view.viewer.service == Some(home)
            || view.viewer.seat(home).is_some_and(|seat| seat.paid);
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
            if let Some(stored) = said::stored(custom_field::kind(node), value, &fit) {
                given.push((field, Some(stored)));
            }
        }
        let before = self.node.raw(task::CUSTOM_FIELDS.def.name);
        let (object, changes) = fields::merge(before, given);
        if !changes.is_empty() {
            let mut draft = Draft::edit(self.node);
            draft.set(task::CUSTOM_FIELDS, object);
            fields::index(work, self.node.gid, view, &changes);
            work.save(&draft);
            fields::facts(work, self.node.gid, &changes);
        }
    }

    /// Whether a value of the field may name this node.
    fn fits(&self, field: &Node, gid: Gid) -> bool {
        let Some(node) = self.more.node(gid) else {
            return false;
        };
        match custom_field::kind(field) {
            Kind::Enum | Kind::MultiEnum => custom_field::chooses(field, node),
            Kind::People => node.ty == Type::User && self.belongs(gid),
            _ => {
                custom_field::refers(field, node)
                    && node.home == self.node.home
                    && self.more.level(gid) >= Level::Viewer
            }
        }
    }
}
