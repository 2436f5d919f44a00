//! Inputs of the operations on the links of a task.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::table::list_position::{InsertInputs, InsertPosition, insert_beside};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::NodeRef;

const ADDED: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "task",
    &[Type::Task],
    "The task to insert, one of the same workspace.",
)
.required();
const PROJECT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "project",
    &[Type::Project],
    "The project, one of the task's workspace.",
)
.required();
const SECTION: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "section",
    &[Type::Section],
    "The section of the project into which the task is put.",
);
const TAG: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "tag",
    &[Type::Tag],
    "The tag, one of the task's workspace.",
)
.required();
const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "The users; new followers belong to the task's workspace.",
)
.required();
const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    &[Type::Task],
    "The new parent, a task of the same workspace; null for none.",
)
.required()
.nullable();
const BESIDE: InsertInputs = insert_beside(&[Type::Task]);

/// Reads the position in a list of tasks that the body requests.
fn position(inputs: &InputReader<'_>) -> Result<InsertPosition, DomainError> {
    Ok(BESIDE.read(inputs)?.position)
}

/// The node in the path, into which a task is inserted.
pub(super) enum InsertTarget {
    /// A section.
    Section(Named<Gid>),
    /// A user's task list.
    TaskList(Named<Gid>),
}

/// A section or task list, and the task to insert.
pub(super) struct InsertTask {
    pub(super) target: InsertTarget,
    pub(super) task: Named<Gid>,
    pub(super) position: InsertPosition,
}

impl OperationInput for InsertTask {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::SECTION.def,
        &path::USER_TASK_LIST.def,
        &ADDED.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        // The path has one of them: the operation has a path for sections, and an old one for task lists.
        let section = inputs.optional(&path::SECTION)?;
        let task = inputs.required(&ADDED)?;
        let list = inputs.optional(&path::USER_TASK_LIST)?;
        let target = match (section, list) {
            (Some(section), _) => InsertTarget::Section(section),
            (None, Some(list)) => InsertTarget::TaskList(list),
            (None, None) => return Err(DomainError::missing(path::SECTION.def.name)),
        };
        Ok(Self {
            target,
            task,
            position: position(inputs)?,
        })
    }
}

/// A task, and the project to add it to.
pub(super) struct AddProject {
    pub(super) task: Named<Gid>,
    pub(super) project: Named<Gid>,
    pub(super) section: Option<Gid>,
    pub(super) position: InsertPosition,
}

impl OperationInput for AddProject {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::TASK.def,
        &PROJECT.def,
        &SECTION.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            project: inputs.required(&PROJECT)?,
            section: inputs.optional(&SECTION)?.map(|named| named.node),
            position: position(inputs)?,
        })
    }
}

/// A task, and the project to remove it from.
pub(super) struct RemoveProject {
    pub(super) task: Named<Gid>,
    pub(super) project: Named<Gid>,
}

impl OperationInput for RemoveProject {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK.def, &PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            project: inputs.required(&PROJECT)?,
        })
    }
}

/// A task, and a tag to add or to remove.
pub(super) struct TaskAndTag {
    pub(super) task: Named<Gid>,
    pub(super) tag: Named<Gid>,
}

impl OperationInput for TaskAndTag {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK.def, &TAG.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            tag: inputs.required(&TAG)?,
        })
    }
}

/// A task, and users who start or stop following it.
pub(super) struct TaskAndFollowers {
    pub(super) task: Named<Gid>,
    pub(super) followers: Vec<Named<NodeRef>>,
}

impl OperationInput for TaskAndFollowers {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK.def, &FOLLOWERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            followers: inputs.required(&FOLLOWERS)?,
        })
    }
}

/// A task, and its new parent.
pub(super) struct SetParent {
    pub(super) task: Named<Gid>,
    pub(super) parent: Option<Named<Gid>>,
    /// The position among the subtasks of the parent. Without a parent, its error is reported after the checks of access.
    pub(super) position: Deferred<InsertPosition>,
}

impl OperationInput for SetParent {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::TASK.def,
        &PARENT.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let task = inputs.required(&path::TASK)?;
        let parent = inputs.optional(&PARENT)?;
        let position = Deferred::new(position(inputs));
        if parent.is_some() {
            position.get()?;
        }
        Ok(Self {
            task,
            parent,
            position,
        })
    }
}
