//! The properties over every kind of list, on both stores.
use super::*;

/// Returns a runner with a number of cases; `WORKGRAPH_CASES` multiplies it.
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
    Listed::new(kind, shape, size, false, ApiSettings::default())
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
                walks(&mut list, &limits, &between).map_err(|reason| {
                    TestCaseError::fail(format!("{kind:?} {}: {reason}", shape.name))
                })
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
                stands_still(&mut list, &limits).map_err(|reason| {
                    TestCaseError::fail(format!("{kind:?} {}: {reason}", shape.name))
                })
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
                walks(&mut list, &[2], &vec![vec![change]; 9]).unwrap_or_else(|reason| {
                    panic!("{kind:?} {} {change:?}: {reason}", shape.name)
                });
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
        walks(&mut list, &[2], &between)
            .unwrap_or_else(|reason| panic!("{}: {reason}", shape.name));
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
                property(&mut list)
                    .unwrap_or_else(|reason| panic!("{kind:?} {}: {reason}", shape.name));
            }
        }
    }
}

#[test]
fn p13_ties_keep_their_order() {
    for kind in KINDS {
        for shape in LISTS {
            // All have one name, so alphabetical lists are all ties.
            let mut list = Listed::new(kind, shape, 9, true, ApiSettings::default());
            for limits in [&[1][..], &[2], &[3, 1]] {
                stands_still(&mut list, limits)
                    .unwrap_or_else(|reason| panic!("{}: {reason}", shape.name));
            }
        }
    }
}

/// Returns the pages of a walk, and the whole list after each.
pub(super) fn log(list: &mut dyn Pager, limits: &[usize], between: &[Vec<Change>]) -> Vec<Page> {
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
            let mut list = Listed::new(kind, shape, 8, false, ApiSettings::default());
            log(&mut list, &limits, &between)
        });
        prop_assert_eq!(&pages[0], &pages[1], "{}", shape.name);
        Ok(())
    });
    done.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn p15_a_page_costs_what_it_gives_at_any_depth() {
    steps::check(steps::Reading::Keyset).unwrap();
    let reason = steps::check(steps::Reading::FromTheStart).unwrap_err();
    assert!(reason.starts_with("P15"), "{reason}");
}
