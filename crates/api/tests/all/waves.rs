//! The number of waves that each operation takes on a store behind a network: `fixtures/waves.tsv`.
use crate::golden;
use crate::probes::{ORCHID, sample, sender};
use crate::world::{Kind, World};
use std::fmt::Write;
use workgraph_api::request::Method;
use workgraph_operations::all;
use workgraph_testkit::memory_store::WaveWork;

/// Most waves of a load. Nothing is known before: not even the memberships of the user.
const LOAD_MAX: usize = 4;
/// Most waves of a load of one task.
const TASK_MAX: usize = 3;
/// Most waves of a commit.
const COMMIT_MAX: usize = 4;
/// Most waves of the commit that deletes a project: it looks for the tasks that nothing else lists, and for their subtasks.
const DELETION_MAX: usize = 7;

#[test]
fn operations_take_few_waves() {
    let mut out = String::from(
        "# Waves of each operation on a store that knows nothing yet, by its sample request: of each load, and of each\n\
         # commit. A request that only reads is made again where the answers to its reads were kept: the last column has\n\
         # its waves beside the trip that asks whether they still hold. BLESS=1 rewrites this file.\n\
         # operation\tloads\tcommits\tloads again\n",
    );
    let mut slow = Vec::new();
    for row in all() {
        let world = World::new(Kind::Waves);
        let request = sample(&world, &ORCHID, row);
        let counts = || {
            drop(world.waves().take_counts());
            request.send(&world, sender(row, "ada"), row);
            world.waves().take_counts()
        };
        world.waves().set_cache(0);
        let first = counts();
        let of = |work: WaveWork| {
            let counts = first.iter().filter(|count| count.work == work);
            counts.map(|count| count.waves).collect::<Vec<_>>()
        };
        let (loads, commits) = (of(WaveWork::Load), of(WaveWork::Commit));
        let mut again = Vec::new();
        if row.method == Method::Get {
            world.waves().set_cache(1 << 20);
            counts();
            again = counts().iter().map(|count| count.waves).collect();
        }
        let cells = [&loads, &commits, &again].map(|counts| numbers(counts));
        writeln!(out, "{}\t{}", row.id, cells.join("\t")).unwrap();
        let most = if row.id == "getTask" {
            TASK_MAX
        } else {
            LOAD_MAX
        };
        let most_of_commit = if row.id == "deleteProject" {
            DELETION_MAX
        } else {
            COMMIT_MAX
        };
        if loads.iter().any(|n| *n > most)
            || commits.iter().any(|n| *n > most_of_commit)
            || again.iter().any(|n| *n > 0)
        {
            slow.push(format!("{}: {loads:?} {commits:?} {again:?}", row.id));
        }
        assert_eq!(world.waves().broken_law(), None, "{}", row.id);
    }
    golden::check(&golden::root("fixtures/waves.tsv"), &out);
    assert_eq!(slow, Vec::<String>::new());
}

fn numbers(counts: &[usize]) -> String {
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    match counts.is_empty() {
        true => "-".to_owned(),
        false => counts.join(" "),
    }
}
