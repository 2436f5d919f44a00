//! Plain families: records that belong to one node, and are created, changed and deleted in the same way.
//!
//! A family declares its type, the inputs that name a record and its parent, and the fields of its bodies. Its rules are two
//! functions: one that checks and completes a written record, and one for a deleted record.
use super::record_links::RecordLinks;
use super::{likes, task_values};
use crate::method::Method;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, RecordUpdate,
};
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation, rows};
use crate::request_context::{RequestContext, require_level};
use std::marker::PhantomData;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{FieldSource, LinkOne, Type, TypedField};
use workgraph_core::model::resources::{END_DATE, START_DATE, resource, task};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::custom_field_rules::ValueChange;
use workgraph_core::rules::rich_texts;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{LinkSelector, NodeRef, ReadQuery, ReadView};

/// A plain family of records.
pub(super) trait RecordFamily: Sized + Send + Sync + 'static {
    /// Type of the records.
    const TYPE: Type;
    /// The record in a path.
    const PATH: &'static Input<Named<Gid>>;
    /// The node that a new record belongs to: the container of its type, or else its workspace.
    const PARENT: &'static Input<Named<Gid>>;
    /// Level on the parent that a new record needs.
    const PARENT_LEVEL: Level = Level::Editor;
    /// Fields of a new record.
    const NEW: &'static Input<CheckedInputs>;
    /// Changed fields of a record.
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the record to change.");
    /// The text that a body has in plain or rich form, if there is one.
    const TEXTS: Option<RecordTexts> = None;

    /// Adds the nodes that the rules read besides the record, its parent, and the nodes named in the body. A record without a
    /// container has no parent when it is changed.
    fn needs(
        _call: &RequestContext<'_>,
        _at: &RecordRefs,
        _fields: Option<&CheckedInputs>,
        query: ReadQuery,
    ) -> ReadQuery {
        query
    }

    /// Checks and completes a record that is created or changed; its draft has the fields and links from the body.
    ///
    /// # Errors
    /// Fails if the values do not fit together.
    fn complete(
        _change: &mut RecordChange<'_>,
        _fields: &CheckedInputs,
    ) -> Result<(), DomainError> {
        Ok(())
    }

    /// Applies the consequences of a new record.
    fn created(_change: &mut RecordChange<'_>) {}

    /// Applies the consequences of a record's deletion.
    ///
    /// # Errors
    /// Fails if the record may not be deleted.
    fn remove(_change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        Ok(())
    }
}

/// Returns the input of the workspace that a new record belongs to.
pub(super) const fn workspace_parent(doc: &'static str) -> Input<Named<Gid>> {
    body_parent("workspace", &[Type::Workspace], doc)
}

/// Returns the input of the project that a new record belongs to.
pub(super) const fn project_parent(doc: &'static str) -> Input<Named<Gid>> {
    body_parent("parent", &[Type::Project], doc)
}

const fn body_parent(
    name: &'static str,
    types: &'static [Type],
    doc: &'static str,
) -> Input<Named<Gid>> {
    Input::gid(InputPlace::Body, name, types, doc).required()
}

/// References to a record and to the node that it belongs to.
pub(super) struct RecordRefs {
    /// The record; `None` if it is new.
    pub(super) record: Option<NodeRef>,
    /// The node that it belongs to.
    pub(super) parent: NodeRef,
}

/// The two forms of a text.
pub(super) struct RecordTexts {
    /// Field of the plain form.
    pub(super) plain: TypedField<str>,
    /// Field of the rich form.
    pub(super) html: TypedField<str>,
}

/// A record that is created, changed or deleted.
pub(super) struct RecordChange<'c> {
    pub(super) call: &'c RequestContext<'c>,
    /// Nodes and edges of the read view.
    pub(super) view: &'c ReadView,
    /// Changes collected so far.
    pub(super) work: ChangeBuilder<'c>,
    /// Node to which the record belongs; `None` for a changed record that belongs only to its workspace.
    pub(super) parent: Option<&'c Node>,
    /// References to the record and to its parent in the query; `None` for a changed record without a container.
    pub(super) at: Option<RecordRefs>,
    pub(super) draft: Draft,
    /// Changed values of custom fields.
    values: Vec<ValueChange>,
}

impl RecordRefs {
    /// Returns the references of an existing record; `None` if it has no container.
    fn of<R: RecordFamily>(record: &NodeRef) -> Option<Self> {
        let container = resource(R::TYPE).container?;
        Some(Self {
            record: Some(record.clone()),
            parent: record.clone().of(LinkSelector::Key(container)),
        })
    }
    /// Returns the references of a new record.
    const fn of_new(parent: NodeRef) -> Self {
        Self {
            record: None,
            parent,
        }
    }
}

/// Inputs of a new record.
struct CreateRecord<R> {
    parent: Named<Gid>,
    fields: Deferred<CheckedInputs>,
    family: PhantomData<fn() -> R>,
}

impl<R: RecordFamily> OperationInput for CreateRecord<R> {
    const INPUTS: &'static [&'static InputDef] = &[&R::PARENT.def, &R::NEW.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            parent: inputs.required(R::PARENT)?,
            fields: inputs.deferred(R::NEW),
            family: PhantomData,
        })
    }
}

/// Inputs of a change of a record.
struct UpdateRecord<R> {
    record: Named<Gid>,
    fields: RecordUpdate,
    family: PhantomData<fn() -> R>,
}

impl<R: RecordFamily> OperationInput for UpdateRecord<R> {
    const INPUTS: &'static [&'static InputDef] = &[&R::PATH.def, &R::CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            record: inputs.required(R::PATH)?,
            fields: inputs.required(R::CHANGED)?,
            family: PhantomData,
        })
    }
}

/// Input of the deletion of a record.
struct DeleteRecord<R> {
    record: Named<Gid>,
    family: PhantomData<fn() -> R>,
}

impl<R: RecordFamily> OperationInput for DeleteRecord<R> {
    const INPUTS: &'static [&'static InputDef] = &[&R::PATH.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            record: inputs.required(R::PATH)?,
            family: PhantomData,
        })
    }
}

/// Rows of a family, with the handlers that follow from its declaration.
pub(super) struct Rows<R>(PhantomData<R>);

impl<R: RecordFamily> Rows<R> {
    const CREATE: &'static Steps<CreateRecord<R>, Decision> = &Steps::new(create_needs, create);
    const UPDATE: &'static Steps<UpdateRecord<R>, Decision> = &Steps::new(update_needs, update);
    const DELETE: &'static Steps<DeleteRecord<R>, Decision> = &Steps::new(delete_needs, delete);

    /// Makes the row of the operation that creates a record.
    pub(super) const fn create(id: &'static str, path: &'static str) -> Operation {
        rows::create(id, path, R::TYPE, Self::CREATE)
    }
    /// Responds with the record of the path.
    pub(super) const fn get(id: &'static str, path: &'static str) -> Operation {
        crate::operation::get(id, path, R::TYPE)
    }
    /// Changes the record of the path.
    pub(super) const fn update(id: &'static str, path: &'static str) -> Operation {
        rows::update(id, path, R::TYPE, Self::UPDATE)
    }
    /// Makes the row of the operation that deletes a record.
    pub(super) const fn delete(id: &'static str, path: &'static str) -> Operation {
        rows::action(id, path, Self::DELETE).with_method(Method::Delete)
    }
}

fn create_needs<R: RecordFamily>(
    call: &RequestContext<'_>,
    input: &CreateRecord<R>,
) -> Result<ReadQuery, DomainError> {
    let parent = input.parent.node_ref();
    let query = call.read_query().node(parent.clone());
    // Errors of the body are reported after the checks of access.
    let fields = input.fields.get().ok();
    let query = named_nodes::<R>(call, None, fields, query)?;
    Ok(R::needs(call, &RecordRefs::of_new(parent), fields, query))
}

fn create<R: RecordFamily>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateRecord<R>,
) -> Result<Decision, DomainError> {
    let parent = call.named_node(view, &input.parent, R::PARENT_LEVEL)?;
    call.require_plan(view, parent)?;
    let workspace = match parent.ty {
        Type::Workspace => Some(parent.gid),
        _ => parent.workspace,
    };
    let fields = input.fields.get()?;
    let work = call.change_builder();
    let mut draft = work.draft(R::TYPE, workspace);
    if let Some(key) = resource(R::TYPE).container
        && parent.ty != Type::Workspace
    {
        draft.set_raw(key, "null", format!("\"{}\"", parent.gid));
    }
    let mut change = RecordChange {
        call,
        view,
        work,
        parent: Some(parent),
        at: Some(RecordRefs::of_new(input.parent.node_ref())),
        draft,
        values: Vec::new(),
    };
    change.fill::<R>(fields)?;
    R::complete(&mut change, fields)?;
    let gid = change.work.create(&change.draft, Some(parent.gid));
    R::created(&mut change);
    Ok(Decision::about(change.work.changes, gid))
}

fn update_needs<R: RecordFamily>(
    call: &RequestContext<'_>,
    input: &UpdateRecord<R>,
) -> Result<ReadQuery, DomainError> {
    let record = input.record.node_ref();
    let query = call.read_query().node(record.clone());
    let query = input.fields.with_unchanged(&record, query);
    let fields = input.fields.written().ok();
    let query = named_nodes::<R>(call, Some(&record), fields, query)?;
    Ok(with_parent::<R>(call, &record, fields, query))
}

/// Adds the nodes that a body names.
fn named_nodes<R: RecordFamily>(
    call: &RequestContext<'_>,
    record: Option<&NodeRef>,
    fields: Option<&CheckedInputs>,
    query: ReadQuery,
) -> Result<ReadQuery, DomainError> {
    let Some(fields) = fields else {
        return Ok(query);
    };
    let mut query = RecordLinks::read(call, resource(R::TYPE), fields)?.needs(record, query);
    if has_values::<R>(fields) {
        query = match record {
            Some(record) => task_values::needs(call, query, fields, record.clone())?,
            None => task_values::add_node_refs(call, query, fields)?,
        };
    }
    if let Some(record) = record {
        query = likes::needs(call, (record, R::TYPE), fields, query);
    }
    if let Some(text) = R::TEXTS {
        for gid in rich_texts::referenced(fields, text.html) {
            query.add_ref(gid);
        }
    }
    Ok(query)
}

/// Returns true if a body has values of the record's custom fields.
fn has_values<R: RecordFamily>(fields: &CheckedInputs) -> bool {
    let name = task::CUSTOM_FIELDS.def.name;
    let def = resource(R::TYPE).field(name);
    fields.has(name) && def.is_some_and(|def| matches!(def.source, FieldSource::Values(_)))
}

/// Adds the node that a record belongs to, and the nodes that the rules read.
fn with_parent<R: RecordFamily>(
    call: &RequestContext<'_>,
    record: &NodeRef,
    fields: Option<&CheckedInputs>,
    query: ReadQuery,
) -> ReadQuery {
    match RecordRefs::of::<R>(record) {
        Some(at) => R::needs(call, &at, fields, query.node(at.parent.clone())),
        None => query,
    }
}

fn update<R: RecordFamily>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateRecord<R>,
) -> Result<Decision, DomainError> {
    let least = match input.fields.written() {
        Ok(fields) if likes::is_alone(fields) => Level::Commenter,
        _ => Level::Editor,
    };
    let node = call.named_node(view, &input.record, least)?;
    let fields = input.fields.checked(view, node)?;
    let mut change = RecordChange::of::<R>(call, view, &input.record, node);
    change.fill::<R>(fields)?;
    R::complete(&mut change, fields)?;
    let RecordChange {
        mut work,
        draft,
        values,
        ..
    } = change;
    work.save(&draft);
    task_values::record(&mut work, view, node, &values);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete_needs<R: RecordFamily>(
    call: &RequestContext<'_>,
    input: &DeleteRecord<R>,
) -> Result<ReadQuery, DomainError> {
    let record = input.record.node_ref();
    let query = call.read_query().node(record.clone());
    Ok(with_parent::<R>(call, &record, None, query))
}

fn delete<R: RecordFamily>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteRecord<R>,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.record, Level::Editor)?;
    let mut change = RecordChange::of::<R>(call, view, &input.record, node);
    R::remove(&mut change)?;
    let mut work = change.work;
    work.trash(node.gid, node.ty);
    Ok(Decision::of(work.changes))
}

impl<'c> RecordChange<'c> {
    /// Returns the change of an existing record.
    fn of<R: RecordFamily>(
        call: &'c RequestContext<'c>,
        view: &'c ReadView,
        record: &Named<Gid>,
        node: &'c Node,
    ) -> Self {
        let container = resource(node.ty).container;
        Self {
            call,
            view,
            work: call.change_builder(),
            parent: container.and_then(|key| view.node(node.link(key)?)),
            at: RecordRefs::of::<R>(&record.node_ref()),
            draft: Draft::edit(node),
            values: Vec::new(),
        }
    }

    /// Puts the fields and links of a body into the draft.
    fn fill<R: RecordFamily>(&mut self, fields: &CheckedInputs) -> Result<(), DomainError> {
        let of = resource(R::TYPE);
        fields.fill(of, &mut self.draft);
        if let Some(text) = R::TEXTS {
            let base_url = self.call.base_url();
            let (plain, html) = (text.plain, text.html);
            rich_texts::write(
                &mut self.draft,
                fields,
                plain,
                html,
                of,
                self.view,
                base_url,
            )?;
        }
        if has_values::<R>(fields) {
            let (call, view, draft) = (self.call, self.view, &mut self.draft);
            let stored = (!draft.is_new()).then(|| view.node(draft.gid));
            self.values = match stored.flatten() {
                Some(node) => task_values::write_to(call, view, draft, fields, node)?,
                // A new record has no custom field that could have a value.
                None => task_values::write(call, view, draft, fields, None, &[])?,
            };
        }
        likes::write(self.call, self.view, &mut self.work, &self.draft, fields);
        let links = RecordLinks::read(self.call, of, fields)?;
        links.write(self.call, self.view, &mut self.work, &mut self.draft)
    }

    /// Checks that the caller may put the record into the node that a field now links to.
    ///
    /// # Errors
    /// Fails if the node has changed, and the caller may not edit it.
    pub(super) fn require_new_parent(
        &mut self,
        field: TypedField<LinkOne>,
    ) -> Result<(), DomainError> {
        let parent = self.draft.get(field).filter(|_| self.draft.changed(field));
        if let Some(parent) = parent.and_then(|gid| self.view.node(gid)) {
            require_level(self.view, parent, Level::Editor)?;
        }
        Ok(())
    }

    /// Returns the node to which the record belongs.
    ///
    /// # Errors
    /// Fails if it was deleted, and the record with it.
    pub(super) fn parent(&self) -> Result<&'c Node, DomainError> {
        let noun = resource(self.draft.ty).noun;
        self.parent
            .ok_or_else(|| DomainError::not_found(noun, self.draft.gid))
    }
}

/// Checks that a record has a first and a last day, in this order.
///
/// # Errors
/// Fails if one is missing, or the last is before the first.
pub(super) fn check_days(draft: &Draft) -> Result<(), DomainError> {
    let (first, last) = (draft.get(START_DATE), draft.get(END_DATE));
    let first = first.ok_or_else(|| DomainError::missing(START_DATE.def.name))?;
    let last = last.ok_or_else(|| DomainError::missing(END_DATE.def.name))?;
    if last < first {
        let reason = format_args!("{last} is before {} {first}", START_DATE.def.name);
        return Err(DomainError::field(END_DATE.def.name, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
