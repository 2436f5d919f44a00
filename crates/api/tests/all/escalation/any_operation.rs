//! Random programs of all operations over random graphs: whichever is called, by anybody, with whichever objects of the tenant,
//! nobody has more access to an object after it than before, or than who called it had.
use super::programs::{CALLERS, Numbers, ROOT, USERS};
use crate::probes::{ORCHID, Sample, sample};
use crate::world::{Answer, Kind, World, is_orchid};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use workgraph_api::request::Method;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{FieldDef, Type, ValueType, Writability};
use workgraph_core::model::resources;
use workgraph_core::storage::{ReadQuery, ViewerKey};
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Programs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PROGRAMS: u64 = 24;
const OPERATIONS: usize = 40;
/// Calls of admins that make a graph, before anything is checked.
const GROWTH: usize = 25;

/// Operations that a broken twin runs without asking who calls.
type Twin = fn(&Operation) -> bool;

type Levels = BTreeMap<(&'static str, Gid), Level>;

/// A world, and all that it has of one tenant, by type.
struct Scene {
    world: World,
    objects: BTreeMap<Gid, Type>,
    /// A request of each operation that has an effect on the graph as it is at first.
    samples: BTreeMap<&'static str, Sample>,
    twin: Option<Twin>,
}

/// Counts of a run: the rows that somebody called with success, and the calls.
#[derive(Default)]
struct Outcome {
    rows: BTreeSet<&'static str>,
    calls: usize,
    accepted: usize,
}

impl Scene {
    fn new(twin: Option<Twin>) -> Self {
        let world = World::new(Kind::Memory);
        let named = world.names.iter().filter(|(name, _)| is_orchid(name));
        let gids: Vec<Gid> = named.map(|(_, gid)| *gid).collect();
        let view = load(&world, "ada", gids.iter().copied());
        let typed = |gid: Gid| Some((gid, view.node(gid)?.ty));
        let objects = gids.into_iter().filter_map(typed).collect();
        let samples = all().map(|row| (row.id, sample(&world, &ORCHID, row)));
        let samples = samples.collect();
        Self {
            world,
            objects,
            samples,
            twin,
        }
    }

    /// Returns the level of each user on each object.
    fn levels(&self) -> Levels {
        let mut levels = Levels::new();
        for user in USERS {
            let view = load(&self.world, user, self.objects.keys().copied());
            for (gid, ty) in &self.objects {
                // Who may change one of these may do whatever can be done with it.
                let has_admins = matches!(
                    ty,
                    Type::Project | Type::Portfolio | Type::Team | Type::Goal | Type::CustomField
                );
                let most = if has_admins {
                    Level::Admin
                } else {
                    Level::Editor
                };
                levels.insert((user, *gid), view.level(*gid).min(most));
            }
        }
        levels
    }

    /// Returns a random object of one of these types.
    fn any(&self, types: &[Type], numbers: &mut Numbers) -> Option<String> {
        let fit = self.objects.iter().filter(|(_, ty)| types.contains(ty));
        let fit: Vec<&Gid> = fit.map(|(gid, _)| gid).collect();
        (!fit.is_empty()).then(|| numbers.pick(&fit).to_string())
    }

    /// Returns another object in place of one, mostly; what is no object stays.
    fn other(&self, text: &str, numbers: &mut Numbers) -> String {
        let ty = Gid::parse(text).and_then(|gid| self.objects.get(&gid));
        let other = ty.and_then(|ty| self.any(&[*ty], numbers));
        match other {
            Some(other) if numbers.below(3) > 0 => other,
            _ => text.to_owned(),
        }
    }

    fn exchange(&self, value: &mut Value, numbers: &mut Numbers) {
        match value {
            Value::String(text) => *text = self.other(text, numbers),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.exchange(item, numbers)),
            _ => {}
        }
    }

    /// Returns a random value of a field that a client may write, if such a value can be made.
    fn value(&self, field: &FieldDef, numbers: &mut Numbers) -> Option<Value> {
        Some(match field.value_type {
            ValueType::One(types) => json!(self.any(types, numbers)?),
            ValueType::Many(types) => json!([self.any(types, numbers)?]),
            ValueType::Word(words) | ValueType::WordOrNull(words) => json!(numbers.pick(words)),
            ValueType::Flag => json!(numbers.below(2) == 0),
            _ => return None,
        })
    }

    /// Returns a request of a row: its sample with other objects in it, and with more fields.
    fn request(&self, row: &Operation, numbers: &mut Numbers) -> Sample {
        let mut request = self.samples[row.id].clone();
        for (_, gid) in &mut request.path {
            *gid = self.other(gid, numbers);
        }
        for value in request.body.values_mut() {
            self.exchange(value, numbers);
        }
        if matches!(row.method, Method::Post | Method::Put)
            && let Some(ty) = row.record()
        {
            let fields = resources::ALL.iter().filter(|resource| resource.ty == ty);
            for field in fields.flat_map(|resource| resource.fields) {
                let written = matches!(field.write, Writability::Always | Writability::OnCreate);
                if written
                    && numbers.below(8) == 0
                    && let Some(value) = self.value(field, numbers)
                {
                    request.body.insert(field.name.to_owned(), value);
                }
            }
        }
        request
    }

    /// Adds what an answer shows as made.
    fn note_made(&mut self, row: &Operation, answer: &Answer) {
        if answer.status == 201
            && let Some(ty) = row.record()
            && let Some(gid) = answer.json["data"]["gid"].as_str().and_then(Gid::parse)
        {
            self.objects.insert(gid, ty);
        }
    }

    /// Makes a graph that no other program has.
    fn grow(&mut self, numbers: &mut Numbers) {
        for _ in 0..GROWTH {
            let row = pick_row(numbers);
            let request = self.request(row, numbers);
            let by = *numbers.pick(&["ada", ROOT]);
            let answer = request.send(&self.world, by, row);
            self.note_made(row, &answer);
        }
    }

    /// Calls a random operation; returns what is wrong with its outcome.
    fn step(&mut self, numbers: &mut Numbers, outcome: &mut Outcome) -> Result<(), String> {
        let row = pick_row(numbers);
        let caller = *numbers.pick(&CALLERS);
        let request = self.request(row, numbers);
        let before = self.levels();
        let unchecked = self.twin.is_some_and(|twin| twin(row));
        let token = if unchecked { ROOT } else { caller };
        let answer = request.send(&self.world, token, row);
        outcome.calls += 1;
        if answer.status >= 500 {
            return Err(format!("{} is answered with {}", row.id, answer.text));
        }
        if answer.status >= 300 {
            return Ok(());
        }
        outcome.accepted += 1;
        outcome.rows.insert(row.id);
        let me = caller.split('[').next().unwrap_or_default();
        let own = |gid: Gid| match me {
            ROOT => Level::Admin,
            _ => {
                let of_me = |(user, of): &&(&str, Gid)| *user == me && *of == gid;
                before
                    .keys()
                    .find(of_me)
                    .map_or(Level::None, |at| before[at])
            }
        };
        for ((user, gid), after) in self.levels() {
            // Who is a member again has their own list again.
            let own_list = self.world.names.get(&format!("{user}_list"));
            let most = before[&(user, gid)].max(own(gid));
            if after > most && own_list != Some(&gid) {
                let name = self.world.names.iter().find(|(_, of)| **of == gid);
                return Err(format!(
                    "{user} has {after:?} on {gid} {name:?} in place of {most:?} after {} by {caller}: {:?} {:?}",
                    row.id, request.path, request.body
                ));
            }
        }
        self.note_made(row, &answer);
        Ok(())
    }
}

fn pick_row(numbers: &mut Numbers) -> &'static Operation {
    let rows: Vec<&'static Operation> = all().collect();
    rows[numbers.below(rows.len())]
}

/// Returns the nodes as a user sees them.
fn load(
    world: &World,
    user: &str,
    gids: impl Iterator<Item = Gid>,
) -> workgraph_core::storage::ReadView {
    let viewer = ViewerKey {
        user: world.gid(user),
        service: None,
    };
    let query = gids.fold(ReadQuery::of(viewer), ReadQuery::node);
    world.run(world.graph.load(&query)).unwrap()
}

/// Runs programs until one goes wrong.
fn run(twin: Option<Twin>, programs: u64) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    for seed in 0..programs {
        let mut scene = Scene::new(twin);
        let mut numbers = Numbers(seed ^ 0x00A1_10FE);
        scene.grow(&mut numbers);
        for _ in 0..OPERATIONS {
            scene
                .step(&mut numbers, &mut outcome)
                .map_err(|wrong| format!("program {seed}: {wrong}"))?;
        }
    }
    Ok(outcome)
}

#[test]
fn no_operation_gives_anybody_more_than_its_caller_had() {
    let times = std::env::var("WORKGRAPH_CASES").ok();
    let times = times.map_or(1, |text| text.parse::<u64>().unwrap());
    let outcome = run(None, PROGRAMS * times).unwrap_or_else(|wrong| panic!("{wrong}"));
    let (rows, accepted) = (outcome.rows.len(), outcome.accepted);
    println!(
        "{accepted} of {} calls accepted, of {rows} operations",
        outcome.calls
    );
    assert!(accepted * 4 > outcome.calls, "{accepted}");
    assert!(rows > 120, "{rows} operations had an effect");
}

/// Each of these lets somebody in without asking who calls.
#[test]
fn a_twin_that_lets_in_without_asking_who_calls_is_found_among_all_operations() {
    let twins: [(&str, Twin); 5] = [
        ("memberships", |row| row.id.contains("Membership")),
        ("members", |row| row.id.starts_with("addMembers")),
        ("followers", |row| row.id.starts_with("addFollowers")),
        ("projects", |row| row.id == "updateProject"),
        ("teams", |row| row.id == "addUserForTeam"),
    ];
    for (name, twin) in twins {
        assert!(run(Some(twin), 400).is_err(), "{name}");
    }
}
