//! Walls inside a workspace: no row, asked in any way by whoever may not see them, gives away a name.
use super::sample::{Sample, Tenant, parameters, sample};
use super::walls::{body_slots, forms, query_slots};
use crate::hidden::{HIDDEN, MEMBERS, history, scene};
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use workgraph_api::operation::{Operation, parameter_type};
use workgraph_api::operations::all;
use workgraph_api::request::Method;
use workgraph_core::Gid;
use workgraph_core::graph::{ViewerKey, Want};
use workgraph_core::registry::{Def, Shape, Type, Write};
use workgraph_core::resources::resource;

const MEADOW: Tenant = Tenant {
    admin: "ada",
    workspace: "orchid",
    team: "open_team",
    member: "mel",
    project: "meadow",
    section: "meadow_section",
    spare: "meadow_section-second",
    task: "shared",
    other_task: "second",
    tag: "s_tag",
    story: "comment",
    list: "ada_list",
    seat: "mel_seat",
    in_team: "mel_in_gardeners",
    in_project: "gus_in_meadow",
    field: "m_text",
    option: "m_option_enum",
    other_option: "m_option_multi_enum",
    job: "h_job",
    export: "orchid_export",
    project_template: "s_template",
    task_template: "weeding",
};

/// The names that a reader is not to get, by how they begin.
const READERS: &[(&str, &[&str])] = &[
    ("moe", &["HIDDEN"]),
    ("gus", &["HIDDEN", "MEMBERS", "members-nia"]),
    // An app with fewer scopes, a member of another workspace, and its service account.
    ("moe[tasks:read,stories:read,tags:read]", &["HIDDEN"]),
    ("ben", &["HIDDEN", "MEMBERS", "members-nia", "Meadow"]),
    ("rocky", &["HIDDEN", "MEMBERS", "members-nia", "Meadow"]),
];

/// Hidden things of each kind, to be named in queries and bodies.
const NAMED: &[&str] = &[
    "h_project",
    "h_task",
    "h_project_section",
    "h_team",
    "h_text",
    "h_option_enum",
    "g_tag",
    "nia",
    "h_story",
    "h_template",
];

/// The scene, with the things in it by their types.
struct Place {
    world: World,
    things: BTreeMap<Type, Vec<String>>,
}

impl Place {
    fn new() -> Self {
        let mut world = scene(Kind::Memory);
        world.names.insert("rocky".to_owned(), world.gid("robot"));
        world.serve("rocky", "basalt");
        let own = [
            "orchid", "moe", "gus", "ada", "moe_list", "ada_list", "moe_seat", "weeding",
        ];
        let plain = World::new(Kind::Memory);
        let names = world.names.iter();
        let names = names
            .filter(|(name, _)| !plain.names.contains_key(*name) || own.contains(&name.as_str()));
        let gids: Vec<Gid> = names.map(|(_, gid)| *gid).collect();
        let key = ViewerKey {
            user: world.gid("ada"),
            service: None,
        };
        let want = gids.iter().fold(Want::of(key), |want, gid| want.node(*gid));
        let view = world.run(world.graph.load(&want)).unwrap();
        let mut things: BTreeMap<Type, Vec<String>> = BTreeMap::new();
        for gid in gids {
            match view.node(gid) {
                Some(node) => things.entry(node.ty).or_default().push(gid.to_string()),
                // What is in no graph.
                None => things
                    .entry(Type::Webhook)
                    .or_default()
                    .push(gid.to_string()),
            }
        }
        Self { world, things }
    }

    /// The row's sample at every thing that its last parameter may name, and at every workspace or the
    /// like before that as it is.
    fn samples(&self, row: &Operation) -> Vec<Sample> {
        let base = sample(&self.world, &MEADOW, row);
        let mut all = vec![base.clone()];
        for (at, name) in parameters(row).iter().enumerate() {
            let things = parameter_type(name).and_then(|ty| self.things.get(&ty));
            for gid in things.into_iter().flatten() {
                let mut one = base.clone();
                one.path[at].1.clone_from(gid);
                all.push(one);
            }
        }
        all
    }
}

/// Every field of a type and every field of what it links to, in as few requests as may be.
fn everything(ty: Type) -> Vec<String> {
    let mut paths: BTreeSet<String> = BTreeSet::new();
    let types = std::iter::once(ty).chain(resource(ty).kin.iter().copied());
    for def in types.flat_map(|ty| resource(ty).fields) {
        let below = below(def);
        if below.is_empty() {
            paths.insert(def.name.to_owned());
        }
        paths.extend(below.iter().map(|sub| format!("{}.{sub}", def.name)));
    }
    let paths: Vec<String> = paths.into_iter().collect();
    paths.chunks(300).map(|some| some.join(",")).collect()
}

fn below(def: &Def) -> Vec<String> {
    match def.shape {
        Shape::One(types) | Shape::Many(types) => {
            let fields = types.iter().flat_map(|ty| resource(*ty).fields);
            fields.map(|sub| sub.name.to_owned()).collect()
        }
        Shape::Items(parts) | Shape::Group(parts) => {
            let deeper = |part: &Def| {
                let below = below(part).into_iter();
                let named = below.map(|sub| format!("{}.{sub}", part.name));
                std::iter::once(part.name.to_owned())
                    .chain(named)
                    .collect::<Vec<_>>()
            };
            parts.iter().flat_map(deeper).collect()
        }
        _ => Vec::new(),
    }
}

/// Reads by all rows in all ways; `each` gets every answer with what was asked.
fn read(place: &Place, reader: &str, each: &mut dyn FnMut(&Answer, &str)) {
    let world = &place.world;
    for row in all().filter(|row| row.method == Method::Get) {
        let views = row.record().map(everything).unwrap_or_default();
        let mut send = |one: &Sample, what: &str| {
            let answer = one.send(world, reader, row);
            each(
                &answer,
                &format!("{reader} {} {} {what}", row.id, one.target(row)),
            );
        };
        let samples = place.samples(row);
        for one in &samples {
            send(one, "as it is");
            for fields in &views {
                let mut all = one.clone();
                all.query.push(("opt_fields", fields.clone()));
                send(&all, "with all fields");
            }
        }
        let base = &samples[0];
        let mut alone = base.clone();
        alone.query.retain(|(name, _)| row.query.contains(name));
        send(&alone, "with no parameter but the required ones");
        for slot in query_slots(row) {
            for name in NAMED {
                let mut one = base.clone();
                one.query.retain(|(n, _)| *n != slot);
                one.query.push((slot, world.gid(name).to_string()));
                send(&one, name);
            }
        }
    }
}

fn check(answer: &Answer, words: &[&str], what: &str) {
    for word in words {
        let at = answer.text.find(word);
        assert!(
            at.is_none(),
            "{what}: {word} in {} {}",
            answer.status,
            answer.text
        );
    }
}

/// S111. Every row that reads, at everything there is, with all fields and by every parameter.
#[test]
fn no_read_gives_away_a_name() {
    let place = Place::new();
    for (reader, words) in READERS {
        read(&place, reader, &mut |answer, what| {
            check(answer, words, what)
        });
    }
}

/// The twin: who sees everything finds every name, so whoever else got one would have been noticed.
#[test]
fn who_sees_everything_is_given_every_name() {
    let place = Place::new();
    let mut left: BTreeSet<&str> = HIDDEN.iter().chain(MEMBERS).copied().collect();
    read(&place, "ada", &mut |answer, _| {
        left.retain(|word| !answer.text.contains(word));
    });
    assert!(left.is_empty(), "{left:?}");
}

/// The body fields of a row that something hidden is put into.
fn slots(row: &Operation) -> impl Iterator<Item = &'static str> {
    let fields = row.record().map_or(&[][..], |ty| resource(ty).fields);
    let written = |slot: &str| {
        let mut fields = fields.iter();
        fields.any(|def| def.name == slot && matches!(def.write, Write::Always | Write::OnCreate))
    };
    let all = body_slots(row).iter().copied();
    all.filter(move |slot| row.body.contains(slot) || written(slot))
}

/// S111. Every row that writes, at everything there is, naming hidden things wherever it names any.
#[test]
fn no_write_gives_away_a_name() {
    let mut place = Place::new();
    for row in all().filter(|row| row.method != Method::Get) {
        let views = row.record().map(everything).unwrap_or_default();
        for (reader, words) in &READERS[..2] {
            let mut done = false;
            let mut send = |place: &Place, mut one: Sample, what: &str| {
                let fields = views.first().map(|fields| ("opt_fields", fields.clone()));
                one.query.extend(fields);
                let answer = one.send(&place.world, reader, row);
                done |= answer.status < 300;
                let what = format!("{reader} {} {} {what}", row.id, one.target(row));
                check(&answer, words, &what);
            };
            let samples = place.samples(row);
            for one in samples.iter().rev() {
                send(&place, one.clone(), "as it is");
            }
            for slot in slots(row) {
                for name in NAMED {
                    for form in forms(slot, &place.world.gid(name).to_string()) {
                        let mut one = samples[0].clone();
                        one.put(slot, form);
                        send(&place, one, &format!("{slot}={name}"));
                    }
                }
            }
            if done {
                place.world.work();
                place = Place::new();
            }
        }
    }
}

/// S111. What is told later and elsewhere: events, deliveries, files, copies.
#[test]
fn nothing_that_is_told_or_made_gives_away_a_name() {
    let place = Place::new();
    let world = &place.world;
    let gid = |name: &str| world.gid(name).to_string();
    let fields = everything(Type::Event);
    let mut polls = Vec::new();
    for (reader, words) in &READERS[..2] {
        for at in ["meadow", "second"] {
            let target = format!("/events?resource={}", gid(at));
            let sync = world.get(reader, &target).json["sync"]
                .as_str()
                .unwrap()
                .to_owned();
            polls.push((reader, words, format!("{target}&sync={sync}")));
        }
        world.hook(reader, "meadow", &format!("/echo/{reader}"), Value::Null);
    }
    history(world, "second");
    world.call(
        "ada",
        "PUT",
        &format!("/tasks/{}", gid("second")),
        &json!({"parent": gid("h_task")}),
    );
    world.deliver();
    for (reader, words, target) in polls {
        for fields in fields
            .iter()
            .map(|f| format!("&opt_fields={f},resource.text,parent.name"))
        {
            let answer = world.get(reader, &format!("{target}{fields}"));
            assert!(
                answer.json["data"]
                    .as_array()
                    .is_some_and(|all| all.len() > 20),
                "{}",
                answer.text
            );
            check(&answer, words, &target);
        }
        let sent = format!("{:?}", world.receiver.got(&format!("/echo/{reader}")));
        assert!(
            sent.len() > 1_000 && words.iter().all(|word| !sent.contains(word)),
            "{sent}"
        );
    }
    // Files of exports and a copy of the shared task, made by moe.
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
        .run(world.graph.load(&Want::of(key).node(copy)))
        .unwrap();
    let body = view.node(copy).unwrap().body.replace("HIDDEN-words", "");
    assert!(
        body.contains("data-asana-gid") && !body.contains("HIDDEN"),
        "{body}"
    );
}

/// S111. A query for a hidden name is answered like one for a word that is nowhere.
#[test]
fn no_result_depends_on_a_hidden_name() {
    let place = Place::new();
    let world = &place.world;
    let orchid = world.gid("orchid");
    let kinds = [
        "custom_field",
        "project",
        "tag",
        "task",
        "team",
        "user",
        "project_template",
        "actor",
    ];
    let mut targets: Vec<String> = kinds
        .iter()
        .map(|kind| format!("/workspaces/{orchid}/typeahead?resource_type={kind}&count=100&query="))
        .collect();
    targets.push(format!("/workspaces/{orchid}/tasks/search?text="));
    let nowhere = |reader: &str, target: &str| world.get(reader, &format!("{target}Zzyzx")).text;
    let mut found = BTreeSet::new();
    for target in &targets {
        for (reader, words) in &READERS[..2] {
            for name in HIDDEN
                .iter()
                .chain(MEMBERS)
                .filter(|n| words.iter().any(|w| n.starts_with(w)))
            {
                let name = name.trim_end_matches('@');
                let answer = world.get(reader, &format!("{target}{name}"));
                assert_eq!(
                    answer.text,
                    nowhere(reader, target),
                    "{reader} {target}{name}"
                );
                let all = world.get("ada", &format!("{target}{name}"));
                found.extend((all.text != nowhere("ada", target)).then_some(name));
            }
        }
    }
    for name in [
        "HIDDEN-team",
        "HIDDEN-project",
        "HIDDEN-task",
        "HIDDEN-text",
        "MEMBERS-tag",
        "members-nia",
    ] {
        assert!(found.contains(name), "the twin finds {name}: {found:?}");
    }
    // And for a value of a hidden custom field.
    let date = world.gid("h_date");
    let ask = |reader: &str, day: &str| {
        let at = format!("/workspaces/{orchid}/tasks/search?custom_fields.{date}.value={day}");
        world.get(reader, &at).text
    };
    assert!(ask("ada", "2071-07-08").contains(&world.gid("shared").to_string()));
    for (reader, _) in &READERS[..2] {
        assert_eq!(
            ask(reader, "2071-07-08"),
            ask(reader, "2071-07-09"),
            "{reader}"
        );
    }
}

/// S109. The error for a name that is taken tells of fields that everybody sees.
#[test]
fn the_name_of_a_private_custom_field_is_free() {
    let place = Place::new();
    let world = &place.world;
    let field = |who: &str, name: &str, privacy: &str| {
        let data = json!({"workspace": world.gid("orchid").to_string(), "name": name,
            "resource_subtype": "text", "privacy_setting": privacy});
        world.post(who, "/custom_fields", data)
    };
    assert_eq!(field("moe", "HIDDEN-text", "public").status, 201);
    assert_eq!(field("moe", "HIDDEN-text", "private").status, 201);
    let again = field("moe", "HIDDEN-text", "public_with_guests");
    assert_eq!(again.status, 400, "{}", again.text);
    // Who opens a private one takes its name, and whoever closes one gives it up.
    let change = |name: &str, data: Value| {
        world
            .call(
                "ada",
                "PUT",
                &format!("/custom_fields/{}", world.gid(name)),
                &data,
            )
            .status
    };
    assert_eq!(change("h_text", json!({"privacy_setting": "public"})), 400);
    assert_eq!(change("h_text", json!({"name": "HIDDEN-new"})), 200);
    assert_eq!(change("h_text", json!({"privacy_setting": "public"})), 200);
    assert_eq!(field("moe", "HIDDEN-new", "public").status, 400);
    assert_eq!(change("h_text", json!({"privacy_setting": "private"})), 200);
    assert_eq!(field("moe", "HIDDEN-new", "public").status, 201);
}

/// S110. Whom and what guests see by themselves, and what they see of it where it is shared with them.
#[test]
fn guests_see_the_users_and_tags_that_they_share_something_with() {
    let place = Place::new();
    let world = &place.world;
    let (orchid, meadow) = (world.gid("orchid"), world.gid("meadow"));
    let users = [
        format!("/users?workspace={orchid}"),
        format!("/workspaces/{orchid}/users"),
        format!("/workspaces/{orchid}/typeahead?resource_type=user&count=100"),
    ];
    let gid = |name: &str| world.gid(name).to_string();
    for target in &users {
        let of = |reader: &str| BTreeSet::from_iter(world.get(reader, target).gids());
        // Ada made the meadow.
        assert_eq!(
            of("gus"),
            BTreeSet::from([gid("gus"), gid("ada")]),
            "{target}"
        );
        assert!(of("moe").contains(&gid("nia")), "{target}");
    }
    let seats = world.get(
        "gus",
        &format!("/workspaces/{orchid}/workspace_memberships"),
    );
    assert_eq!(seats.gids(), [gid("gus_seat")]);
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("nia"))).status,
        403
    );
    assert_eq!(
        world.get("gus", &format!("/users/{}", gid("ada"))).status,
        200
    );
    // Who comes into the meadow, alone or with a team, is seen from then on.
    for (member, name) in [("moe", "moe"), ("gardeners", "mel")] {
        let at = format!("/users/{}", gid(name));
        assert_eq!(world.get("gus", &at).status, 403, "{name}");
        let seat =
            json!({"parent": meadow.to_string(), "member": gid(member), "access_level": "viewer"});
        assert_eq!(world.post("ada", "/memberships", seat).status, 201);
        assert_eq!(world.get("gus", &at).status, 200, "{name}");
    }
    let shared = gid("shared");
    let tags = |reader: &str, target: String| world.get(reader, &target).gids();
    assert_eq!(tags("gus", format!("/tasks/{shared}/tags")), [gid("s_tag")]);
    let shown = world.get("gus", &format!("/tasks/{shared}")).json["data"]["tags"].clone();
    assert_eq!(shown[0]["name"], "Sunny");
    assert!(tags("gus", format!("/workspaces/{orchid}/tags")).is_empty());
    assert!(tags("moe", format!("/workspaces/{orchid}/tags")).contains(&gid("g_tag")));
    assert_eq!(
        world.get("gus", &format!("/tags/{}", gid("g_tag"))).status,
        403
    );
    // They take off what they see.
    let tag = |name: &str| json!({"tag": gid(name)});
    assert_eq!(
        world
            .post("gus", &format!("/tasks/{shared}/addTag"), tag("g_tag"))
            .status,
        403
    );
    assert_eq!(
        world
            .post("gus", &format!("/tasks/{shared}/removeTag"), tag("s_tag"))
            .status,
        200
    );
}
