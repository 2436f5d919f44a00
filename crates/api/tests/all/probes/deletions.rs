//! Deletions of every row: nothing is left that can be read and that no list shows any more.
use super::memory;
use super::sample::{ORCHID, Tenant, sample, sender};
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet};
use workgraph_api::request::Method;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

/// The tenant by its project whose records are of every family.
const MOSS: Tenant = Tenant {
    project: "moss",
    section: "moss_bed",
    task: "lichen",
    ..ORCHID
};

/// The records that the samples of reads show, with the reads that show them.
#[derive(Default)]
struct Shown {
    records: BTreeMap<String, (&'static Tenant, &'static Operation)>,
    lists: BTreeMap<String, Vec<(&'static Tenant, &'static Operation)>>,
}

/// Returns the gids of the record, or of the items of the list, that a read shows.
fn gids(world: &World, tenant: &Tenant, row: &Operation) -> (Option<String>, BTreeSet<String>) {
    let answer = sample(world, tenant, row).send(world, sender(row, "ada"), row);
    let gid = |record: &serde_json::Value| record["gid"].as_str().map(str::to_owned);
    let data = &answer.json["data"];
    let items = data.as_array().into_iter().flatten();
    (gid(data), items.filter_map(gid).collect())
}

impl Shown {
    fn of(world: &World) -> Self {
        let mut shown = Self::default();
        let reads = all().filter(|row| row.method == Method::Get);
        // These make what they read.
        let reads = reads
            .filter(|row| !row.path.contains("{webhook_gid}") && row.id != "getTaskForCustomID");
        for row in reads {
            for tenant in [&ORCHID, &MOSS] {
                let (record, items) = gids(world, tenant, row);
                if let Some(gid) = record {
                    shown.records.insert(gid, (tenant, row));
                }
                for gid in items {
                    shown.lists.entry(gid).or_default().push((tenant, row));
                }
            }
        }
        shown
    }
}

#[test]
fn what_a_deletion_leaves_is_in_a_list_as_before() {
    let before = Shown::of(&memory());
    assert!(before.records.len() > 35, "{}", before.records.len());
    let mut deleted = 0;
    for row in all().filter(|row| row.method == Method::Delete) {
        for tenant in [&ORCHID, &MOSS] {
            let world = memory();
            let done = sample(&world, tenant, row).send(&world, "ada", row);
            assert_eq!(done.status, 200, "{}: {}", row.id, done.text);
            deleted += 1;
            world.run(world.api.cleanup_jobs(1000)).unwrap();
            for (gid, (of, read)) in &before.records {
                if gids(&world, of, read).0.is_none() {
                    continue;
                }
                let Some(lists) = before.lists.get(gid) else {
                    continue;
                };
                // Operators make the custom types of a workspace, and tasks that stay have them.
                if read.id == "getCustomType" {
                    continue;
                }
                let mut lists = lists.iter();
                let listed = lists.any(|(of, list)| gids(&world, of, list).1.contains(gid));
                assert!(
                    listed,
                    "{}: {} can be read, and no list shows it",
                    row.id, read.id
                );
            }
        }
    }
    assert!(deleted > 30, "{deleted}");
}
