//! The modules inside each crate form layers: none of them, with all that is below it, uses a sibling that uses it.
//!
//! The source text is read as it stands, and each name is followed to the file that declares it. So an import through a
//! re-export counts as an import from the file behind the re-export, and a `pub use` of something further down, which
//! the file itself does not need, counts as nothing. Methods need no import and leave no trace here; nor does code
//! under `#[cfg(test)]`.
//!
//! The file of a folder (`storage.rs` beside `storage/`) and the files in the folder are looked at apart: those may use
//! each other, with a reason, if the folder has a line in [`FOLDERS`].
mod graph;
mod source;
mod tokens;

use crate::golden;
use source::Crate;
use std::collections::{BTreeMap, BTreeSet};

/// A use of one module by another that may close a circle.
struct Allowed {
    from: &'static str,
    to: &'static str,
    reason: &'static str,
}

const fn allowed(from: &'static str, to: &'static str, reason: &'static str) -> Allowed {
    Allowed { from, to, reason }
}

/// Uses that may close a circle. One that closes none any more has to go.
const ALLOWED: &[Allowed] = &[
    allowed(
        "core::engine::abandoned_tasks",
        "core::engine::apply",
        "an abandoned task is trashed with its subtree, as a commit trashes every node",
    ),
    allowed(
        "store-sqlite::cache::node_cache",
        "store-sqlite::cache::hot_cache",
        "both caches keep the same parts of a node, each in its own form",
    ),
    allowed(
        "api::execute",
        "api::features",
        "the executor hands a row to the feature that does its work; features load and answer by its steps",
    ),
    allowed(
        "api::state",
        "api::features",
        "the state holds what features keep between requests",
    ),
    allowed(
        "api::state",
        "api::limits",
        "the state holds the overrides of limits",
    ),
    allowed(
        "operations::operation",
        "operations::request_context",
        "a row has functions over a context, and a context has its row",
    ),
];

/// Folders whose own file uses the files in it and is used by them, with the reason.
const FOLDERS: &[(&str, &str)] = &[
    (
        "auth::conformance",
        "the list of all cases is in the file of the folder, and the cases use its harness",
    ),
    (
        "auth::oauth_server",
        "the handlers are functions of the server, and its routes are the list of them",
    ),
    (
        "core::engine::pagination",
        "the kinds of walks share the keyset and the row chunk of the walk that chooses among them",
    ),
    (
        "core::engine::search_planner",
        "the ways of finding matches are methods of the engine that chooses among them",
    ),
    (
        "core::jobs",
        "a job has one of the kinds of work, and each kind is taken in the steps of a job",
    ),
    (
        "core::jobs::duplication",
        "the copier works on the progress that the duplication keeps",
    ),
    (
        "core::model::resources",
        "the table of all resources is in the file of the folder, with the fields that all of them have",
    ),
    (
        "core::projection::projector",
        "the writers of the parts of a record are methods of the projector",
    ),
    (
        "limits::laws",
        "the list of all laws is in the file of the folder, and the laws use its harness",
    ),
    (
        "operations::operation::inputs",
        "an input is read by the reader of a request, which goes by the definition of the input",
    ),
    (
        "store-postgres::database",
        "a database that is opened is brought to its newest form, on a connection of its own",
    ),
    (
        "store-sqlite::cache::node_cache",
        "the generations and parts of the cache share the types of what it keeps",
    ),
    (
        "store-memory::memory_store",
        "the store holds the webhooks, whose port it implements there",
    ),
    (
        "testkit::conformance",
        "the list of all cases is in the file of the folder, and the cases use its harness",
    ),
    (
        "testkit::conformance::webhook_cases",
        "the cases of late results are the last of the store's cases, and use their webhook",
    ),
    (
        "testkit::random_histories",
        "the steps of the model are generated and compared apart",
    ),
];

/// Returns every crate of the workspace, by its name.
fn crates() -> BTreeMap<String, Crate> {
    let mut crates = BTreeMap::new();
    for folder in ["crates", "bins", "examples"] {
        for entry in std::fs::read_dir(golden::root(folder)).unwrap() {
            let path = entry.unwrap().path().join("src");
            let root = ["lib.rs", "main.rs"]
                .into_iter()
                .find(|root| path.join(root).exists());
            let Some(root) = root else { continue };
            let name = path
                .parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap();
            let text = |file: &str| std::fs::read_to_string(path.join(file)).ok();
            crates.insert(name.to_owned(), Crate::read(name, root, &text));
        }
    }
    crates
}

#[test]
fn no_modules_are_in_a_circle() {
    let allowed: BTreeSet<(String, String)> = ALLOWED
        .iter()
        .map(|pair| (pair.from.to_owned(), pair.to.to_owned()))
        .collect();
    let mut circles = String::new();
    for of in crates().values() {
        for circle in of.circles(&allowed) {
            circles += &format!("circle:\n{circle}");
        }
    }
    assert!(circles.is_empty(), "\n{circles}");
}

#[test]
fn every_allowed_use_closes_a_circle_and_has_a_reason() {
    let crates = crates();
    let arrows: BTreeSet<(String, String)> = crates
        .values()
        .flat_map(|of| of.circles(&BTreeSet::new()))
        .flat_map(|circle| circle.arrows.into_keys())
        .collect();
    for Allowed { from, to, reason } in ALLOWED {
        let key = ((*from).to_owned(), (*to).to_owned());
        assert!(arrows.contains(&key), "{from} -> {to} closes no circle");
        assert!(!reason.is_empty(), "{from} -> {to}");
    }
}

#[test]
fn folders_whose_file_and_parts_use_each_other_are_listed_with_a_reason() {
    let crates = crates();
    let mut found = BTreeMap::new();
    for of in crates.values() {
        found.extend(of.folders_in_circles());
    }
    for (folder, circle) in &found {
        let listed = FOLDERS.iter().any(|(listed, _)| listed == folder);
        assert!(listed, "{folder} and its parts use each other:\n{circle}");
    }
    for (folder, reason) in FOLDERS {
        assert!(found.contains_key(*folder), "{folder} is in no circle");
        assert!(!reason.is_empty(), "{folder}");
    }
}

/// Reads a made-up crate: pairs of a path and a text.
fn made_up(files: &[(&str, &str)]) -> Crate {
    let text = |path: &str| {
        let file = files.iter().find(|(name, _)| *name == path)?;
        Some(file.1.to_owned())
    };
    Crate::read("made", "lib.rs", &text)
}

/// Returns the arrows of all circles among siblings, as text.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let found = made_up(files).circles(&BTreeSet::new());
    found.iter().map(|circle| circle.to_string()).collect()
}

const LAYERS: [(&str, &str); 5] = [
    (
        "lib.rs",
        "pub mod model; pub mod storage; pub use model::Gid;",
    ),
    (
        "model.rs",
        "pub struct Gid; impl Gid { pub fn of(_: u64) -> Self { Self } }",
    ),
    (
        "storage.rs",
        "mod load; mod rows; pub use rows::Row; pub use load::load;",
    ),
    (
        "storage/rows.rs",
        "use crate::model; pub struct Row { gid: model::Gid }",
    ),
    (
        "storage/load.rs",
        "use super::Row; pub fn load() -> Option<Row> { None }",
    ),
];

/// Returns the layers with the text of one file replaced.
fn with<'a>(path: &'a str, text: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = LAYERS.into_iter().filter(|(name, _)| *name != path);
    others.chain([(path, text)]).collect()
}

#[test]
fn layers_have_no_circle() {
    assert_eq!(circles(&LAYERS), Vec::<String>::new());
    assert!(made_up(&LAYERS).folders_in_circles().is_empty());
}

/// The broken twin: each of these closes a circle that the check has to find.
#[test]
fn a_circle_is_found_however_it_is_written() {
    for text in [
        "use crate::storage::Row; pub struct Gid;",
        "use crate::storage::{load, Row as Record}; pub struct Gid;",
        "use super::storage::*; pub struct Gid; fn of(_: Row) {}",
        "pub struct Gid; fn of() { let _ = crate::storage::load(); }",
        "use crate::storage; pub struct Gid; fn of(_: storage::Row) {}",
        "pub struct Gid; fn of() { use crate::storage::rows as records; match (0..records::Row) { _ => {} } }",
        "pub use crate::storage::Row; pub struct Gid;",
        "mod inner { use super::super::storage::Row; } pub struct Gid;",
        "pub struct Gid; #[cfg(feature = \"x\")] use crate::storage::Row;",
        "pub struct Gid; #[cfg(any(test, feature = \"x\"))] mod laws { use crate::storage::Row; }",
    ] {
        let found = circles(&with("model.rs", text));
        assert_eq!(found.len(), 1, "{text}");
        let storage = "made::storage -> made::model: Gid";
        assert!(found[0].contains(storage) && found[0].contains("made::model -> made::storage: "));
    }
    // Files of one folder, through a name that only their parent re-exports.
    let found = circles(&with(
        "storage/rows.rs",
        "use super::load; pub struct Row; impl Row { fn again() { load(); } }",
    ));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("made::storage::rows -> made::storage::load: load"));
}

#[test]
fn what_only_looks_like_a_use_is_none() {
    for text in [
        "pub struct Gid; #[cfg(test)] mod tests { use crate::storage::Row; }",
        "pub struct Gid; #[cfg(test)] use crate::storage::Row; #[cfg(all(test, unix))] fn f() { crate::storage::load(); }",
        "pub struct Gid; #[cfg(test)] #[path = \"t.rs\"] mod tests;",
        "//! See [`crate::storage::Row`].\n/* use crate::storage::Row; /* */ */ pub struct Gid;",
        "pub struct Gid; const A: &str = \"use crate::storage::Row;\"; const B: &str = r#\"\" crate::storage::Row\"#;",
        "pub struct Gid<'a>(&'a u8); const C: [char; 2] = ['\"', '\\'']; const D: char = '\"';",
        "pub struct Gid; #[serde(with = \"crate::storage\")] struct A;",
        "pub struct Gid; fn f(a: A) { a.storage::<u8>(); std::storage::Row; }",
        "pub struct Gid { #[cfg(test)] row: crate::storage::Row, other: u8 }",
    ] {
        assert_eq!(
            circles(&with("model.rs", text)),
            Vec::<String>::new(),
            "{text}"
        );
    }
}

#[test]
fn code_after_what_is_left_out_is_read() {
    for text in [
        "pub struct Gid; #[cfg(test)] mod tests { fn f() {} } use crate::storage::Row;",
        "pub struct Gid { #[cfg(test)] a: [u8; 2], b: crate::storage::Row }",
        "pub struct Gid; #[cfg(test)] const A: [u8; 1] = { [0] }; use crate::storage::Row;",
        "pub struct Gid; const A: &[u8] = b\"\\\"\"; const B: u8 = b'\\''; use crate::storage::Row;",
        "pub struct Gid; fn f<'a>(a: &'a str) -> impl Sized + use<'a> { crate::storage::load() }",
    ] {
        assert_eq!(circles(&with("model.rs", text)).len(), 1, "{text}");
    }
}

#[test]
fn a_folder_whose_file_uses_its_parts_is_found() {
    let text = "mod load; mod rows; use rows::Row; pub use load::load; pub struct Own(Row);";
    let mut files = with("storage.rs", text);
    assert!(made_up(&files).folders_in_circles().is_empty());
    files.retain(|(name, _)| *name != "storage/rows.rs");
    files.push((
        "storage/rows.rs",
        "use super::Own; pub struct Row(Box<Own>);",
    ));
    let found = made_up(&files).folders_in_circles();
    assert_eq!(found.keys().collect::<Vec<_>>(), ["made::storage"]);
}

#[test]
fn an_allowed_use_is_passed_over() {
    let made = made_up(&with(
        "model.rs",
        "use crate::storage::Row; pub struct Gid;",
    ));
    let pair = |from: &str, to: &str| BTreeSet::from([(from.to_owned(), to.to_owned())]);
    assert_eq!(made.circles(&pair("made::storage", "made::load")).len(), 1);
    assert_eq!(made.circles(&pair("made::model", "made::storage")).len(), 0);
}
