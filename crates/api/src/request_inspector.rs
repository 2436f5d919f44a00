//! The request inspector: the last requests of each owner of tokens, in memory, for those who build integrations.
//!
//! It is off unless a setting gives it memory. A request is recorded once its token is known, for the owner of the
//! token: its user, its app, or its service account. That includes a token that is not valid any more. Nothing is written to disk. Secrets are
//! masked, and bodies are recorded only for an owner who asked for it, and for an hour.
mod masking;
mod record;
mod ring;

pub use record::{RecordedBodies, RecordedRequest, RequestOwner, RequestRecord, TokenIdentity};

use crate::refusal_reason::RequestRefusal;
use parking_lot::Mutex;
use record::RequestLine;
use ring::InspectorShard;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use workgraph_operations::settings::InspectorSettings;

/// Number of shards, each with a lock and an equal part of the memory.
const SHARDS: usize = 8;

/// Time for which bodies are recorded once an owner has asked for it.
pub const RECORDING_LIFETIME: Duration = Duration::from_secs(3_600);

/// The last requests of each owner.
#[derive(Debug)]
pub struct RequestInspector {
    settings: InspectorSettings,
    shards: Box<[AlignedShard]>,
    /// False as long as nobody asked for bodies; then no request looks for such a wish.
    has_recordings: AtomicBool,
}

/// Keeper of the record of a request that its transport may give up, as when its deadline passes. The pipeline fills it
/// once the token is known; the record of a request that ends is that of its response.
#[derive(Debug, Default)]
pub struct PendingRecord(Mutex<Option<Box<RequestRecord>>>);

impl PendingRecord {
    pub(crate) fn set(&self, record: Box<RequestRecord>) {
        *self.0.lock() = Some(record);
    }

    /// Returns the record of a request that was given up, with the message that its client got; `None` if the token was
    /// not known by then.
    #[must_use]
    pub fn given_up(&self, message: &str) -> Option<Box<RequestRecord>> {
        let mut record = self.0.lock().take()?;
        record.request.error = Some(message.into());
        Some(record)
    }
}

/// A shard on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct AlignedShard(Mutex<InspectorShard>);

impl RequestInspector {
    /// Returns an inspector without requests. It records none if its settings give it no memory.
    #[must_use]
    pub fn new(settings: InspectorSettings) -> Self {
        Self {
            settings,
            shards: std::iter::repeat_with(AlignedShard::default)
                .take(SHARDS)
                .collect(),
            has_recordings: AtomicBool::new(false),
        }
    }

    /// Returns true if requests are recorded.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.settings.bytes > 0
    }

    fn shard(&self, owner: RequestOwner) -> Option<&Mutex<InspectorShard>> {
        let mut hasher = FxHasher::default();
        owner.hash(&mut hasher);
        // The high bits of this hash are the good ones.
        let number = usize::try_from(hasher.finish() >> 32).unwrap_or(0) % SHARDS;
        self.shards.get(number).map(|shard| &shard.0)
    }

    /// Adds a request that has ended, with the id and the duration that the transport knows. The oldest requests of its
    /// owner, and then of anybody, make room for it.
    pub fn push(&self, record: RequestRecord, id: &str, duration: Duration) {
        let RequestRecord { owner, mut request } = record;
        request.id = id.into();
        request.duration = duration;
        if let Some(shard) = self.shard(owner) {
            let most = self.settings.bytes / SHARDS;
            shard
                .lock()
                .push(owner, request, self.settings.owner_bytes, most);
        }
    }

    /// Returns the requests of an owner for which `is_wanted` is true, the newest first and at most `most`.
    #[must_use]
    pub fn requests(
        &self,
        owner: RequestOwner,
        most: usize,
        is_wanted: &dyn Fn(&RecordedRequest) -> bool,
    ) -> Vec<RecordedRequest> {
        let shard = self.shard(owner);
        shard.map_or_else(Vec::new, |shard| shard.lock().find(owner, most, is_wanted))
    }

    /// Lets the bodies of an owner's requests be recorded for [`RECORDING_LIFETIME`], or ends that. The bodies of
    /// requests of an app are recorded only where it acts for `user`, who asks: those of other people are theirs.
    pub fn set_recording(&self, owner: RequestOwner, user: u64, on: bool, now: SystemTime) {
        let Some(shard) = self.shard(owner) else {
            return;
        };
        let until = now.checked_add(RECORDING_LIFETIME).filter(|_| on);
        shard.lock().set_recording(owner, user, until, now);
        if on {
            self.has_recordings.store(true, Relaxed);
        }
    }

    /// Returns the end of the recording of bodies that a user asked for, if it goes on.
    #[must_use]
    pub fn recording_until(
        &self,
        owner: RequestOwner,
        user: u64,
        now: SystemTime,
    ) -> Option<SystemTime> {
        if !self.has_recordings.load(Relaxed) {
            return None;
        }
        let (by, until) = self.shard(owner)?.lock().recording(owner)?;
        (by == user && now < until).then_some(until)
    }

    /// Returns true if the bodies of a request with this token are recorded.
    fn records_bodies(&self, token: &TokenIdentity) -> bool {
        if !self.has_recordings.load(Relaxed) {
            return false;
        }
        let found = self
            .shard(token.owner)
            .and_then(|shard| shard.lock().recording(token.owner));
        found.is_some_and(|(by, until)| {
            let is_own = by == token.user || matches!(token.owner, RequestOwner::Service { .. });
            is_own && token.checked_at < until
        })
    }

    /// Returns the bytes that all recorded requests take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().bytes()).sum()
    }

    /// Makes the record of a request that has not ended, as if it never would.
    pub(crate) fn unfinished(
        &self,
        token: TokenIdentity,
        operation: &'static str,
        line: &RequestLine<'_>,
    ) -> Box<RequestRecord> {
        let outcome = RequestOutcome {
            operation,
            status: 504,
            body: &[],
            cost: 0,
            limits: None,
            reason: Some(RequestRefusal::DeadlineExceeded.into()),
        };
        self.record(token, line, &outcome)
    }

    /// Makes the record of a request that has ended.
    pub(crate) fn record(
        &self,
        token: TokenIdentity,
        line: &RequestLine<'_>,
        outcome: &record::RequestOutcome<'_>,
    ) -> Box<RequestRecord> {
        let bodies = self.records_bodies(&token);
        Box::new(record::make(token, line, outcome, bodies))
    }
}

pub(crate) use record::RequestLine as InspectedLine;
pub(crate) use record::RequestOutcome;
