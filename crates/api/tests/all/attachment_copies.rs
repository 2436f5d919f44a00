//! Attachments of duplicates and templates: the copies share the files of the originals.
use crate::attachments::{file_part, part, upload};
use crate::world::{Answer, KINDS, World};
use serde_json::{Value, json};
use std::time::Duration;

/// Attaches a file to an object. Returns its gid.
fn attach(world: &World, parent: &str, name: &str) -> String {
    let parts = [
        part("name=\"parent\"", parent),
        file_part(name, "content of it"),
    ];
    world.send(upload(world, &parts)).gid()
}

/// Returns the attachments of an object, as they are shown.
fn attachments(world: &World, parent: &str) -> Vec<Value> {
    let fields = "name,resource_subtype,size,download_url,view_url,parent.name,created_at";
    let path = format!("/attachments?parent={parent}&limit=100&opt_fields={fields}");
    let (mut all, mut offset) = (Vec::new(), String::new());
    loop {
        let page = world.get("ada", &format!("{path}{offset}"));
        assert_eq!(page.status, 200, "{}", page.text);
        all.extend(page.json["data"].as_array().unwrap().clone());
        match page.next() {
            Some(next) => offset = format!("&offset={next}"),
            None => return all,
        }
    }
}

fn names(world: &World, parent: &str) -> Vec<String> {
    let all = attachments(world, parent);
    let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
    all.iter().map(name).collect()
}

/// Returns the file that the download address of an attachment leads to.
fn file_of(attachment: &Value) -> String {
    let url = attachment["download_url"].as_str().unwrap();
    let below = url.split("/-/attachments/").nth(1).unwrap();
    below.split('/').next().unwrap().to_owned()
}

fn delete(world: &World, path: &str) {
    let answer = world.call("ada", "DELETE", path, &json!(null));
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
}

/// Returns the task `water`, without the attachments that it has in the beginning.
fn water(world: &World) -> String {
    let task = world.gid("water").to_string();
    for one in attachments(world, &task) {
        delete(
            world,
            &format!("/attachments/{}", one["gid"].as_str().unwrap()),
        );
    }
    task
}

/// Sweeps. Returns the number of files that are left.
fn sweep(world: &World) -> usize {
    world
        .run(world.api.sweep_attachment_files(Duration::ZERO))
        .unwrap();
    world.blobs.files().len()
}

fn made(job: &Answer, field: &str) -> String {
    assert_eq!(job.status, 201, "{}", job.text);
    job.json["data"][field]["gid"].as_str().unwrap().to_owned()
}

fn duplicate_task(world: &World, task: &str, include: &str) -> String {
    let path = format!("/tasks/{task}/duplicate");
    let job = world.post("ada", &path, json!({"name": "Copy", "include": include}));
    world.work();
    made(&job, "new_task")
}

/// Returns the subtask of a task that has the name of another.
fn subtask_like(world: &World, task: &str, other: &str) -> String {
    let name = world.get("ada", &format!("/tasks/{other}")).json["data"]["name"].clone();
    let list = world.get("ada", &format!("/tasks/{task}/subtasks"));
    let all = list.json["data"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == name).unwrap();
    found["gid"].as_str().unwrap().to_owned()
}

/// Returns the attachment of an object that has a name.
fn named(world: &World, parent: &str, name: &str) -> Value {
    let all = attachments(world, parent);
    let found = all.iter().find(|one| one["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {all:?}")).clone()
}

/// S286. S287.
#[test]
fn a_duplicate_shares_the_files_of_its_original() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = water(&world);
        let below = world.gid("water_buds").to_string();
        let file = attach(&world, &task, "plan.txt");
        let image = attach(&world, &below, "rose.png");
        let link = json!({"parent": task, "resource_subtype": "external",
            "url": "https://files.test/1", "name": "Link"});
        world.post("ada", "/attachments", link);

        let bare = duplicate_task(&world, &task, "subtasks,notes");
        assert_eq!(names(&world, &bare), Vec::<String>::new());
        let copy = duplicate_task(&world, &task, "subtasks,attachments");
        assert_eq!(names(&world, &copy), ["plan.txt", "Link"]);
        let of_copy = attachments(&world, &copy);
        assert_eq!(file_of(&of_copy[0]), file);
        assert_ne!(of_copy[0]["gid"], *file);
        assert_eq!(of_copy[0]["size"], 13);
        assert_eq!(of_copy[0]["parent"]["name"], "Copy");
        assert_eq!(of_copy[1]["view_url"], "https://files.test/1");
        let alone = duplicate_task(&world, &task, "attachments");
        assert_eq!(names(&world, &alone), ["plan.txt", "Link"]);
        let branch = subtask_like(&world, &copy, &below);
        assert_eq!(file_of(&named(&world, &branch, "rose.png")), image);

        // Whatever goes first, the files stay until the last attachment that has them.
        assert_eq!(sweep(&world), 2);
        delete(&world, &format!("/tasks/{task}"));
        assert_eq!(sweep(&world), 2);
        let again = duplicate_task(&world, &copy, "attachments,subtasks");
        assert_eq!(file_of(&named(&world, &again, "plan.txt")), file);
        delete(&world, &format!("/tasks/{copy}"));
        delete(&world, &format!("/tasks/{alone}"));
        assert_eq!(sweep(&world), 2);
        let last = named(&world, &again, "plan.txt")["gid"].clone();
        delete(&world, &format!("/attachments/{}", last.as_str().unwrap()));
        assert_eq!(sweep(&world), 1);
        delete(&world, &format!("/tasks/{again}"));
        assert_eq!(sweep(&world), 0);
    }
}

/// S286. S287.
#[test]
fn a_template_keeps_the_files_that_its_projects_get() {
    for kind in KINDS {
        let world = World::new(kind);
        let project = world.gid("garden").to_string();
        let task = water(&world);
        let many: Vec<String> = (0..130).map(|n| format!("{n}.txt")).collect();
        for name in &many {
            attach(&world, &task, name);
        }
        attach(&world, &world.gid("rake").to_string(), "rake.txt");
        let all = world.blobs.files().len();
        let task_named = |project: &str, name: &str| {
            let list = world.get("ada", &format!("/projects/{project}/tasks"));
            let tasks = list.json["data"].as_array().unwrap().clone();
            let found = tasks.iter().find(|task| task["name"] == name).unwrap();
            found["gid"].as_str().unwrap().to_owned()
        };
        let name = world.get("ada", &format!("/tasks/{task}")).json["data"]["name"].clone();
        let name = name.as_str().unwrap();

        let team = world.gid("gardeners").to_string();
        let path = format!("/projects/{project}/duplicate");
        let data = json!({"name": "Copy", "team": team, "include": "task_attachments"});
        let job = world.post("ada", &path, data);
        world.work();
        let copy = task_named(&made(&job, "new_project"), name);
        assert_eq!(names(&world, &copy), many);

        let path = format!("/projects/{project}/saveAsTemplate");
        let data = json!({"name": "Wood", "public": true, "team": team});
        let job = world.post("ada", &path, data);
        world.work();
        let template = made(&job, "new_project_template");
        delete(&world, &format!("/tasks/{task}"));
        delete(&world, &format!("/tasks/{copy}"));
        assert_eq!(sweep(&world), all);

        let path = format!("/project_templates/{template}/instantiateProject");
        let job = world.post("ada", &path, json!({"name": "New wood"}));
        world.work();
        let thawed = task_named(&made(&job, "new_project"), name);
        assert_eq!(names(&world, &thawed), many);
        delete(&world, &format!("/project_templates/{template}"));
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        assert_eq!(sweep(&world), all);
        delete(&world, &format!("/tasks/{thawed}"));
        assert_eq!(sweep(&world), all - many.len());
    }
}

/// S287. A copy is not made of what is deleted while the job waits.
#[test]
fn nothing_is_copied_of_an_attachment_that_was_deleted() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = water(&world);
        let file = attach(&world, &task, "plan.txt");
        let path = format!("/tasks/{task}/duplicate");
        let job = world.post(
            "ada",
            &path,
            json!({"name": "Copy", "include": "attachments"}),
        );
        delete(&world, &format!("/attachments/{file}"));
        assert_eq!(sweep(&world), 0);
        world.work();
        assert_eq!(names(&world, &made(&job, "new_task")), Vec::<String>::new());
    }
}

/// Returns the rich description of a task.
fn html(world: &World, task: &str) -> String {
    let task = world.get("ada", &format!("/tasks/{task}?opt_fields=html_notes"));
    task.json["data"]["html_notes"].as_str().unwrap().to_owned()
}

/// Attaches an image to a task, and shows it in the description. Returns its gid.
fn show(world: &World, task: &str, name: &str) -> String {
    let image = attach(world, task, name);
    let text = format!("<body>See <img data-asana-gid=\"{image}\"/></body>");
    let path = format!("/tasks/{task}");
    let done = world.call("ada", "PUT", &path, &json!({ "html_notes": text }));
    assert_eq!(done.status, 200, "{}", done.text);
    image
}

/// Checks that the description of a task shows its own attachment, which is there, and returns it.
fn shows_own(world: &World, task: &str, name: &str) -> String {
    let (text, own) = (html(world, task), named(world, task, name));
    let own = own["gid"].as_str().unwrap();
    assert!(
        text.contains(&format!("data-asana-gid=\"{own}\"")),
        "{own}: {text}"
    );
    assert!(text.contains(&format!("alt=\"{name}\"")), "{text}");
    assert!(!text.contains("data-asana-deleted"), "{text}");
    own.to_owned()
}

/// S906.
#[test]
fn the_description_of_a_copy_shows_the_attachments_of_the_copy() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = water(&world);
        let below = world.gid("water_buds").to_string();
        let image = show(&world, &task, "rose.png");
        show(&world, &below, "bud.png");
        let original = html(&world, &task);
        let copy = duplicate_task(&world, &task, "notes,subtasks,attachments");
        assert_ne!(shows_own(&world, &copy, "rose.png"), image);
        shows_own(&world, &subtask_like(&world, &copy, &below), "bud.png");
        assert_eq!(html(&world, &task), original);
        // A copy without attachments shows the original's.
        let bare = duplicate_task(&world, &task, "notes");
        assert_eq!(html(&world, &bare), original);
        delete(&world, &format!("/tasks/{task}"));
        shows_own(&world, &copy, "rose.png");
        assert!(html(&world, &bare).contains("data-asana-deleted"));
    }
}

/// S906. The tasks of a template and of its projects show their own, too, where a task has more attachments than fit one
/// step.
#[test]
fn the_descriptions_of_a_template_show_its_own_attachments() {
    for kind in KINDS {
        let world = World::new(kind);
        let (project, task) = (world.gid("garden").to_string(), water(&world));
        for number in 0..110 {
            attach(&world, &task, &format!("{number}.txt"));
        }
        show(&world, &task, "rose.png");
        let name = world.get("ada", &format!("/tasks/{task}")).json["data"]["name"].clone();
        let data =
            json!({"name": "Wood", "public": true, "team": world.gid("gardeners").to_string()});
        let job = world.post("ada", &format!("/projects/{project}/saveAsTemplate"), data);
        world.work();
        let template = made(&job, "new_project_template");
        delete(&world, &format!("/tasks/{task}"));
        let path = format!("/project_templates/{template}/instantiateProject");
        let job = world.post("ada", &path, json!({"name": "New wood"}));
        world.work();
        let tasks = format!("/projects/{}/tasks", made(&job, "new_project"));
        let tasks = world.get("ada", &tasks).json["data"]
            .as_array()
            .unwrap()
            .clone();
        let copy = tasks.iter().find(|task| task["name"] == name).unwrap();
        shows_own(&world, copy["gid"].as_str().unwrap(), "rose.png");
    }
}
