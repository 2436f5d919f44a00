//! The public catalogue: the implemented part of it, written to `docs/generated/COVERAGE.md`.
//!
//! `fixtures/catalogue.tsv` holds the facts: tag, method, path, operation id, scopes (or `-`).
use crate::probes::Planned;
use crate::{golden, transcripts};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use workgraph_operations::all;
use workgraph_operations::operation::Operation;

struct Entry<'a> {
    tag: &'a str,
    method: &'a str,
    path: &'a str,
    id: &'a str,
    scopes: &'a str,
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let mut cells = line.split('\t');
            let mut cell = || {
                cells
                    .next()
                    .unwrap_or_else(|| panic!("too few cells: {line}"))
            };
            Entry {
                tag: cell(),
                method: cell(),
                path: cell(),
                id: cell(),
                scopes: cell(),
            }
        })
        .collect()
}

fn catalogue() -> String {
    std::fs::read_to_string(golden::root("fixtures/catalogue.tsv")).unwrap()
}

#[test]
fn the_catalogue_is_whole() {
    let text = catalogue();
    let entries = entries(&text);
    assert_eq!(
        entries.len(),
        247,
        "another number of operations in fixtures/catalogue.tsv: if that is intended, write it here"
    );
    let ids: BTreeSet<_> = entries.iter().map(|e| e.id).collect();
    assert_eq!(ids.len(), entries.len(), "an id is there twice");
    let routes: BTreeSet<_> = entries.iter().map(|e| (e.method, e.path)).collect();
    assert_eq!(routes.len(), entries.len(), "a route is there twice");
    for entry in &entries {
        for scope in entry.scopes.split(',').filter(|s| *s != "-") {
            let known = workgraph_api::SCOPES.iter().any(|s| s.name == scope);
            assert!(known, "{}: no such scope: {scope}", entry.id);
        }
    }
}

#[test]
fn every_row_is_in_the_catalogue_as_it_is_there() {
    let text = catalogue();
    let by_id: BTreeMap<_, _> = entries(&text).into_iter().map(|e| (e.id, e)).collect();
    for row in all() {
        let entry = by_id.get(row.id);
        let entry = entry.unwrap_or_else(|| panic!("{} is not in the catalogue", row.id));
        assert_eq!(
            (row.method.name(), row.path),
            (entry.method, entry.path),
            "{}",
            row.id
        );
        assert_eq!(row.scope.unwrap_or("-"), entry.scopes, "{}: scope", row.id);
    }
}

#[test]
fn the_coverage_document_is_fresh() {
    let text = catalogue();
    let entries = entries(&text);
    let rows: BTreeMap<&str, &Operation> = all().map(|r| (r.id, r)).collect();
    let shown = transcripts::shown();
    let count = |tag: Option<&str>| {
        let of_tag = entries.iter().filter(|e| tag.is_none_or(|t| t == e.tag));
        let done = of_tag.clone().filter(|e| rows.contains_key(e.id)).count();
        (done, of_tag.count())
    };
    let (have, total) = count(None);
    let mut out = format!(
        "# Coverage of the public API\n\n\
         This file is generated: `BLESS=1 cargo test -p workgraph-api coverage` rewrites it from the operation table\n\
         and `fixtures/catalogue.tsv`.\n\n\
         **{have} of {total}** operations are implemented. Of each the table says in which of `fixtures/transcripts` it\n\
         works, and how often the probes of `crates/api/tests/all/probes` try it:\n\n\
         | | What is tried | Answer |\n|---|---|---|\n\
         | a | without a token | 401 |\n\
         | b | with all scopes but the one it needs | 403 |\n\
         | c | without each required input, absent and empty | 400 `name: Missing input` |\n\
         | d | with an unknown gid, for each of its path | 404 |\n\
         | e | with the gid of something the caller cannot see, for each of its path | 403 |\n\
         | f | in a free workspace, where it needs a paid one | 402 |\n\
         | g | with everything of another tenant, from both sides, for each place of path, query and body that can hold a gid | no byte of it |\n"
    );
    let tags: BTreeSet<&str> = entries.iter().map(|e| e.tag).collect();
    let (some, none): (Vec<&str>, Vec<&str>) = tags.iter().partition(|tag| count(Some(tag)).0 > 0);
    for tag in some {
        let (have, total) = count(Some(tag));
        write!(out, "\n## {tag}: {have} of {total}\n\n").unwrap();
        let line = "---|".repeat(11);
        let head = "Method | Path | Operation | Transcripts | a | b | c | d | e | f | g";
        write!(out, "| {head} |\n|{line}\n").unwrap();
        for e in entries.iter().filter(|e| e.tag == tag) {
            let tried = rows.get(e.id).map_or_else(
                || " |".repeat(8),
                |row| format!(" {} |{}", numbers(shown.get(e.id)), figures(row)),
            );
            writeln!(out, "| {} | `{}` | {} |{tried}", e.method, e.path, e.id).unwrap();
        }
    }
    writeln!(out, "\n## Nothing of these\n").unwrap();
    for tag in none {
        writeln!(out, "- {tag}: 0 of {}", count(Some(tag)).1).unwrap();
    }
    golden::check(&golden::root("docs/generated/COVERAGE.md"), &out);
}

/// Returns the numbers that names of transcripts begin with.
fn numbers(names: Option<&BTreeSet<&str>>) -> String {
    let numbers: BTreeSet<&str> = names
        .into_iter()
        .flatten()
        .filter_map(|name| Some(name.split_once('-')?.0))
        .collect();
    Vec::from_iter(numbers).join(" ")
}

/// Returns the counts of probes of a row, in the order of the table.
fn figures(row: &Operation) -> String {
    let Planned {
        token,
        scope,
        missing,
        unknown,
        hidden,
        paid,
        slots,
    } = Planned::of(row);
    let all = [token, scope, missing, unknown, hidden, paid, slots];
    let cell = |n: usize| match n {
        0 => " |".to_owned(),
        n => format!(" {n} |"),
    };
    all.map(cell).concat()
}
