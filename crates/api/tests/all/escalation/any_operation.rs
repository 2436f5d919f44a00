//! Random programs of all operations over random graphs: whichever is called, by anybody, with whichever objects of the tenant,
//! nobody has more access to an object after it than before, or than who called it had.
use super::programs::{CALLERS, ROOT, USERS};
use crate::random_requests::{Numbers, RandomRequests};
use crate::world::{Kind, World};
use std::collections::{BTreeMap, BTreeSet};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::Type;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// Programs of a usual run; `WORKGRAPH_CASES` multiplies it.
const PROGRAMS: u64 = 16;
const OPERATIONS: usize = 40;
/// Calls of admins that make a graph, before anything is checked.
const GROWTH: usize = 25;

/// Operations that a broken twin runs without asking who calls.
type Twin = fn(&Operation) -> bool;

type Levels = BTreeMap<(&'static str, Gid), Level>;

/// A world, and what is asked of it.
struct Scene {
    world: World,
    requests: RandomRequests,
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
        let requests = RandomRequests::new(&world);
        Self {
            world,
            requests,
            twin,
        }
    }

    /// Returns the level of each user on each object.
    fn levels(&self) -> Levels {
        let mut levels = Levels::new();
        for user in USERS {
            let view = self.world.view(user, self.requests.objects.keys().copied());
            for (gid, ty) in &self.requests.objects {
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

    /// Makes a graph that no other program has.
    fn grow(&mut self, numbers: &mut Numbers) {
        for _ in 0..GROWTH {
            let row = pick_row(numbers, |_| true);
            let request = self.requests.request(row, numbers);
            let by = *numbers.pick(&["ada", ROOT]);
            let answer = request.send(&self.world, by, row);
            self.requests.note_made(row, &answer);
        }
    }

    /// Calls a random operation; returns what is wrong with its outcome.
    fn step(&mut self, numbers: &mut Numbers, outcome: &mut Outcome) -> Result<(), String> {
        let row = match self.twin {
            // A twin is asked often for what it does not check.
            Some(twin) if numbers.below(3) == 0 => pick_row(numbers, twin),
            _ => pick_row(numbers, |_| true),
        };
        let caller = *numbers.pick(&CALLERS);
        let request = self.requests.request(row, numbers);
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
        self.requests.note_made(row, &answer);
        Ok(())
    }
}

fn pick_row(numbers: &mut Numbers, among: fn(&Operation) -> bool) -> &'static Operation {
    let rows: Vec<&'static Operation> = all().filter(|row| among(row)).collect();
    rows[numbers.below(rows.len())]
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
