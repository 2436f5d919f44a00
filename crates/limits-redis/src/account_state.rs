//! Account of a key as stored on the server, read for explanations.

use redis::Value;
use workgraph_limits::shared_limiter::AdmissionFigures;
use workgraph_limits::{CostState, LimiterState, SlotState, WindowState};

/// Replaces the counts in this process's state with the server's counts, except the list of recent requests, which the
/// server does not store. A malformed reply leaves the state unchanged.
pub(crate) fn read(
    reply: &Value,
    figures: &AdmissionFigures,
    mut own: LimiterState,
) -> LimiterState {
    let account = match reply {
        Value::Nil => Some(Account::default()),
        Value::BulkString(packed) => Account::parse(packed),
        _ => None,
    };
    let Some(account) = account else { return own };
    let (now, none) = (account.last, Window::default());
    for (at, state) in own.windows.iter_mut().enumerate() {
        *state = window(*state, account.windows.get(at).unwrap_or(&none), now);
    }
    for (at, state) in own.concurrent.iter_mut().enumerate() {
        let deadlines = account.classes.get(at).map_or(&[][..], Vec::as_slice);
        *state = slots(*state, deadlines, now);
    }
    let length = figures.cost_length_ms;
    own.cost = own.cost.zip(figures.credits).map(|(cost, limit)| {
        let (rate, spent) = (u64::from(limit), account.spent);
        let left = i128::from(rate * length) - i128::from(spent);
        CostState {
            balance: i64::try_from(left.div_euclid(length.into())).unwrap_or(i64::MIN),
            next_ms: spent
                .checked_sub(rate * length)
                .map_or(0, |debt| debt / rate + 1),
            full_ms: spent.div_ceil(rate),
            ..cost
        }
    });
    own
}

fn window(own: WindowState, of: &Window, now: u64) -> WindowState {
    let tick = now >> of.shift;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a stamp is the low half of the tick"
    )]
    let low = tick as u32;
    let left = |stamp: &u32| {
        let ticks = of.ticks.saturating_sub(low.wrapping_sub(*stamp));
        ((tick + u64::from(ticks)) << of.shift).saturating_sub(now)
    };
    let waits = || of.admitted.iter().chain(&of.refused).map(left);
    let used = u32::try_from(of.admitted.len() + of.refused.len()).unwrap_or(u32::MAX);
    WindowState {
        used,
        refused: u32::try_from(of.refused.len()).unwrap_or(u32::MAX),
        remaining: own.limit.saturating_sub(used),
        next_ms: waits().min().unwrap_or(0),
        full_ms: waits().max().unwrap_or(0),
        ..own
    }
}

fn slots(own: SlotState, deadlines: &[u64], now: u64) -> SlotState {
    SlotState {
        running: u32::try_from(deadlines.len()).unwrap_or(u32::MAX),
        full_ms: deadlines.last().map_or(0, |last| last.saturating_sub(now)),
        ..own
    }
}

/// Account in the format of the functions.
#[derive(Debug, Default)]
struct Account {
    last: u64,
    spent: u64,
    windows: Vec<Window>,
    /// Deadlines of each class.
    classes: Vec<Vec<u64>>,
}

/// Window of an account, as the server packs it.
#[derive(Debug, Default)]
struct Window {
    ticks: u32,
    /// Binary logarithm of the milliseconds per tick, below 64.
    shift: u8,
    admitted: Vec<u32>,
    refused: Vec<u32>,
}

impl Account {
    fn parse(packed: &[u8]) -> Option<Self> {
        let mut reader = Reader(packed);
        let [2] = reader.take()? else { return None };
        let [last, spent, _length] = [reader.number()?, reader.number()?, reader.number()?];
        let _rate = reader.count()?;
        let [windows, classes] = reader.take()?;
        let mut heads = Vec::new();
        for _ in 0..windows {
            let ticks = reader.count()?;
            let [shift @ ..64] = reader.take()? else {
                return None;
            };
            let _remembered_and_held = [reader.count()?, reader.count()?];
            let _held_since = reader.number()?;
            heads.push((ticks, shift, reader.count()?, reader.count()?));
        }
        let mut running = Vec::new();
        for _ in 0..classes {
            running.push(reader.count()?);
        }
        let mut account = Self {
            last,
            spent,
            ..Self::default()
        };
        for (ticks, shift, admitted, refused) in heads {
            account.windows.push(Window {
                ticks,
                shift,
                admitted: reader.list(admitted, Reader::count)?,
                refused: reader.list(refused, Reader::count)?,
            });
        }
        for running in running {
            account.classes.push(reader.list(running, Reader::number)?);
        }
        reader.0.is_empty().then_some(account)
    }
}

/// Reader of a packed account, field by field.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn count(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let number = f64::from_be_bytes(self.take()?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast stops at the ends, and the functions have whole numbers from 0"
        )]
        let whole = number as u64;
        Some(whole)
    }

    fn list<T>(&mut self, n: u32, one: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // The list cannot be longer than the rest, regardless of its count.
        (0..n).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn what_is_cut_or_too_long_is_no_account() {
        let mut packed = vec![2];
        for time in [5_000_f64, 120_000_f64, 60_000_f64] {
            packed.extend(time.to_be_bytes());
        }
        packed.extend(100_u32.to_be_bytes());
        packed.extend([1, 2]);
        packed.extend(60_000_u32.to_be_bytes());
        packed.extend([0; 17]);
        for count in [1_u32, 0, 0, 1] {
            packed.extend(count.to_be_bytes());
        }
        packed.extend(4_000_u32.to_be_bytes());
        packed.extend(35_000_f64.to_be_bytes());
        let account = Account::parse(&packed).unwrap();
        assert_eq!((account.last, account.spent), (5_000, 120_000));
        assert_eq!(account.windows[0].admitted, [4_000]);
        assert_eq!(account.classes, [vec![], vec![35_000]]);
        assert!(Account::parse(&packed[..packed.len() - 1]).is_none());
        packed.push(0);
        assert!(Account::parse(&packed).is_none());
        packed[0] = 1;
        assert!(Account::parse(&packed).is_none());
    }
}
