//! Two tenants with a node of each kind, and the words that must not go from one to the other.
use super::*;

/// Builds both tenants.
pub(super) fn tenants(f: &mut Fixture, names: &mut BTreeMap<String, Gid>) {
    let mut put =
        |name: &str, gid: Gid| assert!(names.insert(name.to_owned(), gid).is_none(), "{name}");

    let orchid = f.workspace("Orchid");
    put("orchid", orchid);
    let member = |f: &mut Fixture, name: &str, workspace: Gid, role: Role| {
        let shown = name[..1].to_uppercase() + &name[1..];
        let user = f.user(
            &format!(
                "{shown} of {}",
                if workspace == orchid {
                    "Orchid"
                } else {
                    "Basalt"
                }
            ),
            &format!(
                "{name}@{}.test",
                if workspace == orchid {
                    "orchid"
                } else {
                    "basalt"
                }
            ),
        );
        let membership = f.add_workspace_member(user, workspace, role);
        (user, membership)
    };
    let mut people = BTreeMap::new();
    for (name, role) in [
        ("ada", Role::Admin),
        ("mel", Role::Member),
        ("moe", Role::Member),
        ("gus", Role::Guest),
        ("vic", Role::Member),
    ] {
        let (user, membership) = member(f, name, orchid, role);
        put(name, user);
        put(&format!("{name}_seat"), membership);
        put(&format!("{name}_list"), f.task_list(user, orchid));
        people.insert(name, user);
    }
    // Vic's membership is view-only.
    f.with(|work| {
        let writes = work.changes.node_writes.iter_mut().rev();
        for put in writes {
            if put.node.ty == Type::WorkspaceMembership {
                let body = put.node.body.replacen('{', "{\"is_view_only\":true,", 1);
                put.node.body = body.into();
                break;
            }
        }
    });
    let robot = f.user("Robot of Orchid", "robot@orchid.test");
    put("robot", robot);
    let (ada, mel, moe, gus) = (people["ada"], people["mel"], people["moe"], people["gus"]);

    let gardeners = f.with(|work| {
        let mut draft = work.draft(Type::Team, Some(orchid));
        draft.set(team::NAME, "Gardeners");
        draft.set(team::VISIBILITY, "secret");
        membership::create_team(work, draft, Some(ada))
    });
    put("gardeners", gardeners);
    put("mel_in_gardeners", f.join_team(mel, gardeners, orchid));
    let commons = f.with(|work| {
        let mut draft = work.draft(Type::Team, Some(orchid));
        draft.set(team::NAME, "Commons");
        draft.set(team::VISIBILITY, "public");
        membership::create_team(work, draft, Some(mel))
    });
    put("commons", commons);

    // An open project, one for a team, one for its members.
    let garden = f.project(orchid, "Garden", ada);
    put("garden", garden);
    put(
        "gus_in_garden",
        f.share(garden, orchid, gus, Level::Commenter),
    );
    let herbs = f.with(|work| {
        let mut draft = work.draft(Type::Project, Some(orchid));
        draft.set(project::NAME, "Herbs");
        draft.set(project::PRIVACY, "private_to_team");
        membership::create_project(work, draft, ada)
    });
    f.link(herbs, rel::TEAM, gardeners, ListPosition::Rank(0), None);
    put("herbs", herbs);
    let moss = f.private_project(orchid, "Moss", ada);
    put("moss", moss);

    let beds = f.section_in(garden);
    put("beds", beds);
    let paths = f.section(garden, orchid, "Paths");
    put("paths", paths);
    put("herb_bed", f.section_in(herbs));
    put("moss_bed", f.section_in(moss));

    let water = f.task_in(beds, "Water the roses", ada);
    put("water", water);
    put("rake", f.task_in(paths, "Rake the gravel", mel));
    put("water_buds", f.subtask(water, "Count the buds", ada));
    put("mint", f.task_in(f.section_in(herbs), "Cut the mint", ada));
    put(
        "lichen",
        f.task_in(f.section_in(moss), "Scrape the lichen", ada),
    );
    put("loose", f.task(orchid, "Loose leaf", ada));
    for (task, person) in [(water, ada), (water, mel)] {
        f.link(task, rel::FOLLOWERS, person, ListPosition::Rank(0), None);
    }
    let (vigor, options) =
        f.custom_field(orchid, "Vigor", CustomFieldType::Enum, &["Lush", "Wilted"]);
    put("vigor", vigor);
    put("lush", options[0]);
    put("wilted", options[1]);
    put("vigor_in_moss", f.field_on(vigor, moss, orchid));
    let urgent = f.tag(orchid, "Thirsty");
    put("thirsty", urgent);
    f.link(water, rel::TAGS, urgent, ListPosition::Rank(0), None);
    put(
        "water_note",
        comment(f, orchid, water, mel, "The roses are dry"),
    );
    f.link(
        water,
        rel::DEPENDS,
        names_of(names, "rake"),
        ListPosition::Rank(0),
        None,
    );
    f.link(ada, rel::FAVORITES, garden, ListPosition::Rank(0), None);
    f.link(moe, rel::FAVORITES, garden, ListPosition::Rank(0), None);
    garden_member(f, names, garden, ada);

    let mut put =
        |name: &str, gid: Gid| assert!(names.insert(name.to_owned(), gid).is_none(), "{name}");
    let basalt = f.with(|work| membership::create_workspace(work, "Basalt", false, false));
    put("basalt", basalt);
    for (name, role) in [("bob", Role::Admin), ("ben", Role::Member)] {
        let (user, membership) = member(f, name, basalt, role);
        put(name, user);
        put(&format!("{name}_seat"), membership);
        put(&format!("{name}_list"), f.task_list(user, basalt));
        people.insert(name, user);
    }
    let (bob, ben) = (people["bob"], people["ben"]);
    // Basalt is no organization, but a team there must stay as foreign as any other node.
    let miners = f.team(basalt, "Miners", bob);
    put("miners", miners);
    put("ben_in_miners", f.join_team(ben, miners, basalt));
    let quarry = f.project(basalt, "Quarry", bob);
    put("quarry", quarry);
    put("ben_in_quarry", f.share(quarry, basalt, ben, Level::Editor));
    let pit = f.section_in(quarry);
    put("pit", pit);
    put("ramp", f.section(quarry, basalt, "Ramp"));
    let blast = f.task_in(pit, "Blast the granite", bob);
    put("blast", blast);
    put("haul", f.task_in(pit, "Haul the gneiss", bob));
    put("blast_fuse", f.subtask(blast, "Lay the fuse wire", bob));
    f.link(blast, rel::FOLLOWERS, bob, ListPosition::Rank(0), None);
    let hard = f.tag(basalt, "Brittle");
    put("brittle", hard);
    f.link(blast, rel::TAGS, hard, ListPosition::Rank(0), None);
    put(
        "blast_note",
        comment(f, basalt, blast, ben, "The schist crumbles"),
    );
    f.link(bob, rel::FAVORITES, quarry, ListPosition::Rank(0), None);
    // This is from the time when Basalt was paid.
    let (grain, options) = f.custom_field(
        basalt,
        "Grain",
        CustomFieldType::Enum,
        &["Coarse", "Vesicular"],
    );
    put("grain", grain);
    put("coarse", options[0]);
    put("vesicular", options[1]);
    put("grain_in_quarry", f.field_on(grain, quarry, basalt));
    for (name, title, workspace, person, at) in [
        ("plot_plan", "Plot plan", orchid, ada, None),
        ("dig_plan", "Ramp plan", basalt, bob, None),
        ("weeding", "Weed the garden", orchid, ada, Some(garden)),
        ("drilling", "Drill the granite", basalt, bob, Some(quarry)),
    ] {
        let ty = match at {
            Some(_) => Type::TaskTemplate,
            None => Type::ProjectTemplate,
        };
        let gid = f.node(ty, Some(workspace), |draft, now| match at {
            Some(project) => {
                draft.set(task_template::NAME, title);
                draft.set(task_template::PROJECT, project);
                draft.set(task_template::CREATED_BY, person);
                draft.set(task_template::CREATED_AT, now);
                let recipe = format!(
                    r#"{{"name":"{title}","task_resource_subtype":"default_task","description":"By hand","relative_due_on":3,"subtasks":[{{"name":"Get the tools","task_resource_subtype":"approval_task"}}]}}"#
                );
                draft.set(task_template::TEMPLATE, recipe);
            }
            None => {
                draft.set(project_template::NAME, title);
                draft.set(project_template::OWNER, person);
            }
        });
        if let Some(project) = at {
            f.link(gid, rel::TEMPLATE_OF, project, ListPosition::Rank(0), None);
        }
        put(name, gid);
    }
    for (name, workspace, person) in [("ada_job", orchid, ada), ("bob_job", basalt, bob)] {
        let gid = f.node(Type::Job, Some(workspace), |draft, _| {
            draft.set(job::CREATED_BY, person);
            draft.set(job::STATUS, "succeeded");
        });
        put(name, gid);
    }
    for (name, title, workspace, by, task) in [
        ("receipt", "Receipt for the roses", orchid, ada, water),
        ("blast_map", "Map of the granite", basalt, bob, blast),
    ] {
        let gid = f.node(Type::Attachment, Some(workspace), |draft, now| {
            draft.set(attachment::NAME, title);
            draft.set(attachment::SUBTYPE, attachment::EXTERNAL);
            draft.set(attachment::URL, "https://files.test/1");
            draft.set(attachment::CREATED_AT, now);
            draft.set(attachment::CREATED_BY, by);
        });
        f.link(gid, rel::ATTACHED_TO, task, ListPosition::Rank(0), None);
        put(name, gid);
    }
    for (name, workspace) in [("orchid_export", orchid), ("basalt_export", basalt)] {
        let gid = f.node(Type::OrganizationExport, Some(workspace), |draft, now| {
            draft.set(export::CREATED_AT, now);
        });
        put(name, gid);
    }
    for (name, project, workspace, person, title) in [
        ("moss_status", moss, orchid, ada, "The Moss is damp"),
        ("quarry_status", quarry, basalt, bob, "The Quarry is dry"),
    ] {
        let gid = f.with(|work| {
            let mut draft = work.draft(Type::StatusUpdate, Some(workspace));
            draft.set(status_update::TITLE, title);
            draft.set(status_update::SUBTYPE, "project_status_update");
            draft.set(status_update::PARENT, project);
            draft.set(status_update::CREATED_BY, person);
            draft.set(status_update::CREATED_AT, work.now);
            status_rules::add_status(work, &draft, project)
        });
        put(name, gid);
    }
    let of_orchid = portfolio(f, "Garden works", moss, (ada, mel), orchid);
    for (name, gid) in ["works", "mel_in_works", "moss_in_works"]
        .into_iter()
        .zip(of_orchid)
    {
        put(name, gid);
    }
    let of_basalt = portfolio(f, "Quarry works", quarry, (bob, ben), basalt);
    for (name, gid) in ["quarry_works", "ben_in_works", "quarry_in_works"]
        .into_iter()
        .zip(of_basalt)
    {
        put(name, gid);
    }
}

/// Builds a portfolio with a member and a project; returns the three nodes.
fn portfolio(
    f: &mut Fixture,
    name: &str,
    project: Gid,
    (owner, member): (Gid, Gid),
    home: Gid,
) -> [Gid; 3] {
    f.with(|work| {
        let mut draft = work.draft(Type::Portfolio, Some(home));
        draft.set(portfolio::NAME, name);
        let gid = portfolio_rules::create_portfolio(work, draft, owner);
        let seat = PORTFOLIOS.join(work, member, gid, home, Level::Viewer);
        let item = (project, Type::Project);
        portfolio_rules::add_item(work, item, (gid, Some(home)), ListPosition::Last);
        let edge = work.changes.edge_writes.last().unwrap();
        [gid, seat, edge.aux.unwrap()]
    })
}

fn names_of(names: &BTreeMap<String, Gid>, name: &str) -> Gid {
    names[name]
}

/// Returns the membership that was created with a project.
fn garden_member(f: &mut Fixture, names: &mut BTreeMap<String, Gid>, project: Gid, user: Gid) {
    f.with(|work| {
        let mut links = work.changes.edge_writes.iter();
        let link = links.find(|l| l.src == project && l.rel == rel::MEMBERS && l.dst == user);
        names.insert(
            "ada_in_garden".to_owned(),
            link.and_then(|l| l.aux).unwrap(),
        );
    });
}

fn comment(f: &mut Fixture, workspace: Gid, on: Gid, by: Gid, text: &str) -> Gid {
    let gid = f.node(Type::Story, Some(workspace), |draft, now| {
        draft.set(story::CREATED_AT, now);
        draft.set(story::SUBTYPE, story::COMMENT);
        draft.set(story::CREATED_BY, by);
        draft.set(story::TEXT, text);
    });
    f.link(gid, rel::STORY_OF, on, ListPosition::Rank(0), None);
    gid
}

/// Returns true if a named node belongs to the tenant of the plants.
pub(crate) fn is_orchid(name: &str) -> bool {
    if name.starts_with("basalt_") {
        return false;
    }
    !matches!(
        name,
        "basalt"
            | "bob"
            | "ben"
            | "bob_seat"
            | "ben_seat"
            | "bob_list"
            | "ben_list"
            | "miners"
            | "ben_in_miners"
            | "quarry"
            | "ben_in_quarry"
            | "pit"
            | "ramp"
            | "blast"
            | "haul"
            | "blast_fuse"
            | "brittle"
            | "blast_note"
            | "grain"
            | "coarse"
            | "vesicular"
            | "grain_in_quarry"
            | "bob_job"
            | "dig_plan"
            | "drilling"
            | "quarry_status"
            | "blast_map"
            | "quarry_works"
            | "ben_in_works"
            | "quarry_in_works"
    )
}

/// Names that must never reach the other tenant.
pub(crate) const ORCHID_WORDS: &[&str] = &[
    "Orchid",
    "orchid.test",
    "Gardeners",
    "Commons",
    "Garden",
    "Herbs",
    "Moss",
    "Paths",
    "roses",
    "gravel",
    "buds",
    "mint",
    "lichen",
    "Loose leaf",
    "Thirsty",
    "Vigor",
    "Lush",
    "Wilted",
    "Pruning",
    "Sepals",
    "Petals",
];
/// Names that must never reach the other tenant.
pub(crate) const BASALT_WORDS: &[&str] = &[
    "Basalt",
    "basalt.test",
    "Miners",
    "Quarry",
    "Ramp",
    "granite",
    "gneiss",
    "fuse wire",
    "Brittle",
    "schist",
    "Grain",
    "Coarse",
    "Vesicular",
    "Shale work",
    "Magma",
    "Lava",
];
