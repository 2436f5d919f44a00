//! Random programs of requests and moves of the clock: after each move nothing is due, and one move is the same as many.
use super::client::{BEGIN, StandIn, World};
use crate::common::Seeded;
use serde_json::{Value, json};
use workgraph_core::model::time::Time;

/// Number of programs, unless `WORKGRAPH_PROGRAMS` says another one.
const PROGRAMS: u64 = 10;
/// Number of programs in which a defect must be found.
const PROGRAMS_OF_TWINS: u64 = 10;
/// Maximum number of pieces of a move, but for the last one.
const PIECES_MAX: usize = 6;
/// Silence after which a webhook that works gets a heartbeat, in milliseconds.
const HEARTBEAT: i64 = 8 * 3600 * 1000;
const INBOXES: [&str; 3] = ["first", "second", "third"];

/// Step of a program.
#[derive(Clone, Debug)]
enum Step {
    /// A webhook to an inbox that first answers a status some times.
    Webhook(&'static str, u16, u64),
    Task,
    Duplicate,
    Rename,
    /// Moves of the clock in seconds.
    Moves(Vec<u64>),
}

fn program(seed: u64) -> Vec<Step> {
    let mut seeded = Seeded(seed);
    let mut steps = Vec::new();
    for inbox in INBOXES.into_iter().take(1 + seeded.below(3)) {
        let status = [200, 500, 503, 429, 410][seeded.below(5)];
        steps.push(Step::Webhook(inbox, status, 1 + seeded.below(12) as u64));
    }
    for _ in 0..3 + seeded.below(5) {
        steps.push(match seeded.below(5) {
            0 => Step::Duplicate,
            1 => Step::Rename,
            _ => Step::Task,
        });
        let (bound, unit) = [(120, 1), (90, 60), (40, 3600)][seeded.below(3)];
        steps.push(Step::Moves(vec![seeded.below(bound) as u64 * unit + 1]));
    }
    steps
}

/// Returns a program whose moves are cut into many.
fn in_pieces(program: &[Step], seeded: &mut Seeded) -> Vec<Step> {
    let cut = |step: &Step| match step {
        Step::Moves(moves) => {
            let mut left: u64 = moves.iter().sum();
            let mut pieces = Vec::new();
            while left > 0 {
                let most = usize::try_from(left).unwrap();
                let piece = match pieces.len() {
                    PIECES_MAX.. => left,
                    _ => 1 + seeded.below(most) as u64,
                };
                pieces.push(piece);
                left -= piece;
            }
            Step::Moves(pieces)
        }
        other => other.clone(),
    };
    program.iter().map(cut).collect()
}

fn millis(text: &Value) -> i64 {
    Time::parse(text.as_str().unwrap()).unwrap().millis()
}

/// Checks by what records and inboxes show that nothing is due at `now`, without a look at the timeline.
fn check_nothing_is_due(world: &World<'_>, now: &Value, jobs: &[String]) -> Result<(), String> {
    let fields =
        "opt_fields=active,target,last_success_at,next_attempt_after,failure_deletion_timestamp";
    let path = format!("/webhooks?workspace={}&{fields}", world.workspace());
    let hooks = world.data("GET", &path, Value::Null);
    let at = millis(now);
    for hook in hooks.as_array().unwrap() {
        for field in ["next_attempt_after", "failure_deletion_timestamp"] {
            if !hook[field].is_null() && millis(&hook[field]) <= at {
                return Err(format!("{now}: {field} has passed: {hook}"));
            }
        }
        if hook["active"] == false || !hook["next_attempt_after"].is_null() {
            continue;
        }
        // The first heartbeat follows the handshake at once.
        let success = &hook["last_success_at"];
        if success.is_null() || millis(success) + HEARTBEAT <= at {
            return Err(format!("{now}: no heartbeat: {hook}"));
        }
    }
    for job in jobs {
        let job = world.data("GET", &format!("/jobs/{job}"), Value::Null);
        if job["status"] != "succeeded" && job["status"] != "failed" {
            return Err(format!("{now}: {job}"));
        }
    }
    Ok(())
}

/// Runs a program in a world of its own. Returns what happened, and what is left: webhooks, tasks, and what the inboxes got.
///
/// # Errors
/// Fails if something was due after a move.
fn run(stand_in: &StandIn, seed: u64, program: &[Step]) -> Result<Vec<String>, String> {
    let settings = json!({"limits.standard_paid": 1_000_000});
    let world = stand_in.world(json!({"seed": seed, "now": BEGIN, "settings": settings}));
    let project = world.project("Orders");
    let (mut jobs, mut lines) = (Vec::new(), Vec::new());
    for (number, step) in program.iter().enumerate() {
        match step {
            Step::Webhook(inbox, status, times) => {
                let answer = json!({"answer": status, "times": times});
                world.control("PUT", &format!("/-/inbox/{inbox}"), answer);
                world.webhook(&project, inbox);
            }
            Step::Task => {
                let task = json!({"name": format!("{number}"), "projects": [project]});
                world.data("POST", "/tasks", task);
            }
            Step::Rename => {
                let name = json!({"name": format!("Orders {number}")});
                world.data("PUT", &format!("/projects/{project}"), name);
            }
            Step::Duplicate => {
                let path = format!("/projects/{project}/duplicate");
                let job = world.data("POST", &path, json!({"name": "Copy"}));
                jobs.push(job["gid"].as_str().unwrap().to_owned());
            }
            Step::Moves(pieces) => {
                // Jobs and deliveries of the last request run first, so that the length of the first piece does not matter. Whether
                // this reply lists them depends on who was faster, so only the inboxes are compared.
                let mut moved = world.advance("0s");
                for seconds in pieces {
                    moved = world.advance(&format!("{seconds}s"));
                    lines.extend(
                        moved["happened"]
                            .as_array()
                            .unwrap()
                            .iter()
                            .map(Value::to_string),
                    );
                }
                check_nothing_is_due(&world, &moved["now"], &jobs)?;
            }
        }
    }
    lines.push(world.data("GET", &format!("/webhooks?workspace={}&opt_fields=active,last_failure_at,last_success_at,delivery_retry_count,next_attempt_after", world.workspace()), Value::Null).to_string());
    lines.push(
        world
            .data(
                "GET",
                &format!("/tasks?project={project}&opt_fields=name,created_at,modified_at"),
                Value::Null,
            )
            .to_string(),
    );
    for inbox in INBOXES {
        lines.extend(world.deliveries(inbox).iter().map(Value::to_string));
    }
    world.stand_in.control(
        "DELETE",
        &format!("/-/worlds/{}", world.made["id"].as_str().unwrap()),
        Value::Null,
    );
    let own = format!("{}/", world.path);
    Ok(lines
        .into_iter()
        .map(|line| line.replace(&own, "/w/N/"))
        .collect())
}

/// Runs programs; returns the first fault that is found.
fn find_fault(stand_in: &StandIn, seeds: impl Iterator<Item = u64>) -> Result<(), String> {
    for seed in seeds {
        let one = program(seed);
        let many = in_pieces(&one, &mut Seeded(seed ^ 0xff));
        let (one_told, many_told) = (run(stand_in, seed, &one)?, run(stand_in, seed, &many)?);
        if one_told != many_told {
            let pairs = one_told.iter().zip(&many_told);
            let differs = pairs.filter(|(one, many)| one != many).take(3);
            let differs: Vec<_> = differs.collect();
            return Err(format!("program {seed}: {one:?}\n{many:?}\n{differs:#?}"));
        }
    }
    Ok(())
}

#[test]
fn after_each_move_nothing_is_due_and_one_move_equals_many() {
    let programs =
        std::env::var("WORKGRAPH_PROGRAMS").map_or(PROGRAMS, |text| text.parse().unwrap());
    // Many programs are shared by as many servers as there are processors.
    let lanes = match programs > PROGRAMS {
        true => std::thread::available_parallelism().unwrap().get() as u64,
        false => 1,
    };
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            scope.spawn(move || {
                let stand_in = StandIn::start(&format!("stand-in-programs-{lane}"));
                let seeds = (0..programs).filter(|seed| seed % lanes == lane);
                find_fault(&stand_in, seeds).unwrap();
            });
        }
    });
}

#[test]
#[cfg(debug_assertions)]
fn a_timeline_that_forgets_deliveries_or_polls_is_found() {
    for (defect, found) in [("no_deliveries", "no heartbeat"), ("polled", "program")] {
        let name = format!("stand-in-{defect}");
        let stand_in = StandIn::start_in(
            &name,
            &["--seed", "7"],
            &[("WORKGRAPH_TEST_TIMELINE", defect)],
        );
        let fault = find_fault(&stand_in, 0..PROGRAMS_OF_TWINS).unwrap_err();
        assert!(fault.contains(found), "{defect}: {fault}");
    }
}
