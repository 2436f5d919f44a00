//! Content of an exported workspace: projects with their sections and tasks, in their order.
use crate::admin::fixture_export::exported_fields::field_names;
use crate::admin::fixture_export::exported_people::ExportedPeople;
use crate::admin::fixture_export::fixture_labels::FixtureLabels;
use crate::admin::fixture_export::world_reader::{Record, WorldReader};
use crate::admin::fixture_objects::FIRST_SECTION;
use anyhow::{Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::{Gid, Type};

/// Maximum number of tasks of an exported world, with their subtasks.
pub(crate) const TASKS_MAX: usize = 10_000;

/// Fields of tasks, in addition to those that are exported unchanged.
const TASK_FIELDS: &str = "name,notes,html_notes,completed,due_at,due_on,start_at,start_on,parent.gid,\
    memberships.(project|section).gid,followers.gid,tags.gid,dependencies.gid,likes.user.gid,num_subtasks,custom_type.gid,\
    custom_fields.(gid|enabled|resource_subtype|representation_type|text_value|number_value|date_value),\
    custom_fields.(people_value|enum_value|multi_enum_values|reference_value).gid";
/// Fields of projects, in addition to those that are exported unchanged.
const PROJECT_FIELDS: &str =
    "name,notes,html_notes,owner.gid,team.gid,followers.gid,custom_fields.display_value";

/// Project of a workspace.
pub(crate) struct ProjectContent {
    pub(crate) record: Record,
    /// Person who creates it in the fixture.
    pub(crate) actor: Gid,
    /// Sections in their order.
    pub(crate) sections: Vec<Gid>,
    /// Tasks in their order, including those that are created elsewhere.
    pub(crate) tasks: Vec<Gid>,
}

/// Object that a task is created in.
#[derive(Clone, Copy)]
enum Container {
    Workspace,
    Project(Gid),
    Task(Gid),
}

pub(crate) struct WorkspaceContent<'a> {
    pub(crate) reader: WorldReader<'a>,
    pub(crate) projects: Vec<ProjectContent>,
    pub(crate) tasks: BTreeMap<Gid, Record>,
    /// Subtasks in their order, by task.
    pub(crate) subtasks: BTreeMap<Gid, Vec<Gid>>,
    /// Names of sections.
    pub(crate) sections: BTreeMap<Gid, String>,
    /// Project that each task is created in, by task.
    pub(crate) homes: BTreeMap<Gid, Gid>,
    /// Tasks that are in no project and below no other task.
    pub(crate) loose: Vec<Gid>,
    /// All tasks, in the order in which the fixture creates them.
    order: Vec<Gid>,
    /// Position of each task in that order.
    ranks: BTreeMap<Gid, usize>,
    /// Person who creates each task in the fixture, by task.
    pub(crate) actors: BTreeMap<Gid, Gid>,
    /// Number of tasks that have another creator in the fixture than in the world.
    pub(crate) other_creators: usize,
    /// Number of sections in the lists of users, besides the first ones.
    pub(crate) list_sections: usize,
}

impl<'a> WorkspaceContent<'a> {
    /// Reads the content of a workspace, with at most `room` tasks.
    ///
    /// # Errors
    /// Fails if the store can't be read, or there are too many tasks.
    pub(crate) async fn read(
        reader: WorldReader<'a>,
        people: &ExportedPeople,
        room: usize,
    ) -> Result<Self> {
        let mut content = Self {
            reader,
            projects: Vec::new(),
            tasks: BTreeMap::new(),
            subtasks: BTreeMap::new(),
            sections: BTreeMap::new(),
            homes: BTreeMap::new(),
            loose: Vec::new(),
            order: Vec::new(),
            ranks: BTreeMap::new(),
            actors: BTreeMap::new(),
            other_creators: 0,
            list_sections: 0,
        };
        if reader.count(Type::Task).await? > room {
            bail!(
                "the world has more than {TASKS_MAX} tasks, the most that an exported fixture has: copy the world (`from`)"
            );
        }
        let fields = format!("{TASK_FIELDS},{}", field_names(Type::Task));
        for record in reader.records(Type::Task, &fields).await? {
            content.tasks.insert(record.gid, record);
        }
        for task in content.tasks.values() {
            if task
                .fields
                .get("num_subtasks")
                .is_some_and(|count| *count != 0)
            {
                let below = reader.sources(task.gid, rel::PARENT).await?;
                content.subtasks.insert(task.gid, below);
            }
        }
        content.read_projects(people).await?;
        let lists = reader.count(Type::UserTaskList).await?;
        let all = reader.count(Type::Section).await?;
        let shown = content.sections.len().saturating_add(lists);
        content.list_sections = all.saturating_sub(shown);
        content.loose = content
            .tasks
            .keys()
            .filter(|gid| !content.homes.contains_key(gid) && !content.is_subtask(**gid))
            .copied()
            .collect();
        content.order = content.ordered();
        let order = content.order.iter().copied().enumerate();
        content.ranks = order.map(|(rank, task)| (task, rank)).collect();
        content.find_actors(people).await?;
        Ok(content)
    }

    async fn read_projects(&mut self, people: &ExportedPeople) -> Result<()> {
        let reader = self.reader;
        let fields = format!("{PROJECT_FIELDS},{}", field_names(Type::Project));
        let names = reader.records(Type::Section, "name").await?;
        let mut names: BTreeMap<Gid, Record> = names
            .into_iter()
            .map(|record| (record.gid, record))
            .collect();
        for record in reader.records(Type::Project, &fields).await? {
            let creator = record.creator;
            let Some(actor) = people.actor(reader.workspace, creator) else {
                continue;
            };
            let sections = reader.sources(record.gid, rel::SECTION_OF).await?;
            for section in &sections {
                if let Some(section) = names.remove(section) {
                    let name = section.text("/name").unwrap_or_default().to_owned();
                    self.sections.insert(section.gid, name);
                }
            }
            let tasks = reader.tasks_of(record.gid).await?;
            for task in &tasks {
                if self.tasks.contains_key(task) && !self.is_subtask(*task) {
                    self.homes.entry(*task).or_insert(record.gid);
                }
            }
            self.projects.push(ProjectContent {
                record,
                actor,
                sections,
                tasks,
            });
        }
        Ok(())
    }

    /// Returns true if a task is created as a subtask of another one.
    fn is_subtask(&self, task: Gid) -> bool {
        let parent = self
            .tasks
            .get(&task)
            .and_then(|task| task.gid_at("/parent/gid"));
        parent.is_some_and(|parent| self.tasks.contains_key(&parent))
    }

    /// Returns the tasks that are created in a project, in their order.
    pub(crate) fn own_tasks(&self, project: &ProjectContent) -> Vec<Gid> {
        let home = Some(&project.record.gid);
        let tasks = project.tasks.iter().copied();
        tasks.filter(|task| self.homes.get(task) == home).collect()
    }

    /// Returns the subtasks of a task, in their order.
    pub(crate) fn subtasks_of(&self, task: Gid) -> &[Gid] {
        self.subtasks
            .get(&task)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    pub(crate) fn section_of(&self, task: Gid, project: Gid) -> Option<Gid> {
        let gid = |item: &Value, pointer: &str| Gid::parse(item.pointer(pointer)?.as_str()?);
        let memberships = self.tasks.get(&task)?.items("/memberships");
        let here = memberships
            .iter()
            .find(|item| gid(item, "/project/gid") == Some(project))?;
        gid(here, "/section/gid")
    }

    /// Returns true if a person belongs to the workspace.
    pub(crate) fn has_member(&self, people: &ExportedPeople, person: Gid) -> bool {
        people.is_member(self.reader.workspace, person)
    }

    /// Returns true if a person belongs to the workspace and has a level on a node.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn has_level(
        &self,
        people: &ExportedPeople,
        person: Gid,
        node: Gid,
        level: Level,
    ) -> Result<bool> {
        if !self.has_member(people, person) {
            return Ok(false);
        }
        Ok(self.reader.level(person, node).await? >= level)
    }

    /// Returns true if a person may change a task as soon as it is created: they create it or a task above it, follow it,
    /// are its assignee, or may change the project that it is created in.
    ///
    /// # Errors
    /// Fails if the store can't be read.
    pub(crate) async fn is_editor(
        &self,
        people: &ExportedPeople,
        person: Gid,
        task: Gid,
    ) -> Result<bool> {
        if !self.has_member(people, person) {
            return Ok(false);
        }
        let mut next = Some(task);
        while let Some(gid) = next {
            let Some(record) = self.tasks.get(&gid) else {
                return Ok(false);
            };
            if self.actors.get(&gid) == Some(&person)
                || record.gid_at("/assignee/gid") == Some(person)
                || record.gids("/followers", "/gid").contains(&person)
            {
                return Ok(true);
            }
            if let Some(home) = self.homes.get(&gid) {
                return Ok(self.reader.level(person, *home).await? >= Level::Editor);
            }
            next = record.gid_at("/parent/gid");
        }
        Ok(false)
    }

    /// Finds the person who creates each task: its original creator, if they could create it now, otherwise the person who
    /// creates its container.
    async fn find_actors(&mut self, people: &ExportedPeople) -> Result<()> {
        let workspace = self.reader.workspace;
        let mut waiting: Vec<(Gid, Container, Gid)> = Vec::new();
        for project in &self.projects {
            let container = Container::Project(project.record.gid);
            let tasks = self.own_tasks(project).into_iter();
            waiting.extend(tasks.map(|task| (task, container, project.actor)));
        }
        for task in &self.loose {
            let creator = self.tasks.get(task).and_then(|task| task.creator);
            let actor = people.actor(workspace, creator);
            waiting.extend(actor.map(|actor| (*task, Container::Workspace, actor)));
        }
        while let Some((gid, container, usual)) = waiting.pop() {
            let creator = self.tasks.get(&gid).and_then(|task| task.creator);
            let may_create = match (creator, container) {
                (None, _) => false,
                (Some(creator), _) if creator == usual => true,
                (Some(creator), Container::Project(project)) => {
                    self.has_level(people, creator, project, Level::Editor)
                        .await?
                }
                (Some(creator), Container::Task(task)) => {
                    self.is_editor(people, creator, task).await?
                }
                (Some(_), Container::Workspace) => false,
            };
            let actor = creator.filter(|_| may_create).unwrap_or(usual);
            self.other_creators += usize::from(!may_create);
            self.actors.insert(gid, actor);
            let below = self.subtasks_of(gid).iter();
            let below: Vec<_> = below
                .map(|task| (*task, Container::Task(gid), actor))
                .collect();
            waiting.extend(below);
        }
        Ok(())
    }

    /// Labels projects, sections and tasks with their names, in the order of the fixture.
    pub(crate) fn add_labels(&self, labels: &mut FixtureLabels) {
        for project in &self.projects {
            let name = project.record.text("/name").unwrap_or_default();
            let label = labels.add(project.record.gid, name, "project");
            let prefix = format!("{label}/");
            labels.reserve(&format!("{prefix}{FIRST_SECTION}"));
            for (number, section) in project.sections.iter().enumerate() {
                let name = self.sections.get(section).map_or("", String::as_str);
                if number == 0 && name == FIRST_SECTION {
                    labels.set(*section, &format!("{prefix}{FIRST_SECTION}"));
                } else {
                    labels.add_below(&prefix, (*section, name), "section");
                }
            }
        }
        for task in &self.order {
            let name = self.tasks.get(task).and_then(|task| task.text("/name"));
            labels.add(*task, name.unwrap_or_default(), "task");
        }
    }

    fn ordered(&self) -> Vec<Gid> {
        let own = self
            .projects
            .iter()
            .flat_map(|project| self.own_tasks(project));
        let mut waiting: Vec<Gid> = own.chain(self.loose.iter().copied()).collect();
        waiting.reverse();
        let mut order = Vec::with_capacity(self.tasks.len());
        while let Some(task) = waiting.pop() {
            order.push(task);
            waiting.extend(self.subtasks_of(task).iter().rev());
        }
        order
    }

    /// Sorts tasks in the order in which the fixture creates them.
    pub(crate) fn sorted(&self, tasks: &[Gid]) -> Vec<Gid> {
        let mut sorted = tasks.to_vec();
        sorted.sort_by_key(|task| self.ranks.get(task).copied());
        sorted
    }

    /// Returns the tasks that the fixture creates, in its order, each with the person who creates it.
    pub(crate) fn made_tasks(&self) -> impl Iterator<Item = (&Record, Gid)> {
        self.order.iter().filter_map(|task| {
            let actor = self.actors.get(task)?;
            Some((self.tasks.get(task)?, *actor))
        })
    }
}
