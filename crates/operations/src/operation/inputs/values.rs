//! Values of inputs: references with their declaration, values with a deferred error, and updates of records.
use super::InputDef;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{
    Direction, FieldDef, FieldSource, Type, ValueType, Writability,
};
use workgraph_core::model::resources::resource;
use workgraph_core::model::validate;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView};

/// Reference to a node, with the declaration of its input.
#[derive(Clone, Debug)]
pub struct Named<R> {
    /// Declaration of the input that names it.
    pub input: &'static InputDef,
    /// The reference: a gid, or a reference of any kind.
    pub node: R,
}

impl<R: Clone + Into<NodeRef>> Named<R> {
    /// Returns the reference, for a query.
    #[must_use]
    pub fn node_ref(&self) -> NodeRef {
        self.node.clone().into()
    }
}

/// Value whose error is reported only when the decision takes it, after the checks of access.
#[derive(Clone, Debug)]
pub struct Deferred<T>(Result<T, DomainError>);

impl<T> Deferred<T> {
    /// Keeps the result of reading an input.
    #[must_use]
    pub const fn new(read: Result<T, DomainError>) -> Self {
        Self(read)
    }

    /// Returns the value.
    ///
    /// # Errors
    /// Fails if the input was malformed or missing.
    pub fn get(&self) -> Result<&T, DomainError> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

/// Returns true if an update of a record refuses this value for the field, unless it is the current one.
fn is_fixed(def: &FieldDef, value: &Value) -> bool {
    match def.write {
        Writability::OnCreate | Writability::Refused | Writability::Current => true,
        Writability::NewRecord => !validate::is_new_record(value),
        _ => false,
    }
}

/// Body of an update. Clients send back whole records, so fields that an update does not write may repeat their current
/// value.
#[derive(Clone, Debug)]
pub struct RecordUpdate {
    fixed: Vec<(&'static FieldDef, Value)>,
    written: Deferred<CheckedInputs>,
}

impl RecordUpdate {
    /// Reads the body of an update of a record.
    #[must_use]
    pub(crate) fn read(ty: Type, data: &Map<String, Value>) -> Self {
        let resource = resource(ty);
        let given = resource.fields.iter();
        let given = given.filter_map(|def| Some((def, data.get(def.name)?)));
        let fixed: Vec<(&FieldDef, Value)> = given
            .filter(|(def, value)| is_fixed(def, value))
            .map(|(def, value)| (def, value.clone()))
            .collect();
        let written = if fixed.is_empty() {
            validate::check_inputs(resource, data, false)
        } else {
            let mut written = data.clone();
            written.retain(|name, value| {
                !resource.field(name).is_some_and(|def| is_fixed(def, value))
            });
            validate::check_inputs(resource, &written, false)
        };
        Self {
            fixed,
            written: Deferred::new(written),
        }
    }

    /// Adds the links of the fields that the update does not write, for comparison with the body.
    #[must_use]
    pub fn with_unchanged(&self, on: &NodeRef, mut query: ReadQuery) -> ReadQuery {
        for (def, _) in &self.fixed {
            if let FieldSource::Edges(rel, Direction::Out) = def.source {
                query = query.edges(on.clone(), rel);
            }
        }
        query
    }

    /// Returns the fields that the update writes.
    ///
    /// # Errors
    /// Fails if a value is not valid for its field.
    pub fn written(&self) -> Result<&CheckedInputs, DomainError> {
        self.written.get()
    }

    /// Returns the fields that the update writes, after checking those that it does not write.
    ///
    /// # Errors
    /// Fails if a value is not valid for its field, or a field that the update does not write has a value other than the current
    /// one.
    pub fn checked(&self, view: &ReadView, node: &Node) -> Result<&CheckedInputs, DomainError> {
        for (def, value) in &self.fixed {
            let now = linked(def, view, node);
            if now.is_none() || named(def, value)? != now {
                return Err(DomainError::unwritable(def.name));
            }
        }
        self.written()
    }
}

/// Returns the gids that a value names, or `None` if it has no links.
fn named(def: &FieldDef, value: &Value) -> Result<Option<BTreeSet<String>>, DomainError> {
    Ok(match def.value_type {
        ValueType::One(_) | ValueType::Many(_) if value.is_null() => Some(BTreeSet::new()),
        ValueType::One(_) => Some(BTreeSet::from([validate::reference(def.name, value)?])),
        ValueType::Many(_) => Some(BTreeSet::from_iter(validate::references(def.name, value)?)),
        _ => None,
    })
}

/// Returns the gids that a field links to, or `None` if updates do not compare its links.
fn linked(def: &FieldDef, view: &ReadView, node: &Node) -> Option<BTreeSet<String>> {
    match def.source {
        FieldSource::Workspace => Some(node.workspace.iter().map(ToString::to_string).collect()),
        FieldSource::Inline(key) => {
            let link = node.raw(key).map(|raw| raw.trim_matches('"').to_owned());
            Some(link.filter(|gid| gid != "null").into_iter().collect())
        }
        FieldSource::Edges(rel, Direction::Out) => {
            let links = view.links(node.gid, rel).iter();
            Some(links.map(|edge| edge.dst.to_string()).collect())
        }
        _ => None,
    }
}
