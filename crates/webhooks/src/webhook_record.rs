//! A webhook, and its state after each attempt to deliver.
use crate::event_filter::{EventFilter, EventSummary};
use std::fmt;
use std::time::{Duration, SystemTime};

/// Time limit for the reply of a target.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Time for which an attempt reserves its webhook; no other attempt begins before its end. It is longer than any attempt takes.
pub const LEASE: Duration = Duration::from_secs(30);
/// Time that a node's delivery lease must still last when an attempt begins, so that the attempt is over before another node
/// may begin one.
pub const LEASE_RESERVE: Duration = Duration::from_secs(12);
/// Time without a success after which a heartbeat is sent.
pub const HEARTBEAT: Duration = Duration::from_secs(8 * 3600);
/// Time of continuous failure after which a webhook is deleted.
pub const DELETE_AFTER: Duration = Duration::from_secs(24 * 3600);
/// Waits before the retries; the last one is used for all further retries.
pub const BACKOFF: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1800),
    Duration::from_secs(3600),
];
/// Maximum number of characters of a failure message that are stored.
pub const FAILURE_CHARS_MAX: usize = 1000;

/// Position in the journal up to which events were delivered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct JournalPosition {
    /// The last commit that was delivered completely.
    pub seq: u64,
    /// The number of change records of the next commit that were delivered.
    pub facts: u32,
}

/// Subscription of a target to events of an object.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The webhook's gid.
    pub id: u64,
    /// The user who made it; events are sent as far as this user may see them.
    pub user: u64,
    /// The app that it was made with.
    pub app: Option<u64>,
    /// The workspace of the service account that made it, if a service account did.
    pub service: Option<u64>,
    /// The workspace of the watched object.
    pub workspace: u64,
    /// The gid of the watched object.
    pub resource: u64,
    /// The number of the watched object's type.
    pub kind: u8,
    /// The URL that events are sent to.
    pub target: String,
    /// The secret that signs the deliveries.
    pub secret: String,
    /// The filters of the events; without filters all are sent.
    pub filters: Vec<EventFilter>,
    /// The time at which the webhook was created.
    pub created_at: SystemTime,
    /// Progress and failures of its deliveries.
    pub state: DeliveryState,
}

/// State of the deliveries of a webhook.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeliveryState {
    /// The position up to which events were delivered.
    pub position: JournalPosition,
    /// The time of the last delivery that succeeded.
    pub last_success_at: Option<SystemTime>,
    /// The time of the last delivery that failed.
    pub last_failure_at: Option<SystemTime>,
    /// The message of the last failure, for the owner.
    pub last_failure_content: String,
    /// The number of failures since the last success.
    pub retries: u32,
    /// The earliest time of the next attempt.
    pub next_attempt_at: Option<SystemTime>,
    /// The time of the first failure since the last success.
    pub failing_since: Option<SystemTime>,
}

/// Change of the state of a webhook's deliveries by one attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryStateChange {
    /// The state that the attempt began with.
    pub from: DeliveryState,
    /// The state after the attempt; `None` deletes the webhook, which failed for too long.
    pub to: Option<DeliveryState>,
}

impl DeliveryStateChange {
    /// Returns the position after the attempt. A stored position beyond it belongs to another attempt.
    #[must_use]
    pub fn end_position(&self) -> JournalPosition {
        self.to.as_ref().unwrap_or(&self.from).position
    }

    /// Returns true if the change may replace the stored state: no other attempt failed or succeeded since this one began. So a
    /// late result never moves a position back, and a late failure never replaces another attempt's result.
    #[must_use]
    pub fn applies_to(&self, stored: &DeliveryState) -> bool {
        stored.retries == self.from.retries && stored.position <= self.end_position()
    }
}

/// Omits the secret.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("resource", &self.resource)
            .field("target", &self.target)
            .field("filters", &self.filters)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// Returns true if the webhook's filters accept an event.
    #[must_use]
    pub fn wants(&self, event: &EventSummary<'_>) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|f| f.matches(event))
    }

    /// Returns the time of the next request: for waiting events (`waiting`), or else for a heartbeat.
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

impl DeliveryState {
    /// Returns the time at which the webhook is deleted, unless a delivery succeeds first.
    #[must_use]
    pub fn deletion_at(&self) -> Option<SystemTime> {
        self.failing_since.map(|since| since + DELETE_AFTER)
    }

    /// Returns the delivery state after an acknowledged delivery of everything up to a position.
    #[must_use]
    pub fn after_success(&self, now: SystemTime, position: JournalPosition) -> Self {
        Self {
            position: position.max(self.position),
            last_success_at: Some(now),
            retries: 0,
            next_attempt_at: None,
            failing_since: None,
            ..self.clone()
        }
    }

    /// Returns the delivery state after a failure, with the time of the next retry (back-off); `None` if deliveries have
    /// failed for so long that the webhook is deleted. `wait` is the time that the target asked for, at most an hour.
    /// `random` spreads retries over the second half of their wait, so that targets that failed at the same time are not
    /// called at the same time again.
    #[must_use]
    pub fn after_failure(
        &self,
        now: SystemTime,
        reason: &str,
        wait: Option<Duration>,
        random: u64,
    ) -> Option<Self> {
        let since = self.failing_since.unwrap_or(now);
        let end = since + DELETE_AFTER;
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
            last_failure_content: reason.chars().take(FAILURE_CHARS_MAX).collect(),
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
            let (mut now, mut state, mut attempts) = (start(), DeliveryState::default(), 0);
            while let Some(next) = state.after_failure(now, "refused", None, random) {
                attempts += 1;
                assert_eq!(next.retries, attempts);
                assert_eq!(next.deletion_at(), Some(start() + DELETE_AFTER));
                let due = next.next_attempt_at.unwrap();
                assert!(due > now && due <= now + HOUR, "within an hour");
                (now, state) = (due, next);
            }
            assert_eq!(now, start() + DELETE_AFTER, "not before, not after");
            assert!((24..60).contains(&attempts), "{attempts}");
        }
    }

    #[test]
    fn a_success_ends_the_failure() {
        let failed = DeliveryState::default()
            .after_failure(start(), "503", None, 0)
            .unwrap();
        let at = JournalPosition { seq: 9, facts: 2 };
        let good = failed.after_success(start() + HOUR, at);
        assert_eq!(
            (good.retries, good.next_attempt_at, good.deletion_at()),
            (0, None, None)
        );
        assert_eq!(good.position, at);
        assert_eq!(good.last_failure_content, "503", "it stays to be read");
        let back = good.after_success(start(), JournalPosition::default());
        assert_eq!(back.position, at, "a position never goes back by a success");
    }

    #[test]
    fn a_late_result_does_not_replace_that_of_another_attempt() {
        let state = |seq, facts, retries| DeliveryState {
            position: JournalPosition { seq, facts },
            retries,
            ..DeliveryState::default()
        };
        let change = DeliveryStateChange {
            from: state(5, 0, 1),
            to: Some(state(9, 2, 0)),
        };
        assert!(change.applies_to(&state(5, 0, 1)));
        // An idle webhook was moved forward in between: the acknowledged position includes that.
        assert!(change.applies_to(&state(7, 0, 1)) && change.applies_to(&state(9, 2, 1)));
        assert!(!change.applies_to(&state(9, 3, 1)), "it would move back");
        assert!(!change.applies_to(&state(5, 0, 2)), "another one failed");
        assert!(!change.applies_to(&state(5, 0, 0)), "another one succeeded");
        let deletion = DeliveryStateChange { to: None, ..change };
        assert!(deletion.applies_to(&state(5, 0, 1)) && !deletion.applies_to(&state(6, 0, 1)));
    }

    #[test]
    fn what_the_target_asks_for_is_granted_up_to_an_hour() {
        let wait = |wait| {
            let state = DeliveryState::default()
                .after_failure(start(), "429", Some(wait), 0)
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
        let mut hook = Webhook {
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
            state: DeliveryState::default(),
        };
        assert_eq!(hook.due(false), start());
        hook.state = hook
            .state
            .after_success(start(), JournalPosition::default());
        assert_eq!(hook.due(false), start() + HEARTBEAT);
        assert_eq!(hook.due(true), SystemTime::UNIX_EPOCH, "events do not wait");
        hook.state = hook.state.after_failure(start(), "x", None, 0).unwrap();
        assert_eq!(
            hook.due(true),
            hook.due(false),
            "but a failing target is left alone"
        );
        assert!(!format!("{hook:?}").contains("hidden"));
    }
}
