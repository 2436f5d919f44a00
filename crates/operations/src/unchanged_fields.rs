//! Records that clients send back: fields that an update does not write may repeat their current value.
use crate::request_context::RequestContext;
use serde_json::Value;
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

/// Returns true if an update of a record refuses the field.
fn is_fixed(def: &FieldDef) -> bool {
    matches!(def.write, Writability::OnCreate | Writability::Refused)
}

impl RequestContext<'_> {
    /// Adds the links of the fields that an update does not write, so that the body can be compared with them.
    #[must_use]
    pub fn with_unchanged(&self, ty: Type, on: &NodeRef, mut want: ReadQuery) -> ReadQuery {
        for def in resource(ty).fields.iter().filter(|def| is_fixed(def)) {
            if let (true, FieldSource::Edges(rel, Direction::Out)) =
                (self.has_field(def.name), def.source)
            {
                want = want.edges(on.clone(), rel);
            }
        }
        want
    }

    /// Checks the body of an update, without the fields that it does not write.
    ///
    /// # Errors
    /// Fails when a value is not valid for its field.
    pub fn writable_inputs(&self, ty: Type) -> Result<CheckedInputs, DomainError> {
        let resource = resource(ty);
        let mut data = self.data.clone();
        data.retain(|name, _| !resource.field(name).is_some_and(is_fixed));
        validate::check_inputs(resource, &data, false)
    }

    /// Checks the body of an update of a node, as [`writable_inputs`](Self::writable_inputs) does, and the fields that
    /// it leaves out, too.
    ///
    /// # Errors
    /// Fails when a value is not valid for its field, or a field that the update does not write has another value than
    /// the current one.
    pub fn checked_update(
        &self,
        view: &ReadView,
        node: &Node,
    ) -> Result<CheckedInputs, DomainError> {
        for def in resource(node.ty).fields.iter().filter(|def| is_fixed(def)) {
            let Some(value) = self.data.get(def.name) else {
                continue;
            };
            let now = linked(def, view, node);
            if now.is_none() || named(def, value)? != now {
                return Err(DomainError::unwritable(def.name));
            }
        }
        self.writable_inputs(node.ty)
    }
}

/// Returns the gids that a value names, or `None` if they are not those of links.
fn named(def: &FieldDef, value: &Value) -> Result<Option<BTreeSet<String>>, DomainError> {
    Ok(match def.value_type {
        ValueType::One(_) | ValueType::Many(_) if value.is_null() => Some(BTreeSet::new()),
        ValueType::One(_) => Some(BTreeSet::from([validate::reference(def.name, value)?])),
        ValueType::Many(_) => Some(BTreeSet::from_iter(validate::references(def.name, value)?)),
        _ => None,
    })
}

/// Returns the gids that a field links to, or `None` if it is not a field of links that an update compares.
fn linked(def: &FieldDef, view: &ReadView, node: &Node) -> Option<BTreeSet<String>> {
    match def.source {
        FieldSource::Workspace => Some(node.workspace.iter().map(ToString::to_string).collect()),
        FieldSource::Edges(rel, Direction::Out) => {
            let links = view.links(node.gid, rel).iter();
            Some(links.map(|edge| edge.dst.to_string()).collect())
        }
        _ => None,
    }
}
