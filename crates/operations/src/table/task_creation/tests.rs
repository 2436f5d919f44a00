use crate::decision_scene::{DecisionScene, node, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::task::PROJECTS_MAX;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::ChangeAction;

#[test]
fn a_task_goes_into_the_first_section_of_its_project() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    let first = scene.given(|fixture| fixture.section_in(garden));
    let body = json!({"name": "Water", "projects": [garden]});
    let made = scene.decide(scene.ann, "createTask", garden, body).unwrap();
    let task = made.subject.unwrap();
    assert_eq!(written(&made, rel::SECTION), [(task, first)]);
}

#[test]
fn a_new_task_and_its_project_have_one_workspace() {
    let mut scene = DecisionScene::new();
    let (ann, garden) = (scene.ann, scene.garden);
    let other = scene.second_workspace();
    let body = json!({"name": "Water", "workspace": other, "projects": [garden]});
    let refused = scene.refused(ann, "createTask", garden, body);
    assert!(refused.contains("projects: [0]: Not a project of that workspace"));
}

#[test]
fn who_assigns_a_new_task_to_another_lets_them_follow_it() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Water", "projects": [scene.garden], "assignee": scene.bob});
    let made = scene
        .decide(scene.ann, "createTask", scene.garden, body)
        .unwrap();
    let task = made.subject.unwrap();
    assert!(written(&made, rel::FOLLOWERS).contains(&(task, scene.bob)));
}

/// Creates a task in the garden, with further fields.
fn created(scene: &DecisionScene, mut body: Value) -> Decision {
    body["projects"] = json!([scene.garden]);
    let decision = scene.decide(scene.ann, "createTask", scene.garden, body);
    decision.unwrap()
}

fn refused(scene: &DecisionScene, body: Value) -> String {
    scene.refused(scene.ann, "createTask", scene.garden, body)
}

#[test]
fn a_new_task_has_a_workspace_from_somewhere() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let nowhere = refused(&scene, json!({"name": "Water"}));
    assert!(nowhere.contains("specify one of workspace, parent, projects"));
    let below = scene.decide(scene.ann, "createTask", water, json!({"parent": water}));
    let below = below.unwrap();
    let task = below.subject.unwrap();
    assert_eq!(node(&below, task).workspace, Some(scene.acme));
    assert_eq!(written(&below, rel::PARENT), [(task, water)]);
}

#[test]
fn a_view_only_member_creates_no_task() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let (eve, list, _) = scene.member("Eve");
    let body = json!({"name": "Water", "workspace": acme});
    let created = scene.decide(eve, "createTask", acme, body.clone()).unwrap();
    assert!(created.subject.is_some());
    let role = MembershipRole {
        role: Role::Member,
        view_only: true,
    };
    scene.given(|fixture| fixture.with(|work| work.unlink(eve, rel::WORKSPACES, acme)));
    scene.given(|fixture| {
        fixture.with(|work| membership_rules::rejoin_workspace(work, eve, acme, list, role, &[]))
    });
    let refused = scene.refused(eve, "createTask", acme, body);
    assert!(
        refused.contains("do not have permission to create tasks in this workspace"),
        "{refused}"
    );
}

#[test]
fn a_task_is_put_into_a_section_of_its_project() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let later = scene.given(|fixture| fixture.section(garden, acme, "Later"));
    let kitchen = scene.given(|fixture| fixture.project(acme, "Kitchen", ann));
    let into = |project: Gid| json!({"memberships": [{"project": project, "section": later}]});
    let wrong = refused(&scene, into(kitchen));
    assert!(
        wrong.contains("memberships: section: Not a section of this project"),
        "{wrong}"
    );
    let made = scene
        .decide(ann, "createTask", garden, into(garden))
        .unwrap();
    assert_eq!(
        written(&made, rel::SECTION),
        [(made.subject.unwrap(), later)]
    );
}

#[test]
fn a_project_is_given_once_among_the_memberships() {
    let scene = DecisionScene::new();
    let garden = scene.garden;
    let once = json!({"project": garden});
    let twice = refused(&scene, json!({"memberships": [once, once]}));
    assert!(twice.contains("memberships: [1]: project: given twice"));
    let none = refused(&scene, json!({"memberships": [{"section": garden}]}));
    assert!(none.contains("memberships: [0]: project: Missing required field"));
    assert!(refused(&scene, json!({"memberships": once})).contains("Value is not an array"));
    let made = created(&scene, json!({"memberships": [once]}));
    assert_eq!(written(&made, rel::SECTION).len(), 1, "projects repeats it");
}

#[test]
fn a_new_task_is_in_a_limited_number_of_projects() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let projects: Vec<Gid> = scene.given(|fixture| {
        let names = (0..=PROJECTS_MAX).map(|at| format!("Project {at}"));
        names
            .map(|name| fixture.project(acme, &name, ann))
            .collect()
    });
    let many = refused(&scene, json!({"projects": projects}));
    assert!(many.contains("projects: Too many"));
    let few = json!({"projects": projects[1..]});
    let made = scene.decide(ann, "createTask", acme, few).unwrap();
    assert_eq!(written(&made, rel::SECTION).len(), PROJECTS_MAX);
}

#[test]
fn a_follower_is_a_member_and_follows_once() {
    let mut scene = DecisionScene::new();
    let (ann, bob) = (scene.ann, scene.bob);
    let made = created(&scene, json!({"followers": [bob, ann, bob]}));
    let task = made.subject.unwrap();
    assert_eq!(written(&made, rel::FOLLOWERS), [(task, ann), (task, bob)]);
    let club = scene.second_workspace();
    let eve = scene.given(|fixture| fixture.member(club, "Eve", Role::Member));
    let outside = refused(&scene, json!({"workspace": scene.acme, "followers": [eve]}));
    assert!(
        outside.contains("followers: Not a user in Workspace"),
        "{outside}"
    );
}

#[test]
fn a_new_task_has_tags_and_a_like() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let tag = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    let made = created(&scene, json!({"tags": [tag], "liked": true}));
    let task = made.subject.unwrap();
    assert_eq!(written(&made, rel::TAGS), [(task, tag)]);
    assert_eq!(written(&made, rel::LIKES), [(task, ann)]);
    let unknown = refused(&scene, json!({"workspace": acme, "tags": [ann]}));
    assert!(unknown.contains("tags: Unknown object"), "{unknown}");
}

#[test]
fn a_project_with_automatic_ids_numbers_a_new_task() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let (plot, field) = scene.given(|fixture| {
        let (field, _) = fixture.custom_field(acme, "ID", CustomFieldType::Text, &[]);
        let plot = fixture.with(|work| {
            let mut draft = work.draft(Type::Project, Some(acme));
            draft.set_raw("numbered_by", "null", format!("[\"{field}\"]"));
            membership_rules::create_project(work, draft, ann)
        });
        (plot, field)
    });
    let made = scene
        .decide(ann, "createTask", plot, json!({"projects": [plot]}))
        .unwrap();
    assert_eq!(
        written(&made, rel::NUMBERED),
        [(made.subject.unwrap(), field)]
    );
    assert!(written(&created(&scene, json!({})), rel::NUMBERED).is_empty());
}

/// Returns the nodes to which a decision adds the new task, by its change records.
fn parents(made: &Decision) -> Vec<Gid> {
    let records = made.changes.change_records.iter();
    let of_task = records.filter(|record| Some(record.gid) == made.subject);
    let parents = of_task.filter_map(|record| match record.action {
        ChangeAction::Added { parent } => parent,
        _ => None,
    });
    parents.collect()
}

#[test]
fn a_new_task_is_part_of_its_parent_or_first_project_and_added_to_the_rest() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let kitchen = scene.given(|fixture| fixture.project(acme, "Kitchen", ann));
    let both = json!({"projects": [garden, kitchen]});
    let made = scene.decide(ann, "createTask", garden, both).unwrap();
    assert_eq!(parents(&made), [garden, kitchen]);
    let below = created(&scene, json!({"parent": water}));
    assert_eq!(parents(&below), [water, garden]);
}

#[test]
fn a_new_task_has_tags_of_its_workspace_each_once() {
    let mut scene = DecisionScene::new();
    let (club, acme) = (scene.second_workspace(), scene.acme);
    let [elsewhere, here] =
        [club, acme].map(|workspace| scene.given(|fixture| fixture.tag(workspace, "Wet")));
    let refused = refused(
        &scene,
        json!({"name": "Water", "projects": [scene.garden], "tags": [elsewhere]}),
    );
    assert_eq!(refused, "tags: Not a tag of the task's workspace");
    let made = created(&scene, json!({"name": "Water", "tags": [here, here]}));
    assert_eq!(written(&made, rel::TAGS), [(made.subject.unwrap(), here)]);
}

#[test]
fn a_new_task_and_its_parent_have_one_workspace() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let club = scene.second_workspace();
    let below =
        |workspace| json!({"name": "Fill the can", "workspace": workspace, "parent": water});
    let refused = refused(&scene, below(club));
    assert_eq!(refused, "parent: Not a task of that workspace");
    let made = scene.decide(scene.ann, "createTask", water, below(scene.acme));
    assert_eq!(written(&made.unwrap(), rel::PARENT).len(), 1);
}

#[test]
fn the_list_of_the_caller_gives_an_own_new_task_custom_fields() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let (cat, list, _) = scene.member("Cat");
    let field = scene.given(|fixture| {
        let (field, _) = fixture.custom_field(acme, "Effort", CustomFieldType::Text, &[]);
        fixture.field_on(field, list, acme);
        field
    });
    let new = |assignee: Gid| {
        let values = json!({ field.to_string(): "high" });
        json!({"name": "Water", "workspace": acme, "assignee": assignee, "custom_fields": values})
    };
    let refused = scene.refused(cat, "createTask", acme, new(scene.bob));
    assert!(refused.contains("not on given object"), "{refused}");
    let made = scene.done(cat, "createTask", acme, new(cat));
    let task = node(&made, made.subject.unwrap());
    assert!(task.raw("custom_fields").unwrap().contains("high"));
}

#[test]
fn a_body_does_not_contradict_the_path() {
    let mut scene = DecisionScene::new();
    let [parent, other] = scene.tasks();
    let create = |parent_of_body: Value| {
        let body = json!({"name": "Dig", "parent": parent_of_body});
        scene.decide(scene.ann, "createSubtaskForTask", parent, body)
    };
    let refused = create(json!(other)).map(|_| ()).unwrap_err().message;
    let reason = format!("parent: Contradicts the path: {other}; leave it out");
    assert_eq!(refused, reason);
    for same in [json!(parent), json!(parent.to_string()), Value::Null] {
        create(same).unwrap();
    }
}
