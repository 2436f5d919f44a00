//! Records that are sent back: fields that an update does not write may say what is so already.
use crate::call::Call;
use serde_json::Value;
use std::collections::BTreeSet;
use workgraph_core::check::{self, Inputs};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Def, Dir, Shape, Source, Type, Write};
use workgraph_core::resources::resource;

/// Tells whether an update of a record refuses the field.
fn is_fixed(def: &Def) -> bool {
    matches!(def.write, Write::OnCreate | Write::Refused)
}

impl Call<'_> {
    /// Adds the links that the fields which an update of a record does not write are compared with.
    #[must_use]
    pub fn with_unchanged(&self, ty: Type, on: &Ref, mut want: Want) -> Want {
        for def in resource(ty).fields.iter().filter(|def| is_fixed(def)) {
            if let (true, Source::Edges(rel, Dir::Out)) = (self.has(def.name), def.source) {
                want = want.edges(on.clone(), rel);
            }
        }
        want
    }

    /// Checks the body of an update, without the fields that it does not write.
    ///
    /// # Errors
    /// When a value is not one its field takes.
    pub fn written(&self, ty: Type) -> Result<Inputs, Fault> {
        let resource = resource(ty);
        let mut data = self.data.clone();
        data.retain(|name, _| !resource.field(name).is_some_and(is_fixed));
        check::inputs(resource, &data, false)
    }

    /// Checks the body of an update of a node, as [`written`](Self::written) does, and what it leaves out, too.
    ///
    /// # Errors
    /// When a value is not one its field takes, or a field that the update does not write says anything
    /// but what is so.
    pub fn changes_of(&self, view: &View, node: &Node) -> Result<Inputs, Fault> {
        for def in resource(node.ty).fields.iter().filter(|def| is_fixed(def)) {
            let Some(value) = self.data.get(def.name) else {
                continue;
            };
            let now = linked(def, view, node);
            if now.is_none() || named(def, value)? != now {
                return Err(Fault::unwritable(def.name));
            }
        }
        self.written(node.ty)
    }
}

/// Reads the gids that a value names; none if they are not those of links.
fn named(def: &Def, value: &Value) -> Result<Option<BTreeSet<String>>, Fault> {
    Ok(match def.shape {
        Shape::One(_) | Shape::Many(_) if value.is_null() => Some(BTreeSet::new()),
        Shape::One(_) => Some(BTreeSet::from([check::reference(def.name, value)?])),
        Shape::Many(_) => Some(BTreeSet::from_iter(check::references(def.name, value)?)),
        _ => None,
    })
}

/// Returns the gids that a field links to; none if it is no field of links that an update looks at.
fn linked(def: &Def, view: &View, node: &Node) -> Option<BTreeSet<String>> {
    match def.source {
        Source::Home => Some(node.home.iter().map(ToString::to_string).collect()),
        Source::Edges(rel, Dir::Out) => {
            let links = view.links(node.gid, rel).iter();
            Some(links.map(|edge| edge.dst.to_string()).collect())
        }
        _ => None,
    }
}
