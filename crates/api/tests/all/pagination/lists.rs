//! The lists of the API as pagers that can be walked and changed.
use super::{Ask, Page, Pager};
use crate::world::{Answer, Kind, World, all_scopes_but};
use serde_json::json;
use workgraph_api::ApiSettings;
use workgraph_core::access::Role;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{project, story};
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::ListPosition;
use workgraph_wire::KeyRing;

/// A kind of list. `{x}` in paths is the gid of the node named x.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    path: &'static str,
    other: &'static str,
    /// True if the unpaginated list is cut without an error.
    pub(super) silent: bool,
    /// True if all users that are not to be counted are removed first.
    clear: bool,
}

pub(super) static LISTS: &[Shape] = &[
    Shape {
        name: "tasks",
        path: "/projects/{shelf}/tasks?",
        other: "/projects/{garden}/tasks?",
        silent: false,
        clear: false,
    },
    Shape {
        name: "subtasks",
        path: "/tasks/{loose}/subtasks?",
        other: "/tasks/{water}/subtasks?",
        silent: false,
        clear: false,
    },
    Shape {
        name: "projects",
        path: "/workspaces/{attic}/projects?",
        other: "/workspaces/{orchid}/projects?",
        silent: false,
        clear: false,
    },
    Shape {
        name: "team users",
        path: "/users?team={crew}&",
        other: "/users?team={gardeners}&",
        silent: true,
        clear: true,
    },
    Shape {
        name: "tags",
        path: "/workspaces/{attic}/tags?",
        other: "/workspaces/{orchid}/tags?",
        silent: false,
        clear: false,
    },
    Shape {
        name: "stories",
        path: "/tasks/{loose}/stories?",
        other: "/tasks/{water}/stories?",
        silent: false,
        clear: false,
    },
    Shape {
        name: "alphabetical users",
        path: "/teams/{crew}/users?",
        other: "/teams/{gardeners}/users?",
        silent: true,
        clear: true,
    },
    Shape {
        name: "assigned tasks",
        path: "/tasks?assignee={mel}&workspace={orchid}&",
        other: "/tasks?assignee={moe}&workspace={orchid}&",
        silent: true,
        clear: false,
    },
];

/// A list in a world of its own.
pub(super) struct Listed {
    world: World,
    shape: &'static Shape,
    made: u64,
    tie: bool,
    keys: u16,
}

impl Listed {
    /// Builds a list with a number of items. With `tie` all have one name.
    pub(super) fn new(
        kind: Kind,
        shape: &'static Shape,
        size: usize,
        tie: bool,
        settings: ApiSettings,
    ) -> Self {
        let world = World::build(kind, settings, |f, names| {
            let (ada, mel) = (names["ada"], names["mel"]);
            // A workspace for the lists of a workspace; ada and mel belong to it too.
            let attic = f.with(|w| membership_rules::create_workspace(w, "Attic", true, false));
            f.add_workspace_member(ada, attic, Role::Admin);
            f.add_workspace_member(mel, attic, Role::Member);
            let shelf = f.project(names["orchid"], "Shelf", ada);
            let upper = f.section(shelf, names["orchid"], "Upper");
            let lower = f.section_in(shelf);
            let crew = f.team(names["orchid"], "Crew", ada);
            names.extend([
                ("attic".to_owned(), attic),
                ("shelf".to_owned(), shelf),
                ("upper".to_owned(), upper),
                ("lower".to_owned(), lower),
                ("crew".to_owned(), crew),
            ]);
            let orchid = names["orchid"];
            let mel_list = names["mel_list"];
            let mel_section = f.section_in(mel_list);
            // Items that are always there count: ada in the crew.
            let there = usize::from(shape.clear);
            for n in 0..size.saturating_sub(there) {
                let name = if tie {
                    "Same".to_owned()
                } else {
                    word(n as u64)
                };
                match shape.name {
                    "tasks" => {
                        f.task_in(if n % 3 == 0 { upper } else { lower }, &name, ada);
                    }
                    "subtasks" => {
                        f.subtask(names["loose"], &name, ada);
                    }
                    "projects" => {
                        f.with(|w| {
                            let mut draft = w.draft(Type::Project, Some(attic));
                            draft.set(project::NAME, name.as_str());
                            membership_rules::create_project(w, draft, ada)
                        });
                    }
                    "team users" | "alphabetical users" => {
                        let user = f.user(&name, &format!("u{n}@crew.test"));
                        f.add_workspace_member(user, orchid, Role::Member);
                        f.join_team(user, crew, orchid);
                    }
                    "tags" => {
                        f.tag(attic, &name);
                    }
                    "stories" => {
                        let gid = f.node(Type::Story, Some(orchid), |draft, now| {
                            draft.set(story::CREATED_AT, now);
                            draft.set(story::SUBTYPE, story::COMMENT);
                            draft.set(story::CREATED_BY, ada);
                            draft.set(story::TEXT, name.as_str());
                        });
                        f.link(
                            gid,
                            rel::STORY_OF,
                            names["loose"],
                            ListPosition::Rank(0),
                            None,
                        );
                    }
                    "assigned tasks" => {
                        let gid = f.task(orchid, &name, ada);
                        f.link(
                            gid,
                            rel::MY_TASKS,
                            mel_section,
                            ListPosition::Last,
                            Some(mel_list),
                        );
                    }
                    other => panic!("{other}"),
                }
            }
        });
        Self {
            world,
            shape,
            made: 0,
            tie,
            keys: 1,
        }
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        while let Some((before, rest)) = text.split_once('{') {
            let (name, after) = rest.split_once('}').unwrap();
            text = format!("{before}{}{after}", self.world.gid(name));
        }
        text
    }

    /// Returns the whole list as the API gives it.
    pub(super) fn ask_whole(&self) -> Answer {
        self.world.get("ada", &self.fill(self.shape.path))
    }

    fn act(&self, method: &str, target: &str, data: serde_json::Value) -> Answer {
        let answer = self.world.call("ada", method, &self.fill(target), &data);
        assert!(answer.status < 300, "{method} {target}: {}", answer.text);
        answer
    }
}

/// Returns a name from a number: in no order, sometimes the same in another case.
fn word(n: u64) -> String {
    let stem = ["Ash", "beech", "Cedar", "ash", "Ümlaut", "", "elm"][(n % 7) as usize];
    format!(
        "{stem}{}",
        if n.is_multiple_of(2) {
            String::new()
        } else {
            n.to_string()
        }
    )
}

impl Pager for Listed {
    fn page(&mut self, ask: &Ask<'_>) -> Result<Page, String> {
        let path = if ask.other_list {
            self.shape.other
        } else {
            self.shape.path
        };
        let mut target = format!("{}limit={}", self.fill(path), ask.limit);
        if let Some(offset) = ask.offset {
            target.push_str(&format!("&offset={offset}"));
        }
        if ask.other_filter {
            target.push_str("&archived=false");
        }
        if ask.other_fields {
            target.push_str("&opt_fields=gid");
        }
        let token = match (ask.other_user, ask.other_app) {
            (true, _) if path.contains("attic") => "mel".to_owned(),
            (true, _) => "robot".to_owned(),
            (_, true) => format!("ada[{}]", all_scopes_but("")),
            _ => "ada".to_owned(),
        };
        let answer = self.world.get(&token, &target);
        match answer.status {
            200 => {
                assert!(answer.json.get("next_page").is_some(), "{}", answer.text);
                Ok((answer.gids(), answer.next()))
            }
            400 => Err(answer.message().to_owned()),
            other => panic!("{other}: {}", answer.text),
        }
    }

    fn whole(&mut self) -> Vec<String> {
        self.ask_whole().gids()
    }

    fn insert(&mut self, seed: u64) {
        self.made += 1;
        let name = if self.tie {
            "Same".to_owned()
        } else {
            word(seed)
        };
        let shown = if name.is_empty() {
            "x".to_owned()
        } else {
            name
        };
        match self.shape.name {
            "tasks" => {
                let section = self.fill(if seed.is_multiple_of(2) {
                    "{upper}"
                } else {
                    "{lower}"
                });
                let made = self.act(
                    "POST",
                    "/tasks",
                    json!({"name": shown, "memberships": [{"project": self.fill("{shelf}"), "section": section}]}),
                );
                if seed.is_multiple_of(3) {
                    self.act(
                        "POST",
                        &format!("/sections/{section}/addTask"),
                        json!({"task": made.gid()}),
                    );
                }
            }
            "subtasks" => {
                let made = self.act("POST", "/tasks/{loose}/subtasks", json!({"name": shown}));
                if seed.is_multiple_of(3) {
                    let task = made.gid();
                    let parent = self.fill("{loose}");
                    self.act(
                        "POST",
                        &format!("/tasks/{task}/setParent"),
                        json!({"parent": parent, "insert_after": null}),
                    );
                }
            }
            "projects" => {
                self.act(
                    "POST",
                    "/workspaces/{attic}/projects",
                    json!({"name": shown}),
                );
            }
            "team users" | "alphabetical users" => {
                let email = format!(
                    "{}{}@new.test",
                    shown.to_lowercase().replace('ü', "u"),
                    self.made
                );
                let made = self.act(
                    "POST",
                    "/workspaces/{orchid}/addUser",
                    json!({"user": email}),
                );
                self.act("POST", "/teams/{crew}/addUser", json!({"user": made.gid()}));
            }
            "tags" => {
                self.act("POST", "/workspaces/{attic}/tags", json!({"name": shown}));
            }
            "stories" => {
                self.act("POST", "/tasks/{loose}/stories", json!({"text": shown}));
            }
            "assigned tasks" => {
                let data = json!({"name": shown, "workspace": self.fill("{orchid}"), "assignee": self.fill("{mel}")});
                self.act("POST", "/tasks", data);
            }
            other => panic!("{other}"),
        }
    }

    fn remove(&mut self, gid: &str) {
        match self.shape.name {
            "tasks" | "subtasks" | "assigned tasks" => {
                self.act("DELETE", &format!("/tasks/{gid}"), json!(null));
            }
            "projects" => {
                self.act("DELETE", &format!("/projects/{gid}"), json!(null));
            }
            "team users" | "alphabetical users" => {
                if gid != self.fill("{ada}") {
                    self.act("POST", "/teams/{crew}/removeUser", json!({"user": gid}));
                }
            }
            "tags" => {
                self.act("DELETE", &format!("/tags/{gid}"), json!(null));
            }
            "stories" => {
                self.act("DELETE", &format!("/stories/{gid}"), json!(null));
            }
            other => panic!("{other}"),
        }
    }

    fn edit(&mut self, gid: &str) -> bool {
        self.made += 1;
        let name = json!({"name": format!("{} renamed", ["A", "z"][(self.made % 2) as usize])});
        let path = match self.shape.name {
            "tasks" | "subtasks" | "assigned tasks" => "tasks",
            "projects" => "projects",
            "tags" => "tags",
            "stories" => {
                self.act(
                    "PUT",
                    &format!("/stories/{gid}"),
                    json!({"text": "Other words"}),
                );
                return false;
            }
            // Users rename themselves: through the store, as they would.
            _ => {
                self.world.rename_user(gid, name["name"].as_str().unwrap());
                return self.shape.name == "alphabetical users";
            }
        };
        self.act("PUT", &format!("/{path}/{gid}"), name);
        false
    }

    fn shift(&mut self, gid: &str, seed: u64) -> bool {
        match self.shape.name {
            "tasks" => {
                let section = if seed.is_multiple_of(2) {
                    "{upper}"
                } else {
                    "{lower}"
                };
                self.act(
                    "POST",
                    &format!("/sections/{section}/addTask"),
                    json!({"task": gid}),
                );
                true
            }
            "subtasks" => {
                let parent = self.fill("{loose}");
                let end = if seed.is_multiple_of(2) {
                    "insert_after"
                } else {
                    "insert_before"
                };
                self.act(
                    "POST",
                    &format!("/tasks/{gid}/setParent"),
                    json!({"parent": parent, end: null}),
                );
                true
            }
            _ => false,
        }
    }

    fn advance(&mut self, seconds: u64) {
        self.world.advance(seconds);
    }

    fn rotate(&mut self, retire: bool) {
        let key = |kid: u16| [u8::try_from(kid).unwrap() + 6; 32];
        let old = self.keys;
        if !retire {
            self.keys += 1;
        }
        let mut ring = KeyRing::new(self.keys, key(self.keys));
        if retire {
            ring.add(old - 1, key(old - 1)).unwrap();
            ring.retire(old - 1).unwrap();
        } else {
            ring.add(old, key(old)).unwrap();
        }
        self.world
            .restart(ring, u8::try_from(self.keys).unwrap() + u8::from(retire));
    }
}
