//! Gids: when forbidden objects are hidden, a gid that the caller may not see gets the reply of one that nothing has.
use super::*;

/// Environment variable with the stride through the cases; at 1 all are tried.
const STRIDE: &str = "WORKGRAPH_ORACLE_STRIDE";

/// Stride of the usual run. It does not divide the number of cases of an input, so each reader and type is tried
/// somewhere.
const USUAL_STRIDE: usize = 173;

/// Stride of the run without hiding, where many cases must differ.
const OPEN_STRIDE: usize = 23;

/// An input of a row that may take a gid.
enum Input {
    /// The path parameter at an index.
    Path(usize),
    /// A query parameter, and true if it is sent without those that are not required.
    Query(&'static str, bool),
    /// A condition of a search on a custom field, by its test.
    Condition(&'static str),
    /// A body field, and the index of the form of its value.
    Body(&'static str, usize),
}

impl Input {
    /// Returns the inputs of a row.
    fn all(scene: &Place, base: &Sample, row: &Operation) -> Vec<Self> {
        let mut all: Vec<Self> = (0..base.path.len()).map(Self::Path).collect();
        for slot in query_slots(row) {
            all.extend([false, true].map(|alone| Self::Query(slot, alone)));
        }
        if row.id.starts_with("search") {
            all.extend(["is_set=true", "value=1"].map(Self::Condition));
        }
        for slot in body_slots(row) {
            let count = values(scene, slot, MALFORMED).len();
            all.extend((0..count).map(|form| Self::Body(slot, form)));
        }
        all
    }

    /// Returns a row's sample with a gid in this input.
    fn fill(&self, scene: &Place, base: &Sample, row: &Operation, gid: &str) -> Sample {
        let mut one = base.clone();
        match self {
            Self::Path(at) => one.path[*at].1 = gid.to_owned(),
            Self::Query(slot, alone) => {
                one.query.retain(|(name, _)| {
                    name != slot && (!alone || row.required_query().any(|n| n == *name))
                });
                one.query.push((slot, gid.to_owned()));
                if *slot == "assignee" {
                    let orchid = scene.world.gid("orchid").to_string();
                    one.query.push(("workspace", orchid));
                }
            }
            // The name has a gid in it, so it is written behind the value of another parameter.
            Self::Condition(test) => {
                let behind = format!("false&custom_fields.{gid}.{test}");
                one.query.push(("opt_pretty", behind));
            }
            Self::Body(slot, form) => {
                for (a, b) in [("before", "after"), ("after", "before")] {
                    if slot.contains(a) {
                        one.body.remove(&slot.replace(a, b));
                    }
                }
                one.put(slot, values(scene, slot, gid).swap_remove(*form));
            }
        }
        one
    }

    /// Returns true if a row reads the input: a name that is no gid changes the reply to a user who may do everything.
    fn is_read(&self, ground: &mut Ground, row: &Operation) -> bool {
        let with = self.fill(&ground.prepared, &ground.base, row, MALFORMED);
        let mut send = |one: &Sample| ground.send(row, sender(row, "ada"), one);
        match self {
            Self::Path(_) | Self::Condition(_) => true,
            // Links in texts and actions of a batch do not fail the request.
            Self::Body(slot, _) if slot.starts_with("html_") || *slot == "actions" => true,
            Self::Body(..) => send(&with).status >= 300,
            Self::Query(slot, alone) => {
                let mut base = ground.base.clone();
                base.query
                    .retain(|(name, _)| !alone || row.required_query().any(|n| n == *name));
                super::super::is_read(&ground.prepared.world, row, &base, slot)
            }
        }
    }

    fn name(&self, base: &Sample) -> String {
        match self {
            Self::Path(at) => base.path[*at].0.to_owned(),
            Self::Query(slot, alone) => format!("?{slot} (alone: {alone})"),
            Self::Condition(test) => format!("?custom_fields.GID.{test}"),
            Self::Body(slot, form) => format!("{slot} in form {form}"),
        }
    }
}

/// A node that a reader may not see, and a gid of the same length that no node has.
struct Hidden {
    name: String,
    gid: String,
    missing: String,
}

impl Hidden {
    fn of(scene: &Place, reader: &str) -> Vec<Self> {
        let mut names: Vec<String> = scene.hidden_from(reader).into_values().collect();
        names.push("h_hook".to_owned());
        let taken: BTreeSet<Gid> = scene.world.names.values().copied().collect();
        let one = |name: String| {
            let gid = scene.world.gid(&name);
            let mut others = (1..).filter_map(|more| Gid::new(gid.get() ^ (more << 5)));
            let missing = others.find(|other| {
                !taken.contains(other)
                    && other.to_string().len() == gid.to_string().len()
                    && !scene.has(*other)
            });
            Self {
                name,
                gid: gid.to_string(),
                missing: missing.unwrap().to_string(),
            }
        };
        names.into_iter().map(one).collect()
    }
}

impl Place {
    /// Returns true if there is a node with this gid.
    fn has(&self, gid: Gid) -> bool {
        let want = ReadQuery::of(self.viewer("ada")).node(gid);
        let view = self.world.run(self.world.graph.load(&want)).unwrap();
        view.resolve(&NodeRef::Gid(gid)).is_some()
    }
}

/// Tries every `stride`th case of every nth operation; returns their number, and those in which the replies differ.
fn run(settings: ApiSettings, (every, stride): (usize, usize)) -> (usize, Vec<String>) {
    let scene = Place::with(settings);
    let readers: Vec<(&str, Vec<Hidden>)> = READERS
        .iter()
        .map(|(reader, _)| (*reader, Hidden::of(&scene, reader)))
        .collect();
    let each: usize = readers.iter().map(|(_, hidden)| hidden.len()).sum();
    assert!(
        stride == 1 || !each.is_multiple_of(stride),
        "{each} cases each"
    );
    let (mut nth, mut tried, mut found) = (0, 0, Vec::new());
    for row in all().step_by(every) {
        let mut ground = Ground::new(&scene, row);
        for input in Input::all(&scene, &ground.base, row) {
            // What no case is due for is not asked whether it is read.
            let first = nth;
            nth += each;
            if nth / stride == first / stride || !input.is_read(&mut ground, row) {
                continue;
            }
            let mut case = first;
            for (reader, hidden) in &readers {
                for node in hidden {
                    case += 1;
                    if case % stride != 0 {
                        continue;
                    }
                    let pair = [&node.gid, &node.missing]
                        .map(|gid| input.fill(&ground.prepared, &ground.base, row, gid));
                    let replies = ground.both(row, reader, pair);
                    found.extend(difference(&replies, (&node.gid, &node.missing), || {
                        let input = input.name(&ground.base);
                        format!("{reader} {} {input} = {}", row.id, node.name)
                    }));
                    tried += 1;
                }
            }
        }
    }
    (tried, found)
}

/// S189. Every row, input and reader, with a hidden node of each type, when forbidden objects are hidden.
#[test]
fn no_row_tells_a_hidden_gid_from_one_that_nothing_has() {
    let stride = std::env::var(STRIDE).map_or(USUAL_STRIDE, |text| text.parse().unwrap());
    let settings = ApiSettings {
        hide_forbidden: true,
        ..ApiSettings::default()
    };
    let (tried, found) = run(settings, (1, stride));
    println!("{tried} cases");
    assert!(tried > 50_000 / stride, "{tried}");
    assert!(found.is_empty(), "{} {found:#?}", found.len());
}

/// The twin: forbidden objects that are not hidden are told from missing ones.
#[test]
fn forbidden_gids_that_are_not_hidden_are_told_from_missing_ones() {
    let (tried, found) = run(ApiSettings::default(), (8, OPEN_STRIDE));
    assert!(found.len() > 8, "{} of {tried}", found.len());
}
