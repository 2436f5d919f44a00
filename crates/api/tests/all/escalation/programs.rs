//! Random programs of operations that give access, by users of every kind, over one graph. After each operation nobody has
//! more access than before, or than who made it had; and no setting is changed by whom it binds. At the end an admin takes
//! what she sees, and nothing is left.
use crate::random_requests::Numbers;
use crate::world::{Kind, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workgraph_core::Gid;
use workgraph_core::access::Level;

/// Programs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PROGRAMS: u64 = 12;
const OPERATIONS: usize = 30;
/// Users whose access is measured.
pub(super) const USERS: [&str; 5] = ["ada", "mel", "moe", "gus", "vic"];
/// Those who act: a member of the team, a member, an app of theirs, a guest, a view-only member, an admin, a service account.
pub(super) const CALLERS: [&str; 7] = [
    "mel",
    "moe",
    "moe[projects:read,projects:write,tasks:read,tasks:write,stories:read,stories:write,portfolios:read,portfolios:write,project_portfolio_settings:read,project_portfolio_settings:write,team_memberships:read]",
    "gus",
    "vic",
    "ada",
    "robot",
];
/// The service account, which no operation of a program locks out.
pub(super) const ROOT: &str = "robot";
const LEVELS: [&str; 4] = ["viewer", "commenter", "editor", "admin"];

/// A kind of operation, which a broken twin runs without asking who calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gate {
    /// Access that a portfolio gives, which outlives that of who gave it.
    Inherited,
    /// Settings that restrict somebody.
    Settings,
    /// Joining and following.
    Joining,
    /// Letting others in where only admins share.
    Sharing,
    /// The usual level of new members.
    UsualLevel,
}

type Levels = BTreeMap<(&'static str, String), Level>;

/// A world with its objects, and what is known of them.
struct Scene {
    world: World,
    projects: Vec<String>,
    tasks: Vec<String>,
    portfolios: Vec<(String, &'static str)>,
    settings: Vec<String>,
    team: String,
    /// The highest level with which each user was made a follower of each task.
    given: Levels,
    twin: Option<Gate>,
}

impl Scene {
    fn new(twin: Option<Gate>) -> Self {
        let world = World::new(Kind::Memory);
        let gid = |name: &str| world.gid(name).to_string();
        let mut scene = Self {
            projects: ["garden", "moss"].map(gid).to_vec(),
            tasks: ["water", "lichen"].map(gid).to_vec(),
            portfolios: Vec::new(),
            settings: Vec::new(),
            team: gid("gardeners"),
            given: Levels::new(),
            twin,
            world,
        };
        for owner in ["moe", "mel"] {
            let data = json!({"name": "Beds", "workspace": scene.gid("orchid")});
            let made = scene.world.post(owner, "/portfolios", data).gid();
            scene.portfolios.push((made, owner));
        }
        for (member, level) in [("mel", "editor"), ("gus", "commenter")] {
            let member = scene.gid(member);
            let data =
                json!({"parent": scene.projects[1], "member": member, "access_level": level});
            assert_eq!(scene.world.post("ada", "/memberships", data).status, 201);
        }
        scene
    }

    fn gid(&self, name: &str) -> String {
        self.world.gid(name).to_string()
    }

    fn objects(&self) -> Vec<String> {
        let portfolios = self.portfolios.iter().map(|(gid, _)| gid);
        let plain = self.projects.iter().chain(&self.tasks);
        plain
            .chain(portfolios)
            .chain([&self.team])
            .cloned()
            .collect()
    }

    /// Returns the level of each user on each object.
    fn levels(&self) -> Levels {
        let mut levels = Levels::new();
        for user in USERS {
            let objects = self.objects();
            let gids = objects.iter().map(|object| Gid::parse(object).unwrap());
            let view = self.world.view(user, gids);
            for object in objects {
                let mut level = view.level(Gid::parse(&object).unwrap());
                if self.tasks.contains(&object) {
                    // Nothing of a task asks for more, so its creator has no more, even as an admin of its project.
                    level = level.min(Level::Editor);
                }
                levels.insert((user, object), level);
            }
        }
        levels
    }

    /// Returns the stored words of the settings that restrict somebody.
    fn words(&self) -> BTreeMap<(String, &'static str), Value> {
        let mut words = BTreeMap::new();
        let of_projects = [
            "minimum_access_level_for_sharing",
            "minimum_access_level_for_customization",
            "default_access_level",
        ];
        let of_teams = ["member_invite_management_access_level"];
        let projects = self
            .projects
            .iter()
            .map(|gid| ("projects", gid, &of_projects[..]));
        for (path, gid, names) in projects.chain([("teams", &self.team, &of_teams[..])]) {
            let path = format!("/{path}/{gid}?opt_fields={}", names.join(","));
            let shown = self.world.get(ROOT, &path).json;
            for name in names {
                words.insert((gid.clone(), *name), shown["data"][*name].clone());
            }
        }
        words
    }

    /// Returns a random operation: its gate, method, path and body.
    fn operation(
        &mut self,
        numbers: &mut Numbers,
        caller: &str,
    ) -> (Gate, &'static str, String, Value) {
        let project = numbers.pick(&self.projects).clone();
        let task = numbers.pick(&self.tasks).clone();
        let portfolio = numbers.pick(&self.portfolios).0.clone();
        let me = caller.split('[').next().unwrap();
        let user = match numbers.below(3) {
            0 => me,
            _ => *numbers.pick(&USERS),
        };
        let user = self.gid(user);
        let own = user == self.gid(me);
        let joining = if own { Gate::Joining } else { Gate::Sharing };
        let level = *numbers.pick(&LEVELS);
        let word = *numbers.pick(&["admin", "editor"]);
        let post = "POST";
        match numbers.below(17) {
            0 => {
                let parent = numbers.pick(&[&project, &portfolio]).to_string();
                let data = json!({"parent": parent, "member": user, "access_level": level});
                (Gate::Sharing, post, "/memberships".to_owned(), data)
            }
            1 => (
                joining,
                post,
                format!("/projects/{project}/addMembers"),
                json!({"members": [user]}),
            ),
            2 => (
                joining,
                post,
                format!("/projects/{project}/addFollowers"),
                json!({"followers": [user]}),
            ),
            3 => (
                joining,
                post,
                format!("/portfolios/{portfolio}/addMembers"),
                json!({"members": [user]}),
            ),
            4 => (
                joining,
                post,
                format!("/tasks/{task}/addFollowers"),
                json!({"followers": [user]}),
            ),
            5 => (
                joining,
                post,
                format!("/tasks/{task}/stories"),
                json!({"text": "Hm"}),
            ),
            6 => {
                let privacy = *numbers.pick(&["private", "public_to_workspace", "private_to_team"]);
                (
                    Gate::Sharing,
                    "PUT",
                    format!("/projects/{project}"),
                    json!({"privacy_setting": privacy}),
                )
            }
            7 | 8 => {
                let name = *numbers.pick(&[
                    "minimum_access_level_for_sharing",
                    "minimum_access_level_for_customization",
                ]);
                (
                    Gate::Settings,
                    "PUT",
                    format!("/projects/{project}"),
                    json!({name: word}),
                )
            }
            9 => (
                Gate::UsualLevel,
                "PUT",
                format!("/projects/{project}"),
                json!({"default_access_level": level}),
            ),
            10 => (
                Gate::Sharing,
                "PUT",
                format!("/projects/{project}"),
                json!({"team": self.team}),
            ),
            11 => {
                let word = *numbers.pick(&["all_team_members", "only_team_admins"]);
                let data = json!({"member_invite_management_access_level": word});
                (Gate::Settings, "PUT", format!("/teams/{}", self.team), data)
            }
            12 => (
                Gate::Inherited,
                post,
                format!("/portfolios/{portfolio}/addItem"),
                json!({"item": project}),
            ),
            13 | 14 if !self.settings.is_empty() => {
                let setting = numbers.pick(&self.settings);
                let data = json!({"is_access_control_inherited": numbers.below(4) > 0});
                (
                    Gate::Inherited,
                    "PUT",
                    format!("/project_portfolio_settings/{setting}"),
                    data,
                )
            }
            15 => (
                Gate::Sharing,
                post,
                format!("/projects/{project}/removeMembers"),
                json!({"members": [user]}),
            ),
            16 => (
                joining,
                post,
                format!("/tasks/{task}/removeFollowers"),
                json!({"followers": [user]}),
            ),
            _ => (
                Gate::UsualLevel,
                post,
                "/access_requests".to_owned(),
                json!({"target": project}),
            ),
        }
    }

    /// Returns the token with which an operation runs: that of the caller, or in a broken twin one that may do anything.
    fn token<'c>(&self, gate: Gate, path: &str, caller: &'c str) -> &'c str {
        match self.twin {
            Some(Gate::Inherited) if path.starts_with("/project_portfolio_settings") => ROOT,
            Some(twin) if twin == gate && gate != Gate::Inherited => "ada",
            _ => caller,
        }
    }

    /// Runs one operation; returns what is wrong with its outcome.
    fn step(&mut self, numbers: &mut Numbers) -> Result<(), String> {
        let caller = *numbers.pick(&CALLERS);
        let me = caller.split('[').next().unwrap();
        let (gate, method, path, mut data) = self.operation(numbers, caller);
        // What she gives stands until she ends it, so that the last check is of the others.
        if gate == Gate::Inherited && ["ada", ROOT].contains(&me) {
            return Ok(());
        }
        let token = self.token(gate, &path, caller);
        if token != caller {
            // The users of an unchecked operation are those of the caller's.
            data =
                serde_json::from_str(&data.to_string().replace("\"me\"", &self.gid(me))).unwrap();
        }
        let (before, words) = (self.levels(), self.words());
        let answer = self.world.call(token, method, &path, &data);
        if answer.status >= 300 {
            return Ok(());
        }
        if path == "/access_requests" {
            let approve = format!("/access_requests/{}/approve", answer.gid());
            self.world.post(ROOT, &approve, json!({}));
            return self.no_new_admin(&before, &self.levels());
        }
        if path.ends_with("/addItem") {
            self.settings = self.listed_settings();
        }
        let own = |object: &str| match me {
            ROOT => Level::Admin,
            _ => {
                *before
                    .iter()
                    .find(|((user, of), _)| *user == me && of == object)
                    .unwrap()
                    .1
            }
        };
        if path.ends_with("/addFollowers") && path.starts_with("/tasks") {
            for user in USERS.into_iter().filter(|user| *user != me) {
                let task = path.split('/').nth(2).unwrap();
                if data["followers"][0] == json!(self.gid(user)) {
                    let given = self.given.entry((user, task.to_owned())).or_default();
                    *given = own(task).min(Level::Editor).max(*given);
                }
            }
        }
        let wrong = |what: String| Err(format!("{what} by {me}: {method} {path} {data}"));
        for (at, after) in self.levels() {
            let (user, object) = (at.0, at.1.as_str());
            let given = self.given.get(&at).copied().unwrap_or_default();
            let most = before[&at].max(own(object)).max(given);
            if after > most {
                return wrong(format!(
                    "{user} has {after:?} on {object} in place of {most:?}"
                ));
            }
            let reserved = words
                .get(&(object.to_owned(), "minimum_access_level_for_sharing"))
                .is_some_and(|word| word == "admin");
            if reserved && after > before[&at] && own(object) < Level::Admin {
                return wrong(format!(
                    "{user} was let into {object}, where only admins share,"
                ));
            }
        }
        for ((object, name), word) in self.words() {
            if words[&(object.clone(), name)] == word {
                continue;
            }
            let level = LEVELS
                .iter()
                .position(|l| word == *l)
                .map_or(4, |at| at + 1);
            let least = match name {
                "default_access_level" => Level::from_rank(level as i64).max(Level::Editor),
                _ => Level::Admin,
            };
            if own(&object) < least {
                return wrong(format!("{name} of {object} was changed"));
            }
        }
        Ok(())
    }

    /// An approval makes nobody an admin.
    fn no_new_admin(&self, before: &Levels, after: &Levels) -> Result<(), String> {
        let new = |(at, level): &(&(&str, String), &Level)| {
            **level == Level::Admin && before[*at] < Level::Admin
        };
        match after.iter().find(new) {
            Some((at, _)) => Err(format!("an approval made {} an admin", at.0)),
            None => Ok(()),
        }
    }

    fn listed_settings(&self) -> Vec<String> {
        let lists = self.portfolios.iter().map(|(portfolio, owner)| {
            let path = format!("/portfolios/{portfolio}/project_portfolio_settings");
            let listed = self.world.get(owner, &path);
            if listed.status == 200 {
                listed.gids()
            } else {
                Vec::new()
            }
        });
        lists.flatten().collect()
    }

    /// Makes the projects private and removes all members and followers that the admin sees; then nobody else reads a
    /// part of them.
    fn end(&self) -> Result<(), String> {
        let world = &self.world;
        for project in &self.projects {
            let at = format!("/projects/{project}");
            let closed = json!({"privacy_setting": "private", "owner": self.gid("ada")});
            let closed = world.call(ROOT, "PUT", &at, &closed);
            assert_eq!(closed.status, 200, "{}", closed.text);
            let path = format!("/memberships?parent={project}&limit=100&opt_fields=member");
            let members = world.get(ROOT, &path).json;
            for membership in members["data"].as_array().unwrap() {
                if membership["member"]["gid"] != json!(self.gid("ada")) {
                    let path = format!("/memberships/{}", membership["gid"].as_str().unwrap());
                    let gone = world.call(ROOT, "DELETE", &path, &Value::Null);
                    assert_eq!(gone.status, 200, "{}", gone.text);
                }
            }
        }
        for task in &self.tasks {
            let shown = world
                .get(ROOT, &format!("/tasks/{task}?opt_fields=followers"))
                .json;
            let followers = shown["data"]["followers"].as_array().unwrap().iter();
            let followers: Vec<&Value> = followers.map(|follower| &follower["gid"]).collect();
            let path = format!("/tasks/{task}/removeFollowers");
            let gone = world.post(ROOT, &path, json!({"followers": followers}));
            assert_eq!(gone.status, 200, "{}", gone.text);
        }
        let parts: Vec<&String> = self.projects.iter().chain(&self.tasks).collect();
        for ((user, object), level) in self.levels() {
            if user != "ada" && parts.contains(&&object) && level > Level::None {
                return Err(format!("{user} is left with {level:?} on {object}"));
            }
        }
        Ok(())
    }
}

/// Runs programs until one goes wrong; returns what went wrong.
fn run(twin: Option<Gate>, programs: u64) -> Result<(), String> {
    for seed in 0..programs {
        let mut scene = Scene::new(twin);
        let mut numbers = Numbers(seed);
        for _ in 0..OPERATIONS {
            scene
                .step(&mut numbers)
                .map_err(|wrong| format!("program {seed}: {wrong}"))?;
        }
        scene
            .end()
            .map_err(|wrong| format!("program {seed}: {wrong}"))?;
    }
    Ok(())
}

#[test]
fn nobody_ends_with_more_access_than_somebody_who_had_it_gave() {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    let times = times.map_or(1, |text| text.parse::<u64>().unwrap());
    assert_eq!(run(None, PROGRAMS * times), Ok(()));
}

#[test]
fn a_twin_whose_gates_do_not_ask_who_calls_is_found() {
    for twin in [
        Gate::Inherited,
        Gate::Settings,
        Gate::Joining,
        Gate::Sharing,
        Gate::UsualLevel,
    ] {
        assert!(run(Some(twin), 200).is_err(), "{twin:?}");
    }
}
