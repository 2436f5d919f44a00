//! Lists of records by the nodes that they link to.
//!
//! A list declares its anchors, the narrowest first. The rows come from the first anchor in the request; each other anchor keeps
//! only the rows that link to its node. Without an anchor they come from all workspaces of the user.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput,
};
use crate::operation::steps::Description;
use crate::operation::{ListRequest, Operation, rows};
use crate::request_context::RequestContext;
use std::marker::PhantomData;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{
    Direction, FieldSource, LinkOne, Relation, Type, TypedField,
};
use workgraph_core::storage::{
    EdgeEnd, LinkFilter, ListSource, NodeRef, PageQuery, RowFilter, RowLink,
};

/// A parameter of a list that names a node to which the rows belong.
pub(super) struct ListAnchor {
    /// Parameter that names the node.
    input: Input<Named<NodeRef>>,
    /// The field of the rows that links to the node, in the body or by an edge; `None` if the node is the workspace of the rows.
    field: Option<TypedField<LinkOne>>,
    /// Relation from the node in the field to the node of the parameter; `None` if they are the same.
    through: Option<Relation>,
}

impl ListAnchor {
    /// Returns a parameter that names the node to which a field of the rows links.
    pub(super) const fn of(
        field: TypedField<LinkOne>,
        name: &'static str,
        types: &'static [Type],
        doc: &'static str,
    ) -> Self {
        Self {
            input: Input::node(InputPlace::Query, name, types, doc),
            field: Some(field),
            through: None,
        }
    }

    /// Returns the parameter that names the workspace of the rows.
    pub(super) const fn workspace(doc: &'static str) -> Self {
        Self {
            input: Input::node(InputPlace::Query, "workspace", &[Type::Workspace], doc),
            field: None,
            through: None,
        }
    }

    /// Adds a relation between the node in the field and the node of the parameter.
    pub(super) const fn through(mut self, rel: Relation) -> Self {
        self.through = Some(rel);
        self
    }

    /// Makes a request without the parameter an error.
    pub(super) const fn required(mut self) -> Self {
        self.input = self.input.required();
        self
    }
}

/// A list of records.
pub(super) trait RecordList: Sized + Send + Sync + 'static {
    /// Type of the records.
    const LISTED: Type;
    /// Anchors, the narrowest first.
    const ANCHORS: &'static [ListAnchor];
}

/// Maximum number of anchors of a list.
const ANCHORS_MAX: usize = 6;

/// Fills the declarations of anchors up to the maximum number.
const UNUSED: &InputDef = &InputDef::new(InputPlace::Query, "", InputType::Flag, "");

/// Returns the declarations of the parameters of anchors, and their number.
const fn anchor_inputs(
    anchors: &'static [ListAnchor],
) -> ([&'static InputDef; ANCHORS_MAX], usize) {
    assert!(anchors.len() <= ANCHORS_MAX, "a list has too many anchors");
    let mut inputs = [UNUSED; ANCHORS_MAX];
    let (mut slots, mut rest) = (inputs.as_mut_slice(), anchors);
    while let ([slot, slots_left @ ..], [anchor, anchors_left @ ..]) = (slots, rest) {
        *slot = &anchor.input.def;
        (slots, rest) = (slots_left, anchors_left);
    }
    (inputs, anchors.len())
}

/// Anchors of a request, in the order of their declaration.
struct ListRecords<L> {
    anchors: Vec<(&'static ListAnchor, Named<NodeRef>)>,
    list: PhantomData<fn() -> L>,
}

impl<L: RecordList> ListRecords<L> {
    const PADDED_INPUTS: &'static ([&'static InputDef; ANCHORS_MAX], usize) =
        &anchor_inputs(L::ANCHORS);
}

impl<L: RecordList> OperationInput for ListRecords<L> {
    const INPUTS: &'static [&'static InputDef] =
        Self::PADDED_INPUTS.0.split_at(Self::PADDED_INPUTS.1).0;
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let mut anchors = Vec::new();
        for anchor in L::ANCHORS {
            let named = inputs.optional(&anchor.input)?;
            anchors.extend(named.map(|named| (anchor, named)));
        }
        let list = PhantomData;
        Ok(Self { anchors, list })
    }
}

/// Rows of the operations that list records.
pub(super) struct Lists<L>(PhantomData<L>);

impl<L: RecordList> Lists<L> {
    const LIST: &'static Description<ListRecords<L>, ListRequest> = &Description::new(describe);

    /// Makes the row of the operation that lists the records.
    pub(super) const fn list(id: &'static str, path: &'static str) -> Operation {
        rows::computed_list(id, path, L::LISTED, Self::LIST)
    }
}

fn describe<L: RecordList>(
    call: &RequestContext<'_>,
    input: &ListRecords<L>,
) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let mut anchors = input.anchors.iter();
    let Some((first, named)) = anchors.next() else {
        return Ok(ListRequest {
            query,
            page: PageQuery::of(ListSource::InViewerWorkspaces { ty: L::LISTED }, false, 0),
            computed: false,
            anchor: "",
            anchor_types: &[],
            referenced: Vec::new(),
        });
    };
    let anchor = query.add_ref(named.node.clone());
    let edges = |rel, dir| ListSource::Edges {
        anchor,
        rel,
        dir,
        give: EdgeEnd::OtherEnd,
    };
    let linked = first
        .field
        .map(|field| (field.def.listed_by, field.def.source));
    let source = match (linked, first.through) {
        (Some((Some(inner), _)), Some(outer)) => ListSource::TwoStep {
            anchor,
            outer,
            inner,
        },
        (Some((Some(rel), _)), None) => edges(rel, Direction::In),
        (Some((_, FieldSource::Edges(rel, dir))), _) => edges(rel, dir.reversed()),
        _ => ListSource::InWorkspace {
            anchor,
            ty: L::LISTED,
        },
    };
    let mut page = PageQuery::of(source, false, 0);
    for (other, named) in anchors {
        query.add_ref(named.node.clone());
        page.filters.push(RowFilter::LinksTo(LinkFilter {
            parameter: named.input.name,
            types: named.input.types(),
            node: named.node.clone(),
            unseen: false,
            by: match (other.field.map(|field| field.def), other.through) {
                (None, _) => RowLink::Workspace,
                (Some(def), Some(rel)) => RowLink::Through(def.stored_key(), rel),
                (Some(def), None) => match def.source {
                    FieldSource::Edges(rel, dir) => RowLink::Edge(rel, dir),
                    _ => RowLink::Key(def.stored_key()),
                },
            },
        }));
    }
    Ok(ListRequest {
        query,
        page,
        computed: false,
        anchor: named.input.name,
        anchor_types: named.input.types(),
        referenced: Vec::new(),
    })
}
