mod changes;

use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::{membership, project};
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::ListSource;

/// Stores a team with an admin and a member.
fn team(scene: &mut DecisionScene) -> Gid {
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    scene.given(|fixture| {
        let growers = fixture.team(acme, "Growers", ann);
        fixture.join_team(bob, growers, acme);
        growers
    })
}

/// Returns the body of a new project in a team, with more fields.
fn in_team(growers: Gid, more: Value) -> Value {
    with(json!({"name": "Meadow", "team": growers}), more)
}

#[test]
fn a_project_of_an_organization_has_a_team() {
    let mut scene = DecisionScene::new();
    let (growers, ann) = (team(&mut scene), scene.ann);
    let nowhere = scene.refused(ann, "createProject", ann, json!({"name": "Meadow"}));
    assert_eq!(nowhere, "workspace: Missing input");
    let alone = json!({"name": "Meadow", "workspace": scene.acme});
    let refused = scene.refused(ann, "createProject", ann, alone);
    assert_eq!(refused, workgraph_wire::messages::MISSING_TEAM);
    let made = scene.done(ann, "createProject", ann, in_team(growers, json!({})));
    let meadow = made.subject.unwrap();
    assert_eq!(written(&made, rel::TEAM), [(meadow, growers)]);
    assert_eq!(node(&made, meadow).workspace, Some(scene.acme));
}

#[test]
fn a_list_of_projects_is_of_a_team_a_workspace_or_all_workspaces() {
    let mut scene = DecisionScene::new();
    let (growers, acme) = (team(&mut scene), scene.acme);
    let list = |query: String| {
        let listed = scene.described(scene.ann, "getProjects", &query).unwrap();
        (listed.anchor, listed.page.filters.len())
    };
    assert_eq!(list(format!("team={growers}")), ("team", 0));
    assert_eq!(
        list(format!("team={growers}&workspace={acme}")),
        ("team", 1)
    );
    assert_eq!(list(format!("workspace={acme}")), ("workspace", 0));
    let all = scene.described(scene.ann, "getProjects", "").unwrap();
    assert!(matches!(
        all.page.source,
        ListSource::InViewerWorkspaces { .. }
    ));
}

#[test]
fn a_workspace_without_teams_has_projects_without_one() {
    let mut scene = DecisionScene::new();
    let ann = scene.ann;
    let home = scene.given(|fixture| {
        let home =
            fixture.with(|work| membership_rules::create_workspace(work, "Home", true, false));
        fixture.add_workspace_member(ann, home, Role::Member);
        home
    });
    let body = json!({"name": "Balcony", "workspace": home});
    let made = scene.done(ann, "createProject", ann, body);
    assert_eq!(node(&made, made.subject.unwrap()).workspace, Some(home));
}

#[test]
fn a_project_and_its_team_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let (growers, ann, garden) = (team(&mut scene), scene.ann, scene.garden);
    let other = scene.second_workspace();
    let body = in_team(growers, json!({"workspace": other}));
    let refused = scene.refused(ann, "createProject", ann, body);
    assert_eq!(refused, "team: Not a team of that workspace");
    let others = scene.given(|fixture| fixture.team(other, "Others", ann));
    let move_to = |team: Gid| scene.decide(ann, "updateProject", garden, json!({"team": team}));
    let refused = move_to(others).unwrap_err().message;
    assert_eq!(refused, "team: Not a team of the project's workspace");
    let moved = move_to(growers).unwrap();
    assert_eq!(written(&moved, rel::TEAM), [(garden, growers)]);
}

#[test]
fn a_team_says_who_puts_projects_into_it() {
    let mut scene = DecisionScene::new();
    let (growers, bob) = (team(&mut scene), scene.bob);
    scene.done(bob, "createProject", bob, in_team(growers, json!({})));
    let admins = json!({"team_content_management_access_level": "only_team_admins"});
    scene.done(scene.ann, "updateTeam", growers, admins);
    let new = scene.refused(bob, "createProject", bob, in_team(growers, json!({})));
    assert_eq!(new, "You may not create projects in this team.");
    let moved = json!({"team": growers});
    let refused = scene.refused(bob, "updateProject", scene.garden, moved.clone());
    assert_eq!(refused, "You may not create projects in this team.");
    scene.done(scene.ann, "updateProject", scene.garden, moved);
}

#[test]
fn who_only_sees_a_team_creates_no_project_in_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let growers = team(&mut scene);
    let cat = scene.member("Cat").0;
    scene.done(ann, "updateTeam", growers, json!({"visibility": "public"}));
    let moved = scene.refused(cat, "updateProject", scene.garden, json!({"team": growers}));
    assert_eq!(moved, "You do not have permission to change this team.");
    let body = in_team(growers, json!({}));
    let refused = scene.refused(cat, "createProject", cat, body.clone());
    assert_eq!(refused, "You may not create projects in this team.");
    scene.given(|fixture| fixture.join_team(cat, growers, acme));
    scene.made(cat, "createProject", cat, body);
}

#[test]
fn a_view_only_member_creates_no_project() {
    let mut scene = DecisionScene::new();
    let (growers, vic) = (team(&mut scene), scene.view_only_member());
    let body = json!({"name": "Meadow", "workspace": scene.acme});
    let refused = scene.refused(vic, "createProject", vic, body);
    assert_eq!(refused, "You do not have access to this workspace.");
    scene.made(scene.bob, "createProject", vic, in_team(growers, json!({})));
}

#[test]
fn a_new_project_belongs_to_its_creator_or_to_a_member_of_the_workspace() {
    let mut scene = DecisionScene::new();
    let growers = team(&mut scene);
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let owner = |more| {
        let made = scene.decide(scene.ann, "createProject", growers, in_team(growers, more))?;
        Ok::<_, workgraph_core::domain_error::DomainError>(
            node(&made, made.subject.unwrap()).get(project::OWNER),
        )
    };
    assert_eq!(owner(json!({})).unwrap(), Some(scene.ann));
    assert_eq!(owner(json!({"owner": scene.bob})).unwrap(), Some(scene.bob));
    assert_eq!(owner(json!({"owner": null})).unwrap(), None);
    let refused = owner(json!({"owner": eve})).unwrap_err().message;
    assert!(refused.starts_with("owner: "), "{refused}");
}

#[test]
fn followers_of_a_new_project_become_members_once() {
    let mut scene = DecisionScene::new();
    let (growers, ann, bob) = (team(&mut scene), scene.ann, scene.bob);
    let usual = json!({"followers": [bob, bob], "default_access_level": "viewer"});
    let body = in_team(growers, usual);
    let made = scene.decide(ann, "createProject", ann, body).unwrap();
    let meadow = made.subject.unwrap();
    assert_eq!(written(&made, rel::MEMBERS), [(meadow, ann), (meadow, bob)]);
    let follows = written(&made, rel::PROJECT_FOLLOWERS);
    assert!(follows.contains(&(meadow, ann)) && follows.contains(&(meadow, bob)));
    let edges = made.changes.edge_writes.iter();
    let of_bob = edges
        .filter(|edge| edge.rel == rel::MEMBERS)
        .nth(1)
        .unwrap();
    let word = node(&made, of_bob.aux.unwrap()).get(membership::ACCESS_LEVEL);
    assert_eq!(word.as_deref(), Some("viewer"));
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let body = in_team(growers, json!({"followers": [eve]}));
    let refused = scene.refused(ann, "createProject", ann, body);
    assert!(refused.starts_with("followers: "), "{refused}");
}

#[test]
fn the_old_form_of_the_privacy_counts_without_the_new_one() {
    let scene = DecisionScene::new();
    let privacy = |body| {
        let changed = scene
            .decide(scene.ann, "updateProject", scene.garden, body)
            .unwrap();
        let word = node(&changed, scene.garden).get(project::PRIVACY);
        word.unwrap().into_owned()
    };
    assert_eq!(privacy(json!({"public": false})), "private");
    let both = json!({"public": false, "privacy_setting": "private_to_team"});
    assert_eq!(privacy(both), "private_to_team");
    let named = json!({"public": true, "name": "Park"});
    assert_eq!(privacy(named), "public_to_workspace");
}

#[test]
fn a_new_project_has_no_custom_field_that_could_have_a_value() {
    let mut scene = DecisionScene::new();
    let (growers, acme) = (team(&mut scene), scene.acme);
    let field = scene.given(|fixture| {
        fixture
            .custom_field(acme, "Height", CustomFieldType::Text, &[])
            .0
    });
    let values = json!({"custom_fields": {field.to_string(): "7"}});
    let refused = scene.refused(scene.ann, "createProject", acme, in_team(growers, values));
    assert!(refused.contains("is not on given object"), "{refused}");
    let none = in_team(growers, json!({"custom_fields": {}}));
    scene.made(scene.ann, "createProject", acme, none);
}

#[test]
fn the_days_of_a_project_are_in_order() {
    let scene = DecisionScene::new();
    let change = |body| scene.decide(scene.ann, "updateProject", scene.garden, body);
    let refused = |body| change(body).unwrap_err().message;
    let alone = refused(json!({"start_on": "2026-03-01"}));
    assert_eq!(alone, "start_on: Needs due_on in the same request");
    let days = |start: &str, due: &str| json!({"start_on": start, "due_on": due});
    let late = refused(days("2026-03-02", "2026-03-01"));
    assert_eq!(late, "The start must not be after the due date");
    let same = refused(days("2026-03-01", "2026-03-01"));
    assert_eq!(same, "start_on: Must differ from due_on");
    let changed = change(days("2026-03-01", "2026-03-02")).unwrap();
    let start = node(&changed, scene.garden).get(project::START_ON);
    assert_eq!(
        start.map(|day| day.to_string()).as_deref(),
        Some("2026-03-01")
    );
}

#[test]
fn the_old_name_of_the_due_day_counts_without_the_new_one() {
    let scene = DecisionScene::new();
    let due = |body| {
        let changed = scene
            .decide(scene.ann, "updateProject", scene.garden, body)
            .unwrap();
        let day = node(&changed, scene.garden).get(project::DUE_ON);
        day.unwrap().to_string()
    };
    assert_eq!(due(json!({"due_date": "2026-03-01"})), "2026-03-01");
    let both = json!({"due_date": "2026-03-01", "due_on": "2026-03-02"});
    assert_eq!(due(both), "2026-03-02");
}
