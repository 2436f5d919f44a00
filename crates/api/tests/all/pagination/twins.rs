//! Flawed models, each noticed by its property.
use super::properties::log;
use super::*;

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
        let reason = verdict.expect_err(&format!("{flaw:?} is not noticed"));
        assert!(
            rule.split('/').any(|r| reason.starts_with(r)),
            "{flaw:?}: {reason}"
        );
    }
}

#[test]
fn a_store_with_another_order_is_noticed() {
    let pages = |flaw| log(&mut Model::new(flaw), &[2], &[]);
    assert_eq!(pages(Flaw::None), pages(Flaw::None));
    assert_ne!(pages(Flaw::None), pages(Flaw::ShufflesTies), "P14");
}

fn frozen(list: &mut dyn Pager) -> LawOutcome {
    stands_still(list, &[2])
}

fn boundary_goes(list: &mut dyn Pager) -> LawOutcome {
    walks(
        list,
        &[2],
        &[vec![Change::RemoveBoundary], vec![Change::RemoveBoundary]],
    )
}

fn boundary_changes(list: &mut dyn Pager) -> LawOutcome {
    walks(list, &[2], &[vec![Change::EditBoundary]])
}

fn others_go(list: &mut dyn Pager) -> LawOutcome {
    walks(
        list,
        &[2],
        &[vec![Change::Remove(0)], vec![Change::Remove(0)]],
    )
}

fn others_come(list: &mut dyn Pager) -> LawOutcome {
    let flood: Vec<Change> = (0..4).map(|n| Change::Insert(1000 + n)).collect();
    walks(list, &[2], &vec![flood; 30])
}

/// A way to run one property on the model.
type Property = fn(&mut dyn Pager) -> LawOutcome;

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
