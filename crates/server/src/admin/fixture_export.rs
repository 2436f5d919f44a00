//! Export of a world as a fixture that an equal world can be made from.
mod export_custom_fields;
mod export_links;
mod export_projects;
mod export_state;
mod export_tasks;
mod export_teams;
mod export_texts;
mod exported_fields;
mod exported_people;
mod exported_requests;
mod fixture_labels;
mod workspace_content;
mod world_reader;

use crate::admin::admin_service::{AdminService, service_prefix};
use crate::admin::bootstrap_file::AppEntry;
use crate::admin::fixture_export::export_custom_fields::export_custom_fields;
use crate::admin::fixture_export::export_links::export_links;
use crate::admin::fixture_export::export_projects::export_projects;
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::export_teams::{ExportedTeams, export_apps};
use crate::admin::fixture_export::exported_people::ExportedPeople;
use crate::admin::fixture_export::fixture_labels::FixtureLabels;
use crate::admin::fixture_export::workspace_content::{TASKS_MAX, WorkspaceContent};
use crate::admin::fixture_export::world_reader::{Record, WorldReader};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_core::model::resources::{resource, workspace};
use workgraph_core::model::time::Time;
use workgraph_core::{Node, Type};

/// Types of the objects that a fixture contains, or that follow from its content.
const CARRIED: [Type; 29] = [
    Type::Workspace,
    Type::User,
    Type::Team,
    Type::WorkspaceMembership,
    Type::TeamMembership,
    Type::Project,
    Type::ProjectMembership,
    Type::Section,
    Type::Task,
    Type::Tag,
    Type::UserTaskList,
    Type::Story,
    Type::CustomField,
    Type::EnumOption,
    Type::CustomFieldSetting,
    Type::CustomFieldMembership,
    Type::Event,
    Type::Job,
    Type::TemplateTask,
    Type::GraphExport,
    Type::OrganizationExport,
    Type::ResourceExport,
    Type::ProjectTotals,
    Type::PortfolioMembership,
    Type::ProjectPortfolioSetting,
    Type::GoalMembership,
    Type::CustomTypeStatusOption,
    Type::Reaction,
    Type::Role,
];

/// Exported world: the fixture, and the counts of objects that it lacks.
pub(crate) struct ExportedWorld {
    /// Fixture that an equal world can be made from.
    pub(crate) fixture: Value,
    /// Number of objects and properties that the fixture lacks, by kind.
    pub(crate) left_out: BTreeMap<String, usize>,
}

/// Exports a world. `apps` contains the apps whose secrets are known.
///
/// # Errors
/// Fails if the world can't be read, has too many tasks, or has nobody who could create the other objects.
pub(crate) async fn export_fixture(
    service: &AdminService,
    apps: &[AppEntry],
) -> Result<ExportedWorld> {
    let workspaces = service.workspaces().await?;
    let readers: Vec<WorldReader<'_>> = workspaces
        .iter()
        .map(|node| WorldReader {
            service,
            workspace: node.gid,
        })
        .collect();
    let people = ExportedPeople::read(&readers).await?;
    let mut labels = FixtureLabels::new(Time::from_system(service.clock.now()));
    people.add_labels(&mut labels);
    let shown_workspaces: Vec<Value> = workspaces
        .iter()
        .map(|node| workspace_json(node, &mut labels))
        .collect();
    let mut state = ExportState::new(people, labels);
    let apps = export_apps(&mut state, service, apps).await?;
    let teams = ExportedTeams::read(&mut state, &readers).await?;
    let mut contents = Vec::with_capacity(readers.len());
    let mut room = TASKS_MAX;
    for reader in &readers {
        let content = WorkspaceContent::read(*reader, &state.people, room).await?;
        room = room.saturating_sub(content.tasks.len());
        content.add_labels(&mut state.labels);
        state.leave_out("creator of a task", content.other_creators);
        state.leave_out("section of a user's task list", content.list_sections);
        contents.push(content);
    }
    let teams = teams.export(&mut state);
    let mut projects = Vec::new();
    for content in &contents {
        projects.extend(export_projects(&mut state, content).await?);
    }
    for content in &contents {
        export_links(&mut state, content).await?;
        export_custom_fields(&mut state, content).await?;
    }
    for reader in &readers {
        count_others(&mut state, *reader).await?;
    }
    let hooks = service.storage.hooks.all().await?;
    state.leave_out("webhook", hooks.len());
    let people = state.people.fixture(&workspaces, &state.labels);
    let mut fixture = Map::new();
    for (part, items) in [
        ("workspaces", shown_workspaces),
        ("people", people),
        ("apps", apps),
        ("teams", teams),
        ("projects", projects),
        ("requests", state.requests.into_json()),
    ] {
        if !items.is_empty() {
            fixture.insert(part.to_owned(), items.into());
        }
    }
    Ok(ExportedWorld {
        fixture: fixture.into(),
        left_out: state.left_out,
    })
}

fn workspace_json(node: &Node, labels: &mut FixtureLabels) -> Value {
    let name = node.title();
    let label = labels.add(node.gid, &name, "workspace");
    let mut out = Map::new();
    if label != name {
        out.insert("called".to_owned(), label.into());
    }
    out.insert("name".to_owned(), name.into());
    if node.get(workspace::PLAN).as_deref() != Some("paid") {
        out.insert("plan".to_owned(), json!("free"));
    }
    if !node.get(workspace::IS_ORGANIZATION) {
        out.insert("organization".to_owned(), json!(false));
    }
    out.into()
}

/// Counts the objects of a workspace whose types a fixture can't contain.
async fn count_others(state: &mut ExportState, reader: WorldReader<'_>) -> Result<()> {
    for ty in Type::ALL.iter().filter(|ty| !CARRIED.contains(ty)) {
        let count = reader.count(*ty).await?;
        let noun = resource(*ty).noun;
        state.leave_out(noun, count);
    }
    let roles = reader.records(Type::Role, "is_standard_role").await?;
    let is_own = |role: &&Record| !role.flag("/is_standard_role");
    state.leave_out("role", roles.iter().filter(is_own).count());
    let prefix = service_prefix(reader.workspace);
    let services = reader.service.numbered_nodes(&prefix).await?;
    state.leave_out("service account", services.len());
    Ok(())
}
