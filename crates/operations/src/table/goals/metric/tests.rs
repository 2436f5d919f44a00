use crate::decision_scene::{DecisionScene, node};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::resources::goal_metric::GoalMetric;
use workgraph_core::rules::sharing::GOALS;

const SET: &str = "createGoalMetric";
const SET_VALUE: &str = "updateGoalMetric";

/// A scene with a goal of the admin.
struct Scene {
    scene: DecisionScene,
    goal: Gid,
}

impl Scene {
    fn new() -> Self {
        let scene = DecisionScene::new();
        let body = json!({"name": "Harvest", "workspace": scene.acme});
        let goal = scene.made(scene.ann, "createGoal", scene.acme, body);
        Self { scene, goal }
    }

    /// Returns the metric that an operation writes and stores, or `None` if nothing changes.
    fn write(&self, operation: &str, body: Value) -> Result<Option<GoalMetric>, DomainError> {
        let (scene, goal) = (&self.scene, self.goal);
        scene.decide(scene.ann, operation, goal, body.clone())?;
        let decision = scene.done(scene.ann, operation, goal, body);
        let changed = !decision.changes.is_empty();
        Ok(changed.then(|| GoalMetric::of(node(&decision, goal)).unwrap()))
    }

    fn set(&self, body: Value) -> GoalMetric {
        self.write(SET, body).unwrap().unwrap()
    }

    fn refused(&self, operation: &str, body: Value) -> String {
        self.write(operation, body).unwrap_err().message
    }
}

#[test]
fn a_metric_leads_from_one_value_to_another() {
    let goal = Scene::new();
    let values = |first, last| json!({"initial_number_value": first, "target_number_value": last});
    let refused = goal.refused(SET, values(5, 5));
    assert!(
        refused.contains("The same as initial_number_value"),
        "{refused}"
    );
    let metric = goal.set(values(5, 6));
    assert_eq!(metric.target_number_value.to_string(), "6");
    let rounded = json!({"initial_number_value": 0.1, "target_number_value": 0.2});
    assert!(
        goal.refused(SET, rounded).contains("The same as"),
        "without decimals"
    );
}

#[test]
fn a_metric_begins_at_its_first_value_and_ends_at_a_hundred() {
    let goal = Scene::new();
    let metric = goal.set(json!({"initial_number_value": 3}));
    assert_eq!(metric.current_number_value.to_string(), "3");
    assert_eq!(metric.target_number_value.to_string(), "100");
    let percentage = goal.set(json!({"unit": "percentage"}));
    assert_eq!(percentage.target_number_value.to_string(), "1");
    assert_eq!(percentage.current_number_value.to_string(), "0");
}

#[test]
fn only_a_metric_in_a_currency_has_the_code_of_one() {
    let goal = Scene::new();
    let euros = |unit: &str, code: &str| json!({"unit": unit, "currency_code": code});
    let unit = goal.refused(SET, euros("none", "EUR"));
    assert!(
        unit.contains("Only a metric with the unit currency"),
        "{unit}"
    );
    let code = goal.refused(SET, euros("currency", "euro"));
    assert!(code.contains("it has three capital letters"), "{code}");
    let metric = goal.set(euros("currency", "EUR"));
    assert_eq!(metric.currency_code.as_deref(), Some("EUR"));
    assert_eq!(goal.set(euros("none", "")).currency_code, None);
}

#[test]
fn a_new_metric_keeps_the_gid_of_the_one_before() {
    let goal = Scene::new();
    let first = goal.set(json!({"target_number_value": 10}));
    let second = goal.set(json!({"target_number_value": 20}));
    assert_eq!(second.gid, first.gid);
    let same = goal.write(SET, json!({"target_number_value": 20}));
    assert_eq!(same.unwrap(), None, "the same metric changes nothing");
}

#[test]
fn a_value_is_set_only_if_the_goal_has_a_metric() {
    let goal = Scene::new();
    let seven = json!({"current_number_value": 7});
    let refused = goal.refused(SET_VALUE, seven.clone());
    assert!(
        refused.contains("The goal has no metric; set one first"),
        "{refused}"
    );
    let metric = goal.set(json!({}));
    let changed = goal.write(SET_VALUE, seven.clone()).unwrap().unwrap();
    assert_eq!(changed.current_number_value.to_string(), "7");
    assert_eq!(changed.target_number_value, metric.target_number_value);
    assert_eq!(goal.write(SET_VALUE, seven).unwrap(), None);
}

#[test]
fn a_value_that_is_computed_is_not_set() {
    let goal = Scene::new();
    let seven = json!({"current_number_value": 7});
    let from = |source: &str| json!({"progress_source": source});
    goal.set(from("subgoal_progress"));
    let refused = goal.refused(SET_VALUE, seven.clone());
    assert!(
        refused.contains("computed from what supports the goal"),
        "{refused}"
    );
    goal.set(from("external"));
    let changed = goal.write(SET_VALUE, seven).unwrap().unwrap();
    assert_eq!(changed.current_number_value.to_string(), "7");
}

#[test]
fn the_values_keep_the_decimals_of_the_metric() {
    let goal = Scene::new();
    goal.set(json!({"precision": 1}));
    let body = json!({"current_number_value": 1.26});
    let changed = goal.write(SET_VALUE, body).unwrap().unwrap();
    assert_eq!(changed.current_number_value.to_string(), "1.3");
}

#[test]
fn only_an_editor_of_a_goal_sets_its_metric() {
    let mut goal = Scene::new();
    let (acme, bob, gid) = (goal.scene.acme, goal.scene.bob, goal.goal);
    let refused = goal.scene.refused(bob, SET, gid, json!({}));
    assert_eq!(refused, "You do not have permission to change this goal.");
    goal.scene.given(|fixture| {
        fixture.with(|work| GOALS.join(work, bob, gid, acme, Level::Editor));
    });
    goal.scene.done(bob, SET, gid, json!({}));
}
