//! What becomes of templates: what goes with them, and what is made from them.
use super::*;

/// How many tasks and sections of templates the workspace has.
fn left_of_templates(world: &World) -> (usize, usize) {
    let orchid = world.gid("orchid");
    let body = json!({ "organization": orchid.to_string() });
    let export = world.post("robot", "/organization_exports", body).gid();
    world.work();
    let records = world.files.records(&export);
    let of = |ty: &'static str| records.iter().filter(move |r| r["resource_type"] == ty);
    let sections = of("section").filter(|r| r["project"].is_null());
    (of("task_template_recipe").count(), sections.count())
}

#[test]
fn a_deleted_template_takes_its_tasks_along_step_by_step() {
    for kind in KINDS {
        let world = world(kind, 130);
        let at = format!("/projects/{}/saveAsTemplate", world.gid("forest"));
        let save = || {
            let data =
                json!({"name": "Wood", "public": true, "team": world.gid("gardeners").to_string()});
            let job = world.post("ada", &at, data);
            world.work();
            job.json["data"]["new_project_template"]["gid"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let (gone, stays) = (save(), save());
        let (both, sections) = left_of_templates(&world);
        let each = both / 2;
        assert!(each > 200 && both == 2 * each, "{both}");
        assert_eq!(sections, 6);
        world.run(world.api.forget_jobs(1000)).unwrap();
        let done = world.call(
            "ada",
            "DELETE",
            &format!("/project_templates/{gone}"),
            &json!(null),
        );
        assert_eq!(done.status, 200, "{}", done.text);
        // A step at a time, so that nothing else waits for long; what is done is never asked for again.
        assert_eq!(world.run(world.api.forget_jobs(1)).unwrap(), 1);
        let some = left_of_templates(&world).0;
        assert!(some < both && some > each, "{some} of {both}");
        world.run(world.api.forget_jobs(1000)).unwrap();
        assert_eq!(left_of_templates(&world), (each, 3));
        let made = world.post(
            "ada",
            &format!("/project_templates/{stays}/instantiateProject"),
            json!({"name": "New wood"}),
        );
        world.work();
        assert_eq!(
            status(&world, &made.gid()),
            "succeeded",
            "the other is whole"
        );
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_deleted_project_takes_its_task_templates_along() {
    for kind in KINDS {
        let world = World::new(kind);
        let at = format!("/task_templates/{}", world.gid("weeding"));
        assert_eq!(world.get("robot", &at).status, 200);
        let garden = format!("/projects/{}", world.gid("garden"));
        assert_eq!(
            world.call("ada", "DELETE", &garden, &json!(null)).status,
            200
        );
        assert_eq!(world.get("robot", &at).status, 404);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_template_deleted_while_it_is_filled_leaves_nothing() {
    for kind in KINDS {
        for steps in 1..6 {
            let world = world(kind, 60);
            let at = format!("/projects/{}/saveAsTemplate", world.gid("forest"));
            let team = world.gid("gardeners").to_string();
            let data = json!({"name": "Wood", "public": true, "team": team});
            let job = world.post("ada", &at, data);
            assert!(die_after(&world, steps));
            let made = job.json["data"]["new_project_template"]["gid"].as_str();
            let template = format!("/project_templates/{}", made.unwrap());
            let done = world.call("ada", "DELETE", &template, &json!(null));
            assert_eq!(done.status, 200, "{}", done.text);
            world.advance(31);
            world.work();
            assert_eq!(status(&world, &job.gid()), "failed");
            world.run(world.api.forget_jobs(1000)).unwrap();
            assert_eq!(left_of_templates(&world), (0, 0), "after {steps} steps");
            assert_eq!(world.problems(), Vec::<String>::new());
        }
    }
}
