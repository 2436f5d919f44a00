//! Laws of paginated lists: guarantees for clients that follow cursors.
//!
//! [`judge`] runs them on a [`PagedList`]: a Rust type, or a list behind HTTP (`HttpList`, with the feature `http`).

#[cfg(feature = "http")]
mod http;
mod memory_list;
mod rules;
mod subject;
mod walk;

#[cfg(feature = "http")]
pub use http::HttpList;
pub use memory_list::MemoryList;
pub use subject::{ListProfile, PageReply, PageRequest, PageUser, PagedList};

use fastrand::Rng;

use crate::SubjectError;
use crate::report::{LawReport, Report, RunOptions};
use rules::{Outcome, Scene};

/// Abilities that a list needs for a law to be judged.
#[derive(Clone, Copy)]
enum Needs {
    /// No abilities, but at least one row.
    Rows,
    /// The law creates rows.
    Creation,
    /// Creation, and deletion or change.
    Changes,
}

struct PaginationLaw {
    name: &'static str,
    rule: &'static str,
    needs: Needs,
    scenario: fn(&mut Scene<'_>) -> Outcome,
}

const LAWS: &[PaginationLaw] = &[
    PaginationLaw {
        name: "W1",
        rule: "each row comes once, whatever the limits",
        needs: Needs::Rows,
        scenario: |scene| scene.each_row_once(),
    },
    PaginationLaw {
        name: "W2",
        rule: "equal sort keys skip nothing",
        needs: Needs::Creation,
        scenario: |scene| scene.equal_keys(),
    },
    PaginationLaw {
        name: "W3",
        rule: "rows that stay come exactly once among inserts, deletes and changes",
        needs: Needs::Changes,
        scenario: |scene| scene.among_changes(false),
    },
    PaginationLaw {
        name: "W4",
        rule: "no row comes twice",
        needs: Needs::Changes,
        scenario: |scene| scene.among_changes(true),
    },
    PaginationLaw {
        name: "W5",
        rule: "the walk ends, also at a multiple of the limit",
        needs: Needs::Rows,
        scenario: |scene| scene.walk_ends(),
    },
    PaginationLaw {
        name: "W6",
        rule: "the order is that of one large page",
        needs: Needs::Rows,
        scenario: |scene| scene.same_order(),
    },
    PaginationLaw {
        name: "W7",
        rule: "limits of 0, -1, text and above the most are 4xx or clamped",
        needs: Needs::Rows,
        scenario: |scene| scene.odd_limits(),
    },
    PaginationLaw {
        name: "W8",
        rule: "changed, cut and foreign cursors are 4xx, never a page",
        needs: Needs::Rows,
        scenario: |scene| scene.wrong_cursors(),
    },
    PaginationLaw {
        name: "W9",
        rule: "the same cursor gives the same page twice",
        needs: Needs::Rows,
        scenario: |scene| scene.cursor_twice(),
    },
    PaginationLaw {
        name: "W10",
        rule: "a cursor survives percent-encoding",
        needs: Needs::Rows,
        scenario: |scene| scene.encoded_cursor(),
    },
];

/// Number of rows created for a scenario, smallest first, so that the first violation is a short one.
const SIZES: [usize; 8] = [2, 3, 4, 5, 6, 7, 8, 12];
/// Number of repetitions of each size with other random choices, as long as operations are left.
const REPEATS: usize = 12;

/// Returns name and rule of every law.
pub fn laws() -> impl Iterator<Item = (&'static str, &'static str)> {
    LAWS.iter().map(|law| (law.name, law.rule))
}

/// Judges a list by every law that its profile allows. Deletes created rows after each scenario, if possible.
///
/// # Errors
/// Fails if the subject can't be reached or gives an invalid answer, or if an option names no law.
pub fn judge(list: &mut dyn PagedList, options: &RunOptions) -> Result<Report, SubjectError> {
    let names: Vec<_> = laws().map(|(name, _)| name).collect();
    options.check_names(&names)?;
    let profile = list.profile().clone();
    let mut reports = Vec::new();
    for law in LAWS {
        let report = match options
            .skipped(law.name)
            .map(str::to_owned)
            .or_else(|| not_judged(law, &profile))
        {
            Some(why) => LawReport::skipped(law.name, law.rule, why),
            None => judge_law(law, list, options)?,
        };
        reports.push(report);
    }
    Ok(Report {
        subject: profile.name,
        seed: options.seed,
        laws: reports,
    })
}

/// Returns the reason why a law can't be judged for a list, if any.
fn not_judged(law: &PaginationLaw, profile: &ListProfile) -> Option<String> {
    let lacking = match law.needs {
        Needs::Rows => return None,
        Needs::Creation if profile.creates => return None,
        Needs::Changes if profile.creates && (profile.deletes || profile.changes) => return None,
        Needs::Creation => "create",
        Needs::Changes => "create, and delete or change",
    };
    Some(format!("the list is described without {lacking}"))
}

fn judge_law(
    law: &PaginationLaw,
    list: &mut dyn PagedList,
    options: &RunOptions,
) -> Result<LawReport, SubjectError> {
    let mut random = Rng::with_seed(options.seed);
    let repeats = if list.profile().creates {
        REPEATS
    } else {
        REPEATS * SIZES.len()
    };
    let sizes: &[usize] = if list.profile().creates { &SIZES } else { &[0] };
    let mut shortest: Option<(String, Vec<String>)> = None;
    let mut done = 0;
    for size in sizes
        .iter()
        .flat_map(|size| std::iter::repeat_n(*size, repeats))
    {
        if done >= options.operations
            || shortest
                .as_ref()
                .is_some_and(|(_, steps)| steps.len() <= size + 4)
        {
            break;
        }
        list.take_steps();
        let mut scene = Scene {
            list: &mut *list,
            random: &mut random,
            made: Vec::new(),
            rows: Vec::new(),
            first_steps: Vec::new(),
        };
        for _ in 0..size {
            let id = scene.list.create()?;
            scene.made.push(id);
        }
        let fault = match scene.look()? {
            None if scene.rows.is_empty() => {
                return Ok(LawReport::skipped(
                    law.name,
                    law.rule,
                    "the list is empty, and rows can't be made",
                ));
            }
            None => (law.scenario)(&mut scene)?,
            fault => fault,
        };
        let (made, mut steps) = (scene.made, scene.first_steps);
        steps.extend(list.take_steps());
        done += steps.len() as u64;
        if list.profile().deletes {
            for id in &made {
                // A scenario may already have deleted it.
                let _ = list.delete(id);
            }
        }
        if let Some(why) = fault
            && shortest
                .as_ref()
                .is_none_or(|(_, best)| steps.len() < best.len())
        {
            shortest = Some((why, steps));
        }
    }
    Ok(match shortest {
        Some((why, steps)) => LawReport::broken(law.name, law.rule, why, steps),
        None => LawReport::holds(law.name, law.rule),
    })
}

#[cfg(test)]
mod tests;
