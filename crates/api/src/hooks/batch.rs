//! What a delivery says: the events after a position, as the webhook's owner may see them.
use super::board::occurrence;
use super::lock;
use crate::allowance;
use crate::events::{Place, Records, Told, told};
use crate::fault::Failure;
use crate::pipeline::Api;
use std::sync::{Arc, OnceLock};
use workgraph_core::access::Level;
use workgraph_core::budget;
use workgraph_core::gid::GID_END;
use workgraph_core::graph::{Event, Feed, Ref, ViewerKey, Want};
use workgraph_core::plan::{self, Plan};
use workgraph_core::project::Projector;
use workgraph_core::{Gid, MaybeInterrupt, Type};
use workgraph_webhooks::{Hook, Position, Standing};

/// The most events of one delivery.
pub(super) const MOST: usize = 100;
/// The most commits that are looked at for one delivery.
const SCAN: usize = 50_000;

/// The events of a delivery.
pub(super) struct Batch {
    pub(super) body: Vec<u8>,
    /// Their ids, with commas between.
    pub(super) ids: String,
    pub(super) count: u32,
    /// Where they end.
    pub(super) to: Position,
}

impl Batch {
    /// Nothing, up to a place.
    pub(super) fn empty(to: Position) -> Self {
        Self {
            body: br#"{"events":[]}"#.to_vec(),
            ids: String::new(),
            count: 0,
            to,
        }
    }
}

impl From<Place> for Position {
    fn from(place: Place) -> Self {
        Self {
            seq: place.seq,
            facts: place.facts,
        }
    }
}

/// What a delivery says of each event.
fn bare() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    Arc::clone(PLAN.get_or_init(|| Arc::new(plan::full(Type::Event).bare())))
}

impl Api {
    /// The events after a position that a webhook is for and its owner may see: as many as one delivery has, halved as
    /// often as is said, and among the fewer commits.
    ///
    /// # Errors
    /// When the store fails, or the work is stopped.
    pub(super) async fn batch(
        &self,
        hook: &Hook,
        standing: Standing,
        (after, end): (Position, Option<Position>),
        narrowed: u32,
        interrupt: &MaybeInterrupt,
    ) -> Result<Batch, Failure> {
        let (Some(at), Some(user)) = (Gid::new(hook.resource), Gid::new(hook.user)) else {
            return Ok(Batch::empty(after));
        };
        let ask = Feed {
            about: at,
            after: after.seq,
            limit: MOST + 1,
            scan: SCAN >> narrowed,
        };
        let fed = self.fed(hook, ask, interrupt).await?;
        let mut most = (MOST >> narrowed).max(1);
        loop {
            let of = (hook, at, user, interrupt);
            let batch = self.at_most(most, of, standing, (after, end), &fed).await;
            match batch {
                // Fewer at a time, and no webhook stands still for one that fits in no delivery.
                Err(failure) if failure.is_too_large() && most > 1 => most /= 2,
                Err(failure) if failure.is_too_large() => most = 0,
                batch => return batch,
            }
        }
    }

    /// The same with at most so many events; with none, one is passed over.
    async fn at_most(
        &self,
        most: usize,
        (hook, at, user, interrupt): (&Hook, Gid, Gid, &MaybeInterrupt),
        standing: Standing,
        (after, end): (Position, Option<Position>),
        (events, upto): &(Vec<Arc<Event>>, u64),
    ) -> Result<Batch, Failure> {
        let place = Place {
            seq: after.seq,
            facts: after.facts,
        };
        let mut all = told(events.iter().map(AsRef::as_ref), at, place).filter(|t| {
            hook.wants(&occurrence(t.event, t.fact, &t.said))
                && end.is_none_or(|end| Position::from(t.then) <= end)
        });
        let some: Vec<Told<'_>> = all.by_ref().take(most.max(1)).collect();
        let rest = all.next().is_some();
        let to = match some.last() {
            Some(last) if rest => last.then.into(),
            _ => Position {
                seq: (*upto).max(after.seq),
                facts: if *upto > after.seq { 0 } else { after.facts },
            },
        };
        if standing != Standing::Good || some.is_empty() {
            return Ok(Batch::empty(to));
        }
        if most == 0 {
            let event = some.first().map(|told| told.event.seq);
            tracing::warn!(webhook = hook.id, event, "an event is too large to be told");
            return Ok(Batch::empty(to));
        }
        let Some(records) = self.seen(hook, at, user, &some, interrupt).await? else {
            return Ok(Batch::empty(to));
        };
        let project = || {
            let mut out = Vec::with_capacity(32 + records.gids.len() * 320);
            out.extend_from_slice(br#"{"events":"#);
            let base_url = &self.settings.base_url;
            let mut projector = Projector::onto(out, &records.view, base_url, budget::DELIVERY);
            projector.list(&records.gids, &bare());
            projector.finish()
        };
        let (mut body, _) = allowance::compute(&records.view.interrupt, project).await?;
        body.push(b'}');
        let id = |gid: &Gid| {
            let told = some.get(usize::try_from(GID_END - 1 - gid.get()).ok()?)?;
            Some(format!("{}-{}", told.event.seq, told.index))
        };
        let ids: Vec<String> = records.gids.iter().filter_map(id).collect();
        Ok(Batch {
            body,
            ids: ids.join(","),
            count: u32::try_from(records.gids.len()).unwrap_or(u32::MAX),
            to,
        })
    }

    /// The commits about what a webhook watches, and up to which they were looked at: from memory if
    /// all of them are there.
    async fn fed(
        &self,
        hook: &Hook,
        ask: Feed,
        interrupt: &MaybeInterrupt,
    ) -> Result<(Vec<Arc<Event>>, u64), Failure> {
        let hooks = self.hooks.get();
        if let Some(found) = hooks.and_then(|h| lock(&h.board).recent.feed(ask)) {
            return Ok(found);
        }
        let trip = || self.graph.feed(ask, interrupt.clone());
        let fed = allowance::ask(interrupt, trip).await?;
        if ask.after < fed.pruned {
            tracing::warn!(
                webhook = hook.id,
                "events were dropped before they were told"
            );
        }
        Ok((fed.events.into_iter().map(Arc::new).collect(), fed.upto))
    }

    /// The events as their webhook's owner may see them; none if they may see nothing.
    async fn seen(
        &self,
        hook: &Hook,
        at: Gid,
        user: Gid,
        some: &[Told<'_>],
        interrupt: &MaybeInterrupt,
    ) -> Result<Option<Records>, Failure> {
        let key = ViewerKey {
            user,
            service: hook.service.and_then(Gid::new),
        };
        let want = Want {
            interrupt: interrupt.clone(),
            ..Want::of(key).node(at)
        };
        let mut records = match Records::load(self, want, at, some, &bare()).await {
            Ok(records) => records,
            // No seat anywhere: nothing to see.
            Err(Failure::Unauthorized(..)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match records.view.resolve(&Ref::Gid(at)) {
            Some(at) if records.view.level(at) == Level::None => return Ok(None),
            Some(_) => {}
            // What was watched is gone: its end is the last thing to tell.
            None => records.gids.retain(|gid| {
                let told = usize::try_from(GID_END - 1 - gid.get()).ok();
                told.and_then(|i| some.get(i))
                    .is_some_and(|t| t.fact.gid == at)
            }),
        }
        Ok(Some(records).filter(|r| !r.gids.is_empty()))
    }
}
