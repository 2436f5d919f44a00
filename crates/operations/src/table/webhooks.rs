//! Webhooks: subscriptions of a target to events of an object.
use crate::method::Method::{Delete, Get, Post, Put};
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::operation::requests::{CreateWebhook, ListWebhooks, UpdateWebhook, WebhookRequest};
use crate::operation::rows::webhooks;
use crate::operation::steps::Description;
use crate::operation::{Operation, ResponseKind};
use serde_json::Value;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::NAME_MAX;
use workgraph_core::model::resources::webhook::WATCHED;
use workgraph_core::{Gid, Type};

const ONE: &str = "/webhooks/{webhook_gid}";
const RECORD: ResponseKind = ResponseKind::Record(Type::Webhook);

/// Operations on webhooks: a part of [`TABLES`](super::TABLES).
pub static WEBHOOKS: &[Operation] = &[
    webhooks(
        "getWebhooks",
        Get,
        "/webhooks",
        ResponseKind::List(Type::Webhook),
        &Description::new(|_, input: &ListWebhooks| Ok(WebhookRequest::List(input.clone()))),
    )
    .scope("webhooks:read"),
    webhooks(
        "createWebhook",
        Post,
        "/webhooks",
        ResponseKind::Created(Type::Webhook),
        &Description::new(|_, input: &CreateWebhook| Ok(WebhookRequest::Create(input.clone()))),
    )
    .scope("webhooks:write"),
    webhooks(
        "getWebhook",
        Get,
        ONE,
        RECORD,
        &Description::new(|_, input: &OneWebhook| Ok(WebhookRequest::Get(input.0.clone()))),
    )
    .scope("webhooks:read"),
    webhooks(
        "updateWebhook",
        Put,
        ONE,
        RECORD,
        &Description::new(|_, input: &UpdateWebhook| Ok(WebhookRequest::Update(input.clone()))),
    )
    .scope("webhooks:write"),
    webhooks(
        "deleteWebhook",
        Delete,
        ONE,
        ResponseKind::Empty,
        &Description::new(|_, input: &OneWebhook| Ok(WebhookRequest::Delete(input.0.clone()))),
    )
    .scope("webhooks:delete"),
];

const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the webhooks in this workspace.",
)
.required();
const OF_RESOURCE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "resource",
    WATCHED,
    "Lists only the webhooks on this resource.",
);
const RESOURCE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "resource",
    WATCHED,
    "The resource of which events are delivered.",
)
.required();
const TARGET: Input<String> = Input::parsed(
    InputPlace::Body,
    "target",
    InputType::Text(NAME_MAX),
    read_target,
    "The URL to which events are delivered. It must answer a handshake.",
)
.required();
const FILTERS: Input<Value> = Input::parsed(
    InputPlace::Body,
    "filters",
    InputType::Structure,
    |input, inputs| Ok(inputs.data().get(input.name).cloned()),
    "The filters, at most 50: objects with `resource_type`, and if wanted `resource_subtype`, `action` and `fields`. Webhooks on workspaces and teams must have some.",
)
.nullable();

fn read_target(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    let text = inputs.body_value(input).map(|value| {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| DomainError::field(input.name, "Not a string"))
    });
    text.transpose()
}

impl OperationInput for ListWebhooks {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def, &OF_RESOURCE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&WORKSPACE)?,
            resource: inputs.optional(&OF_RESOURCE)?,
        })
    }
}

impl OperationInput for CreateWebhook {
    const INPUTS: &'static [&'static InputDef] = &[&RESOURCE.def, &TARGET.def, &FILTERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            resource: inputs.required(&RESOURCE)?,
            target: inputs.required(&TARGET)?,
            filters: inputs.optional(&FILTERS)?,
        })
    }
}

impl OperationInput for UpdateWebhook {
    const INPUTS: &'static [&'static InputDef] = &[&path::WEBHOOK.def, &FILTERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            webhook: inputs.required(&path::WEBHOOK)?,
            filters: inputs.optional(&FILTERS)?,
        })
    }
}

/// Inputs of an operation on one webhook.
struct OneWebhook(Named<Gid>);

impl OperationInput for OneWebhook {
    const INPUTS: &'static [&'static InputDef] = &[&path::WEBHOOK.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        inputs.required(&path::WEBHOOK).map(Self)
    }
}
