//! Limits of a limiter with their current figures, in a form that many threads read without a lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use crate::admission_request::{AdmissionRequest, SlotRequest, WindowCharge};
use crate::limit::{Limit, LimitKind};
use crate::limiter_settings::{ConcurrentSettings, CostSettings, LimiterSettings, WindowSettings};
use crate::rate::{Rate, WindowLength};
use crate::time_units::length_ms;
use crate::window::WindowTerms;

/// Bit in the figures of a limit in shadow mode.
const SHADOW: u64 = 1 << 63;
/// Bit in the figures of an enabled cost quota.
const IS_ON: u64 = 1 << 62;

/// Limits of a limiter. Their number, names and lengths never change.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) windows: Box<[WindowRule]>,
    /// Concurrency limits, at least one: if there are none, an unbounded one is added, since a permit keeps the
    /// account of its request through its slot.
    pub(crate) slots: Box<[SlotRule]>,
    pub(crate) cost: CostRule,
    deadline_ms: AtomicU64,
    /// False if the only concurrency limit is the unbounded one.
    has_slots: bool,
}

/// Window and its figures: the quota in the low half, and above it the floor percentage.
#[derive(Debug)]
pub(crate) struct WindowRule {
    pub(crate) limit: Limit,
    pub(crate) length: WindowLength,
    span: Duration,
    figures: AtomicU64,
}

/// Concurrency limit of a class, with the maximum in the low half of its figures.
#[derive(Debug)]
pub(crate) struct SlotRule {
    pub(crate) limit: Limit,
    figures: AtomicU64,
}

/// Cost quota, with the credits in the low half of its figures.
#[derive(Debug)]
pub(crate) struct CostRule {
    pub(crate) limit: Limit,
    /// Milliseconds in which a quota is regained.
    pub(crate) length_ms: u64,
    span: Duration,
    figures: AtomicU64,
    ceiling: AtomicU32,
}

/// Returns the low half of the figures of a limit.
fn quota(figures: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half")]
    let quota = figures as u32;
    quota
}

fn flag(bit: u64, is_set: bool) -> u64 {
    if is_set { bit } else { 0 }
}

impl Rules {
    pub(crate) fn new(settings: &LimiterSettings) -> Self {
        let mut concurrent = settings.concurrent.clone();
        let has_slots = !concurrent.is_empty();
        if !has_slots {
            concurrent.push(ConcurrentSettings::new("concurrent", u32::MAX));
        }
        let window = |(at, of): (usize, &WindowSettings)| WindowRule {
            limit: Limit::window(of.name, at),
            length: WindowLength::of(of.rate.length),
            span: of.rate.length,
            figures: AtomicU64::new(0),
        };
        let slot = |(at, of): (usize, &ConcurrentSettings)| SlotRule {
            limit: Limit::concurrent(of.name, at),
            figures: AtomicU64::new(of.most.into()),
        };
        let rules = Self {
            windows: settings.windows.iter().enumerate().map(window).collect(),
            slots: concurrent.iter().enumerate().map(slot).collect(),
            cost: CostRule {
                limit: Limit::cost(settings.cost.name),
                length_ms: length_ms(settings.cost.length).max(1),
                span: settings.cost.length,
                figures: AtomicU64::new(0),
                ceiling: AtomicU32::new(0),
            },
            deadline_ms: AtomicU64::new(0),
            has_slots,
        };
        rules.store(settings);
        rules
    }

    /// Replaces all figures; limits are matched by their order.
    pub(crate) fn store(&self, settings: &LimiterSettings) {
        for (rule, of) in self.windows.iter().zip(&settings.windows) {
            let figures = u64::from(of.rate.quota) | u64::from(of.floor_percent) << 32;
            let shadow = flag(SHADOW, of.shadow);
            rule.figures.store(figures | shadow, Relaxed);
        }
        if self.has_slots {
            for (rule, of) in self.slots.iter().zip(&settings.concurrent) {
                let figures = u64::from(of.most) | flag(SHADOW, of.shadow);
                rule.figures.store(figures, Relaxed);
            }
        }
        let cost = &settings.cost;
        let figures = cost.quota.map_or(0, |quota| u64::from(quota) | IS_ON);
        let shadow = flag(SHADOW, cost.shadow);
        self.cost.figures.store(figures | shadow, Relaxed);
        self.cost.ceiling.store(cost.ceiling, Relaxed);
        let deadline = u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX);
        self.deadline_ms.store(deadline, Relaxed);
    }

    /// Returns the current settings.
    pub(crate) fn load(&self) -> LimiterSettings {
        let windows = self.windows.iter().map(|rule| {
            let figures = rule.figures.load(Relaxed);
            WindowSettings {
                name: rule.limit.name(),
                rate: Rate {
                    quota: quota(figures),
                    length: rule.span,
                },
                floor_percent: u8::try_from(floor(figures)).unwrap_or(100),
                shadow: rule.is_shadow(),
            }
        });
        let concurrent = self.visible_slots().map(|rule| ConcurrentSettings {
            name: rule.limit.name(),
            most: rule.most(None),
            shadow: rule.is_shadow(),
        });
        LimiterSettings {
            windows: windows.collect(),
            concurrent: concurrent.collect(),
            cost: CostSettings {
                name: self.cost.limit.name(),
                quota: self.cost.set_quota(),
                length: self.cost.span,
                ceiling: self.cost.ceiling(),
                shadow: self.cost.is_shadow(),
            },
            deadline: Duration::from_millis(self.deadline_ms()),
        }
    }

    /// Returns the number of counted limits: windows, slots, and the cost.
    pub(crate) fn len(&self) -> usize {
        self.windows.len() + self.slots.len() + 1
    }

    /// Returns the configured concurrency limits.
    pub(crate) fn visible_slots(&self) -> impl Iterator<Item = &SlotRule> {
        let visible = if self.has_slots { self.slots.len() } else { 0 };
        self.slots.iter().take(visible)
    }

    pub(crate) fn deadline_ms(&self) -> u64 {
        self.deadline_ms.load(Relaxed)
    }

    /// Returns each window in which a request counts, with its index, the terms, and the weight.
    #[inline]
    pub(crate) fn charges<'r, K>(
        &'r self,
        request: &'r AdmissionRequest<'_, K>,
    ) -> impl Iterator<Item = (usize, &'r WindowRule, WindowTerms, u32)> {
        let windows = self.windows.iter().enumerate();
        windows.filter_map(|(at, rule)| {
            let WindowCharge { weight, quota } = request.charge(at);
            (weight > 0).then(|| (at, rule, rule.terms(quota), weight))
        })
    }

    /// Returns each concurrency limit of which a request needs slots, with its index, the slots, and the maximum.
    #[inline]
    pub(crate) fn slots_of<'r, K>(
        &'r self,
        request: &'r AdmissionRequest<'_, K>,
    ) -> impl Iterator<Item = (usize, &'r SlotRule, u32, u32)> {
        let implied = self.implied_slot(request);
        let slots = self.slots.iter().enumerate();
        slots.filter_map(move |(at, rule)| {
            let SlotRequest { mut slots, most } = request.slot(at);
            slots += if at == 0 { implied } else { 0 };
            (slots > 0).then(|| (at, rule, slots, rule.most(most)))
        })
    }

    /// Returns the slot of the first class if a request asks for none, else 0: without a slot nothing would keep the account
    /// while the permit exists.
    #[inline]
    pub(crate) fn implied_slot<K>(&self, request: &AdmissionRequest<'_, K>) -> u32 {
        u32::from(request.slot(0).slots == 0 && self.needs_no_further(request))
    }

    #[cold]
    fn needs_no_further<K>(&self, request: &AdmissionRequest<'_, K>) -> bool {
        (1..self.slots.len()).all(|at| request.slot(at).slots == 0)
    }

    /// Returns the limit at a place in the counts.
    #[cold]
    pub(crate) fn limit(&self, place: usize) -> Limit {
        let windows = self.windows.iter().map(|rule| rule.limit);
        let mut limits = windows.chain(self.slots.iter().map(|rule| rule.limit));
        limits.nth(place).unwrap_or(self.cost.limit)
    }

    /// Returns the place of a limit in the counts.
    pub(crate) fn place(&self, limit: Limit) -> usize {
        match limit.kind() {
            LimitKind::Window => limit.index(),
            LimitKind::Concurrent => self.windows.len() + limit.index(),
            LimitKind::Cost => self.len() - 1,
        }
    }
}

/// Returns the floor percentage in the figures of a window.
fn floor(figures: u64) -> u32 {
    quota(figures >> 32) & 0xff
}

impl WindowRule {
    /// Returns the quota for a request, which may have its own.
    #[inline]
    pub(crate) fn quota(&self, own: Option<u32>) -> u32 {
        own.unwrap_or_else(|| quota(self.figures.load(Relaxed)))
    }

    /// Returns the terms for a request, which may have its own quota.
    #[inline]
    pub(crate) fn terms(&self, own: Option<u32>) -> WindowTerms {
        let figures = self.figures.load(Relaxed);
        let quota = own.unwrap_or(quota(figures));
        WindowTerms::with_floor(quota, floor(figures), self.length)
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.figures.load(Relaxed) & SHADOW > 0
    }
}

impl SlotRule {
    #[inline]
    pub(crate) fn most(&self, own: Option<u32>) -> u32 {
        own.unwrap_or(quota(self.figures.load(Relaxed)))
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.figures.load(Relaxed) & SHADOW > 0
    }
}

impl CostRule {
    /// Returns the credits for deciding about a request, at least 1; `None` if the quota is off.
    #[inline]
    pub(crate) fn quota(&self, own: Option<u32>) -> Option<u32> {
        own.or_else(|| self.set_quota()).map(|quota| quota.max(1))
    }

    fn set_quota(&self) -> Option<u32> {
        let figures = self.figures.load(Relaxed);
        (figures & IS_ON > 0).then_some(quota(figures))
    }

    pub(crate) fn ceiling(&self) -> u32 {
        self.ceiling.load(Relaxed)
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.figures.load(Relaxed) & SHADOW > 0
    }
}
