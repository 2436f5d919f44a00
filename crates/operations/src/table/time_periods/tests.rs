use crate::decision_scene::DecisionScene;
use serde_json::{Value, json};
use workgraph_core::Gid;

fn periods(scene: &DecisionScene, mut inputs: Value) -> Vec<Gid> {
    inputs["workspace"] = json!(scene.acme);
    scene
        .listed(scene.ann, "getTimePeriods", scene.acme, inputs)
        .unwrap()
}

#[test]
fn time_periods_are_by_default_those_around_the_present_year() {
    let scene = DecisionScene::new();
    let around = json!({"start_on": "2025-01-01", "end_on": "2027-12-31"});
    assert_eq!(periods(&scene, json!({})), periods(&scene, around));
}

#[test]
fn a_bound_of_time_periods_extends_the_years_to_it() {
    let scene = DecisionScene::new();
    let between =
        |first: &str, last: &str| periods(&scene, json!({"start_on": first, "end_on": last}));
    let from = |day: &str| periods(&scene, json!({"start_on": day}));
    assert_eq!(from("2020-01-01"), between("2020-01-01", "2027-12-31"));
    assert_eq!(from("2030-01-01"), between("2030-01-01", "2031-12-31"));
    let until = |day: &str| periods(&scene, json!({"end_on": day}));
    assert_eq!(until("2030-12-31"), between("2025-01-01", "2030-12-31"));
    assert_eq!(until("2020-12-31"), between("2019-01-01", "2020-12-31"));
}

#[test]
fn only_whole_time_periods_are_listed() {
    let scene = DecisionScene::new();
    let year = periods(
        &scene,
        json!({"start_on": "2026-01-01", "end_on": "2026-12-31"}),
    );
    let less = periods(
        &scene,
        json!({"start_on": "2026-01-02", "end_on": "2026-12-31"}),
    );
    assert!(!less.is_empty() && less.len() < year.len());
    assert!(less.iter().all(|period| year.contains(period)));
}
