//! Account of a key as the server keeps it, read for explanations.

use redis::Value;
use workgraph_limits::shared_limiter::AdmissionFigures;
use workgraph_limits::{CostState, LimiterState, SlotState, WindowState};

/// Length of the windows, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Units of the balance in one credit.
const CREDIT: u64 = 60_000;

/// Puts the counts of the server into the state that this process has: all but the list of recent requests, of which
/// the server keeps none. A reply of another form leaves the state as it is.
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
    let now = account.last;
    let windows = [
        (&account.admitted, &account.refused),
        (&account.searches, &Vec::new()),
    ];
    for (state, (admitted, refused)) in own.windows.iter_mut().zip(windows) {
        *state = rate(*state, admitted, refused, now);
    }
    let classes = [&account.reads, &account.writes];
    for (state, deadlines) in own.concurrent.iter_mut().zip(classes) {
        *state = slots(*state, deadlines, now);
    }
    own.cost = own.cost.zip(figures.credits).map(|(cost, limit)| {
        let (rate, spent) = (u64::from(limit), account.spent);
        let left = i128::from(rate * CREDIT) - i128::from(spent);
        CostState {
            balance: i64::try_from(left.div_euclid(CREDIT.into())).unwrap_or(i64::MIN),
            next_ms: spent
                .checked_sub(rate * CREDIT)
                .map_or(0, |debt| debt / rate + 1),
            full_ms: spent.div_ceil(rate),
            ..cost
        }
    });
    own
}

fn rate(own: WindowState, admitted: &[u32], refused: &[u32], now: u64) -> WindowState {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a stamp is the low half of the time"
    )]
    let low = now as u32;
    let left = |stamp: &u32| WINDOW_MS.saturating_sub(low.wrapping_sub(*stamp).into());
    let waits = || admitted.iter().chain(refused).map(left);
    let used = u32::try_from(admitted.len() + refused.len()).unwrap_or(u32::MAX);
    WindowState {
        used,
        refused: u32::try_from(refused.len()).unwrap_or(u32::MAX),
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

/// Account as the functions pack it.
#[derive(Debug, Default)]
struct Account {
    last: u64,
    spent: u64,
    admitted: Vec<u32>,
    refused: Vec<u32>,
    searches: Vec<u32>,
    reads: Vec<u64>,
    writes: Vec<u64>,
}

impl Account {
    fn parse(packed: &[u8]) -> Option<Self> {
        let mut reader = Reader(packed);
        let [1] = reader.take()? else { return None };
        let (last, spent) = (reader.number()?, reader.number()?);
        let [_rate, _remembered, _held] = [reader.count()?, reader.count()?, reader.count()?];
        let _held_since = reader.number()?;
        let mut counts = [0; 5];
        for count in &mut counts {
            *count = reader.count()?;
        }
        let [admitted, refused, searches, reads, writes] = counts;
        let account = Self {
            last,
            spent,
            admitted: reader.list(admitted, Reader::count)?,
            refused: reader.list(refused, Reader::count)?,
            searches: reader.list(searches, Reader::count)?,
            reads: reader.list(reads, Reader::number)?,
            writes: reader.list(writes, Reader::number)?,
        };
        reader.0.is_empty().then_some(account)
    }
}

/// Rest of what is to be read.
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
        // The list cannot be longer than what is left, whatever its count says.
        (0..n).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn what_is_cut_or_too_long_is_no_account() {
        let mut packed = vec![1];
        packed.extend(5_000_f64.to_be_bytes());
        packed.extend(120_000_f64.to_be_bytes());
        packed.extend([0; 20]);
        for count in [1_u32, 0, 0, 1, 0] {
            packed.extend(count.to_be_bytes());
        }
        packed.extend(4_000_u32.to_be_bytes());
        packed.extend(35_000_f64.to_be_bytes());
        let account = Account::parse(&packed).unwrap();
        assert_eq!((account.last, account.spent), (5_000, 120_000));
        assert_eq!(
            (account.admitted, account.reads),
            (vec![4_000], vec![35_000])
        );
        assert!(Account::parse(&packed[..packed.len() - 1]).is_none());
        packed.push(0);
        assert!(Account::parse(&packed).is_none());
        packed[0] = 2;
        assert!(Account::parse(&packed).is_none());
    }
}
