//! Custom types of tasks. No operation of the contract makes one: the operator does.
use crate::operation::inputs::{Input, InputDef, InputPlace, InputReader, Named, OperationInput};
use crate::operation::rows::computed_list;
use crate::operation::steps::Description;
use crate::operation::{ListRequest, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::storage::{EdgeEnd, ListSource, NodeRef, PageQuery};

/// Operations on custom types.
pub static CUSTOM_TYPES: &[Operation] = &[
    computed_list(
        "getCustomTypes",
        "/custom_types",
        Type::CustomType,
        &Description::new(of_project),
    ),
    get(
        "getCustomType",
        "/custom_types/{custom_type_gid}",
        Type::CustomType,
    ),
];

const PROJECT: Input<Named<NodeRef>> = Input::node(
    InputPlace::Query,
    "project",
    &[Type::Project],
    "The project whose custom types are listed.",
)
.required();

/// Input of the list.
struct ListCustomTypes {
    project: Named<NodeRef>,
}

impl OperationInput for ListCustomTypes {
    const INPUTS: &'static [&'static InputDef] = &[&PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let project = inputs.required(&PROJECT)?;
        Ok(Self { project })
    }
}

fn of_project(
    call: &RequestContext<'_>,
    input: &ListCustomTypes,
) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let anchor = query.add_ref(input.project.node.clone());
    let source = ListSource::Edges {
        anchor,
        rel: rel::CUSTOM_TYPE_ON,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    Ok(ListRequest {
        query,
        page: PageQuery::of(source, false, 0),
        computed: false,
        anchor: PROJECT.def.name,
        anchor_types: PROJECT.def.types(),
    })
}
