//! The events API: what happened since the last call, from the journal.
//!
//! A sync token is a place in the journal: a commit, and how many of its facts were told. It is
//! sealed like a page token and bound to user, app and object, so the same token always gives the
//! same events, and more once there are more.
use crate::allowance;
use crate::answer::{self, Answered};
use crate::call::{Call, allowed};
use crate::driver::{self, Asked};
use crate::fault::Failure;
use crate::operation::Span;
use crate::pipeline::Api;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::feed::{Said, said};
use workgraph_core::gid::GID_END;
use workgraph_core::graph::{Event, Fact, Fed, Feed, Ref, View, Want};
use workgraph_core::plan::Plan;
use workgraph_core::registry::Type;
use workgraph_core::time::Time;
use workgraph_core::{Gid, Node};
use workgraph_wire::{Cursor, envelope, listing};

/// The most events of one call, for an object and for a workspace.
const MOST: usize = 100;
const MOST_OF_WORKSPACE: usize = 1_000;
/// The most commits that one call looks at: some 20 ms. More are left for the next call.
const SCAN: usize = 50_000;

/// How many commits are dropped from the journal at once, so that nobody waits long.
const ROUND: usize = 1_000;

impl Api {
    /// Drops what happened longer ago than the journal is kept, after commits up to `upto` were told
    /// to whoever is told; gives how many commits that was.
    ///
    /// # Errors
    /// When the store fails; the text is for the log.
    pub async fn prune_journal(&self, upto: u64) -> Result<usize, String> {
        let kept = self.settings.journal_retention;
        let before = self.clock.now().checked_sub(kept);
        let before = Time::from_system(before.unwrap_or(SystemTime::UNIX_EPOCH));
        let mut gone = 0;
        loop {
            let round = self.graph.prune(before, upto, ROUND).await;
            let round = round.map_err(|e| e.to_string())?;
            gone += round;
            if round < ROUND {
                return Ok(gone);
            }
        }
    }
}

/// A place in the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    /// The last commit that was told completely.
    pub(crate) seq: u64,
    /// How many facts of the commit after it were told.
    pub(crate) facts: u32,
}

/// Something that happened, at its place.
#[derive(Clone, Copy)]
pub(crate) struct Told<'e> {
    pub(crate) event: &'e Event,
    pub(crate) fact: &'e Fact,
    pub(crate) said: Said,
    /// Which of the commit's facts it is.
    pub(crate) index: usize,
    /// The place right behind it.
    pub(crate) then: Place,
}

impl Told<'_> {
    /// What a story is on; nothing for all else.
    fn holders(&self) -> impl Iterator<Item = Gid> {
        let about = self.event.about(self.fact.gid);
        let about = about.filter(|_| self.fact.ty == Type::Story);
        about.into_iter().flat_map(|a| a.within.iter().copied())
    }
}

/// What commits tell at a node after a place, in order.
pub(crate) fn told<'e>(
    events: impl IntoIterator<Item = &'e Event>,
    at: Gid,
    after: Place,
) -> impl Iterator<Item = Told<'e>> {
    events.into_iter().flat_map(move |event| {
        let skip = if event.seq == after.seq + 1 {
            after.facts as usize
        } else {
            0
        };
        let facts = event.facts.iter().enumerate().skip(skip);
        facts.filter_map(move |(i, fact)| {
            let said = said(fact).filter(|_| event.reaches(fact, at))?;
            let then = if i + 1 == event.facts.len() {
                Place {
                    seq: event.seq,
                    facts: 0,
                }
            } else {
                Place {
                    seq: event.seq - 1,
                    facts: u32::try_from(i + 1).unwrap_or(u32::MAX),
                }
            };
            Some(Told {
                event,
                fact,
                said,
                index: i,
                then,
            })
        })
    })
}

/// Answers with what happened since the place of the token.
pub(crate) async fn poll(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    span: Span,
    asked: &Asked,
) -> Result<Answered, Failure> {
    let name = watched(call, span)?;
    let view = driver::load(api, &call.want().node(name.clone())).await?;
    let at = open(call, &view, span, &name)?;
    let listing = bound(grant, at);
    let most = match span {
        Span::Resource => MOST,
        Span::Workspace => MOST_OF_WORKSPACE,
    };
    let now = |seq| Place { seq, facts: 0 };
    let Some(after) = place(api, call, listing)? else {
        return Err(Failure::Resync(token(api, call, listing, now(view.seq))?));
    };
    let ask = Feed {
        about: at,
        after: after.seq,
        limit: most + 1,
        scan: SCAN,
    };
    let interrupt = call.interrupt();
    let fed = allowance::ask(&interrupt, || api.graph.feed(ask, interrupt.clone())).await?;
    if after.seq < fed.pruned || after.seq > fed.last {
        // What lies between is gone, or the token comes from another life of this store.
        return Err(Failure::Resync(token(api, call, listing, now(fed.last))?));
    }
    let mut most = most;
    loop {
        let mut all = told(&fed.events, at, after);
        let some: Vec<Told<'_>> = all.by_ref().take(most).collect();
        let rest = all.next().is_some();
        let then = match some.last() {
            Some(last) if rest => last.then,
            _ => now(fed.upto),
        };
        let more = rest || fed.upto < fed.last;
        let next = token(api, call, listing, then)?;
        match answer(api, call, asked, (at, &fed), &some, (&next, more)).await {
            // Who asks for nothing in particular can't ask for less: there are fewer at a time.
            Err(failure)
                if failure.is_too_large() && call.options.fields.is_none() && some.len() > 1 =>
            {
                most = some.len() / 2;
            }
            answered => return answered,
        }
    }
}

/// The node whose events are asked for, as the request names it.
fn watched(call: &Call<'_>, span: Span) -> Result<Ref, Fault> {
    let path = call.parameters.last().map(|(name, _)| *name);
    match (span, path) {
        (_, Some(name)) => call.path(name),
        (Span::Resource | Span::Workspace, None) => {
            let gid = call.query_gid("resource")?;
            gid.map(Ref::Gid).ok_or_else(|| Fault::missing("resource"))
        }
    }
}

/// Whether there is such a node and the caller may hear of it.
fn open(call: &Call<'_>, view: &View, span: Span, name: &Ref) -> Result<Gid, Failure> {
    if let Some((path, _)) = call.parameters.last() {
        let node = call.target(view, path, Level::Viewer)?;
        if span == Span::Workspace && view.viewer.service != Some(node.gid) {
            let why = "The events of a workspace are for its service accounts.";
            return Err(Fault::forbidden(why).into());
        }
        return Ok(node.gid);
    }
    let found = view.resolve(name).and_then(|g| view.node(g));
    let node = found
        .filter(|n| call.shows(view, n))
        .ok_or_else(|| Fault::unknown_ref("resource", crate::call::show(name)))?;
    allowed(view, node, Level::Viewer)?;
    if !matches!(node.ty, Type::Task | Type::Project) {
        let why = "Not a task or project; of other objects webhooks tell";
        return Err(Fault::field("resource", why).into());
    }
    Ok(node.gid)
}

/// What a token belongs to.
fn bound(grant: &Grant, at: Gid) -> [u8; 16] {
    let [user, app, service, at] = [
        grant.user,
        grant.app.unwrap_or(0),
        grant.workspace.unwrap_or(0),
        at.get(),
    ]
    .map(u64::to_be_bytes);
    listing(&[b"events", &user, &app, &service, &at])
}

/// The place of the token that the client sent, if that is still good for anything.
fn place(api: &Api, call: &Call<'_>, listing: [u8; 16]) -> Result<Option<Place>, Failure> {
    let Some(token) = call.query("sync")? else {
        return Ok(None);
    };
    let keys = api.keys.read().unwrap_or_else(PoisonError::into_inner);
    let cursor = Cursor::open(token, &keys, listing, api.clock.now()).ok();
    Ok(cursor.map(|c| Place {
        seq: c.upto,
        facts: c.sent,
    }))
}

fn token(api: &Api, call: &Call<'_>, listing: [u8; 16], place: Place) -> Result<String, Failure> {
    let cursor = Cursor {
        listing,
        after: Vec::new(),
        upto: place.seq,
        sent: place.facts,
        expires: api.clock.now() + call.settings.sync_lifetime,
    };
    let nonce = api.random::<12>()?;
    let keys = api.keys.read().unwrap_or_else(PoisonError::into_inner);
    Ok(cursor.seal(&keys, nonce))
}

/// Writes events, with the objects they name as the caller may see them now.
async fn answer(
    api: &Api,
    call: &Call<'_>,
    asked: &Asked,
    (at, fed): (Gid, &Fed),
    some: &[Told<'_>],
    (next, more): (&str, bool),
) -> Result<Answered, Failure> {
    let records = Records::load(api, call.want(), at, some, &asked.plan).await?;
    let room = 64 + records.gids.len() * 512;
    let (json, tally) =
        answer::records(api, call, &records.view, &records.gids, &asked.plan, room).await?;
    // Looking through the journal is work, too.
    let looked = u32::try_from(fed.events.len() / 10).unwrap_or(u32::MAX);
    let cost = answer::cost(tally, asked.named).saturating_add(looked);
    let body = envelope::close_events(json, next, more);
    Ok(Answered::new(200, body, cost))
}

/// Events as records, and all that showing them by a plan reads.
pub(crate) struct Records {
    pub(crate) view: View,
    pub(crate) gids: Vec<Gid>,
}

impl Records {
    /// Reads what the events name. Those about objects that the viewer may not see any more are left
    /// out, unless they say that the object was taken out of here; of what is gone, gid and type
    /// are left.
    pub(crate) async fn load(
        api: &Api,
        mut want: Want,
        at: Gid,
        some: &[Told<'_>],
        plan: &Arc<Plan>,
    ) -> Result<Self, Failure> {
        let mut gids = Vec::with_capacity(some.len());
        for (i, told) in some.iter().enumerate() {
            // Above every gid there is: these nodes are nowhere but here.
            let gid = Gid::new(GID_END - 1 - i as u64).unwrap_or(at);
            let record = told.event.record(gid, told.fact, &told.said);
            want.given.push((Arc::new(record), Arc::clone(plan)));
            gids.push(gid);
        }
        let mut subjects: HashSet<Gid> = some.iter().map(|t| t.fact.gid).collect();
        // A story goes with its task without being trashed itself.
        subjects.extend(some.iter().flat_map(Told::holders));
        want.refs.extend(subjects.into_iter().map(Ref::Gid));
        let mut view = driver::load(api, &want).await?;
        let mut gone: Vec<Node> = Vec::new();
        let mut known = HashSet::new();
        for told in some {
            for about in &told.event.nodes {
                if view.resolve(&Ref::Gid(about.gid)).is_none()
                    && view.node(about.gid).is_none()
                    && known.insert(about.gid)
                {
                    gone.push(about.remains());
                }
            }
        }
        let mut shown = Vec::with_capacity(gids.len());
        for (gid, told) in gids.into_iter().zip(some) {
            let subject = told.fact.gid;
            let hidden = view.node(subject).is_some() && view.level(subject) == Level::None;
            let orphan = || told.holders().any(|g| view.resolve(&Ref::Gid(g)).is_none());
            if hidden && orphan() {
                gone.extend(told.event.about(subject).map(|about| about.remains()));
            } else if hidden && told.said.parent == Some(at) && told.said.action == "removed" {
                // They saw it go; what became of it is not theirs to know.
                gone.extend(told.event.about(subject).map(|about| about.remains()));
            } else if hidden {
                continue;
            }
            shown.push(gid);
        }
        for node in gone {
            view = view.with(node, Level::Viewer);
        }
        Ok(Self { view, gids: shown })
    }
}
