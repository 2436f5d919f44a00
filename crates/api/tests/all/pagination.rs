//! Properties P1 to P15 of walks over pages, for every kind of list on both stores, and for a model with flaws that the
//! properties must notice.
//!
//! P1 no duplicates · P2 nothing omitted that was there throughout · P3 the pages joined are the
//! list · P4 changes to others change neither · P5 the boundary row may go · P6 every walk ends ·
//! P7 a token with one bit changed is refused · P8 a token belongs to user, app, list and filters,
//! not to limit and fields · P9 it lives exactly as long as it says · P10 keys may be rotated ·
//! P11 the same token gives the same page · P12 no two tokens are equal · P13 ties keep their order ·
//! P14 the stores agree · P15 a page costs what it gives.
mod lists;
mod model;
mod properties;
mod steps;
mod truncation;
mod twins;

use crate::world::KINDS;
use lists::{LISTS, Listed, Shape};
use model::{Flaw, Model};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use workgraph_api::ApiSettings;

/// The reader of a page and the request for it.
#[derive(Clone, Copy, Default, Debug)]
struct Ask<'a> {
    limit: usize,
    offset: Option<&'a str>,
    other_user: bool,
    other_app: bool,
    other_list: bool,
    other_filter: bool,
    other_fields: bool,
}

/// A page: the gids and the token of the next one.
type Page = (Vec<String>, Option<String>);

/// A list that can be walked and changed. Errors are the message of a 400.
trait Pager {
    fn page(&mut self, ask: &Ask<'_>) -> Result<Page, String>;
    /// Returns the whole list, unpaged.
    fn whole(&mut self) -> Vec<String>;
    /// Inserts a new item, at any place.
    fn insert(&mut self, seed: u64);
    fn remove(&mut self, gid: &str);
    /// Changes a field of an item; returns true if that can move it.
    fn edit(&mut self, gid: &str) -> bool;
    /// Moves an item; returns false if the list has an order of its own.
    fn shift(&mut self, gid: &str, seed: u64) -> bool;
    fn advance(&mut self, seconds: u64);
    /// Seals tokens with a new key; the old one opens tokens until it is retired.
    fn rotate(&mut self, retire: bool);
}

/// A change between two pages.
#[derive(Clone, Copy, Debug)]
enum Change {
    Insert(u64),
    Remove(u64),
    Edit(u64),
    Shift(u64, u64),
    RemoveBoundary,
    EditBoundary,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let one = prop_oneof![
        any::<u64>().prop_map(Change::Insert),
        any::<u64>().prop_map(Change::Remove),
        any::<u64>().prop_map(Change::Edit),
        any::<(u64, u64)>().prop_map(|(a, b)| Change::Shift(a, b)),
        Just(Change::RemoveBoundary),
        Just(Change::EditBoundary),
    ];
    prop::collection::vec(one, 0..3)
}

type LawOutcome = Result<(), String>;

macro_rules! hold {
    ($holds:expr, $($reason:tt)+) => {
        if !$holds {
            return Err(format!($($reason)+));
        }
    };
}

/// P1, P2, P4, P5, P6: a walk with changes between its pages.
fn walks(list: &mut dyn Pager, limits: &[usize], between: &[Vec<Change>]) -> LawOutcome {
    let start = list.whole();
    let mut touched: BTreeSet<String> = BTreeSet::new();
    let mut seen: Vec<String> = Vec::new();
    let mut offset: Option<String> = None;
    let smallest = limits.iter().min().copied().unwrap_or(1);
    // A row may come again if its own key changes; each such change adds at most one row.
    let mut moved = 0;
    for page in 0.. {
        let most = (start.len() + moved).div_ceil(smallest) + 1;
        hold!(
            page < most,
            "P6: still going after {page} pages of {} rows",
            start.len()
        );
        let ask = Ask {
            limit: limits[page % limits.len()],
            offset: offset.as_deref(),
            ..Ask::default()
        };
        let (gids, next) = list.page(&ask).map_err(|e| format!("P4: {e}"))?;
        hold!(
            gids.len() <= ask.limit,
            "P3: {} rows for limit {}",
            gids.len(),
            ask.limit
        );
        hold!(
            next.is_none() || gids.len() == ask.limit,
            "P3: a short page in the middle"
        );
        seen.extend(gids);
        let Some(next) = next else { break };
        offset = Some(next);
        let now = list.whole();
        let pick = |seed: u64| {
            now.get(usize::try_from(seed).unwrap_or(0) % now.len().max(1))
                .cloned()
        };
        for change in between.get(page).into_iter().flatten() {
            match change {
                Change::Insert(seed) => list.insert(*seed),
                Change::Remove(seed) => {
                    if let Some(gid) = pick(*seed).filter(|g| touched.insert(g.clone())) {
                        list.remove(&gid);
                    }
                }
                Change::Edit(seed) => {
                    if let Some(gid) = pick(*seed).filter(|g| !touched.contains(g))
                        && list.edit(&gid)
                    {
                        moved += 1;
                        touched.insert(gid);
                    }
                }
                Change::Shift(seed, to) => {
                    if let Some(gid) = pick(*seed).filter(|g| !touched.contains(g))
                        && list.shift(&gid, *to)
                    {
                        touched.insert(gid);
                    }
                }
                Change::RemoveBoundary => {
                    if let Some(gid) = seen.last().filter(|g| touched.insert((*g).clone())) {
                        list.remove(gid);
                    }
                }
                Change::EditBoundary => {
                    if let Some(gid) = seen.last().filter(|g| !touched.contains(*g))
                        && list.edit(gid)
                    {
                        moved += 1;
                        touched.insert(gid.clone());
                    }
                }
            }
        }
    }
    let steady: Vec<&String> = seen.iter().filter(|g| !touched.contains(*g)).collect();
    let distinct: BTreeSet<&&String> = steady.iter().collect();
    hold!(distinct.len() == steady.len(), "P1: twice in {seen:?}");
    for gid in start.iter().filter(|g| !touched.contains(*g)) {
        hold!(
            seen.contains(gid),
            "P2: {gid} of {start:?} is not in {seen:?}"
        );
    }
    for gid in &seen {
        hold!(
            start.contains(gid),
            "P6: {gid} came later and is in {seen:?}"
        );
    }
    Ok(())
}

/// P3, P11, P13: the pages of a list that does not change.
fn stands_still(list: &mut dyn Pager, limits: &[usize]) -> LawOutcome {
    let whole = list.whole();
    let mut seen = Vec::new();
    let mut offset: Option<String> = None;
    for page in 0.. {
        hold!(page <= whole.len() + 1, "P6: still going");
        let ask = Ask {
            limit: limits[page % limits.len()],
            offset: offset.as_deref(),
            ..Ask::default()
        };
        let first = list.page(&ask)?;
        let again = list.page(&ask)?;
        hold!(
            first.0 == again.0,
            "P11: {:?} and then {:?}",
            first.0,
            again.0
        );
        if let (Some(a), Some(b)) = (&first.1, &again.1) {
            hold!(a != b, "P12: the same token twice");
            hold!(a.len() == b.len(), "P12: lengths differ");
        }
        hold!(
            first.1.is_some() == again.1.is_some(),
            "P11: an end and no end"
        );
        seen.extend(first.0);
        let Some(next) = first.1 else { break };
        offset = Some(next);
    }
    hold!(seen == whole, "P3: {seen:?} instead of {whole:?}");
    Ok(())
}

const INVALID: &str = "offset: Your pagination token is invalid.";
const EXPIRED: &str = "offset: Your pagination token has expired.";

fn second(list: &mut dyn Pager) -> Result<String, String> {
    let first = Ask {
        limit: 2,
        ..Ask::default()
    };
    list.page(&first)?
        .1
        .ok_or_else(|| "the list is too short".to_owned())
}

/// P7: every single-bit change, cut and extension of a token.
fn sealed(list: &mut dyn Pager) -> LawOutcome {
    let token = second(list)?;
    let mut bad: Vec<String> = Vec::new();
    for at in 0..token.len() {
        for bit in 0..7 {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            // Only characters that can stand in a query as they are.
            if bytes[at].is_ascii_alphanumeric() || b"-_.~".contains(&bytes[at]) {
                bad.push(String::from_utf8(bytes).unwrap());
            }
        }
        // The empty text is no token.
        bad.extend((at > 0).then(|| token[..at].to_owned()));
    }
    bad.extend(["A", "=", "AAAA"].map(|end| format!("{token}{end}")));
    for text in bad {
        let ask = Ask {
            limit: 2,
            offset: Some(&text),
            ..Ask::default()
        };
        let got = list.page(&ask);
        hold!(got == Err(INVALID.to_owned()), "P7: {text} gives {got:?}");
    }
    Ok(())
}

/// P8: the parts of a request that a token is bound to, and the parts that it is not.
fn bound(list: &mut dyn Pager) -> LawOutcome {
    let token = second(list)?;
    let ask = Ask {
        limit: 2,
        offset: Some(&token),
        ..Ask::default()
    };
    let own = list.page(&ask)?;
    for (what, ask) in [
        (
            "user",
            Ask {
                other_user: true,
                ..ask
            },
        ),
        (
            "app",
            Ask {
                other_app: true,
                ..ask
            },
        ),
        (
            "list",
            Ask {
                other_list: true,
                ..ask
            },
        ),
        (
            "filter",
            Ask {
                other_filter: true,
                ..ask
            },
        ),
    ] {
        let got = list.page(&ask);
        hold!(
            got == Err(INVALID.to_owned()),
            "P8: another {what} gives {got:?}"
        );
    }
    let more = list.page(&Ask { limit: 3, ..ask })?;
    hold!(
        more.0.starts_with(&own.0),
        "P8: another limit changes the walk"
    );
    let fields = list.page(&Ask {
        other_fields: true,
        ..ask
    })?;
    hold!(fields.0 == own.0, "P8: other fields change the walk");
    Ok(())
}

/// P9: a token works one second before its end and not at it.
fn expires(list: &mut dyn Pager) -> LawOutcome {
    let token = second(list)?;
    let ask = Ask {
        limit: 2,
        offset: Some(&token),
        ..Ask::default()
    };
    list.advance(24 * 3600 - 1);
    list.page(&ask).map_err(|e| format!("P9: too early: {e}"))?;
    list.advance(1);
    let got = list.page(&ask);
    hold!(got == Err(EXPIRED.to_owned()), "P9: at its end {got:?}");
    Ok(())
}

/// P10: a new key in the middle of a walk, then the old one retired.
fn rotates(list: &mut dyn Pager) -> LawOutcome {
    let token = second(list)?;
    let ask = Ask {
        limit: 2,
        offset: Some(&token),
        ..Ask::default()
    };
    let before = list.page(&ask)?;
    list.rotate(false);
    let after = list.page(&ask).map_err(|e| format!("P10: {e}"))?;
    hold!(before.0 == after.0, "P10: another page after the rotation");
    list.rotate(true);
    let got = list.page(&ask);
    hold!(
        got == Err(EXPIRED.to_owned()),
        "P10: with a retired key {got:?}"
    );
    Ok(())
}
