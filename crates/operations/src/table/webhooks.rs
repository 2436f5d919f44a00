//! Webhooks: subscriptions of a target to events of an object.
use crate::method::Method::{Delete, Get, Post, Put};
use crate::operation::{Operation, ResponseKind, WebhookAction, webhooks};
use workgraph_core::Type;

const ONE: &str = "/webhooks/{webhook_gid}";
const RECORD: ResponseKind = ResponseKind::Record(Type::Webhook);

/// Operations on webhooks.
pub static WEBHOOKS: &[Operation] = &[
    webhooks(
        "getWebhooks",
        Get,
        "/webhooks",
        ResponseKind::List(Type::Webhook),
        WebhookAction::List,
    )
    .scope("webhooks:read")
    .query(&["workspace"])
    .filters(&["resource"]),
    webhooks(
        "createWebhook",
        Post,
        "/webhooks",
        ResponseKind::Created(Type::Webhook),
        WebhookAction::Create,
    )
    .scope("webhooks:write")
    .body(&["resource", "target"]),
    webhooks("getWebhook", Get, ONE, RECORD, WebhookAction::Get).scope("webhooks:read"),
    webhooks("updateWebhook", Put, ONE, RECORD, WebhookAction::Update).scope("webhooks:write"),
    webhooks(
        "deleteWebhook",
        Delete,
        ONE,
        ResponseKind::Empty,
        WebhookAction::Delete,
    )
    .scope("webhooks:delete"),
];
