//! Form of the calls and of the replies.

use std::time::Duration;

use redis::{Cmd, Value, cmd};
use workgraph_limits::rate::WindowLength;
use workgraph_limits::shared_limiter::{AdmissionFigures, SharedAttempt};
use workgraph_limits::window::WindowTerms;
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, Limit, LimitKey, LimiterSettings, SharedRequest, TotalShare,
};

use crate::functions::Functions;

/// Number of limits of the functions.
const LIMITS: u8 = 5;
/// Flag of a request that wants to know the wait of its repetition.
const WANT_NEXT: u8 = 1;
/// Longest deadline, in milliseconds; a number of the functions is exact up to four times this.
const LONGEST_DEADLINE: u64 = 1 << 51;

/// Time of a call: that of the server, or a given one in milliseconds.
pub(crate) type CallTime = Option<u64>;

/// Reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionReply {
    /// The request is admitted.
    Admitted {
        /// Time of the decision.
        at: u64,
        /// Limits in shadow mode that would have refused, as bits.
        shadowed: u8,
        /// Wait of the same request, were it made again; 0 unless it was asked for.
        next_wait_ms: u64,
    },
    /// The request is refused.
    Refused {
        /// Number of the limit, from 0.
        limit: u8,
        wait_ms: u64,
        shadowed: u8,
    },
}

/// End of a request, or an attempt that is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Settlement {
    pub(crate) key: LimitKey,
    pub(crate) cost: u32,
    /// Credits regained per minute, if the server knows of none.
    pub(crate) rate: u32,
    pub(crate) deadline: u64,
    pub(crate) reads: u32,
    pub(crate) writes: u32,
    /// Weight that is taken back, and the time at which it was counted.
    pub(crate) undone: u32,
    pub(crate) undone_at: u64,
    /// Owner, and the nanoseconds that its total of costs takes to drain what was used.
    pub(crate) owner: Option<(u64, u64)>,
}

/// Names of keys and functions, from which calls are made.
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
        let mut packed = RequestForm {
            time,
            flags: if want_next { WANT_NEXT } else { 0 },
            shadow: figures.shadow(),
            standard: figures.standard,
            weight: figures.weight,
            search: figures.search,
            reads: figures.reads,
            writes: figures.writes,
            cost: figures.all.credits.unwrap_or(0),
            deadline: deadline(figures.all),
        }
        .bytes();
        let key = self.key(request.request.key());
        let Some((owner, shares)) = request.owner else {
            return call(&self.functions.admit, &[&key], &packed);
        };
        for (share, is_cost) in figures.totals(shares) {
            let kind = match share.quota {
                None => 0,
                Some(_) if share.weight == 0 && !is_cost => 0,
                Some(0) => 2,
                Some(_) => 1,
            };
            packed.push(kind);
            packed.extend(number(share.drain_ns(MINUTE)));
        }
        call(
            &self.functions.admit,
            &[&key, &self.owner_key(*owner)],
            &packed,
        )
    }

    /// Returns the call that counts an attempt.
    pub(crate) fn attempt(&self, attempt: &SharedAttempt, time: CallTime) -> Cmd {
        let packed = RequestForm::attempt(time, attempt.terms, 1);
        call(
            &self.functions.admit,
            &[&self.key(&attempt.key)],
            &packed.bytes(),
        )
    }

    /// Returns a call that decides about nothing, but does all that a decision does.
    pub(crate) fn trial(&self) -> Cmd {
        let terms = WindowTerms {
            quota: 1,
            remembered: 0,
            length: WindowLength::MINUTE,
        };
        let nothing = RequestForm::attempt(None, terms, 0);
        call(
            &self.functions.admit,
            &[&format!("{}:trial", self.prefix)],
            &nothing.bytes(),
        )
    }

    /// Returns the name of the key with the time at which the first process came, in milliseconds of the server.
    pub(crate) fn since_key(&self) -> String {
        format!("{}:since", self.prefix)
    }

    /// Returns the call that ends a request.
    pub(crate) fn settle(&self, ended: &Settlement, time: CallTime) -> Cmd {
        let mut packed = Vec::with_capacity(64);
        packed.extend(moment(time));
        packed.extend(ended.cost.to_be_bytes());
        packed.extend(ended.rate.to_be_bytes());
        packed.extend(number(ended.deadline));
        for count in [ended.reads, ended.writes, ended.undone] {
            packed.extend(count.to_be_bytes());
        }
        packed.extend(number(ended.undone_at));
        packed.extend(number(ended.owner.map_or(0, |(_, used)| used)));
        let key = self.key(&ended.key);
        match ended.owner {
            Some((owner, 1..)) => call(
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

/// Time in which the totals and the credits of the functions are regained.
const MINUTE: Duration = Duration::from_secs(60);

/// Returns what a limiter has that the functions have no place for, as a sentence; `None` if they know all of it.
#[must_use]
pub fn unsupported_limits(settings: &LimiterSettings) -> Option<&'static str> {
    let limiter = DigestLimiter::new(settings.clone());
    let figures = limiter.figures(&AdmissionRequest::new(&[0; 16]));
    if FunctionFigures::of(&figures).is_some() {
        None
    } else if figures.windows.len() > 2 {
        Some("the functions have no more than two windows")
    } else if figures.slots.len() > 2 {
        Some("the functions have no more than two numbers of concurrent requests")
    } else if figures
        .windows
        .get(1)
        .is_some_and(|second| second.terms.remembered > 0)
    {
        Some("the second window must not count refused attempts (floor_percent 100)")
    } else {
        Some("windows and the cost must have a length of a minute")
    }
}

/// Figures of a request in the places that the functions have for them.
pub(crate) struct FunctionFigures<'a> {
    pub(crate) all: &'a AdmissionFigures,
    standard: WindowTerms,
    weight: u32,
    /// Quota and weight.
    search: (u32, u32),
    /// Slots and the most.
    pub(crate) reads: (u32, u32),
    pub(crate) writes: (u32, u32),
}

impl<'a> FunctionFigures<'a> {
    /// Puts the figures in their places; `None` if the functions have none for a limit: they know two windows of a
    /// minute, of which the second remembers nothing that it refused, two numbers of concurrent requests, and a cost
    /// quota of a minute.
    pub(crate) fn of(all: &'a AdmissionFigures) -> Option<Self> {
        let minute = |terms: &WindowTerms| terms.length == WindowLength::MINUTE;
        let unused = WindowTerms {
            quota: 0,
            remembered: 0,
            length: WindowLength::MINUTE,
        };
        let (first, second) = match &all.windows[..] {
            [] => ((unused, 0), (unused, 0)),
            [first] => ((first.terms, first.weight), (unused, 0)),
            [first, second] => ((first.terms, first.weight), (second.terms, second.weight)),
            _ => return None,
        };
        let slots = match &all.slots[..] {
            [] => [(0, 0); 2],
            [reads] => [(reads.slots, reads.most), (0, 0)],
            [reads, writes] => [(reads.slots, reads.most), (writes.slots, writes.most)],
            _ => return None,
        };
        let is_known = minute(&first.0)
            && minute(&second.0)
            && second.0.remembered == 0
            && (all.credits.is_none() || u128::from(all.cost_length_ms) == MINUTE.as_millis());
        let [reads, writes] = slots;
        is_known.then_some(Self {
            all,
            standard: first.0,
            weight: first.1,
            search: (second.0.quota, second.1),
            reads,
            writes,
        })
    }

    /// Returns the limits in the order of their numbers, those that the limiter does not have left out.
    fn limits(&self) -> [Option<(Limit, bool)>; 5] {
        let window = |at: usize| {
            let window = self.all.windows.get(at)?;
            Some((window.window, window.shadow))
        };
        let slots = |at: usize| {
            let class = self.all.slots.get(at)?;
            Some((class.class, class.shadow))
        };
        let cost = Some((self.all.cost, self.all.cost_shadow));
        [window(0), window(1), slots(0), slots(1), cost]
    }

    /// Returns the limits in shadow mode, as bits.
    fn shadow(&self) -> u8 {
        let limits = self.limits().into_iter().enumerate();
        limits.fold(0, |bits, (at, limit)| {
            bits | u8::from(limit.is_some_and(|(_, shadow)| shadow)) << at
        })
    }

    /// Returns the limit with a number.
    pub(crate) fn limit(&self, number: u8) -> Option<Limit> {
        let found = self.limits().get(usize::from(number)).copied().flatten();
        found.map(|(limit, _)| limit)
    }

    /// Returns the limits whose bits are set.
    pub(crate) fn limits_of(&self, bits: u8) -> Vec<Limit> {
        let numbers = (0..8).filter(|at| bits >> at & 1 == 1);
        numbers.filter_map(|at| self.limit(at)).collect()
    }

    /// Returns the shares in the three totals of the functions; true is with that of the cost.
    fn totals(&self, shares: &[TotalShare]) -> [(TotalShare, bool); 3] {
        let windows = self.all.windows.len();
        let share = |at: Option<usize>| {
            let share = at.and_then(|at| shares.get(at));
            share.copied().unwrap_or_default()
        };
        let window = |at| share((at < windows).then_some(at));
        [
            (window(0), false),
            (window(1), false),
            (share(Some(windows)), true),
        ]
    }

    /// Returns the share in the total of the cost.
    pub(crate) fn cost_share(&self, shares: &[TotalShare]) -> TotalShare {
        let [.., (cost, _)] = self.totals(shares);
        cost
    }
}

/// Request in the order in which the functions read it.
struct RequestForm {
    time: CallTime,
    flags: u8,
    shadow: u8,
    standard: WindowTerms,
    weight: u32,
    search: (u32, u32),
    reads: (u32, u32),
    writes: (u32, u32),
    cost: u32,
    deadline: u64,
}

impl RequestForm {
    /// Returns the form of an attempt that needs no slot.
    fn attempt(time: CallTime, standard: WindowTerms, weight: u32) -> Self {
        Self {
            time,
            flags: 0,
            shadow: 0,
            standard,
            weight,
            search: (0, 0),
            reads: (0, 0),
            writes: (0, 0),
            cost: 0,
            deadline: 0,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(96);
        packed.extend(moment(self.time));
        packed.extend([self.flags, self.shadow]);
        for figure in [
            self.standard.quota,
            self.weight,
            self.standard.remembered,
            self.search.0,
            self.search.1,
            self.reads.0,
            self.reads.1,
            self.writes.0,
            self.writes.1,
            self.cost,
        ] {
            packed.extend(figure.to_be_bytes());
        }
        packed.extend(number(self.deadline));
        packed
    }
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

/// Reads the reply to a request; `None` if it has another form.
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
    let shadowed = u8::try_from(*shadowed).ok()?;
    let first = u64::try_from(*first).ok()?;
    let Some(limit) = limit.checked_sub(1).and_then(|at| u8::try_from(at).ok()) else {
        return Some(AdmissionReply::Admitted {
            at: first,
            shadowed,
            next_wait_ms: u64::try_from(*next).ok()?,
        });
    };
    Some(AdmissionReply::Refused {
        limit: (limit < LIMITS).then_some(limit)?,
        wait_ms: first,
        shadowed,
    })
}

/// Returns the nanoseconds that a total of costs takes to drain a cost.
pub(crate) fn cost_time(share: &TotalShare, cost: u32) -> u64 {
    TotalShare {
        weight: cost,
        quota: share.quota,
    }
    .drain_ns(MINUTE)
}

#[cfg(test)]
mod tests {
    use super::unsupported_limits;
    use std::time::Duration;
    use workgraph_limits::laws::LawSettings;
    use workgraph_limits::{ConcurrentSettings, LimiterSettings, PerTime, WindowSettings};

    #[test]
    fn limits_without_a_place_in_the_functions_are_named() {
        let known = LimiterSettings::from(&LawSettings::default());
        assert_eq!(unsupported_limits(&known), None);
        assert_eq!(unsupported_limits(&LimiterSettings::default()), None);
        let unknown = |change: fn(&mut LimiterSettings)| {
            let mut settings = known.clone();
            change(&mut settings);
            unsupported_limits(&settings).unwrap()
        };
        let third = |of: &mut LimiterSettings| {
            of.windows
                .push(WindowSettings::new("third", 1.per_minute()));
        };
        assert!(unknown(third).contains("two windows"));
        let class = |of: &mut LimiterSettings| {
            of.concurrent.push(ConcurrentSettings::new("exports", 1));
        };
        assert!(unknown(class).contains("two numbers"));
        assert!(unknown(|of| of.windows[1].floor_percent = 10).contains("second window"));
        let day = |of: &mut LimiterSettings| of.windows[0].rate = 10.per_day();
        assert!(unknown(day).contains("a minute"));
        assert!(unknown(|of| of.cost.length = Duration::from_secs(1)).contains("a minute"));
    }
}
