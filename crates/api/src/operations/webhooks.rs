//! Webhooks: who is told of what happens to an object.
use crate::operation::{Answer, HookAct, Operation, hooks};
use crate::request::Method::{Delete, Get, Post, Put};
use workgraph_core::Type;

const ONE: &str = "/webhooks/{webhook_gid}";
const RECORD: Answer = Answer::Record(Type::Webhook);

/// The rows.
pub static WEBHOOKS: &[Operation] = &[
    hooks(
        "getWebhooks",
        Get,
        "/webhooks",
        Answer::List(Type::Webhook),
        HookAct::List,
    )
    .scope("webhooks:read")
    .query(&["workspace"])
    .filters(&["resource"]),
    hooks(
        "createWebhook",
        Post,
        "/webhooks",
        Answer::Created(Type::Webhook),
        HookAct::Create,
    )
    .scope("webhooks:write")
    .body(&["resource", "target"]),
    hooks("getWebhook", Get, ONE, RECORD, HookAct::Get).scope("webhooks:read"),
    hooks("updateWebhook", Put, ONE, RECORD, HookAct::Update).scope("webhooks:write"),
    hooks("deleteWebhook", Delete, ONE, Answer::Empty, HookAct::Delete).scope("webhooks:delete"),
];
