//! Format of the calls to the functions, and of their replies.

use std::time::Duration;

use redis::{Cmd, Value, cmd};
use workgraph_limits::rate::WindowLength;
use workgraph_limits::shared_limiter::{AdmissionFigures, SharedAttempt};
use workgraph_limits::window::WindowTerms;
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, Limit, LimitKey, LimiterSettings, SharedRequest, TotalShare,
};

use crate::functions::Functions;

/// Flag of a request that asks how long the same request would wait next.
const WANT_NEXT: u8 = 1;
/// Maximum deadline, in milliseconds; a number of the functions is exact up to four times this.
const LONGEST_DEADLINE: u64 = 1 << 51;

/// Time of a call in milliseconds; `None` for the time of the server.
pub(crate) type CallTime = Option<u64>;

/// Reply to the request for an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionReply {
    /// The request is admitted.
    Admitted {
        /// Time of the decision.
        at: u64,
        /// Limits in shadow mode that would have refused, as bits.
        shadowed: u32,
        /// Wait of the same request if it was made again; 0 unless requested.
        next_wait_ms: u64,
    },
    /// The request is refused.
    Refused {
        /// Number of the limit, from 0.
        limit: u8,
        wait_ms: u64,
        shadowed: u32,
    },
}

/// End of a request, or an attempt that is reverted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settlement {
    pub(crate) key: LimitKey,
    pub(crate) cost: u32,
    /// Credits regained per length, in case the server has no record of them.
    pub(crate) rate: u32,
    /// Length in milliseconds.
    pub(crate) length_ms: u64,
    pub(crate) deadline: u64,
    /// Slots to free in each class.
    pub(crate) slots: Vec<u32>,
    /// Weight to revert in the first window, and the time at which it was counted.
    pub(crate) undone: u32,
    pub(crate) undone_at: u64,
    /// Totals of the owner.
    pub(crate) owner: Option<OwnerEnd>,
}

/// Use of an owner's cost total by a completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerEnd {
    pub(crate) owner: u64,
    /// Nanoseconds in which the total drains the use.
    pub(crate) used: u64,
    /// Number of the owner's totals.
    pub(crate) totals: u8,
}

/// Names of keys and functions for making calls.
#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    prefix: String,
    pub(crate) functions: &'static Functions,
}

impl Protocol {
    pub(crate) fn new(prefix: &str, functions: &'static Functions) -> Self {
        Self {
            prefix: prefix.to_owned(),
            functions,
        }
    }

    /// Returns the call that decides about a request.
    pub(crate) fn admit(
        &self,
        request: &SharedRequest<'_>,
        figures: &FunctionFigures<'_>,
        want_next: bool,
        time: CallTime,
    ) -> Cmd {
        let mut packed = figures.bytes(time, if want_next { WANT_NEXT } else { 0 });
        let key = self.key(request.request.key());
        let Some((owner, shares)) = request.owner else {
            return call(&self.functions.admit, &[&key], &packed);
        };
        for (share, length, is_cost) in figures.totals(shares) {
            let kind = match share.quota {
                None => 0,
                Some(_) if share.weight == 0 && !is_cost => 0,
                Some(0) => 2,
                Some(_) => 1,
            };
            packed.push(kind);
            packed.extend(number(share.drain_ns(length)));
            packed.extend(number(nanoseconds(length)));
        }
        call(
            &self.functions.admit,
            &[&key, &self.owner_key(*owner)],
            &packed,
        )
    }

    /// Returns the call that counts an attempt.
    pub(crate) fn attempt(&self, attempt: &SharedAttempt, time: CallTime) -> Cmd {
        let packed = attempt_bytes(time, attempt.terms, 1);
        call(&self.functions.admit, &[&self.key(&attempt.key)], &packed)
    }

    /// Returns a call that decides about nothing, but performs all steps of a decision.
    pub(crate) fn trial(&self) -> Cmd {
        let terms = WindowTerms {
            quota: 1,
            remembered: 0,
            length: WindowLength::MINUTE,
        };
        let nothing = attempt_bytes(None, terms, 0);
        call(
            &self.functions.admit,
            &[&format!("{}:trial", self.prefix)],
            &nothing,
        )
    }

    /// Returns the name of the key with the start time of the first process, in milliseconds of the server.
    pub(crate) fn since_key(&self) -> String {
        format!("{}:since", self.prefix)
    }

    /// Returns the call that ends a request.
    pub(crate) fn settle(&self, ended: &Settlement, time: CallTime) -> Cmd {
        let mut packed = Vec::with_capacity(96);
        packed.extend(moment(time));
        packed.extend(ended.cost.to_be_bytes());
        packed.extend(ended.rate.to_be_bytes());
        packed.extend(number(ended.length_ms.max(1)));
        packed.extend(number(ended.deadline));
        packed.extend(ended.undone.to_be_bytes());
        packed.extend(number(ended.undone_at));
        packed.push(u8::try_from(ended.slots.len()).unwrap_or(0));
        packed.extend(number(ended.owner.map_or(0, |owner| owner.used)));
        for slots in &ended.slots {
            packed.extend(slots.to_be_bytes());
        }
        packed.push(ended.owner.map_or(0, |owner| owner.totals));
        let key = self.key(&ended.key);
        match ended.owner {
            Some(OwnerEnd {
                owner, used: 1.., ..
            }) => call(
                &self.functions.settle,
                &[&key, &self.owner_key(owner)],
                &packed,
            ),
            _ => call(&self.functions.settle, &[&key], &packed),
        }
    }

    /// Returns the call that reads the account of a key.
    pub(crate) fn state(&self, key: &LimitKey, time: CallTime) -> Cmd {
        let mut command = cmd("FCALL_RO");
        command.arg(&self.functions.state).arg(1).arg(self.key(key));
        command.arg(&moment(time)[..]);
        command
    }

    /// Returns the name of the account of a key.
    pub(crate) fn key(&self, key: &LimitKey) -> String {
        format!(
            "{}:limit:{{{:032x}}}",
            self.prefix,
            u128::from_be_bytes(*key)
        )
    }

    fn owner_key(&self, owner: u64) -> String {
        format!("{}:total:{{{owner}}}", self.prefix)
    }
}

/// Returns the milliseconds until the deadline of a request.
pub(crate) fn deadline(figures: &AdmissionFigures) -> u64 {
    figures.deadline_ms.min(LONGEST_DEADLINE)
}

/// Maximum number of limits that the functions support.
const LIMITS_MAX: usize = 32;
/// Maximum window of the functions, up to which the nanoseconds of a total are exact.
const LENGTH_MAX: Duration = Duration::from_secs(100 * 86_400);

/// Figures of a request in the format of the functions.
pub(crate) struct FunctionFigures<'a> {
    pub(crate) all: &'a AdmissionFigures,
}

impl<'a> FunctionFigures<'a> {
    /// Returns the figures, if the functions support all limits in them.
    pub(crate) fn of(all: &'a AdmissionFigures) -> Option<Self> {
        unsupported(all).is_none().then_some(Self { all })
    }

    /// Returns the slots of each class.
    pub(crate) fn slots(&self) -> Vec<u32> {
        self.all.slots.iter().map(|class| class.slots).collect()
    }

    /// Returns the limits in the order of their numbers, each with true if it is in shadow mode.
    fn limits(&self) -> impl Iterator<Item = (Limit, bool)> {
        let windows = self.all.windows.iter();
        let slots = self.all.slots.iter();
        windows
            .map(|of| (of.window, of.shadow))
            .chain(slots.map(|of| (of.class, of.shadow)))
            .chain([(self.all.cost, self.all.cost_shadow)])
    }

    /// Returns the limit with a number, from 0.
    pub(crate) fn limit(&self, number: u8) -> Option<Limit> {
        self.limits().nth(number.into()).map(|(limit, _)| limit)
    }

    /// Returns the limits whose bits are set.
    pub(crate) fn limits_of(&self, bits: u32) -> Vec<Limit> {
        let numbered = self.limits().enumerate();
        let set = numbered.filter(|(at, _)| bits >> at & 1 == 1);
        set.map(|(_, (limit, _))| limit).collect()
    }

    /// Returns the share in each total, with the total's length, and true for the total of the cost.
    fn totals(&self, shares: &[TotalShare]) -> impl Iterator<Item = (TotalShare, Duration, bool)> {
        let share = |at| shares.get(at).copied().unwrap_or_default();
        let windows = self.all.windows.iter().enumerate();
        let cost = (
            share(self.all.windows.len()),
            Duration::from_millis(self.all.cost_length_ms),
            true,
        );
        windows
            .map(move |(at, of)| {
                let length = Duration::from_millis(of.terms.length.millis());
                (share(at), length, false)
            })
            .chain([cost])
    }

    /// Returns the share in the cost total, and the amount by which a request with a given cost increases it.
    pub(crate) fn owner_cost(&self, owner: u64, shares: &[TotalShare]) -> OwnerCost {
        let windows = self.all.windows.len();
        OwnerCost {
            owner,
            share: shares.get(windows).copied().unwrap_or_default(),
            length: Duration::from_millis(self.all.cost_length_ms),
            totals: u8::try_from(windows + 1).unwrap_or(0),
        }
    }

    /// Returns the request as the functions read it.
    fn bytes(&self, time: CallTime, flags: u8) -> Vec<u8> {
        let all = self.all;
        let shadow = self.limits().enumerate();
        let shadow = shadow.fold(0, |bits, (at, (_, shadow))| bits | u32::from(shadow) << at);
        let mut packed = request_bytes(&RequestHead {
            time,
            flags,
            shadow,
            windows: all.windows.len(),
            classes: all.slots.len(),
            credits: all.credits.unwrap_or(0),
            length_ms: all.cost_length_ms,
            deadline: deadline(all),
        });
        for window in &all.windows {
            push_window(&mut packed, window.terms, window.weight);
        }
        for class in &all.slots {
            packed.extend(class.slots.to_be_bytes());
            packed.extend(class.most.to_be_bytes());
        }
        packed
    }
}

/// Share of a request in the cost total of its owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnerCost {
    owner: u64,
    share: TotalShare,
    length: Duration,
    totals: u8,
}

impl OwnerCost {
    /// Returns the end of a request with this cost.
    pub(crate) fn end(&self, cost: u32) -> OwnerEnd {
        let share = TotalShare {
            weight: cost,
            ..self.share
        };
        OwnerEnd {
            owner: self.owner,
            used: share.drain_ns(self.length),
            totals: self.totals,
        }
    }
}

/// Returns a sentence about the settings that the functions do not support; `None` if they support all of them. Otherwise
/// each process decides on its own.
#[must_use]
pub fn unsupported_limits(settings: &LimiterSettings) -> Option<&'static str> {
    let limiter = DigestLimiter::new(settings.clone());
    unsupported(&limiter.figures(&AdmissionRequest::new(&[0; 16])))
}

fn unsupported(figures: &AdmissionFigures) -> Option<&'static str> {
    let AdmissionFigures { windows, slots, .. } = figures;
    let is_long = |ms: u64| Duration::from_millis(ms) > LENGTH_MAX;
    let credits = figures.credits.unwrap_or(0);
    if windows.len() + slots.len() + 1 > LIMITS_MAX {
        Some("there are more than 32 limits")
    } else if windows.iter().any(|of| is_long(of.terms.length.millis()))
        || is_long(figures.cost_length_ms)
    {
        Some("a window or the cost has a length of more than 100 days")
    } else if u64::from(credits).saturating_mul(figures.cost_length_ms) > EXACT_MAX {
        Some("the cost quota is too large for its length")
    } else {
        None
    }
}

/// Maximum cost quota, in units of the functions: debts of the same size are still exact.
const EXACT_MAX: u64 = 1 << 52;

/// Start of a request in the order in which the functions read it.
struct RequestHead {
    time: CallTime,
    flags: u8,
    shadow: u32,
    windows: usize,
    classes: usize,
    credits: u32,
    length_ms: u64,
    deadline: u64,
}

fn request_bytes(head: &RequestHead) -> Vec<u8> {
    let mut packed = Vec::with_capacity(128);
    packed.extend(moment(head.time));
    packed.push(head.flags);
    packed.extend(head.shadow.to_be_bytes());
    for count in [head.windows, head.classes] {
        packed.push(u8::try_from(count).unwrap_or(0));
    }
    packed.extend(head.credits.to_be_bytes());
    packed.extend(number(head.length_ms));
    packed.extend(number(head.deadline));
    packed
}

fn push_window(packed: &mut Vec<u8>, terms: WindowTerms, weight: u32) {
    let figures = [terms.quota, weight, terms.remembered, terms.length.ticks()];
    for figure in figures {
        packed.extend(figure.to_be_bytes());
    }
    packed.push(terms.length.shift());
}

/// Returns an attempt without a slot as the functions read it.
fn attempt_bytes(time: CallTime, terms: WindowTerms, weight: u32) -> Vec<u8> {
    let mut packed = request_bytes(&RequestHead {
        time,
        flags: 0,
        shadow: 0,
        windows: 1,
        classes: 0,
        credits: 0,
        length_ms: terms.length.millis(),
        deadline: 0,
    });
    push_window(&mut packed, terms, weight);
    packed
}

/// Returns the nanoseconds of a length of the functions.
fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

fn call(function: &str, keys: &[&str], packed: &[u8]) -> Cmd {
    let mut command = cmd("FCALL");
    command.arg(function).arg(keys.len()).arg(keys).arg(packed);
    command
}

/// Returns a number as the functions read it.
#[expect(
    clippy::cast_precision_loss,
    reason = "no number reaches the 53 bits that are exact, except those that count as endless"
)]
fn number(n: u64) -> [u8; 8] {
    (n as f64).to_be_bytes()
}

fn moment(time: CallTime) -> [u8; 8] {
    time.map_or_else(|| (-1.0_f64).to_be_bytes(), number)
}

/// Parses the reply to a request; `None` if it is malformed.
pub(crate) fn read_admission(reply: &Value) -> Option<AdmissionReply> {
    let Value::Array(parts) = reply else {
        return None;
    };
    let [
        Value::Int(limit),
        Value::Int(first),
        Value::Int(shadowed),
        Value::Int(next),
    ] = &parts[..]
    else {
        return None;
    };
    let shadowed = u32::try_from(*shadowed).ok()?;
    let first = u64::try_from(*first).ok()?;
    let Some(limit) = limit.checked_sub(1).and_then(|at| u8::try_from(at).ok()) else {
        return Some(AdmissionReply::Admitted {
            at: first,
            shadowed,
            next_wait_ms: u64::try_from(*next).ok()?,
        });
    };
    Some(AdmissionReply::Refused {
        limit: (usize::from(limit) < LIMITS_MAX).then_some(limit)?,
        wait_ms: first,
        shadowed,
    })
}

#[cfg(test)]
mod tests {
    use super::unsupported_limits;
    use std::time::Duration;
    use workgraph_limits::laws::LawSettings;
    use workgraph_limits::{LimiterSettings, PerTime, WindowSettings};

    #[test]
    fn limits_that_the_functions_do_not_know_are_named() {
        let known = LimiterSettings::from(&LawSettings::default());
        assert_eq!(unsupported_limits(&known), None);
        assert_eq!(unsupported_limits(&LimiterSettings::default()), None);
        let unknown = |change: fn(&mut LimiterSettings)| {
            let mut settings = known.clone();
            change(&mut settings);
            unsupported_limits(&settings).unwrap()
        };
        let many = |of: &mut LimiterSettings| {
            let windows = (0..30).map(|_| WindowSettings::new("one", 1.per_minute()));
            of.windows = windows.collect();
        };
        assert!(unknown(many).contains("32 limits"));
        let year = Duration::from_secs(365 * 86_400);
        assert!(
            unknown(|of| of.cost.length = Duration::from_secs(101 * 86_400)).contains("100 days")
        );
        let mut yearly = known.clone();
        yearly.windows[0].rate = 10.per(year);
        assert!(unsupported_limits(&yearly).unwrap().contains("100 days"));
        let large = |of: &mut LimiterSettings| {
            (of.cost.quota, of.cost.length) = (Some(u32::MAX), Duration::from_secs(86_400));
        };
        assert!(unknown(large).contains("too large"));
    }
}
