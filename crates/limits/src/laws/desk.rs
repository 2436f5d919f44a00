//! A desk: a limiter, a virtual clock and the record of what was done with them.

use std::collections::VecDeque;
use std::fmt;

use super::{Make, Subject, Ticket};
use crate::request::{Class, Rate};
use crate::settings::Key;
use crate::{Refusal, Request, Settings};

/// How many events a counterexample shows.
const SHOWN: usize = 16;

/// Something that was done with a limiter.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A request and its answer.
    Asked(Request, Result<Ticket, Refusal>),
    /// A cost taken.
    Settled(Ticket, u32),
    /// A request ended.
    Finished(Ticket),
    /// New settings.
    Set(Settings),
    /// Eviction.
    Swept,
}

/// A limiter with its clock.
pub struct Desk {
    subject: Box<dyn Subject>,
    /// The time, in milliseconds.
    pub now: u64,
    start: u64,
    operations: u64,
    events: VecDeque<(u64, Event)>,
}

impl Desk {
    /// A new limiter at the time `now`.
    #[must_use]
    pub fn new(make: Make<'_>, settings: Settings, now: u64) -> Self {
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
    /// The refusal.
    pub fn ask(&mut self, request: &Request) -> Result<Ticket, Refusal> {
        let answer = self.subject.admit(request, self.now);
        self.note(Event::Asked(*request, answer));
        answer
    }

    /// Makes a request that ends at once.
    ///
    /// # Errors
    /// The refusal.
    pub fn once(&mut self, request: &Request) -> Result<(), Refusal> {
        let ticket = self.ask(request)?;
        self.subject.finish(ticket);
        Ok(())
    }

    /// Makes requests that end at once until one is refused; returns how many were admitted, at most `most`.
    pub fn burst(&mut self, request: &Request, most: u32) -> u32 {
        (0..most)
            .take_while(|_| self.once(request).is_ok())
            .fold(0, |count, _| count + 1)
    }

    /// Takes the cost of a request.
    pub fn settle(&mut self, ticket: Ticket, cost: u32) {
        self.subject.settle(ticket, cost, self.now);
        self.note(Event::Settled(ticket, cost));
    }

    /// Ends a request.
    pub fn finish(&mut self, ticket: Ticket) {
        self.subject.finish(ticket);
        self.note(Event::Finished(ticket));
    }

    /// Replaces the settings.
    pub fn set(&mut self, settings: Settings) {
        self.subject.set(settings);
        self.note(Event::Set(settings));
    }

    /// Evicts.
    pub fn sweep(&mut self) {
        self.subject.sweep(self.now);
        self.note(Event::Swept);
    }

    /// Lets time pass.
    pub fn pass(&mut self, milliseconds: u64) {
        self.now = self.now.saturating_add(milliseconds);
    }

    /// The number of operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// A counterexample: what is wrong, and the last events.
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

    fn note(&mut self, event: Event) {
        self.operations += 1;
        if self.events.len() == SHOWN {
            self.events.pop_front();
        }
        self.events.push_back((self.now, event));
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(request, Ok(Ticket(ticket))) => {
                write!(f, "{:?}: admitted as #{ticket}", Shown(request))
            }
            Self::Asked(request, Err(refusal)) => {
                write!(
                    f,
                    "{:?}: {} ({} ms)",
                    Shown(request),
                    refusal,
                    refusal.wait_ms
                )
            }
            Self::Settled(Ticket(ticket), cost) => write!(f, "#{ticket} costs {cost}"),
            Self::Finished(Ticket(ticket)) => write!(f, "#{ticket} ends"),
            Self::Set(settings) => write!(f, "new settings {settings:?}"),
            Self::Swept => f.write_str("eviction"),
        }
    }
}

/// A request in few words.
struct Shown<'a>(&'a Request);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request {
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

/// A standard request of weight 1 under a fixed key.
pub(super) fn plain(quota: u32) -> Request {
    Request {
        key: key(0),
        class: Class::Read,
        rate: Rate::Standard { quota },
        weight: 1,
    }
}

/// A key.
pub(super) fn key(n: u8) -> Key {
    [n; 16]
}
