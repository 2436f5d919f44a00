//! Links of records: nodes named in the fields of a body, found and written as the registry declares them.
use super::named_users::member_of;
use crate::operation::inputs::parse_gid;
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{
    Direction, FieldDef, FieldSource, Relation, Resource, Type, ValueType, rel,
};
use workgraph_core::model::resources::resource;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, NodeRef, ReadQuery, ReadView};

/// A field of links, with the nodes that a body names for it; empty for null.
struct NamedLinks {
    def: &'static FieldDef,
    types: &'static [Type],
    nodes: Vec<NodeRef>,
}

/// The links of a record from a body.
pub(super) struct RecordLinks(Vec<NamedLinks>);

impl RecordLinks {
    /// Reads the links from the fields of a body.
    ///
    /// # Errors
    /// Fails if a reference is malformed.
    pub(super) fn read(
        call: &RequestContext<'_>,
        of: &'static Resource,
        fields: &CheckedInputs,
    ) -> Result<Self, DomainError> {
        let mut links = Vec::new();
        for def in fields.names().filter_map(|name| of.field(name)) {
            let (ValueType::One(types) | ValueType::Many(types)) = def.value_type else {
                continue;
            };
            if matches!(def.source, FieldSource::Values(_) | FieldSource::Workspace) {
                continue;
            }
            let texts = match fields.get(def.name) {
                Some(InputValue::Ref(text)) => std::slice::from_ref(text),
                Some(InputValue::Refs(texts)) => texts.as_slice(),
                _ => &[],
            };
            let nodes = texts.iter().map(|text| match types {
                [Type::User, ..] => call.parse_user_ref(def.name, text),
                _ => parse_gid(def.name, text).map(NodeRef::Gid),
            });
            let nodes = nodes.collect::<Result<_, _>>()?;
            links.push(NamedLinks { def, types, nodes });
        }
        Ok(Self(links))
    }

    /// Adds the named nodes to a read query, and the current links of `record`.
    pub(super) fn needs(&self, record: Option<&NodeRef>, mut query: ReadQuery) -> ReadQuery {
        for link in &self.0 {
            for node in &link.nodes {
                query = match link.types {
                    [Type::User, ..] => query.edges(node.clone(), rel::WORKSPACES),
                    _ => query.node(node.clone()),
                };
            }
            if let (Some(record), FieldSource::Edges(rel, Direction::Out)) =
                (record, link.def.source)
            {
                query = query.edges(record.clone(), rel);
            }
        }
        query
    }

    /// Writes the links: into the draft if they are stored in the body, otherwise as edges.
    ///
    /// # Errors
    /// Fails if the caller may not see a node, or it is not in the record's workspace.
    pub(super) fn write(
        &self,
        call: &RequestContext<'_>,
        view: &ReadView,
        work: &mut ChangeBuilder<'_>,
        draft: &mut Draft,
    ) -> Result<(), DomainError> {
        for link in &self.0 {
            let gids = link.resolve(call, view, draft)?;
            match link.def.source {
                FieldSource::Inline(key) => {
                    let gid = gids.first();
                    let raw = gid.map_or_else(|| "null".to_owned(), |gid| format!("\"{gid}\""));
                    draft.set_raw(key, "null", raw);
                }
                FieldSource::Edges(rel, Direction::Out) => {
                    replace_edges(view, work, draft, (link.def, rel), &gids);
                }
                _ => return Err(DomainError::unwritable(link.def.name)),
            }
        }
        Ok(())
    }
}

impl NamedLinks {
    /// Returns the gids of the named nodes, each once.
    fn resolve(
        &self,
        call: &RequestContext<'_>,
        view: &ReadView,
        draft: &Draft,
    ) -> Result<Vec<Gid>, DomainError> {
        let workspace = draft.workspace;
        // A service account has its part in what is shared, but it is nobody whose days or hours are recorded.
        let is_shared = Sharing::of(draft.ty).is_some();
        let mut gids: Vec<Gid> = Vec::with_capacity(self.nodes.len());
        for name in &self.nodes {
            let gid = match (self.types, workspace) {
                ([Type::User, ..], Some(workspace)) if is_shared => {
                    member_of(call, view, self.def.name, name, workspace)?
                }
                ([Type::User, ..], Some(workspace)) => {
                    let within = (workspace, || "Workspace");
                    call.resolve_member(view, self.def.name, name, within)?.gid
                }
                _ => {
                    let found =
                        call.resolve_ref(view, self.def.name, name, self.types, Level::Viewer)?;
                    // A time period is in every workspace.
                    if found.workspace != workspace && found.ty != Type::TimePeriod {
                        let noun = resource(found.ty).noun;
                        let reason = format_args!("Not a {noun} of the same workspace");
                        return Err(DomainError::field(self.def.name, reason));
                    }
                    found.gid
                }
            };
            if !gids.contains(&gid) {
                gids.push(gid);
            }
        }
        Ok(gids)
    }
}

/// Makes these the only edges of a relation from a record, with change records for an old record.
fn replace_edges(
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    draft: &Draft,
    (def, rel): (&'static FieldDef, Relation),
    gids: &[Gid],
) {
    let links = match draft.is_new() {
        true => &[],
        false => view.links(draft.gid, rel),
    };
    for edge in links.iter().filter(|edge| !gids.contains(&edge.dst)) {
        work.unlink(draft.gid, rel, edge.dst);
        work.record_removed(draft.gid, draft.ty, def.name, edge.dst);
    }
    for gid in gids {
        if links.iter().any(|edge| edge.dst == *gid) {
            continue;
        }
        work.link(draft.gid, rel, *gid, ListPosition::Rank(0), None);
        if !draft.is_new() {
            work.record_added(draft.gid, draft.ty, def.name, *gid);
        }
    }
}

#[cfg(test)]
mod tests;
