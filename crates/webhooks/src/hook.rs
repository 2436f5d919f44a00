//! A webhook, and what becomes of it after each attempt to deliver.
use crate::filter::{Filter, Occurrence};
use std::fmt;
use std::time::{Duration, SystemTime};

/// How long a target may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// How long an attempt holds its webhook: no other attempt begins before that. Longer than any
/// attempt takes.
pub const LEASE: Duration = Duration::from_secs(30);
/// After how long without a success a heartbeat is sent.
pub const HEARTBEAT: Duration = Duration::from_secs(8 * 3600);
/// After how long of failing a webhook is deleted.
pub const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// The waits before the retries; the last one is for all that follow.
pub const BACKOFF: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1800),
    Duration::from_secs(3600),
];
/// The most characters of a failure that are kept.
pub const CONTENT_MAX: usize = 1000;

/// A place in the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// The last commit that was told completely.
    pub seq: u64,
    /// How many facts of the commit after it were told.
    pub facts: u32,
}

/// A webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct Hook {
    /// Its gid.
    pub id: u64,
    /// Who made it; it tells what they may see.
    pub user: u64,
    /// The app it was made with.
    pub app: Option<u64>,
    /// The workspace of the service account that made it, if one did.
    pub service: Option<u64>,
    /// The workspace of what is watched.
    pub workspace: u64,
    /// What is watched.
    pub resource: u64,
    /// The number of its type.
    pub kind: u8,
    /// Where events go.
    pub target: String,
    /// The secret of its signatures.
    pub secret: String,
    /// What it is for.
    pub filters: Vec<Filter>,
    /// When it was made.
    pub created_at: SystemTime,
    /// How it goes.
    pub state: State,
}

/// How deliveries of a webhook go.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// What was delivered.
    pub position: Position,
    /// The last success.
    pub last_success_at: Option<SystemTime>,
    /// The last failure.
    pub last_failure_at: Option<SystemTime>,
    /// What the last failure said.
    pub last_failure_content: String,
    /// Failures since the last success.
    pub retries: u32,
    /// No attempt before this.
    pub next_attempt_at: Option<SystemTime>,
    /// The first failure since the last success.
    pub failing_since: Option<SystemTime>,
}

/// Shows no secret.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("id", &self.id)
            .field("resource", &self.resource)
            .field("target", &self.target)
            .field("filters", &self.filters)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Hook {
    /// Whether an event is for this webhook.
    #[must_use]
    pub fn wants(&self, event: &Occurrence<'_>) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|f| f.fits(event))
    }

    /// When something is to be sent next: events that wait, or else a heartbeat.
    #[must_use]
    pub fn due(&self, waiting: bool) -> SystemTime {
        match (self.state.next_attempt_at, self.state.last_success_at) {
            (Some(retry), _) => retry,
            (None, _) if waiting => SystemTime::UNIX_EPOCH,
            (None, Some(success)) => success + HEARTBEAT,
            // The first heartbeat follows the handshake at once.
            (None, None) => self.created_at,
        }
    }
}

impl State {
    /// When the webhook is deleted unless a delivery succeeds before.
    #[must_use]
    pub fn deletion_at(&self) -> Option<SystemTime> {
        self.failing_since.map(|since| since + PATIENCE)
    }

    /// After an acknowledged delivery of everything up to a position.
    #[must_use]
    pub fn succeeded(&self, now: SystemTime, position: Position) -> Self {
        Self {
            position: position.max(self.position),
            last_success_at: Some(now),
            retries: 0,
            next_attempt_at: None,
            failing_since: None,
            ..self.clone()
        }
    }

    /// After a failure; none when it was one too many. `wait` is what the target asked for, at most
    /// an hour; `random` spreads retries over the second half of their wait, so that targets that
    /// failed together are not called together.
    #[must_use]
    pub fn failed(
        &self,
        now: SystemTime,
        why: &str,
        wait: Option<Duration>,
        random: u64,
    ) -> Option<Self> {
        let since = self.failing_since.unwrap_or(now);
        let end = since + PATIENCE;
        if now >= end {
            return None;
        }
        let [.., most] = BACKOFF;
        let step = BACKOFF.get(self.retries as usize).copied().unwrap_or(most);
        let half = step / 2;
        let part = u32::try_from(random % 1_000).unwrap_or(0);
        let spread = half + half * part / 1_000;
        let next = now + spread.max(wait.unwrap_or_default().min(most));
        Some(Self {
            last_failure_at: Some(now),
            last_failure_content: why.chars().take(CONTENT_MAX).collect(),
            retries: self.retries.saturating_add(1),
            next_attempt_at: Some(next.min(end)),
            failing_since: Some(since),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn start() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_469_400)
    }

    #[test]
    fn a_target_that_never_answers_is_given_up_after_a_day() {
        for random in [0, 500, 999] {
            let (mut now, mut state, mut attempts) = (start(), State::default(), 0);
            while let Some(next) = state.failed(now, "refused", None, random) {
                attempts += 1;
                assert_eq!(next.retries, attempts);
                assert_eq!(next.deletion_at(), Some(start() + PATIENCE));
                let due = next.next_attempt_at.unwrap();
                assert!(due > now && due <= now + HOUR, "within an hour");
                (now, state) = (due, next);
            }
            assert_eq!(now, start() + PATIENCE, "not before, not after");
            assert!((24..60).contains(&attempts), "{attempts}");
        }
    }

    #[test]
    fn a_success_ends_the_failure() {
        let failed = State::default().failed(start(), "503", None, 0).unwrap();
        let at = Position { seq: 9, facts: 2 };
        let good = failed.succeeded(start() + HOUR, at);
        assert_eq!(
            (good.retries, good.next_attempt_at, good.deletion_at()),
            (0, None, None)
        );
        assert_eq!(good.position, at);
        assert_eq!(good.last_failure_content, "503", "it stays to be read");
        let back = good.succeeded(start(), Position::default());
        assert_eq!(back.position, at, "a position never goes back by a success");
    }

    #[test]
    fn what_the_target_asks_for_is_granted_up_to_an_hour() {
        let wait = |wait| {
            let state = State::default()
                .failed(start(), "429", Some(wait), 0)
                .unwrap();
            state
                .next_attempt_at
                .unwrap()
                .duration_since(start())
                .unwrap()
        };
        assert_eq!(wait(Duration::from_secs(90)), Duration::from_secs(90));
        assert_eq!(wait(HOUR * 9), HOUR);
        assert_eq!(wait(Duration::ZERO), BACKOFF[0] / 2);
    }

    #[test]
    fn heartbeats_come_at_once_and_then_every_eight_hours_of_silence() {
        let mut hook = Hook {
            id: 1,
            user: 2,
            app: None,
            service: None,
            workspace: 3,
            resource: 4,
            kind: 6,
            target: "https://a.test".to_owned(),
            secret: "hidden".to_owned(),
            filters: Vec::new(),
            created_at: start(),
            state: State::default(),
        };
        assert_eq!(hook.due(false), start());
        hook.state = hook.state.succeeded(start(), Position::default());
        assert_eq!(hook.due(false), start() + HEARTBEAT);
        assert_eq!(hook.due(true), SystemTime::UNIX_EPOCH, "events do not wait");
        hook.state = hook.state.failed(start(), "x", None, 0).unwrap();
        assert_eq!(
            hook.due(true),
            hook.due(false),
            "but a failing target is left alone"
        );
        assert!(!format!("{hook:?}").contains("hidden"));
    }
}
