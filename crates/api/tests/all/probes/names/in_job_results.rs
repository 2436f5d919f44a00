//! Names in the results of jobs: files of exports, copies, and instances of templates.
use super::*;
use workgraph_operations::operation::ResponseKind;

/// Returns true if a row starts a job.
fn starts(row: &Operation) -> bool {
    let answer = row.response;
    matches!(
        answer,
        ResponseKind::Created(Type::Job | Type::OrganizationExport)
    )
}

/// Returns the row's sample at every node, with all parts that can be copied or exported.
fn whole(scene: &Place, row: &Operation) -> Vec<Sample> {
    let mut all = scene.samples(row);
    for slot in ["parent", "organization", "workspace"] {
        if !row.required_body().any(|(name, _)| name == slot) {
            continue;
        }
        for gid in scene.things.values().flatten() {
            let mut one = all[0].clone();
            one.put(slot, json!(gid));
            all.push(one);
        }
    }
    let mut wrong = all[0].clone();
    wrong.put("include", json!("no-such-part"));
    wrong.put(
        "export_request_parameters",
        json!([{"resource_type": "no-such-type"}]),
    );
    let parts = allowed_words(&wrong.send(&scene.world, "ada", row));
    for one in &mut all {
        if (row.required_body()).any(|(name, _)| name == "export_request_parameters") {
            let fields = everything(Type::Task).swap_remove(0);
            let part = |ty: &String| match ty.as_str() {
                "task" => json!({"resource_type": ty, "fields": fields}),
                _ => json!({ "resource_type": ty }),
            };
            let parts: Vec<Value> = parts.iter().map(part).collect();
            one.put("export_request_parameters", json!(parts));
        } else if parts.iter().all(|part| !part.is_empty()) {
            one.put("include", json!(parts));
        }
    }
    all
}

/// Reads all results of a job, as a reader: its record, the records that it created and the file that it wrote.
fn results(
    scene: &Place,
    (reader, job, after): (&str, &str, u64),
    each: &mut dyn FnMut(&str, &str),
) {
    let world = &scene.world;
    let mut things: BTreeMap<Type, Vec<String>> = BTreeMap::new();
    things.insert(Type::Job, vec![job.to_owned()]);
    let facts = world
        .events(after)
        .into_iter()
        .flat_map(|event| event.change_records);
    for (ty, gid) in facts.map(|fact| (fact.ty, fact.gid.to_string())) {
        let of_type = things.entry(ty).or_default();
        if !of_type.contains(&gid) {
            of_type.push(gid);
        }
    }
    read_things(scene, reader, &things, &mut |answer, what| {
        each(&answer.text, what)
    });
    let job = world.get(reader, &format!("/jobs/{job}"));
    for name in ["new_graph_export", "new_resource_export"] {
        if let Some(file) = job.json["data"][name]["gid"].as_str() {
            each(&world.files.text(file), name);
        }
    }
}

/// S111. Every row that starts a job, by every reader, at every node: a refusal names nothing that is hidden, and
/// neither do the results.
#[test]
fn no_job_makes_what_gives_away_a_name() {
    let readers = READERS.iter().chain(ADA);
    let mut begun = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for (row, (reader, words)) in all()
        .filter(|row| starts(row))
        .flat_map(|row| readers.clone().map(move |reader| (row, reader)))
    {
        let mut scene = Place::new();
        for one in whole(&scene, row) {
            let after = scene.world.events(0).len() as u64;
            let answer = one.send(&scene.world, reader, row);
            let what = format!("{reader} {} {}", row.id, one.target(row));
            check(&answer, words, &what);
            if answer.status != 201 {
                continue;
            }
            begun.insert((*reader, row.id));
            scene.world.work();
            results(
                &scene,
                (reader, &answer.gid(), after),
                &mut |text, target| {
                    for word in *words {
                        assert!(!text.contains(word), "{what}: {target}: {word} in {text}");
                    }
                    if *reader == "ada" && text.contains("HIDDEN") {
                        seen.insert(row.id);
                    }
                },
            );
            scene = Place::new();
        }
    }
    // The readers who may start a job did so, and the twin, who sees everything, got the names.
    for (reader, row) in [
        ("moe", "duplicateTask"),
        ("moe", "instantiateTask"),
        ("moe", "createGraphExport"),
        ("moe", "createResourceExport"),
        ("gus", "duplicateTask"),
        ("gus", "createGraphExport"),
        (APP, "duplicateTask"),
    ] {
        assert!(begun.contains(&(reader, row)), "{reader} {row}: {begun:?}");
    }
    for row in [
        "duplicateTask",
        "duplicateProject",
        "createGraphExport",
        "createResourceExport",
    ] {
        assert!(seen.contains(row), "{row}: {seen:?}");
    }
}

/// S111. The files and the copy of a member without access, in their stored form.
#[test]
fn a_copy_is_stored_without_the_names_of_what_its_maker_does_not_see() {
    let scene = Place::new();
    let world = &scene.world;
    let gid = |name: &str| world.gid(name).to_string();
    let made = |target: &str, data: Value| {
        let job = world.post("moe", target, data);
        assert_eq!(job.status, 201, "{}", job.text);
        world.work();
        world.get("moe", &format!("/jobs/{}", job.gid())).json["data"].clone()
    };
    let graph = made("/exports/graph", json!({"parent": gid("meadow")}));
    let parts = json!([{"resource_type": "task"}, {"resource_type": "team"}]);
    let tasks = made(
        "/exports/resource",
        json!({"workspace": gid("orchid"), "export_request_parameters": parts}),
    );
    for file in [&graph["new_graph_export"], &tasks["new_resource_export"]] {
        let text = world.files.text(file["gid"].as_str().unwrap());
        assert!(
            text.contains("Private Link") && text.contains("a private project"),
            "{text}"
        );
        assert!(!text.contains("HIDDEN"), "{text}");
    }
    let include = "notes,assignee,subtasks,followers,tags,dates,parent,projects";
    let copy = made(
        &format!("/tasks/{}/duplicate", gid("shared")),
        json!({"name": "Copy", "include": include}),
    );
    let copy = Gid::parse(copy["new_task"]["gid"].as_str().unwrap()).unwrap();
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let view = world
        .run(world.graph.load(&ReadQuery::of(key).node(copy)))
        .unwrap();
    let body = view.node(copy).unwrap().body.replace("HIDDEN-words", "");
    assert!(
        body.contains("data-asana-gid") && !body.contains("HIDDEN"),
        "{body}"
    );
}
