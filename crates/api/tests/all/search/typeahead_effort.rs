//! Typeahead over names as people write them: it finds what a look at every name finds, and reads little for it.
use crate::world::{KINDS, Kind, World};
use workgraph_api::ApiSettings;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task;
use workgraph_core::model::time::Time;

const TASKS: usize = 6_000;
/// Number of tasks that only their author sees.
const HIDDEN: u32 = 1_000;
/// Number of matches in a reply.
const COUNT: usize = 20;
/// Most rows that any query may read: the lists of its words until one of them ends, and times of change of that one.
const MOST: u64 = 3 * TASKS as u64;
/// Most rows that a query may read which has a rare word, however common the others are.
const RARE: u64 = TASKS as u64 / 2;

/// Names are numbered; every second one is like any other, as copies and imports make them.
fn name(number: usize) -> String {
    let verbs = ["Review", "Fix", "Design", "Plan", "Write"];
    let nouns = [
        "budget",
        "bug",
        "page",
        "quarter report",
        "team update",
        "C# → €",
    ];
    match number % 2 {
        0 => format!("Task {number}"),
        _ => format!(
            "{} {} {number}",
            verbs[number / 2 % verbs.len()],
            nouns[number / 10 % nouns.len()]
        ),
    }
}

/// Queries, and whether one of their words begins few words of names.
const QUERIES: [(&str, bool); 33] = [
    ("t", false),
    ("task", false),
    ("Task 1", false),
    ("T 1", false),
    ("t 9", false),
    ("Task 12", true),
    ("Task 1234", true),
    ("task 123 t", true),
    ("1", false),
    ("12", true),
    ("123", true),
    ("1 2", false),
    ("t 1 9", false),
    ("task t", false),
    ("9 task", false),
    ("review", false),
    ("re", false),
    ("r t", false),
    ("re bu", false),
    ("review budget 15", true),
    ("plan q", false),
    ("p", false),
    ("des pa 77", true),
    ("fix bug 41", true),
    ("f b", false),
    ("b 4 f", false),
    ("zzz", true),
    ("task zzz", true),
    ("x", true),
    ("c#", false),
    ("→", false),
    ("€ 17", true),
    ("task 12 12345", true),
];

fn world() -> World {
    World::build(Kind::Sqlite, ApiSettings::default(), |fixture, names| {
        let (workspace, ada) = (names["orchid"], names["ada"]);
        let past = fixture.now().millis() - 50 * 86_400_000;
        for number in 0..TASKS {
            let at = Time::from_millis(past + number as i64);
            fixture.with(|work| {
                let mut draft = Draft::new(Type::Task, work.next_gid(), Some(workspace));
                draft.set(task::NAME, name(number).as_str());
                draft.set(task::CREATED_AT, at);
                draft.set(task::MODIFIED_AT, at);
                draft.set(task::CREATED_BY, ada);
                work.create(&draft, Some(workspace))
            });
        }
    })
}

/// Returns the numbers of the tasks of which words of the name begin with each word, the newest first.
fn expected(query: &str) -> Vec<usize> {
    let cut = |text: &str| -> Vec<String> {
        let text = text.to_lowercase().replace('#', " # ");
        text.split_whitespace().map(str::to_owned).collect()
    };
    let wanted = cut(query);
    let fits = |number: &usize| {
        let words = cut(&name(*number));
        let has = |start: &String| words.iter().any(|word| word.starts_with(start.as_str()));
        wanted.iter().all(has)
    };
    (0..TASKS).rev().filter(fits).take(COUNT).collect()
}

/// Returns what a request of moe costs, with its reply.
fn cost(world: &World, target: &str) -> (u32, Vec<String>) {
    let mut request = world.request("moe", "GET", target, String::new());
    request.explain = true;
    let answer = world.send(request);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text);
    let mut headers = answer.headers.iter();
    let cost = headers.find(|(name, _)| *name == "Workgraph-Cost");
    (cost.unwrap().1.parse().unwrap(), answer.gids())
}

#[test]
fn names_that_are_looked_at_and_not_shown_are_charged() {
    let mut costs = Vec::new();
    for kind in KINDS {
        let mut world = World::build(kind, ApiSettings::default(), |fixture, names| {
            let (workspace, ada) = (names["orchid"], names["ada"]);
            for number in 0..HIDDEN {
                fixture.with(|work| {
                    let mut draft = Draft::new(Type::Task, work.next_gid(), Some(workspace));
                    draft.set(task::NAME, format!("Xylophone {number}").as_str());
                    draft.set(task::CREATED_BY, ada);
                    work.create(&draft, Some(workspace))
                });
            }
        });
        world.limit();
        let typeahead = |query: &str| {
            let orchid = world.gid("orchid");
            let path = format!("/workspaces/{orchid}/typeahead?resource_type=task&query={query}");
            cost(&world, &path)
        };
        // They are all ada's own.
        let (hidden, found) = typeahead("xylophone");
        assert_eq!(found, Vec::<String>::new());
        assert!(hidden >= HIDDEN / 32, "{kind:?}: {hidden}");
        let (nothing, found) = typeahead("zzzzz");
        assert_eq!((nothing, found), (1, Vec::new()), "{kind:?}");
        costs.push(hidden);
    }
    assert_eq!(costs[0], costs[1], "every store charges the same");
}

#[test]
fn typeahead_finds_what_a_look_at_every_name_finds_and_reads_little() {
    let world = world();
    let orchid = world.gid("orchid");
    for (query, is_rare) in QUERIES {
        let text = query.replace('#', "%23").replace(' ', "+");
        let path =
            format!("/workspaces/{orchid}/typeahead?resource_type=task&count={COUNT}&query={text}");
        let answer = world.get("ada", &path);
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
        let tasks = answer.json["data"].as_array().unwrap();
        let found: Vec<&str> = tasks.iter().filter_map(|t| t["name"].as_str()).collect();
        // The usual tasks of the world are newer, and have no numbers.
        let is_usual = |name: &&&str| !name.ends_with(|c: char| c.is_ascii_digit());
        let usual = found.iter().filter(is_usual).count();
        let mut numbered: Vec<String> = expected(query).into_iter().map(name).collect();
        numbered.truncate(COUNT - usual);
        assert_eq!(found[usual..], numbered[..], "{query}");
        let (read, most) = (world.read(), if is_rare { RARE } else { MOST });
        assert!(read <= most, "{query}: {read} of at most {most} read");
    }
}
