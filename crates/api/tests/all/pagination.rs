//! Properties P1 to P15 of walks over pages, for every kind of list on both stores, and for a model
//! whose flaws each property must notice.
//!
//! P1 no duplicates · P2 nothing omitted that was there throughout · P3 the pages joined are the
//! list · P4 changes to others change neither · P5 the boundary row may go · P6 every walk ends ·
//! P7 a token with one bit changed is refused · P8 a token belongs to user, app, list and filters,
//! not to limit and fields · P9 it lives exactly as long as it says · P10 keys may be rotated ·
//! P11 the same token gives the same page · P12 no two tokens are equal · P13 ties keep their order ·
//! P14 the stores agree · P15 a page costs what it gives.
mod lists;
mod model;
mod steps;

use crate::world::KINDS;
use lists::{LISTS, Listed, Shape};
use model::{Flaw, Model};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;
use workgraph_api::Settings;

/// Who asks for what.
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
    /// The whole list, unpaged.
    fn whole(&mut self) -> Vec<String>;
    /// Something new, anywhere.
    fn insert(&mut self, seed: u64);
    fn remove(&mut self, gid: &str);
    /// Changes something about an item; true if that can move it.
    fn edit(&mut self, gid: &str) -> bool;
    /// Moves an item; false if this list has an order of its own.
    fn shift(&mut self, gid: &str, seed: u64) -> bool;
    fn advance(&mut self, seconds: u64);
    /// Seals with a new key; the old one opens tokens until it is retired.
    fn rotate(&mut self, retire: bool);
}

/// What happens between two pages.
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

type Verdict = Result<(), String>;

macro_rules! hold {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}

/// P1, P2, P4, P5, P6: a walk among changes.
fn walks(list: &mut dyn Pager, limits: &[usize], between: &[Vec<Change>]) -> Verdict {
    let start = list.whole();
    let mut touched: BTreeSet<String> = BTreeSet::new();
    let mut seen: Vec<String> = Vec::new();
    let mut offset: Option<String> = None;
    let smallest = limits.iter().min().copied().unwrap_or(1);
    // A row whose own key changes may come again; each such change adds at most one row.
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

/// P3, P11, P13: the pages of a list that stands still.
fn stands_still(list: &mut dyn Pager, limits: &[usize]) -> Verdict {
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
fn sealed(list: &mut dyn Pager) -> Verdict {
    let token = second(list)?;
    let mut bad: Vec<String> = Vec::new();
    for at in 0..token.len() {
        for bit in 0..7 {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            // Only what can stand in a query as it is.
            if bytes[at].is_ascii_alphanumeric() || b"-_.~".contains(&bytes[at]) {
                bad.push(String::from_utf8(bytes).unwrap());
            }
        }
        bad.push(token[..at].to_owned());
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

/// P8: what a token is bound to, and what not.
fn bound(list: &mut dyn Pager) -> Verdict {
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
fn expires(list: &mut dyn Pager) -> Verdict {
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
fn rotates(list: &mut dyn Pager) -> Verdict {
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

/// How many cases a property gets; `WORKGRAPH_CASES` multiplies.
fn runner(cases: u32) -> TestRunner {
    let scale = std::env::var("WORKGRAPH_CASES")
        .ok()
        .and_then(|v| v.parse::<u32>().ok())
        .unwrap_or(1);
    TestRunner::new(Config {
        cases: cases * scale,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    })
}

fn limits() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![3 => 1usize..6, 1 => 1usize..=100], 1..4)
}

fn fresh(kind: crate::world::Kind, shape: &'static Shape, size: usize) -> Listed {
    Listed::new(kind, shape, size, false, Settings::default())
}

#[test]
fn p1_p2_p4_p5_p6_walks_among_changes() {
    for kind in KINDS {
        for shape in LISTS {
            let cases = if kind == crate::world::Kind::Memory {
                40
            } else {
                4
            };
            let input = (0usize..12, limits(), prop::collection::vec(changes(), 0..8));
            let done = runner(cases).run(&input, |(size, limits, between)| {
                let mut list = fresh(kind, shape, size);
                walks(&mut list, &limits, &between)
                    .map_err(|why| TestCaseError::fail(format!("{kind:?} {}: {why}", shape.name)))
            });
            done.unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

/// S02.
#[test]
fn p3_p11_p12_the_pages_are_the_list() {
    for kind in KINDS {
        for shape in LISTS {
            let cases = if kind == crate::world::Kind::Memory {
                20
            } else {
                3
            };
            let done = runner(cases).run(&(0usize..15, limits()), |(size, limits)| {
                let mut list = fresh(kind, shape, size);
                stands_still(&mut list, &limits)
                    .map_err(|why| TestCaseError::fail(format!("{kind:?} {}: {why}", shape.name)))
            });
            done.unwrap_or_else(|e| panic!("{e}"));
        }
    }
}

#[test]
fn p5_the_row_at_the_boundary_may_go_or_change() {
    for kind in KINDS {
        for shape in LISTS {
            for change in [Change::RemoveBoundary, Change::EditBoundary] {
                let mut list = fresh(kind, shape, 9);
                walks(&mut list, &[2], &vec![vec![change]; 9])
                    .unwrap_or_else(|why| panic!("{kind:?} {} {change:?}: {why}", shape.name));
            }
        }
    }
}

#[test]
fn p6_ends_though_something_is_added_after_every_page() {
    for shape in LISTS {
        let between: Vec<Vec<Change>> = (0..20)
            .map(|n| (0..6).map(|m| Change::Insert(n * 7 + m)).collect())
            .collect();
        let mut list = fresh(crate::world::Kind::Memory, shape, 10);
        walks(&mut list, &[2], &between).unwrap_or_else(|why| panic!("{}: {why}", shape.name));
    }
}

/// S42.
#[test]
fn p7_p8_p9_p10_tokens() {
    for kind in KINDS {
        for shape in LISTS {
            if shape.name == "tasks" && kind == crate::world::Kind::Memory {
                sealed(&mut fresh(kind, shape, 5)).unwrap();
            }
            for property in [bound, expires, rotates] {
                let mut list = fresh(kind, shape, 5);
                property(&mut list).unwrap_or_else(|why| panic!("{kind:?} {}: {why}", shape.name));
            }
        }
    }
}

#[test]
fn p13_ties_keep_their_order() {
    for kind in KINDS {
        for shape in LISTS {
            // All have one name, so alphabetical lists are all ties.
            let mut list = Listed::new(kind, shape, 9, true, Settings::default());
            for limits in [&[1][..], &[2], &[3, 1]] {
                stands_still(&mut list, limits)
                    .unwrap_or_else(|why| panic!("{}: {why}", shape.name));
            }
        }
    }
}

/// The pages of a walk, and the whole list after each.
fn log(list: &mut dyn Pager, limits: &[usize], between: &[Vec<Change>]) -> Vec<Page> {
    let mut log = Vec::new();
    let mut offset: Option<String> = None;
    for page in 0..12 {
        let ask = Ask {
            limit: limits[page % limits.len()],
            offset: offset.as_deref(),
            ..Ask::default()
        };
        let got = list.page(&ask).unwrap();
        log.push(got.clone());
        log.push((list.whole(), None));
        let Some(next) = got.1 else { break };
        offset = Some(next);
        for change in between.get(page).into_iter().flatten() {
            if let Change::Insert(seed) = change {
                list.insert(*seed);
            }
            let first = got.0.first().filter(|g| list.whole().contains(g));
            if let (Change::Remove(_), Some(gid)) = (change, first) {
                list.remove(gid);
            }
        }
    }
    log
}

#[test]
fn p14_both_stores_give_the_same_pages() {
    let input = (
        (0..LISTS.len()).prop_map(|at| &LISTS[at]),
        limits(),
        prop::collection::vec(changes(), 1..6),
    );
    let done = runner(10).run(&input, |(shape, limits, between)| {
        let pages = KINDS.map(|kind| {
            let mut list = Listed::new(kind, shape, 8, false, Settings::default());
            log(&mut list, &limits, &between)
        });
        prop_assert_eq!(&pages[0], &pages[1], "{}", shape.name);
        Ok(())
    });
    done.unwrap_or_else(|e| panic!("{e}"));
}

/// S80. S87.
#[test]
fn unpaginated_lists_end_in_an_error_above_the_cap() {
    let settings = Settings {
        unpaginated_max: 10,
        ..Settings::default()
    };
    for shape in LISTS.iter().filter(|s| !s.silent) {
        let mut list = Listed::new(
            crate::world::Kind::Memory,
            shape,
            10,
            false,
            settings.clone(),
        );
        let answer = list.ask_whole();
        assert_eq!(
            (answer.status, answer.gids().len()),
            (200, 10),
            "{}",
            shape.name
        );
        assert!(answer.json.get("next_page").is_none());
        list.insert(1);
        let answer = list.ask_whole();
        assert_eq!(answer.status, 400, "{}", shape.name);
        assert!(
            answer.message().starts_with("The result is too large."),
            "{}",
            answer.text
        );
        // With a limit it can be walked.
        stands_still_without_whole(&mut list, 11);
    }
}

fn stands_still_without_whole(list: &mut Listed, size: usize) {
    let mut seen = BTreeSet::new();
    let mut offset: Option<String> = None;
    loop {
        let ask = Ask {
            limit: 4,
            offset: offset.as_deref(),
            ..Ask::default()
        };
        let (gids, next) = list.page(&ask).unwrap();
        seen.extend(gids);
        let Some(next) = next else { break };
        offset = Some(next);
    }
    assert_eq!(seen.len(), size);
}

/// S80.
#[test]
fn the_default_cap_is_1000() {
    let shape = LISTS.iter().find(|s| s.name == "subtasks").unwrap();
    let mut list = Listed::new(
        crate::world::Kind::Memory,
        shape,
        1000,
        false,
        Settings::default(),
    );
    assert_eq!(list.ask_whole().gids().len(), 1000);
    list.insert(1);
    assert_eq!(list.ask_whole().status, 400);
}

/// The pages of a walk by 4, and how it ends.
fn by_four(list: &mut Listed) -> (Vec<usize>, Result<(), String>) {
    let mut sizes = Vec::new();
    let mut offset: Option<String> = None;
    loop {
        let ask = Ask {
            limit: 4,
            offset: offset.as_deref(),
            ..Ask::default()
        };
        match list.page(&ask) {
            Err(message) => return (sizes, Err(message)),
            Ok((gids, next)) => {
                sizes.push(gids.len());
                let Some(next) = next else {
                    return (sizes, Ok(()));
                };
                offset = Some(next);
            }
        }
    }
}

/// S80.
#[test]
fn a_walk_over_a_computed_list_ends_at_the_walk_cap() {
    let shape = LISTS.iter().find(|s| s.name == "assigned tasks").unwrap();
    for (cap, size, want) in [
        (10, 9, vec![4, 4, 1]),
        (10, 10, vec![4, 4, 2]),
        (10, 30, vec![4, 4, 2]),
        (8, 30, vec![4, 4]),
        (0, 30, vec![4, 4, 4, 4, 4, 4, 4, 2]),
    ] {
        let settings = Settings {
            walk_cap: cap,
            ..Settings::default()
        };
        let mut list = Listed::new(crate::world::Kind::Memory, shape, size, false, settings);
        assert_eq!(by_four(&mut list), (want, Ok(())), "cap {cap} of {size}");
    }
    // A container's list is walked on.
    let shape = LISTS.iter().find(|s| s.name == "tasks").unwrap();
    let settings = Settings {
        walk_cap: 10,
        ..Settings::default()
    };
    let mut list = Listed::new(crate::world::Kind::Memory, shape, 14, false, settings);
    assert_eq!(by_four(&mut list), (vec![4, 4, 4, 2], Ok(())));
}

/// S65. S81.
#[test]
fn beyond_the_set_cap_the_last_page_is_400() {
    for shape in LISTS.iter().filter(|s| s.name != "assigned tasks") {
        for (cap, size, want, ends) in [
            (10, 10, vec![4, 4, 2], true),
            (10, 11, vec![4, 4, 2], false),
            (8, 11, vec![4, 4], false),
            (8, 8, vec![4, 4], true),
            (0, 11, vec![4, 4, 3], true),
        ] {
            let settings = Settings {
                set_cap: cap,
                ..Settings::default()
            };
            let mut list = Listed::new(crate::world::Kind::Memory, shape, size, false, settings);
            let (sizes, end) = by_four(&mut list);
            assert_eq!(sizes, want, "{}: cap {cap} of {size}", shape.name);
            match end {
                Ok(()) => assert!(ends, "{}: cap {cap} of {size}", shape.name),
                Err(message) => {
                    assert!(!ends, "{}: cap {cap} of {size}: {message}", shape.name);
                    assert!(message.contains("truncated data set"), "{message}");
                }
            }
        }
    }
}

#[test]
fn p15_a_page_costs_what_it_gives_at_any_depth() {
    steps::check(steps::Reading::Keyset).unwrap();
    let why = steps::check(steps::Reading::FromTheStart).unwrap_err();
    assert!(why.starts_with("P15"), "{why}");
}

/// A way to run one property on the model.
type Property = fn(&mut dyn Pager) -> Verdict;

#[test]
fn the_model_without_flaws_keeps_every_property() {
    for (_, property, _) in TWINS {
        property(&mut Model::new(Flaw::None)).unwrap();
    }
}

#[test]
fn each_flawed_twin_is_noticed_by_its_property() {
    for (flaw, property, rule) in TWINS {
        let verdict = property(&mut Model::new(*flaw));
        let why = verdict.expect_err(&format!("{flaw:?} is not noticed"));
        assert!(
            rule.split('/').any(|r| why.starts_with(r)),
            "{flaw:?}: {why}"
        );
    }
}

#[test]
fn a_store_with_another_order_is_noticed() {
    let pages = |flaw| log(&mut Model::new(flaw), &[2], &[]);
    assert_eq!(pages(Flaw::None), pages(Flaw::None));
    assert_ne!(pages(Flaw::None), pages(Flaw::ShufflesTies), "P14");
}

fn frozen(list: &mut dyn Pager) -> Verdict {
    stands_still(list, &[2])
}

fn boundary_goes(list: &mut dyn Pager) -> Verdict {
    walks(
        list,
        &[2],
        &[vec![Change::RemoveBoundary], vec![Change::RemoveBoundary]],
    )
}

fn boundary_changes(list: &mut dyn Pager) -> Verdict {
    walks(list, &[2], &[vec![Change::EditBoundary]])
}

fn others_go(list: &mut dyn Pager) -> Verdict {
    walks(
        list,
        &[2],
        &[vec![Change::Remove(0)], vec![Change::Remove(0)]],
    )
}

fn others_come(list: &mut dyn Pager) -> Verdict {
    let flood: Vec<Change> = (0..4).map(|n| Change::Insert(1000 + n)).collect();
    walks(list, &[2], &vec![flood; 30])
}

const TWINS: &[(Flaw, Property, &str)] = &[
    (Flaw::DropsTieBreaker, frozen, "P3"),
    (Flaw::CountsRows, others_go, "P2"),
    (Flaw::CountsRows, boundary_goes, "P2"),
    (Flaw::FindsBoundaryAgain, boundary_goes, "P1/P2/P4/P6"),
    (Flaw::FindsBoundaryAgain, boundary_changes, "P1/P2"),
    (Flaw::NoSnapshotBound, others_come, "P6"),
    (Flaw::CutsOneLate, frozen, "P3"),
    (Flaw::CutsOneEarly, frozen, "P3"),
    (Flaw::EndsOnFullPage, frozen, "P3"),
    (Flaw::ShufflesTies, frozen, "P11"),
    (Flaw::ReadableToken, sealed, "P7"),
    (Flaw::UnboundToken, bound, "P8"),
    (Flaw::BoundToLimit, bound, "offset"),
    (Flaw::NeverExpires, expires, "P9"),
    (Flaw::ExpiresEarly, expires, "P9"),
    (Flaw::OneKeyOnly, rotates, "P10"),
    (Flaw::KeepsRetiredKeys, rotates, "P10"),
    (Flaw::SameTokenTwice, frozen, "P12"),
];
