//! Texts that name other objects: links of authors, and the sentences of stories.
use super::scene::{TYPES, scene};
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_api::ApiSettings;
use workgraph_core::access::Role;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::{story, task, task_template};
use workgraph_core::model::time::Time;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ReadQuery, ViewerKey};
use workgraph_core::{Gid, Node};

/// Returns each place where a linked text is read, with the field.
fn places(world: &World) -> Vec<(String, &'static str)> {
    let gid = |name: &str| world.gid(name).to_string();
    let mut all = Vec::new();
    for (path, name, html, plain) in [
        ("tasks", "shared", "html_notes", "notes"),
        ("projects", "meadow", "html_notes", "notes"),
        ("stories", "comment", "html_text", "text"),
        ("teams", "open_team", "html_description", "description"),
        (
            "project_templates",
            "s_template",
            "html_description",
            "description",
        ),
    ] {
        for field in [html, plain] {
            all.push((format!("/{path}/{}?opt_fields={field}", gid(name)), field));
        }
    }
    all
}

fn text(world: &World, reader: &str, (at, field): &(String, &'static str)) -> String {
    let answer = world.get(reader, at);
    assert_eq!(answer.status, 200, "{reader} {at}: {}", answer.text);
    answer.json["data"][*field].as_str().unwrap().to_owned()
}

/// S105. In every text, plain and rich, and on both stores.
#[test]
fn links_show_each_reader_the_names_of_what_they_see() {
    for kind in KINDS {
        let world = scene(kind);
        let gid = world.gid("h_task").to_string();
        for place in places(&world) {
            let (ada, moe) = (text(&world, "ada", &place), text(&world, "moe", &place));
            for name in [
                "HIDDEN-task",
                "HIDDEN-project",
                "HIDDEN-words",
                "MEMBERS-task",
            ] {
                assert!(ada.contains(name), "{place:?}: {name} in {ada}");
            }
            assert!(moe.contains("MEMBERS-task"), "{place:?}: {moe}");
            assert!(!moe.contains("HIDDEN"), "{place:?}: {moe}");
            assert!(moe.contains("Private Link"), "{place:?}: {moe}");
            if place.1.starts_with("html") {
                assert!(ada.contains(&format!("data-asana-gid=\"{gid}\"")), "{ada}");
                assert!(!moe.contains(&format!("data-asana-gid=\"{gid}\"")), "{moe}");
                let project = format!("data-asana-project=\"{}\"", world.gid("h_project"));
                assert!(ada.contains(&project) && !moe.contains(&project), "{moe}");
            }
        }
    }
}

/// S105. In a recipe, too: in the texts of its task and of those below it.
#[test]
fn links_in_a_recipe_show_each_reader_the_names_of_what_they_see() {
    for kind in KINDS {
        let world = scene(kind);
        let link = |name: &str| format!("<a data-asana-gid=\"{}\">HIDDEN-old</a>", world.gid(name));
        let html = format!("<body>{} and {}</body>", link("h_task"), link("m_task"));
        let recipe = json!({"name": "Weed", "html_description": html, "description": "HIDDEN-old",
            "subtasks": [{"name": "Dig", "html_description": html}]});
        let (gid, key) = (world.gid("weeding"), world.gid("ada"));
        let want = ReadQuery::of(ViewerKey {
            user: key,
            service: None,
        })
        .node(gid);
        let view = world.run(world.graph.load(&want)).unwrap();
        let mut draft = Draft::edit(view.node(gid).unwrap());
        draft.set(task_template::TEMPLATE, recipe.to_string());
        let generate_gid = || world.api.next_gid();
        let mut work = ChangeBuilder::new(Some(key), Time::from_system(world.now()), &generate_gid);
        work.save(&draft);
        world.run(world.graph.commit(work.changes)).unwrap();
        let read = |reader: &str| {
            let answer = world.get(reader, &format!("/task_templates/{gid}"));
            assert_eq!(answer.status, 200, "{}", answer.text);
            answer.json["data"]["template"].clone()
        };
        let (ada, moe) = (read("ada"), read("moe"));
        assert_eq!(ada["description"], "HIDDEN-task and MEMBERS-task");
        assert_eq!(moe["description"], "Private Link and MEMBERS-task");
        for at in ["/html_description", "/subtasks/0/html_description"] {
            let text = |shown: &Value| shown.pointer(at).unwrap().as_str().unwrap().to_owned();
            assert!(text(&ada).contains("HIDDEN-task"), "{ada}");
            assert!(text(&moe).contains("MEMBERS-task"), "{moe}");
        }
        assert!(!moe.to_string().contains("HIDDEN"), "{moe}");
        assert!(
            !ada.to_string().contains("HIDDEN-old"),
            "the name is that of now: {ada}"
        );
    }
}

/// S105. The name is the present one.
#[test]
fn a_link_shows_the_new_name_of_what_was_renamed() {
    let world = scene(Kind::Memory);
    let at = format!("/tasks/{}", world.gid("m_task"));
    world.call("ada", "PUT", &at, &json!({"name": "Renamed"}));
    for place in places(&world) {
        let moe = text(&world, "moe", &place);
        assert!(
            moe.contains("Renamed") && !moe.contains("MEMBERS-task"),
            "{moe}"
        );
    }
}

#[test]
fn a_comment_that_is_only_a_link_says_something_and_a_changed_link_is_told() {
    let world = scene(Kind::Memory);
    let link = |name: &str| {
        json!(format!(
            "<body><a data-asana-gid=\"{}\"/></body>",
            world.gid(name)
        ))
    };
    let task = format!("/tasks/{}", world.gid("second"));
    let said = world.post(
        "ada",
        &format!("{task}/stories"),
        json!({"html_text": link("mel")}),
    );
    assert_eq!(said.status, 201, "{}", said.text);
    assert_eq!(said.json["data"]["text"], "@Mel of Orchid");
    for (name, sentences_of) in [("mel", 1), ("mel", 1), ("m_task", 2)] {
        world.call("ada", "PUT", &task, &json!({"html_notes": link(name)}));
        let stories = world.get("ada", &format!("{task}/stories")).text;
        assert_eq!(
            stories.matches("changed the description").count(),
            sentences_of,
            "{stories}"
        );
    }
}

/// S105. A user in two workspaces writes with the access of both, and is read in one.
#[test]
fn a_link_shows_no_name_of_another_workspace() {
    let world = World::build(Kind::Memory, ApiSettings::default(), |f, names| {
        f.add_workspace_member(names["mel"], names["basalt"], Role::Member);
    });
    let at = format!("/tasks/{}", world.gid("blast"));
    let link = |name: &str| format!("<a data-asana-gid=\"{}\"/>", world.gid(name));
    let html = format!("<body>{} and {}</body>", link("water"), link("haul"));
    let written = world.call("mel", "PUT", &at, &json!({ "html_notes": html }));
    assert_eq!(written.status, 200, "{}", written.text);
    let scopes = "tasks:read,tasks:write";
    world.connect_in("mel", 907, scopes, "mel[in basalt]", &["basalt"]);
    world.connect_in("mel", 908, scopes, "mel[in both]", &["orchid", "basalt"]);
    for (reader, notes) in [
        ("mel", "Water the roses and Haul the gneiss"),
        ("mel[in both]", "Water the roses and Haul the gneiss"),
        ("mel[in basalt]", "Private Link and Haul the gneiss"),
        ("ben", "Private Link and Haul the gneiss"),
    ] {
        let read = world.get(reader, &format!("{at}?opt_fields=notes,html_notes"));
        assert_eq!(read.json["data"]["notes"], notes, "{reader}");
        let html = read.json["data"]["html_notes"].as_str().unwrap();
        assert_eq!(html.contains("roses"), notes.contains("roses"), "{reader}");
    }
}

/// Returns the sentences of the shared task, by subtype.
fn sentences(world: &World, reader: &str) -> Vec<(String, String)> {
    let at = format!(
        "/tasks/{}/stories?opt_fields=text,resource_subtype",
        world.gid("shared")
    );
    let answer = world.get(reader, &at);
    let all = answer.json["data"].as_array().unwrap().iter();
    let part = |story: &Value, name: &str| story[name].as_str().unwrap().to_owned();
    all.map(|s| (part(s, "resource_subtype"), part(s, "text")))
        .collect()
}

/// S106. A reader who sees everything reads the full sentences.
#[test]
fn sentences_of_stories_name_what_their_reader_sees() {
    for kind in KINDS {
        let world = scene(kind);
        let (ada, moe) = (sentences(&world, "ada"), sentences(&world, "moe"));
        assert_eq!(ada.len(), moe.len());
        let said =
            |all: &[(String, String)], text: &str| all.iter().filter(|(_, t)| t == text).count();
        for (for_ada, for_moe) in [
            ("added to HIDDEN-project", "added to a private project"),
            (
                "moved to HIDDEN-project-section",
                "moved to a private section",
            ),
            (
                "removed from HIDDEN-other-project",
                "removed from a private project",
            ),
            (
                "marked as blocked by HIDDEN-task",
                "marked as blocked by a private task",
            ),
            (
                "marked as blocking HIDDEN-loose",
                "marked as blocking a private task",
            ),
            (
                "changed HIDDEN-text to \"HIDDEN-value\"",
                "changed a private custom field",
            ),
            ("cleared HIDDEN-text", "changed a private custom field"),
            (
                "changed HIDDEN-enum to \"HIDDEN-option-enum\"",
                "changed a private custom field",
            ),
            (
                "changed HIDDEN-number to \"4711815\"",
                "changed a private custom field",
            ),
            (
                "changed HIDDEN-date to \"2071-07-08\"",
                "changed a private custom field",
            ),
            (
                "changed HIDDEN-people to \"Mel of Orchid\"",
                "changed a private custom field",
            ),
            (
                "changed MEMBERS-date to \"2031-07-08\"",
                "changed MEMBERS-date to \"2031-07-08\"",
            ),
            (
                "changed MEMBERS-reference to \"HIDDEN-task, Child\"",
                "changed MEMBERS-reference to \"Child\"",
            ),
            (
                "changed MEMBERS-multi_enum to \"MEMBERS-option-multi_enum\"",
                "changed MEMBERS-multi_enum to \"MEMBERS-option-multi_enum\"",
            ),
            ("added to Rainy", "added to Rainy"),
            ("removed from Rainy", "removed from Rainy"),
            (
                "added Mel of Orchid as a collaborator",
                "added Mel of Orchid as a collaborator",
            ),
        ] {
            assert!(said(&ada, for_ada) == 1, "{for_ada}: {ada:#?}");
            assert!(said(&moe, for_moe) >= 1, "{for_moe}: {moe:#?}");
        }
        assert!(!format!("{moe:?}").contains("HIDDEN"), "{moe:#?}");
    }
}

/// S106. A deleted object has no name any more.
#[test]
fn what_was_deleted_is_told_by_its_kind() {
    let world = scene(Kind::Memory);
    for (path, name) in [
        ("tasks", "h_task"),
        ("projects", "h_project"),
        ("tags", "m_tag"),
        ("custom_fields", "m_text"),
    ] {
        let gone = world.call(
            "ada",
            "DELETE",
            &format!("/{path}/{}", world.gid(name)),
            &Value::Null,
        );
        assert_eq!(gone.status, 200, "{}", gone.text);
    }
    let texts = sentences(&world, "ada");
    for text in [
        "added to a deleted project",
        "added to a deleted tag",
        "changed a deleted custom field",
        "marked as blocked by a deleted task",
        "changed MEMBERS-reference",
    ] {
        assert!(texts.iter().any(|(_, t)| t == text), "{text}: {texts:#?}");
    }
}

/// S107. The values before and after of every type, with `opt_fields` and without.
#[test]
fn values_in_stories_are_for_those_who_see_the_custom_field() {
    let parts = [
        "text_value",
        "number_value",
        "enum_value",
        "date_value",
        "people_value",
        "multi_enum_values",
    ];
    let named: Vec<String> = parts
        .iter()
        .flat_map(|p| [format!("old_{p}"), format!("new_{p}")])
        .collect();
    let world = scene(Kind::Memory);
    let task = world.gid("shared");
    for fields in [String::new(), "&opt_fields=".to_owned() + &named.join(",")] {
        let sentences_of = sentences(&world, "ada").into_iter();
        let sentences_of =
            sentences_of.filter(|(subtype, _)| subtype.ends_with("_custom_field_changed"));
        assert!(sentences_of.count() > TYPES.len());
        let stories = world.get("moe", &format!("/tasks/{task}/stories?limit=100{fields}"));
        let plain = stories.text.replace(' ', "");
        assert!(
            !plain.contains("4711815") && !plain.contains("2071-07-08"),
            "{plain}"
        );
        for story in stories.json["data"].as_array().unwrap() {
            let gid = story["gid"].as_str().unwrap();
            let all = fields.replace('&', "?");
            let (ada, moe) = (
                world.get("ada", &format!("/stories/{gid}{all}")),
                world.get("moe", &format!("/stories/{gid}{all}")),
            );
            let hidden = world.get(
                "ada",
                &format!("/stories/{gid}?opt_fields=custom_field.name"),
            );
            let hidden = hidden.text.contains("HIDDEN");
            for name in &named {
                let (ada, moe) = (&ada.json["data"][name], &moe.json["data"][name]);
                if hidden {
                    assert!(moe.is_null() || *moe == json!([]), "{name}: {moe}");
                } else {
                    assert_eq!(ada, moe, "{name}");
                }
            }
        }
    }
}

/// S108. Neither by the name that a link shows nor by the name that its author wrote.
#[test]
fn nothing_is_found_by_the_names_of_what_it_links_to() {
    for kind in KINDS {
        let world = scene(kind);
        let orchid = world.gid("orchid");
        for reader in ["ada", "moe"] {
            let found = |word: &str| {
                let at = format!("/workspaces/{orchid}/tasks/search?text={word}");
                world.get(reader, &at).gids()
            };
            let shared = world.gid("shared").to_string();
            assert!(found("seen").contains(&shared), "its own words find it");
            for word in [
                "HIDDEN-task",
                "HIDDEN-project",
                "HIDDEN-words",
                "MEMBERS-nia",
                "HIDDEN",
            ] {
                assert!(!found(word).contains(&shared), "{reader} {word}");
            }
        }
    }
}

/// Stores texts as an earlier version did: with the names that their authors saw.
fn stored_before(world: &World) -> [Gid; 3] {
    let viewer = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let want = ReadQuery::of(viewer)
        .node(world.gid("shared"))
        .node(world.gid("comment"));
    let view = world.run(world.graph.load(&want)).unwrap();
    let old = |name: &str| view.node(world.gid(name)).unwrap();
    let html = format!(
        "<body>Old <a href=\"https://work.test/api/1.0/tasks/{gid}\" data-asana-accessible=\"true\" \
         data-asana-dynamic=\"true\" data-asana-type=\"task\" data-asana-gid=\"{gid}\">HIDDEN-task</a></body>",
        gid = world.gid("h_task")
    );
    let generate_gid = || world.api.next_gid();
    let mut work = ChangeBuilder::new(
        Some(world.gid("ada")),
        Time::from_system(world.now()),
        &generate_gid,
    );
    let mut edit = Draft::edit(old("shared"));
    edit.set(task::HTML_NOTES, html.as_str());
    edit.set(task::NOTES, "Old HIDDEN-task");
    work.save(&edit);
    let mut edit = Draft::edit(old("comment"));
    edit.set(story::HTML_TEXT, html.as_str());
    edit.set(story::TEXT, "Old HIDDEN-task");
    work.save(&edit);
    // Two sentences as they were stored: the story of one has a link, the other has only its text.
    let mut sentences_of = |kind: &str, text: &str, link: Option<Gid>| {
        let mut draft = work.draft(Type::Story, old("shared").workspace);
        draft.set(story::CREATED_AT, Time::from_system(world.now()));
        draft.set(story::SUBTYPE, kind);
        draft.set(story::TEXT, text);
        draft.set(story::CREATED_BY, world.gid("ada"));
        if kind == "added_to_project" {
            draft.set(story::PROJECT, link);
        } else {
            draft.set(story::CUSTOM_FIELD, link);
        }
        workgraph_core::rules::story_rules::add_story(&mut work, &draft, world.gid("shared"))
    };
    let h_project = Some(world.gid("h_project"));
    let placed = sentences_of("added_to_project", "added to HIDDEN-project", h_project);
    let text = "changed MEMBERS-reference to \"HIDDEN-task\"";
    let field = Some(world.gid("m_reference"));
    let changed = sentences_of("reference_custom_field_changed", text, field);
    let cleared = sentences_of(
        "reference_custom_field_changed",
        "cleared MEMBERS-reference",
        field,
    );
    world.run(world.graph.commit(work.changes)).unwrap();
    [placed, changed, cleared]
}

/// S112. Links, sentences and search.
#[test]
fn texts_stored_with_names_are_read_like_those_without() {
    for kind in KINDS {
        let world = scene(kind);
        let [placed, changed, cleared] = stored_before(&world);
        let read = |reader: &str, at: String| world.get(reader, &at).text;
        let (shared, comment) = (world.gid("shared"), world.gid("comment"));
        for at in [
            format!("/tasks/{shared}?opt_fields=html_notes"),
            format!("/tasks/{shared}?opt_fields=notes"),
            format!("/stories/{comment}?opt_fields=html_text"),
            format!("/stories/{comment}?opt_fields=text"),
            format!("/stories/{placed}?opt_fields=text"),
        ] {
            assert!(read("ada", at.clone()).contains("HIDDEN-"), "{at}");
            let moe = read("moe", at.clone());
            assert!(!moe.contains("HIDDEN"), "{at}: {moe}");
        }
        for (story, text) in [
            (changed, "changed MEMBERS-reference"),
            (cleared, "cleared MEMBERS-reference"),
        ] {
            let answer = world.get("ada", &format!("/stories/{story}?opt_fields=text"));
            assert_eq!(answer.json["data"]["text"], text);
        }
        let found = |word: &str| {
            let at = format!(
                "/workspaces/{}/tasks/search?text={word}",
                world.gid("orchid")
            );
            world.get("moe", &at).gids().contains(&shared.to_string())
        };
        assert!(found("Old") && !found("HIDDEN"));
    }
}

/// The stored form has no name in it, so no reader of the store can reveal one.
#[test]
fn what_is_stored_has_no_name_of_another_object() {
    let world = scene(Kind::Memory);
    let viewer = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let body = |gid: Gid| -> Node {
        let view = world
            .run(world.graph.load(&ReadQuery::of(viewer).node(gid)))
            .unwrap();
        view.node(gid).unwrap().clone()
    };
    let at = format!("/tasks/{}/stories?limit=100", world.gid("shared"));
    let stories = world.get("ada", &at).gids();
    let stories = stories.iter().map(|gid| Gid::parse(gid).unwrap());
    let texts = ["shared", "meadow", "open_team", "s_template"].map(|name| world.gid(name));
    for gid in stories.chain(texts) {
        let body = body(gid)
            .body
            .replace("HIDDEN-words", "")
            .replace("HIDDEN-value", "");
        assert!(!body.contains("HIDDEN"), "{body}");
    }
}
