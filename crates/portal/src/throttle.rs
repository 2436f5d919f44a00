//! Attempts per minute of each client: sign-ins, uses of an app's secret, and introspection.
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use workgraph_auth::SecretDigest;
use workgraph_limits::limiter_settings::FLOOR_PERCENT;
use workgraph_limits::rate::WindowLength;
use workgraph_limits::shared_limiter::{AttemptReceipt, SharedAttempt, SharedMode, part};
use workgraph_limits::window::WindowTerms;
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimitKey, LimiterSettings, PerTime, SharedLimiter,
    WindowCharge, WindowSettings,
};

/// Limiter shared by several processes, if any.
pub(crate) type SharedRef<'a> = Option<&'a Arc<dyn SharedLimiter>>;

/// Counts attempts per kind and client, so that a flood from one client does not limit another.
#[derive(Debug)]
pub(crate) struct Throttle {
    limiter: DigestLimiter,
    /// Number of attempts in progress; some may be given back, and then do not count.
    pending: Mutex<HashMap<LimitKey, u32>>,
}

/// Attempt in progress. It counts when it is dropped, unless it was given back.
#[derive(Debug)]
pub(crate) struct ThrottleAttempt<'a> {
    throttle: &'a Throttle,
    key: LimitKey,
    quota: Option<u32>,
    now: SystemTime,
    /// Shared limiter that has counted the attempt, and its receipt.
    shared: Option<(Arc<dyn SharedLimiter>, AttemptReceipt)>,
}

impl ThrottleAttempt<'_> {
    /// Gives the attempt back, so that it does not count.
    pub(crate) fn give_back(mut self) {
        let Some(_) = self.quota.take() else { return };
        self.throttle.close(&self.key);
        if let Some((shared, receipt)) = self.shared.take() {
            shared.take_back(&self.key, receipt);
        }
    }
}

impl Drop for ThrottleAttempt<'_> {
    fn drop(&mut self) {
        let Some(quota) = self.quota else { return };
        // The attempt was already admitted; this counts it for later ones.
        let _counted = self.throttle.count(self.key, quota, self.now);
        self.throttle.close(&self.key);
    }
}

impl Throttle {
    pub(crate) fn new() -> Self {
        // Every attempt carries the quota of its kind.
        let attempts = WindowSettings::new("attempts", 0.per_minute());
        Self {
            limiter: DigestLimiter::new(LimiterSettings {
                windows: vec![attempts],
                ..LimiterSettings::default()
            }),
            pending: Mutex::default(),
        }
    }

    fn close(&self, key: &LimitKey) {
        let mut open = self.pending.lock();
        if let Some(count) = open.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                open.remove(key);
            }
        }
    }

    fn count(&self, key: LimitKey, quota: u32, now: SystemTime) -> Result<(), u64> {
        let charge = [WindowCharge::of(1).with_quota(quota)];
        let request = AdmissionRequest::new(&key).windows(&charge);
        let admitted = self.limiter.admit_request(&request, now);
        admitted.map(drop).map_err(|refusal| refusal.retry_after)
    }

    /// Counts an attempt and admits it, if it is within `quota` per minute over all processes. Without a quota every
    /// attempt is admitted.
    ///
    /// # Errors
    /// Returns the wait in seconds.
    pub(crate) async fn admit(
        &self,
        what: &str,
        client: &str,
        quota: Option<u32>,
        now: SystemTime,
        shared: SharedRef<'_>,
    ) -> Result<(), u64> {
        let Some(quota) = quota else { return Ok(()) };
        let key = key(what, client);
        let own = self.count(key, own_quota(quota, shared), now);
        let Some(shared) = shared else { return own };
        let terms = WindowTerms::with_floor(quota, FLOOR_PERCENT.into(), WindowLength::MINUTE);
        match shared.attempt(SharedAttempt { key, terms }).await {
            Some(Ok(_)) => own,
            Some(Err(wait)) => Err(seconds(wait).max(own.err().unwrap_or(0))),
            None => {
                let part = part(quota, shared.processes());
                let (used, _, next_ms) = self.used(&key, part, now);
                own.and(if used > part {
                    Err(seconds(next_ms))
                } else {
                    Ok(())
                })
            }
        }
    }

    /// Starts an attempt, if it is within `quota` per minute together with all attempts in progress, over all processes.
    ///
    /// # Errors
    /// Returns the wait in seconds.
    pub(crate) async fn begin(
        &self,
        what: &str,
        client: &str,
        quota: Option<u32>,
        now: SystemTime,
        shared: SharedRef<'_>,
    ) -> Result<ThrottleAttempt<'_>, u64> {
        let key = key(what, client);
        if let Some(quota) = quota {
            self.open(key, own_quota(quota, shared), now)?;
        }
        let mut attempt = ThrottleAttempt {
            throttle: self,
            key,
            quota,
            now,
            shared: None,
        };
        let (Some(quota), Some(shared)) = (quota, shared) else {
            return Ok(attempt);
        };
        // As above, a refused attempt does not count.
        let terms = WindowTerms {
            quota,
            remembered: 0,
            length: WindowLength::MINUTE,
        };
        let wait = match shared.attempt(SharedAttempt { key, terms }).await {
            Some(Ok(receipt)) => {
                attempt.shared = Some((Arc::clone(shared), receipt));
                return Ok(attempt);
            }
            Some(Err(wait)) => wait,
            None => {
                let part = part(quota, shared.processes());
                let (_, remaining, next_ms) = self.used(&key, part, now);
                let under_way = self.pending.lock().get(&key).copied().unwrap_or_default();
                if remaining >= under_way {
                    return Ok(attempt);
                }
                next_ms
            }
        };
        attempt.give_back();
        Err(seconds(wait))
    }

    /// Records an attempt in progress, if there is room for it.
    fn open(&self, key: LimitKey, quota: u32, now: SystemTime) -> Result<(), u64> {
        let mut open = self.pending.lock();
        let under_way = open.get(&key).copied().unwrap_or_default();
        let (_, remaining, next_ms) = self.used(&key, quota, now);
        if remaining <= under_way {
            return Err(seconds(next_ms));
        }
        open.insert(key, under_way + 1);
        Ok(())
    }

    /// Returns the counted attempts of a key, the attempts left in a quota, and the milliseconds until there is one
    /// more.
    fn used(&self, key: &LimitKey, quota: u32, now: SystemTime) -> (u32, u32, u64) {
        let charge = [WindowCharge::of(0).with_quota(quota)];
        let question = AdmissionRequest::new(key).windows(&charge);
        let state = self.limiter.state(&question, now);
        let attempts = state.windows.first();
        attempts.map_or((0, quota, 0), |of| (of.used, of.remaining, of.next_ms))
    }

    /// Drops attempts that no longer count.
    pub(crate) fn sweep(&self, now: SystemTime) {
        self.limiter.evict_idle(now);
    }
}

/// Returns the attempts per minute that this process may admit: its part, while it cannot rely on the shared limiter.
fn own_quota(quota: u32, shared: SharedRef<'_>) -> u32 {
    match shared {
        Some(shared) if shared.mode() != SharedMode::Exact => part(quota, shared.processes()),
        _ => quota,
    }
}

/// Returns a wait in whole seconds, at least one.
fn seconds(milliseconds: u64) -> u64 {
    milliseconds.div_ceil(1000).max(1)
}

fn key(what: &str, client: &str) -> LimitKey {
    SecretDigest::of(&format!("{what} {client}")).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use std::time::{Duration, UNIX_EPOCH};
    use workgraph_limits::shared_limiter::{AttemptOutcome, SharedAnswer, SharedCounts};
    use workgraph_limits::{LimitExceeded, LimiterState, LocalLimits, Permit, SharedRequest};

    /// Returns the value of a future that never waits.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("it waits"),
        }
    }

    /// B48, B64.
    #[test]
    fn one_address_gets_its_quota_and_others_theirs() {
        let (throttle, now) = (Throttle::new(), UNIX_EPOCH + Duration::from_secs(1000));
        let (a, b) = ("1.1.1.1", "2.2.2.2");
        for _ in 0..60 {
            assert_eq!(
                block_on(throttle.admit("x", a, Some(60), now, None)),
                Ok(())
            );
        }
        assert_eq!(
            block_on(throttle.begin("x", a, Some(60), now, None)).err(),
            Some(60)
        );
        assert!(block_on(throttle.admit("x", a, Some(60), now, None)).is_err());
        assert_eq!(
            block_on(throttle.admit("x", b, Some(60), now, None)),
            Ok(())
        );
        assert_eq!(
            block_on(throttle.admit("y", a, Some(60), now, None)),
            Ok(())
        );
        assert_eq!(block_on(throttle.admit("x", a, None, now, None)), Ok(()));
    }

    /// B69.
    #[test]
    fn attempts_under_way_count_until_they_are_given_back() {
        let (throttle, now) = (Throttle::new(), UNIX_EPOCH + Duration::from_secs(1000));
        let begin = || block_on(throttle.begin("x", "a", Some(3), now, None));
        let mut open: Vec<ThrottleAttempt<'_>> = (0..3).map(|_| begin().unwrap()).collect();
        assert!(begin().is_err(), "three are under way");
        assert!(block_on(throttle.begin("x", "b", Some(3), now, None)).is_ok());
        open.pop().unwrap().give_back();
        open.push(begin().unwrap());
        drop(open);
        assert!(begin().is_err(), "three have counted");
        assert!(throttle.pending.lock().is_empty(), "none is under way");
        let later = now + Duration::from_secs(60);
        assert!(block_on(throttle.begin("x", "a", Some(3), later, None)).is_ok());
        assert!(block_on(throttle.begin("x", "a", None, now, None)).is_ok());
    }

    /// Shared limiter that gives every attempt the same answer.
    #[derive(Debug, Default)]
    struct OneAnswer {
        answer: Option<Result<AttemptReceipt, u64>>,
        is_local: bool,
        taken_back: Mutex<u32>,
    }

    impl SharedLimiter for OneAnswer {
        fn admit<'a>(
            &'a self,
            request: &'a SharedRequest<'a>,
            local: LocalLimits<'a>,
            now: SystemTime,
        ) -> SharedAnswer<'a, Result<Permit, LimitExceeded>> {
            Box::pin(async move { local.admit(request, now) })
        }
        fn attempt(&self, _: SharedAttempt) -> SharedAnswer<'_, Option<AttemptOutcome>> {
            Box::pin(async { self.answer })
        }
        fn take_back(&self, _: &LimitKey, _: AttemptReceipt) {
            *self.taken_back.lock() += 1;
        }
        fn state<'a>(
            &'a self,
            request: AdmissionRequest<'a, LimitKey>,
            local: &'a DigestLimiter,
            now: SystemTime,
        ) -> SharedAnswer<'a, LimiterState> {
            Box::pin(async move { local.state(&request, now) })
        }
        fn mode(&self) -> SharedMode {
            if self.is_local {
                SharedMode::Local
            } else {
                SharedMode::Exact
            }
        }
        fn processes(&self) -> u32 {
            3
        }
        fn counts(&self) -> SharedCounts {
            SharedCounts::default()
        }
    }

    fn answering(answer: Option<Result<AttemptReceipt, u64>>, is_local: bool) -> Arc<OneAnswer> {
        Arc::new(OneAnswer {
            answer,
            is_local,
            taken_back: Mutex::default(),
        })
    }

    /// S912. B64.
    #[test]
    fn several_processes_count_together_and_a_process_alone_has_its_part() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        let receipt = AttemptReceipt { counted_at: 7 };
        let run = |limiter: &Arc<OneAnswer>, give_back: bool| {
            let throttle = Throttle::new();
            let shared: Arc<dyn SharedLimiter> = limiter.clone();
            let (mut begun, mut admitted) = (0, 0);
            for _ in 0..20 {
                let attempt = block_on(throttle.begin("x", "a", Some(9), now, Some(&shared)));
                begun += attempt.map_or(0, |attempt| {
                    if give_back {
                        attempt.give_back();
                    }
                    1
                });
                let admit = throttle.admit("x", "b", Some(9), now, Some(&shared));
                admitted += u32::from(block_on(admit).is_ok());
            }
            assert!(throttle.pending.lock().is_empty());
            (begun, admitted)
        };
        let admits = answering(Some(Ok(receipt)), false);
        assert_eq!(
            run(&admits, false),
            (9, 9),
            "no more than the quota in any case"
        );
        assert_eq!(run(&admits, true), (20, 9));
        assert_eq!(*admits.taken_back.lock(), 20);
        let refuses = answering(Some(Err(1_001)), false);
        assert_eq!(run(&refuses, false), (0, 0));
        let throttle = Throttle::new();
        let shared: Arc<dyn SharedLimiter> = refuses;
        let refused = block_on(throttle.begin("x", "a", Some(9), now, Some(&shared)));
        assert_eq!(refused.err(), Some(2));
        for is_local in [false, true] {
            let away = answering(None, is_local);
            assert_eq!(run(&away, false), (3, 3), "a third, never all");
            assert_eq!(run(&away, true), (20, 3));
        }
    }
}
