//! The number of waves that each operation takes on a store behind a network: `fixtures/waves.tsv`.
use crate::golden;
use crate::probes::{ORCHID, sample, sender};
use crate::world::{Kind, World};
use std::fmt::Write;
use workgraph_operations::all;
use workgraph_testkit::memory_store::WaveWork;

/// Most waves of a load. Nothing is known before: not even the memberships of the user.
const LOAD_MAX: usize = 4;
/// Most waves of a commit.
const COMMIT_MAX: usize = 4;

#[test]
fn operations_take_few_waves() {
    let mut out = String::from(
        "# Waves of each operation on a store that knows nothing yet, by its sample request: of each load, and of each\n\
         # commit. BLESS=1 rewrites this file.\n\
         # operation\tloads\tcommits\n",
    );
    let mut slow = Vec::new();
    let mut task = Vec::new();
    for row in all() {
        let world = World::new(Kind::Waves);
        let request = sample(&world, &ORCHID, row);
        drop(world.waves().take_counts());
        request.send(&world, sender(row, "ada"), row);
        let counts = world.waves().take_counts();
        let of = |work: WaveWork| {
            let counts = counts.iter().filter(|count| count.work == work);
            counts.map(|count| count.waves).collect::<Vec<_>>()
        };
        let (loads, commits) = (of(WaveWork::Load), of(WaveWork::Commit));
        writeln!(
            out,
            "{}\t{}\t{}",
            row.id,
            numbers(&loads),
            numbers(&commits)
        )
        .unwrap();
        if loads.iter().any(|n| *n > LOAD_MAX) || commits.iter().any(|n| *n > COMMIT_MAX) {
            slow.push(format!("{}: {loads:?} {commits:?}", row.id));
        }
        if row.id == "getTask" {
            task = loads;
        }
        assert_eq!(world.waves().broken_law(), None, "{}", row.id);
    }
    golden::check(&golden::root("fixtures/waves.tsv"), &out);
    assert_eq!(slow, Vec::<String>::new());
    assert!(task.iter().all(|n| *n <= 3), "{task:?}");
}

fn numbers(counts: &[usize]) -> String {
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    match counts.is_empty() {
        true => "-".to_owned(),
        false => counts.join(" "),
    }
}
