//! Inputs of the list of tasks, and of a change of a task.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::NodeRef;

const PROJECT: Input<Named<Gid>> = container(
    "project",
    &[Type::Project],
    "Lists the tasks of this project.",
);
const SECTION: Input<Named<Gid>> = container(
    "section",
    &[Type::Section],
    "Lists the tasks of this section.",
);
const TAG: Input<Named<Gid>> = container("tag", &[Type::Tag], "Lists the tasks with this tag.");
const TASK_LIST: Input<Named<Gid>> = container(
    "user_task_list",
    &[Type::UserTaskList],
    "Lists the tasks of this task list.",
);
pub(super) const WORKSPACE: Input<Named<Gid>> = container(
    "workspace",
    &[Type::Workspace],
    "With `assignee`: the workspace of the tasks.",
);
pub(super) const ASSIGNEE: Input<String> = Input::parsed(
    InputPlace::Query,
    "assignee",
    InputType::Node(&[Type::User]),
    read_text,
    "With `workspace`: lists the tasks of this user; `null` lists those without an assignee.",
);
// Only `null` has a meaning for this parameter.
const ASSIGNEE_ANY: Input<String> = Input::parsed(
    InputPlace::Query,
    "assignee.any",
    InputType::Node(&[Type::User]),
    read_text,
    "The name of `assignee` in searches; `null` means the same in both.",
);
const CHANGED: Input<CheckedInputs> =
    Input::changed_record(Type::Task, "The fields of the task to change.");

/// The value of `assignee` for tasks without one.
const NOBODY: &str = "null";

/// Returns a query parameter for the node whose tasks are listed.
const fn container(
    name: &'static str,
    types: &'static [Type],
    doc: &'static str,
) -> Input<Named<Gid>> {
    Input::gid(InputPlace::Query, name, types, doc)
}

fn read_text(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    Ok(inputs.query_text(input)?.map(str::to_owned))
}

/// The assignee of listed tasks.
pub(super) enum Assignee {
    /// Tasks without an assignee.
    Nobody,
    /// Tasks of this user.
    User(NodeRef),
}

/// Inputs of a list of tasks.
pub(super) struct ListTasks {
    /// Projects, sections, tags and task lists; a valid request has at most one.
    pub(super) containers: Vec<Named<Gid>>,
    pub(super) workspace: Option<Named<Gid>>,
    pub(super) assignee: Option<Assignee>,
}

impl OperationInput for ListTasks {
    const INPUTS: &'static [&'static InputDef] = &[
        &PROJECT.def,
        &SECTION.def,
        &TAG.def,
        &TASK_LIST.def,
        &WORKSPACE.def,
        &ASSIGNEE.def,
        &ASSIGNEE_ANY.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let mut containers = Vec::new();
        containers.extend(inputs.optional(&PROJECT)?);
        containers.extend(inputs.optional(&SECTION)?);
        containers.extend(inputs.optional(&TAG)?);
        containers.extend(inputs.optional(&TASK_LIST)?);
        let workspace = inputs.optional(&WORKSPACE)?;
        let assignee = inputs.deferred_optional(&ASSIGNEE);
        let assignee_any = inputs.deferred_optional(&ASSIGNEE_ANY);
        // In a container no assignee may be given, not even `null`, and `assignee.any` is ignored.
        let nobody = containers.is_empty()
            && [assignee.get()?, assignee_any.get()?]
                .into_iter()
                .any(|text| text.as_deref() == Some(NOBODY));
        let assignee = if nobody {
            Some(Assignee::Nobody)
        } else {
            let text = assignee.get()?.as_ref();
            let user = text.map(|text| inputs.query_user(ASSIGNEE.def.name, text));
            user.transpose()?.map(Assignee::User)
        };
        Ok(Self {
            containers,
            workspace,
            assignee,
        })
    }
}

/// A task, and the fields to change.
pub(super) struct UpdateTask {
    pub(super) fields: CheckedInputs,
    pub(super) task: Named<Gid>,
}

impl OperationInput for UpdateTask {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            fields: inputs.required(&CHANGED)?,
            task: inputs.required(&path::TASK)?,
        })
    }
}
