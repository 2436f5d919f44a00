//! The operation on the audit log.
use crate::operation::Operation;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, one_of,
    path,
};
use crate::operation::requests::ListAuditLog;
use crate::operation::rows::audit_log;
use crate::operation::steps::Description;
use workgraph_core::audit::{ActorType, AuditEventKind, AuditQuery, event_kinds};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate::clip;
use workgraph_core::{Gid, Type};

/// Operations on the audit log: a part of [`TABLES`](super::TABLES).
pub static AUDIT: &[Operation] = &[audit_log(
    "getAuditLogEvents",
    "/workspaces/{workspace_gid}/audit_log_events",
    &Description::new(|_, input: &ListAuditLog| Ok(input.clone())),
)
.paid_only("Audit logs are not available for free users.")];

const START: Input<Time> = Input::instant("start_at", "Only events at this time or later.");
const END: Input<Time> = Input::instant("end_at", "Only events before this time.");
const KIND: Input<AuditEventKind> = Input::parsed(
    InputPlace::Query,
    "event_type",
    InputType::Word(event_kinds::NAMES),
    read_kind,
    "Only events of this kind.",
);
const ACTOR_TYPE: Input<ActorType> = Input::parsed(
    InputPlace::Query,
    "actor_type",
    InputType::Word(ActorType::NAMES),
    read_actor_type,
    "Only events whose actor is of this type.",
);
const ACTOR: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "actor_gid",
    &[Type::User],
    "Only events of this actor.",
);
const RESOURCE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "resource_gid",
    &[],
    "Only events about this resource.",
);

fn read_kind(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<AuditEventKind>, DomainError> {
    let kind = inputs.query_text(input)?.map(|text| {
        AuditEventKind::parse(text).ok_or_else(|| {
            let shown = clip(text);
            DomainError::field(input.name, format_args!("Not a recognized value: {shown}"))
        })
    });
    kind.transpose()
}

fn read_actor_type(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<ActorType>, DomainError> {
    let text = inputs.query_text(input)?;
    let word = text.map(|text| one_of(input, text)).transpose()?;
    Ok(word.and_then(ActorType::parse))
}

fn read_query(inputs: &InputReader<'_>, workspace: Gid) -> Result<AuditQuery, DomainError> {
    let gid = |named: Option<Named<Gid>>| named.map(|named| named.node);
    Ok(AuditQuery {
        start: inputs.optional(&START)?,
        end: inputs.optional(&END)?,
        kind: inputs.optional(&KIND)?,
        actor_type: inputs.optional(&ACTOR_TYPE)?,
        actor: gid(inputs.optional(&ACTOR)?),
        resource: gid(inputs.optional(&RESOURCE)?),
        ..AuditQuery::all(workspace, 0)
    })
}

impl OperationInput for ListAuditLog {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::WORKSPACE.def,
        &START.def,
        &END.def,
        &KIND.def,
        &ACTOR_TYPE.def,
        &ACTOR.def,
        &RESOURCE.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let workspace = inputs.required(&path::WORKSPACE)?;
        let query = Deferred::new(read_query(inputs, workspace.node));
        Ok(Self { workspace, query })
    }
}
