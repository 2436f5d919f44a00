//! The audit log as a list that never ends, and who acts for its rows.
//!
//! A walk goes from row to row of the log. Once it had rows it always has a next page: an empty one
//! means that nothing more has happened yet, and its token goes on from there.
use crate::allowance;
use crate::answer::{self, Answered};
use crate::call::Call;
use crate::driver;
use crate::fault::Failure;
use crate::last_token::LastToken;
use crate::paging::{self, Paging};
use crate::pipeline::Api;
use std::net::IpAddr;
use std::sync::Arc;
use workgraph_auth::{Grant, TokenKind};
use workgraph_core::access::Level;
use workgraph_core::audit::{Acting, Actor, ActorType, Ask, Channel, Kind, Method};
use workgraph_core::check::clip;
use workgraph_core::fault::Fault;
use workgraph_core::{Gid, Interrupt};
use workgraph_limits::Work;
use workgraph_wire::{Cursor, Next, envelope};

/// Rows of a page without `limit`.
const PAGE: usize = 1_000;

/// Where a request came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// What is known of the token that came from there last.
    pub last: Option<&'a LastToken>,
    /// The client's address.
    pub address: Option<IpAddr>,
    /// What the client calls itself (`User-Agent`).
    pub agent: Option<&'a str>,
    /// Stops the work on it.
    pub interrupt: Option<&'a Arc<dyn Interrupt>>,
}

impl Caller<'_> {
    /// Who acts with a grant from there.
    pub(crate) fn acting(&self, grant: &Grant) -> Acting {
        Acting {
            actor: Gid::new(grant.user).map_or(Actor::Nobody, Actor::User),
            channel: Channel::Api,
            method: Some(match grant.kind {
                TokenKind::Personal => Method::PersonalAccessToken,
                TokenKind::Service => Method::ServiceAccount,
                TokenKind::Access | TokenKind::Refresh => Method::OAuth,
            }),
            address: self.address,
            agent: self.agent.map(Into::into),
            app: grant.app,
        }
    }
}

/// Answers with a page of the log.
pub(crate) async fn list(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    path: &str,
) -> Result<Answered, Failure> {
    let bounds = Paging::of(call, grant, path)?;
    let place = call.path("workspace_gid")?;
    let view = driver::load(api, &call.want().node(place)).await?;
    let home = call.target(&view, "workspace_gid", Level::Viewer)?.gid;
    if view.viewer.service != Some(home) {
        let why = "The audit log of a workspace is for its service accounts.";
        return Err(Fault::forbidden(why).into());
    }
    let mut ask = filters(call, home)?;
    let position = bounds.open(api, call)?;
    ask.after = position.last().and_then(Gid::from_i64);
    ask.limit = bounds.limit().map_or(PAGE, usize::from);
    let interrupt = call.interrupt();
    let trip = || api.graph.audited(ask, interrupt.clone());
    let rows = allowance::ask(&interrupt, trip).await?;

    let mut json = answer::open(64 + rows.len() * 640);
    json.push(b'[');
    for (at, row) in rows.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        json.extend_from_slice(row.record().as_bytes());
    }
    json.push(b']');
    let last = rows.last().map(|row| row.gid).or(ask.after);
    let body = match last {
        None => envelope::close(json, Next::Null),
        Some(last) => {
            let cursor = Cursor {
                listing: bounds.listing(),
                after: vec![last.as_i64()],
                upto: 0,
                sent: 0,
                expires: api.clock.now() + call.settings.audit_retention,
            };
            paging::close(api, call, &bounds, &cursor, bounds.limit(), json)?
        }
    };
    let work = Work {
        objects: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        edges: 0,
        extra_fields: 0,
    };
    Ok(Answered::new(200, body, work.cost()))
}

/// The conditions of the query.
fn filters(call: &Call<'_>, home: Gid) -> Result<Ask, Fault> {
    let kind = |text: &str| {
        Kind::parse(text).ok_or_else(|| {
            let shown = clip(text);
            Fault::field(
                "event_type",
                format_args!("Not a recognized value: {shown}"),
            )
        })
    };
    let actor_type = |text: &str| {
        ActorType::parse(text).ok_or_else(|| {
            let words: Vec<&str> = ActorType::ALL.iter().map(|ty| ty.word()).collect();
            let (shown, words) = (clip(text), words.join(", "));
            Fault::field(
                "actor_type",
                format_args!("Not a recognized value: {shown}; it is one of {words}"),
            )
        })
    };
    Ok(Ask {
        start: call.query_time("start_at")?,
        end: call.query_time("end_at")?,
        kind: call.query("event_type")?.map(kind).transpose()?,
        actor_type: call.query("actor_type")?.map(actor_type).transpose()?,
        actor: call.query_gid("actor_gid")?,
        resource: call.query_gid("resource_gid")?,
        ..Ask::all(home, PAGE)
    })
}
