//! Relationships of goals with their supporters: other goals, projects, portfolios and tasks, in the order chosen by their
//! editors.
use super::list_position::{InsertInputs, InsertPosition, RequestedPosition, insert_beside};
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, one_of,
    path,
};
use crate::operation::rows::{action, computed_list, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListRequest, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::goal_relationship::{
    CONTRIBUTION_WEIGHT, SUBTYPE, SUBTYPES, SUPPORTER_TYPES, SUPPORTERS_MAX,
};
use workgraph_core::rules::goal_rules;
use workgraph_core::storage::Ring;
use workgraph_core::storage::{
    EdgeEnd, LinkSelector, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView,
    RowFilter,
};

/// Operations on goal relationships: a part of [`TABLES`](super::TABLES).
pub static GOAL_RELATIONSHIPS: &[Operation] = &[
    computed_list(
        "getGoalRelationships",
        "/goal_relationships",
        Type::GoalRelationship,
        &Description::new(list),
    )
    .filtered_by(&[&KIND]),
    get("getGoalRelationship", RECORD, Type::GoalRelationship),
    update(
        "updateGoalRelationship",
        RECORD,
        Type::GoalRelationship,
        &Steps::new(change_needs, change),
    ),
    action(
        "addSupportingRelationship",
        "/goals/{goal_gid}/addSupportingRelationship",
        &Steps::new(add_needs, add),
    )
    .responds_with(Type::GoalRelationship),
    action(
        "removeSupportingRelationship",
        "/goals/{goal_gid}/removeSupportingRelationship",
        &Steps::new(remove_needs, remove),
    ),
];

const RECORD: &str = "/goal_relationships/{goal_relationship_gid}";

const SUPPORTED: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "supported_goal",
    &[Type::Goal],
    "The goal whose relationships are listed.",
)
.required();
const KIND: Input<RowFilter> = Input::filter(
    "resource_subtype",
    InputType::Word(SUBTYPES),
    |input, inputs| {
        let word = inputs.query_text(input)?;
        let word = word.map(|word| one_of(input, word)).transpose()?;
        Ok(word.map(|word| RowFilter::OneOf {
            key: SUBTYPE.def.name,
            default: SUBTYPE.def.default,
            values: vec![format!("\"{word}\"")],
        }))
    },
    "Only relationships with goals, or only those with other supporters.",
);
const SUPPORTER: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "supporting_resource",
    SUPPORTER_TYPES,
    "The goal, project, portfolio or task that supports the goal.",
)
.required();
const WEIGHT: Input<Decimal> = Input::decimal(
    "contribution_weight",
    (0, 1),
    "The weight of the supporter in the progress of a goal with custom weights, from 0 to 1; 1 for a new one without it.",
);
const BESIDE: InsertInputs = insert_beside(SUPPORTER_TYPES);

/// A goal whose relationships are listed.
struct ListOfGoal {
    goal: Named<Gid>,
}

impl OperationInput for ListOfGoal {
    const INPUTS: &'static [&'static InputDef] = &[&SUPPORTED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let goal = inputs.required(&SUPPORTED)?;
        Ok(Self { goal })
    }
}

/// A relationship, and its weight.
struct ChangeRelationship {
    relationship: Named<Gid>,
    weight: Deferred<Option<Decimal>>,
}

impl OperationInput for ChangeRelationship {
    const INPUTS: &'static [&'static InputDef] = &[&path::GOAL_RELATIONSHIP.def, &WEIGHT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        inputs.refuse_null(&WEIGHT.def)?;
        Ok(Self {
            relationship: inputs.required(&path::GOAL_RELATIONSHIP)?,
            weight: inputs.deferred_optional(&WEIGHT),
        })
    }
}

/// A goal, a supporter to add to it, and the supporter's position among the others.
struct AddSupporter {
    goal: Named<Gid>,
    supporter: Named<Gid>,
    position: RequestedPosition,
    weight: Deferred<Option<Decimal>>,
}

impl OperationInput for AddSupporter {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::GOAL.def,
        &SUPPORTER.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
        &WEIGHT.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            goal: inputs.required(&path::GOAL)?,
            supporter: inputs.required(&SUPPORTER)?,
            position: BESIDE.read(inputs)?,
            weight: inputs.deferred_optional(&WEIGHT),
        })
    }
}

/// A goal, and a supporter to remove from it.
struct RemoveSupporter {
    goal: Named<Gid>,
    supporter: Named<Gid>,
}

impl OperationInput for RemoveSupporter {
    const INPUTS: &'static [&'static InputDef] = &[&path::GOAL.def, &SUPPORTER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            goal: inputs.required(&path::GOAL)?,
            supporter: inputs.required(&SUPPORTER)?,
        })
    }
}

fn list(call: &RequestContext<'_>, input: &ListOfGoal) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let source = ListSource::Edges {
        anchor: query.add_ref(input.goal.node),
        rel: rel::SUPPORTS,
        dir: Direction::In,
        give: EdgeEnd::Aux,
    };
    Ok(ListRequest {
        query,
        page: PageQuery::of(source, false, 0),
        computed: false,
        anchor: SUPPORTED.def.name,
        anchor_types: SUPPORTED.def.types(),
        referenced: Vec::new(),
    })
}

fn change_needs(
    call: &RequestContext<'_>,
    input: &ChangeRelationship,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.relationship.node))
}

fn change(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ChangeRelationship,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.relationship, Level::Editor)?;
    let mut draft = Draft::edit(node);
    if let Some(weight) = input.weight.get()? {
        draft.set(CONTRIBUTION_WEIGHT, weight.to_string());
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn add_needs(call: &RequestContext<'_>, input: &AddSupporter) -> Result<ReadQuery, DomainError> {
    let (goal, supporter) = (input.goal.node, input.supporter.node);
    let relationship = NodeRef::Gid(supporter).of(LinkSelector::Aux(rel::SUPPORTS, goal));
    let mut query = call
        .read_query()
        .edge(supporter, rel::SUPPORTS, goal)
        .node(relationship)
        .count(goal, rel::SUPPORTS)
        .reachable(goal, rel::SUPPORTS);
    if let Some(neighbour) = input.position.position.neighbour() {
        query = query.edge(neighbour, rel::SUPPORTS, goal);
    }
    Ok(query)
}

fn add(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &AddSupporter,
) -> Result<Decision, DomainError> {
    let goal = call.named_node(view, &input.goal, Level::Editor)?;
    let supporter = call.named_node(view, &input.supporter, Level::Viewer)?;
    let weight = input.weight.get()?.as_ref().map(Decimal::to_string);
    let refused = |reason: &str| DomainError::field(SUPPORTER.def.name, reason);
    if supporter.workspace != goal.workspace {
        return Err(refused("Not an object of the goal's workspace"));
    }
    let mut work = call.change_builder();
    let ring = view.require_no_ring(goal.gid, rel::SUPPORTS, supporter.gid);
    ring.map_err(|ring| match ring {
        Ring::Closed => refused("A goal cannot support itself, or a goal that supports it"),
        Ring::TooLong => refused("The goal supports too many others"),
    })?;
    let position = input.position.position;
    if let Some(neighbour) = position.neighbour() {
        let found = view.link(neighbour, rel::SUPPORTS, goal.gid);
        if found.is_none() || view.visible(neighbour).is_none() {
            let field = input.position.field;
            return Err(DomainError::reference_not_found(field, neighbour));
        }
    }
    let rank = position.list_position(ListPosition::Last);
    let edge = view.link(supporter.gid, rel::SUPPORTS, goal.gid);
    let relationship = edge
        .and_then(|edge| edge.aux)
        .and_then(|gid| view.node(gid));
    if let Some(node) = relationship {
        // A supporter that the goal already has moves and gets the weight.
        let stays = position == InsertPosition::None || position.neighbour() == Some(supporter.gid);
        if !stays {
            let aux = Some(node.gid);
            work.link(supporter.gid, rel::SUPPORTS, goal.gid, rank, aux);
        }
        let mut draft = Draft::edit(node);
        if let Some(weight) = weight {
            draft.set(CONTRIBUTION_WEIGHT, weight);
        }
        work.save(&draft);
        return Ok(Decision::about(work.changes, node.gid));
    }
    if view.count(goal.gid, rel::SUPPORTS) >= SUPPORTERS_MAX as u64 {
        let reason = format!("Too many: a goal has at most {SUPPORTERS_MAX} supporters");
        return Err(refused(&reason));
    }
    let to = (goal.gid, goal.workspace);
    let supporter = (supporter.gid, supporter.ty);
    let gid = goal_rules::add_supporter(&mut work, supporter, to, weight, rank);
    Ok(Decision::about(work.changes, gid))
}

fn remove_needs(
    call: &RequestContext<'_>,
    input: &RemoveSupporter,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query();
    Ok(query.edge(input.supporter.node, rel::SUPPORTS, input.goal.node))
}

fn remove(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RemoveSupporter,
) -> Result<Decision, DomainError> {
    let goal = call.named_node(view, &input.goal, Level::Editor)?;
    let supporter = call.named_node(view, &input.supporter, Level::Viewer)?;
    let Some(edge) = view.link(supporter.gid, rel::SUPPORTS, goal.gid) else {
        let reason = format_args!("Does not support the goal: {}", supporter.gid);
        return Err(DomainError::field(SUPPORTER.def.name, reason));
    };
    let mut work = call.change_builder();
    goal_rules::remove_supporter(&mut work, supporter.gid, goal.gid, edge.aux);
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
