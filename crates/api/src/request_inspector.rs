//! The request inspector: the last requests of each token owner, in memory, for developers of integrations.
//!
//! It is off unless a setting gives it memory. A request is recorded once its token is known, even if the token is no longer
//! valid, for the owner of the token: its user, its app, or its service account. Nothing is written to disk. Secrets are
//! masked, and bodies are recorded only for an hour after the owner has asked for it.
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

/// Number of shards, each with its own lock and an equal part of the memory.
const SHARDS: usize = 8;

/// Time for which bodies are recorded after an owner has asked for it.
pub const RECORDING_LIFETIME: Duration = Duration::from_secs(3_600);

/// The last requests of each owner.
#[derive(Debug)]
pub struct RequestInspector {
    settings: InspectorSettings,
    shards: Box<[AlignedShard]>,
    /// False as long as no owner records bodies; then requests skip the look-up.
    has_recordings: AtomicBool,
}

/// Holder of the record of a request that its transport may abandon, for instance when its deadline passes. The pipeline
/// fills it once the token is known; a request that completes has its record in the response.
#[derive(Debug, Default)]
pub struct PendingRecord(Mutex<Option<Box<RequestRecord>>>);

impl PendingRecord {
    pub(crate) fn set(&self, record: Box<RequestRecord>) {
        *self.0.lock() = Some(record);
    }

    /// Returns the record of an abandoned request, with the message that its client got; `None` if the token was not known
    /// yet.
    #[must_use]
    pub fn given_up(&self, message: &str) -> Option<Box<RequestRecord>> {
        let mut record = self.0.lock().take()?;
        record.request.error = Some(message.into());
        Some(record)
    }
}

/// A shard on its own cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct AlignedShard(Mutex<InspectorShard>);

impl RequestInspector {
    /// Returns an inspector without requests. It records nothing if its settings give it no memory.
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
        // The high bits of this hash are the well mixed ones.
        let number = usize::try_from(hasher.finish() >> 32).unwrap_or(0) % SHARDS;
        self.shards.get(number).map(|shard| &shard.0)
    }

    /// Adds a request that has ended, with the id and the duration that the transport knows. To make room, drops the oldest
    /// requests of its owner, and then the oldest of all.
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

    /// Returns at most `most` requests of an owner for which `is_wanted` is true, newest first.
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

    /// Enables or ends the recording of an owner's bodies, for [`RECORDING_LIFETIME`]. For an app, only bodies of requests
    /// on behalf of `user`, who asked for it, are recorded: other people's bodies are private to them.
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

    /// Returns the end of the recording of bodies that a user asked for, if it is still active.
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

    /// Returns the number of bytes that all recorded requests take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.0.lock().bytes()).sum()
    }

    /// Returns the record of a request that is still running, in case it never completes.
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

    /// Returns the record of a request that has ended.
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
