//! References that name the invited user without being given to it: values of people fields, texts, stories, recipes.
use super::*;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::resources::task_template;

/// Creates a people field on the garden.
fn people_field(world: &World) -> String {
    let data = json!({"workspace": world.gid("orchid").to_string(), "name": "Helpers", "resource_subtype": "people"});
    let field = world.post("ada", "/custom_fields", data).gid();
    let on = format!("/projects/{}/addCustomFieldSetting", world.gid("garden"));
    let set = world.post("ada", &on, json!({"custom_field": field}));
    assert_eq!(set.status, 200, "{}", set.text);
    field
}

/// Creates a task of the garden with these users in the people field.
fn helped(world: &World, field: &str, people: &[&str]) -> String {
    let data = json!({"name": "Helped", "projects": [world.gid("garden").to_string()],
        "custom_fields": {field: people}});
    world.post("ada", "/tasks", data).gid()
}

/// Puts the garden into a portfolio with the people field, and these users into its value there.
fn helped_project(world: &World, field: &str, people: &[&str]) -> String {
    let (orchid, garden) = (world.gid("orchid"), world.gid("garden"));
    let data = json!({"workspace": orchid.to_string(), "name": "Spring"});
    let portfolio = format!(
        "/portfolios/{}",
        world.post("ada", "/portfolios", data).gid()
    );
    for (action, data) in [
        ("addItem", json!({"item": garden.to_string()})),
        ("addCustomFieldSetting", json!({ "custom_field": field })),
    ] {
        let done = world.post("ada", &format!("{portfolio}/{action}"), data);
        assert_eq!(done.status, 200, "{}", done.text);
    }
    let project = format!("/projects/{garden}");
    let data = json!({"custom_fields": {field: people}});
    let done = world.call("ada", "PUT", &project, &data);
    assert_eq!(done.status, 200, "{}", done.text);
    project
}

fn helpers(world: &World, task: &str, field: &str) -> Vec<String> {
    helpers_of(world, &format!("/tasks/{task}"), field)
}

fn helpers_of(world: &World, object: &str, field: &str) -> Vec<String> {
    let fields = "custom_fields.people_value.name";
    let object = world.get("ada", &format!("{object}?opt_fields={fields}"));
    let all = object.json["data"]["custom_fields"]
        .as_array()
        .unwrap()
        .iter();
    let mut all = all.filter(|f| f["gid"] == field);
    let people = all.next().unwrap()["people_value"].as_array().unwrap();
    let gid = |person: &Value| person["gid"].as_str().unwrap().to_owned();
    people.iter().map(gid).collect()
}

/// Returns the number of tasks that a search by the value of a field finds.
fn found(world: &World, field: &str, test: &str) -> usize {
    let search = orchid(
        world,
        &format!("tasks/search?limit=100&custom_fields.{field}.{test}"),
    );
    world.get("ada", &search).gids().len()
}

/// S117. More values than fit one commit, and the search by them.
#[test]
fn who_accepts_takes_the_places_of_the_invitation_in_people_fields() {
    for kind in KINDS {
        let world = World::new(kind);
        let (field, other) = (people_field(&world), world.gid("mel").to_string());
        let invited = added(&world, "mel", BEN);
        let person = ben(&world).to_string();
        let mut tasks: Vec<String> = (0..105)
            .map(|_| helped(&world, &field, &[&invited]))
            .collect();
        tasks.push(helped(&world, &field, &[&other, &invited]));
        let project = helped_project(&world, &field, &[&other, &invited]);
        assert!(answer(&world, ben(&world), &invited, true));
        let both = [other.clone(), person.clone()];
        assert_eq!(helpers_of(&world, &project, &field), both);
        let last = tasks.pop().unwrap();
        assert_eq!(helpers(&world, &last, &field), [other, person.clone()]);
        for task in tasks {
            assert_eq!(
                helpers(&world, &task, &field),
                std::slice::from_ref(&person)
            );
        }
        assert_eq!(found(&world, &field, &format!("value={person}")), 100);
        assert_eq!(found(&world, &field, &format!("value={invited}")), 0);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

/// S118.
#[test]
fn who_declines_is_in_no_people_field() {
    for kind in KINDS {
        let world = World::new(kind);
        let (field, other) = (people_field(&world), world.gid("mel").to_string());
        let invited = added(&world, "mel", BEN);
        let alone = helped(&world, &field, &[&invited]);
        let both = helped(&world, &field, &[&other, &invited]);
        assert!(answer(&world, ben(&world), &invited, false));
        assert_eq!(helpers(&world, &alone, &field), [""; 0]);
        assert_eq!(helpers(&world, &both, &field), [other]);
        assert_eq!(found(&world, &field, "is_set=true"), 1);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

/// S117. Older texts name the person after the answer, by the name that they have.
#[test]
fn texts_stories_and_recipes_name_the_person_who_accepted() {
    for kind in KINDS {
        let world = World::new(kind);
        let invited = added(&world, "ada", BEN);
        let rake = format!("/tasks/{}", world.gid("rake"));
        let html = format!("<body>Ask <a data-asana-gid=\"{invited}\"/></body>");
        for data in [json!({"html_notes": html}), json!({"assignee": invited})] {
            let put = world.call("ada", "PUT", &rake, &data);
            assert_eq!(put.status, 200, "{}", put.text);
        }
        let (ada, weeding) = (world.gid("ada"), world.gid("weeding"));
        let want = ReadQuery::of(ViewerKey {
            user: ada,
            service: None,
        })
        .node(weeding);
        let view = world.run(world.graph.load(&want)).unwrap();
        let recipe = json!({"name": "Weed", "followers": [{"gid": invited}]});
        writes(&world, ada, |work| {
            let mut draft = Draft::edit(view.node(weeding).unwrap());
            draft.set(task_template::TEMPLATE, recipe.to_string());
            work.save(&draft);
        });

        assert!(answer(&world, ben(&world), &invited, true));
        let person = ben(&world).to_string();
        world.rename_user(&person, "Benjamin");
        let task = world.get("ada", &format!("{rake}?opt_fields=notes,html_notes"));
        assert_eq!(task.json["data"]["notes"], "Ask @Benjamin");
        let html = task.json["data"]["html_notes"].as_str().unwrap();
        assert!(
            html.contains(&format!("data-asana-gid=\"{person}\"")),
            "{html}"
        );
        assert!(html.contains(&format!("/0/user/{person}\"")), "{html}");
        let stories = format!("{rake}/stories?opt_fields=text,assignee.name");
        let stories = world.get("ada", &stories);
        let all = stories.json["data"].as_array().unwrap();
        let assigned = all.iter().find(|s| s["assignee"].is_object()).unwrap();
        assert_eq!(assigned["text"], "assigned to Benjamin");
        assert_eq!(assigned["assignee"]["gid"], person);
        assert!(!stories.text.contains(&invited), "{}", stories.text);
        let user = world.get("ada", &format!("/users/{invited}"));
        assert_eq!((user.status, user.gid()), (200, person.clone()));

        let at = format!("/task_templates/{weeding}/instantiateTask");
        let job = world.post("ada", &at, json!({}));
        world.work();
        let made = job.json["data"]["new_task"]["gid"].as_str().unwrap();
        let made = world.get("ada", &format!("/tasks/{made}?opt_fields=followers"));
        assert!(made.text.contains(&person), "{}", made.text);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}
