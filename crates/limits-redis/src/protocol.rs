//! Form of the calls and of the replies.

use redis::{Cmd, Value, cmd};
use workgraph_limits::owner_totals::{TOTALS, TotalShare};
use workgraph_limits::shared_limiter::{AdmissionFigures, SharedAttempt, SharedRequest};
use workgraph_limits::window::WindowTerms;
use workgraph_limits::{Limit, LimitKey, PerLimit};

use crate::functions::Functions;

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
        shadowed: PerLimit<bool>,
        /// Wait of the same request, were it made again; 0 unless it was asked for.
        next_wait_ms: u64,
    },
    /// The request is refused.
    Refused {
        limit: Limit,
        wait_ms: u64,
        shadowed: PerLimit<bool>,
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
        request: &SharedRequest,
        figures: &AdmissionFigures,
        want_next: bool,
        time: CallTime,
    ) -> Cmd {
        let batch = request.batch.with_slot();
        let (quota, weight, searches) = batch.counted();
        let packed = RequestForm {
            time,
            flags: if want_next { WANT_NEXT } else { 0 },
            shadow: bits(&figures.shadow),
            standard: WindowTerms {
                quota,
                remembered: figures.standard.remembered,
            },
            weight,
            search: (figures.search_per_minute, searches),
            reads: (batch.reads, figures.concurrent_reads),
            writes: (batch.writes, figures.concurrent_writes),
            cost: figures.cost_per_minute.unwrap_or(0),
            deadline: deadline(figures),
        };
        let mut packed = packed.bytes();
        let key = self.key(&batch.key);
        let Some((owner, shares)) = &request.owner else {
            return call(&self.functions.admit, &[&key], &packed);
        };
        for (share, limit) in shares.iter().zip(TOTALS) {
            let kind = match share.quota {
                None => 0,
                Some(_) if share.weight == 0 && limit != Limit::Cost => 0,
                Some(0) => 2,
                Some(_) => 1,
            };
            packed.push(kind);
            packed.extend(number(share.time()));
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

fn bits(each: &PerLimit<bool>) -> u8 {
    let limits = Limit::ALL.into_iter().enumerate();
    limits.fold(0, |bits, (at, limit)| {
        bits | u8::from(*each.of(limit)) << at
    })
}

fn limits_of(bits: i64) -> PerLimit<bool> {
    let mut each = PerLimit::default();
    for (at, limit) in Limit::ALL.into_iter().enumerate() {
        *each.of_mut(limit) = bits >> at & 1 == 1;
    }
    each
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
    let shadowed = limits_of(*shadowed);
    let first = u64::try_from(*first).ok()?;
    let Some(limit) = limit.checked_sub(1).and_then(|at| usize::try_from(at).ok()) else {
        return Some(AdmissionReply::Admitted {
            at: first,
            shadowed,
            next_wait_ms: u64::try_from(*next).ok()?,
        });
    };
    Some(AdmissionReply::Refused {
        limit: *Limit::ALL.get(limit)?,
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
    .time()
}
