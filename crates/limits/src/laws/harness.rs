//! Harness of a law: a limiter, a virtual clock and a record of the operations.

use super::law_class::RequestClass;
use super::law_limit::LawRefusal;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::LawSettings;
use crate::admission_request::LimitKey;
use std::collections::VecDeque;
use std::fmt;

use super::{AdmissionTicket, MakeLimiter, TestedLimiter};

/// Number of events shown in a counterexample.
const SHOWN: usize = 16;

/// Operation on a limiter.
#[derive(Clone, Copy, Debug)]
pub enum HarnessEvent {
    /// A request and its answer.
    Asked(LawRequest, Result<AdmissionTicket, LawRefusal>),
    /// The cost of a request was settled.
    Settled(AdmissionTicket, u32),
    /// A request ended.
    Finished(AdmissionTicket),
    /// The settings change.
    Set(LawSettings),
    /// Eviction of idle keys.
    Swept,
}

/// Limiter with a virtual clock.
pub struct LimiterHarness {
    subject: Box<dyn TestedLimiter>,
    /// Time, in milliseconds.
    pub now: u64,
    start: u64,
    operations: u64,
    events: VecDeque<(u64, HarnessEvent)>,
}

impl LimiterHarness {
    /// Makes a harness with a new limiter at the time `now`.
    #[must_use]
    pub fn new(make: MakeLimiter<'_>, settings: LawSettings, now: u64) -> Self {
        Self {
            subject: make(settings),
            now,
            start: now,
            operations: 0,
            events: VecDeque::new(),
        }
    }

    /// Makes a request.
    ///
    /// # Errors
    /// Fails with the limiter's refusal.
    pub fn ask(&mut self, request: &LawRequest) -> Result<AdmissionTicket, LawRefusal> {
        let answer = self.subject.admit(request, self.now);
        self.note(HarnessEvent::Asked(*request, answer));
        answer
    }

    /// Makes a request that ends immediately.
    ///
    /// # Errors
    /// Fails with the limiter's refusal.
    pub fn once(&mut self, request: &LawRequest) -> Result<(), LawRefusal> {
        let ticket = self.ask(request)?;
        self.subject.finish(ticket);
        Ok(())
    }

    /// Makes requests that end immediately until one is refused; returns how many were admitted, at most `most`.
    pub fn burst(&mut self, request: &LawRequest, most: u32) -> u32 {
        (0..most)
            .take_while(|_| self.once(request).is_ok())
            .fold(0, |count, _| count + 1)
    }

    /// Takes the cost of a request.
    pub fn settle(&mut self, ticket: AdmissionTicket, cost: u32) {
        self.subject.settle(ticket, cost, self.now);
        self.note(HarnessEvent::Settled(ticket, cost));
    }

    /// Ends a request.
    pub fn finish(&mut self, ticket: AdmissionTicket) {
        self.subject.finish(ticket);
        self.note(HarnessEvent::Finished(ticket));
    }

    /// Replaces the settings.
    pub fn set(&mut self, settings: LawSettings) {
        self.subject.set(settings);
        self.note(HarnessEvent::Set(settings));
    }

    /// Evicts idle keys.
    pub fn sweep(&mut self) {
        self.subject.sweep(self.now);
        self.note(HarnessEvent::Swept);
    }

    /// Advances time.
    pub fn pass(&mut self, milliseconds: u64) {
        self.now = self.now.saturating_add(milliseconds);
    }

    /// Returns the number of operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Returns the text of a counterexample: the fault and the last events.
    #[must_use]
    pub fn story(&self, wrong: impl fmt::Display) -> String {
        use fmt::Write;
        let mut story = format!(
            "{wrong}\n  the last {} of {} operations:",
            self.events.len(),
            self.operations
        );
        for (at, event) in &self.events {
            let at = i128::from(*at) - i128::from(self.start);
            let _ = write!(story, "\n  {at:>8} ms  {event}");
        }
        story
    }

    fn note(&mut self, event: HarnessEvent) {
        self.operations += 1;
        if self.events.len() == SHOWN {
            self.events.pop_front();
        }
        self.events.push_back((self.now, event));
    }
}

impl fmt::Display for HarnessEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(request, Ok(AdmissionTicket(ticket))) => {
                write!(f, "{:?}: admitted as #{ticket}", RequestSummary(request))
            }
            Self::Asked(request, Err(refusal)) => {
                write!(
                    f,
                    "{:?}: {} ({} ms)",
                    RequestSummary(request),
                    refusal,
                    refusal.wait_ms
                )
            }
            Self::Settled(AdmissionTicket(ticket), cost) => write!(f, "#{ticket} costs {cost}"),
            Self::Finished(AdmissionTicket(ticket)) => write!(f, "#{ticket} ends"),
            Self::Set(settings) => write!(f, "new settings {settings:?}"),
            Self::Swept => f.write_str("eviction"),
        }
    }
}

/// Short form of a request.
struct RequestSummary<'a>(&'a LawRequest);

impl fmt::Debug for RequestSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LawRequest {
            key,
            class,
            rate,
            weight,
        } = self.0;
        write!(
            f,
            "key {} {class:?} {rate:?} x{weight}",
            key.first().copied().unwrap_or_default()
        )
    }
}

/// Returns a standard request of weight 1 under a fixed key.
pub(super) fn plain(quota: u32) -> LawRequest {
    LawRequest {
        key: key(0),
        class: RequestClass::Read,
        rate: RateQuota::Standard { quota },
        weight: 1,
    }
}

/// Returns the key with a number.
pub(super) fn key(n: u8) -> LimitKey {
    [n; 16]
}
