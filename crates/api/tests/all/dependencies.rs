//! The dependency picture: read from every `Cargo.toml` of the workspace.
use crate::golden;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A package: its name, whether it is a binary, its dependencies and its dev-dependencies.
struct Package {
    name: String,
    binary: bool,
    dependencies: BTreeSet<String>,
    /// Those of the dependencies that only a feature needs.
    optional: BTreeSet<String>,
    dev: BTreeSet<String>,
}

/// Reads the sections of a manifest with dependencies. Manifests here are plain: one dependency a line, or a table of
/// its own.
fn read(folder: &Path, binary: bool) -> Package {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut package = Package {
        name: String::new(),
        binary,
        dependencies: BTreeSet::new(),
        optional: BTreeSet::new(),
        dev: BTreeSet::new(),
    };
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            for (table, set) in [
                ("dev-dependencies.", &mut package.dev),
                ("dependencies.", &mut package.dependencies),
            ] {
                if let Some((before, name)) = section.split_once(table)
                    && (before.is_empty() || before.ends_with('.'))
                {
                    set.insert(name.to_owned());
                    break;
                }
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let name = key.trim().split('.').next().unwrap_or("").to_owned();
        match section.rsplit('.').next().unwrap_or("") {
            "package" if name == "name" => package.name = value.trim().trim_matches('"').to_owned(),
            "dependencies" | "build-dependencies" => {
                if value.contains("optional = true") {
                    package.optional.insert(name.clone());
                }
                package.dependencies.insert(name);
            }
            "dev-dependencies" => drop(package.dev.insert(name)),
            _ => {}
        }
    }
    package
}

fn packages() -> BTreeMap<String, Package> {
    let mut packages = BTreeMap::new();
    for (folder, binary) in [("crates", false), ("bins", true), ("examples", true)] {
        for entry in std::fs::read_dir(golden::root(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.join("Cargo.toml").exists() {
                let package = read(&path, binary);
                packages.insert(package.name.clone(), package);
            }
        }
    }
    packages
}

const LEAVES: [&str; 7] = [
    "workgraph-richtext",
    "workgraph-core",
    "workgraph-auth",
    "workgraph-wire",
    "workgraph-limits",
    "workgraph-webhooks",
    "workgraph-audit",
];

/// Returns the permitted dependencies of a library in this workspace; `None` if the picture has no such library.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    Some(match name {
        "workgraph-core" => vec!["workgraph-richtext"],
        name if LEAVES.contains(&name) => vec![],
        "workgraph-operations" => vec!["workgraph-core", "workgraph-auth", "workgraph-wire"],
        "workgraph-api" => LEAVES.into_iter().chain(["workgraph-operations"]).collect(),
        "workgraph-portal" => LEAVES.into_iter().chain(["workgraph-api"]).collect(),
        "workgraph-store-sqlite" | "workgraph-store-postgres" => vec![
            "workgraph-core",
            "workgraph-auth",
            "workgraph-webhooks",
            "workgraph-audit",
            "workgraph-rows",
        ],
        "workgraph-store-memory" => vec!["workgraph-core", "workgraph-auth", "workgraph-webhooks"],
        "workgraph-rows" => vec!["workgraph-core", "workgraph-auth"],
        "workgraph-server" => LEAVES
            .into_iter()
            .chain([
                "workgraph-api",
                "workgraph-operations",
                "workgraph-portal",
                "workgraph-limits-redis",
                "workgraph-store-sqlite",
                "workgraph-store-postgres",
                "workgraph-rows",
                "workgraph-recordings",
            ])
            .collect(),
        "workgraph-limits-redis" => vec!["workgraph-limits"],
        "workgraph-laws" => vec!["workgraph-webhooks"],
        "workgraph-recordings" => vec![],
        "workgraph-stand-in" => vec!["workgraph-recordings", "workgraph-server"],
        "workgraph-testkit" => LEAVES
            .into_iter()
            .chain(["workgraph-store-memory"])
            .collect(),
        _ => return None,
    })
}

#[test]
fn libraries_depend_only_on_what_the_picture_shows() {
    for package in packages().values().filter(|p| !p.binary) {
        let inside: BTreeSet<&str> = package
            .dependencies
            .iter()
            .map(String::as_str)
            .filter(|d| d.starts_with("workgraph-"))
            .collect();
        let allowed = allowed(&package.name);
        let allowed = allowed.unwrap_or_else(|| panic!("{} is not in the picture", package.name));
        for name in inside {
            assert!(
                allowed.contains(&name),
                "{} depends on {name}",
                package.name
            );
        }
    }
}

#[test]
fn leaves_need_at_most_the_testkit_for_their_tests() {
    let packages = packages();
    for leaf in LEAVES {
        let package = &packages[leaf];
        for name in package.dev.iter().filter(|d| d.starts_with("workgraph-")) {
            // A leaf that needs itself tests with more of its features.
            let is_right = [leaf, "workgraph-testkit"].contains(&name.as_str());
            assert!(is_right, "{leaf} tests with {name}");
        }
    }
}

#[test]
fn nothing_is_built_on_the_testkit_but_tests() {
    for package in packages().values().filter(|p| !p.binary) {
        assert!(
            !package.dependencies.contains("workgraph-testkit"),
            "{} depends on the testkit",
            package.name
        );
    }
}

#[test]
fn only_the_server_and_binaries_know_hyper() {
    let inside = |package: &&Package| !package.binary && package.name != "workgraph-server";
    for package in packages().values().filter(inside) {
        for name in package.dependencies.iter().chain(&package.dev) {
            assert!(!name.starts_with("hyper"), "{} knows {name}", package.name);
        }
    }
}

/// Returns the dependencies of every package of the lock file, by name. Packages of the registry have no
/// dev-dependencies there.
fn locked() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(golden::root("Cargo.lock")).unwrap();
    let mut locked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in text.split("[[package]]").skip(1) {
        let name = package.split_once("name = \"").unwrap().1;
        let name = name.split_once('"').unwrap().0.to_owned();
        let list = package.split_once("dependencies = [");
        let list = list.map_or("", |(_, rest)| rest.split_once(']').unwrap().0);
        let names = list.split('"').skip(1).step_by(2);
        let names = names.map(|entry| entry.split(' ').next().unwrap().to_owned());
        locked.entry(name).or_default().extend(names);
    }
    locked
}

/// Returns all packages that a library of this workspace is built with when nobody asks for a feature.
fn tree(of: &str) -> BTreeSet<String> {
    let (packages, locked) = (packages(), locked());
    let (mut tree, mut open) = (BTreeSet::new(), vec![of.to_owned()]);
    while let Some(name) = open.pop() {
        if tree.insert(name.clone()) {
            match packages.get(&name) {
                Some(inside) => open.extend(&inside.dependencies - &inside.optional),
                None => open.extend(locked.get(&name).into_iter().flatten().cloned()),
            }
        }
    }
    tree
}

#[test]
fn operations_are_built_without_async_http_or_a_store() {
    let tree_of_operations = tree("workgraph-operations");
    for name in ["workgraph-core", "serde_json", "serde_core"] {
        assert!(tree_of_operations.contains(name), "{name} is missing");
    }
    for name in ["tokio", "hyper", "rusqlite", "workgraph-store-sqlite"] {
        assert!(!tree_of_operations.contains(name), "operations know {name}");
    }
    let tree_of_server = tree("workgraph-server");
    for name in ["tokio", "hyper", "rusqlite"] {
        assert!(
            tree_of_server.contains(name),
            "the walk does not find {name}"
        );
    }
}

/// Returns the number of crates that a library of this workspace is built with, without features.
fn crates_of(library: &str) -> usize {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = std::process::Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--locked",
            "-e",
            "normal",
            "--prefix",
            "none",
        ])
        .args(["-p", library])
        .current_dir(golden::root(""))
        .output()
        .unwrap();
    let text = String::from_utf8(tree.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    let crates: BTreeSet<&str> = lines.filter(|line| !line.is_empty()).collect();
    let why = String::from_utf8_lossy(&tree.stderr);
    assert!(crates.iter().any(|line| line.starts_with(library)), "{why}");
    crates.len() - 1
}

#[test]
fn leaves_bring_few_crates_without_features() {
    assert_eq!(crates_of("workgraph-limits"), 0);
    for (leaf, most) in [("workgraph-wire", 12), ("workgraph-auth", 20)] {
        let crates = crates_of(leaf);
        assert!(
            (2..=most).contains(&crates),
            "{leaf} brings {crates} crates"
        );
    }
}

/// Programs that the READMEs show as all that a service needs.
const PROGRAMS: [&str; 7] = [
    "limits/examples/tower_layer.rs",
    "wire/examples/axum_pages.rs",
    "auth/examples/axum_grant.rs",
    "auth/examples/tower_grant.rs",
    "auth/examples/oauth_server.rs",
    "api/examples/embedded_api.rs",
    "server/examples/in_process.rs",
];

/// Examples that continuous integration does not run, with the reason.
const NOT_RUN: [(&str, &str); 4] = [
    ("embed", "it needs a Redis"),
    ("json_lines_limiter", "it answers another program"),
    ("memory", "it measures"),
    ("workgraph_limits", "it answers another program"),
];

#[test]
fn a_program_for_embedding_has_at_most_forty_lines() {
    for program in PROGRAMS {
        let text = std::fs::read_to_string(golden::root("crates").join(program)).unwrap();
        assert!(text.lines().count() <= 40, "{program}");
    }
}

#[test]
fn every_library_has_an_example_that_is_run() {
    let run = std::fs::read_to_string(golden::root(".ci/run")).unwrap();
    let (_, list) = run.split_once("for example in ").unwrap();
    let list = list.split_once("; do").unwrap().0;
    let run: BTreeSet<&str> = list
        .split_whitespace()
        .filter(|name| *name != "\\")
        .collect();
    for entry in std::fs::read_dir(golden::root("crates")).unwrap() {
        let folder = entry.unwrap().path().join("examples");
        let files = std::fs::read_dir(&folder);
        let files = files.unwrap_or_else(|_| panic!("{} does not exist", folder.display()));
        let paths = files.map(|file| file.unwrap().path());
        let examples: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|end| end == "rs"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert!(!examples.is_empty(), "{} is empty", folder.display());
        for name in examples {
            let excused = NOT_RUN.iter().any(|(example, _)| *example == name);
            assert_ne!(
                run.contains(&*name),
                excused,
                "{}: {name}",
                folder.display()
            );
        }
    }
}

/// A program that embeds the store gets the flags from the store, and this repository has the same.
#[test]
fn sqlite_is_built_here_with_the_flags_that_the_store_wants() {
    let config = std::fs::read_to_string(golden::root(".cargo/config.toml")).unwrap();
    let flags = workgraph_store_sqlite::build_flags();
    assert!(config.contains(&format!("LIBSQLITE3_FLAGS = \"{flags}\"")));
    let missing = workgraph_store_sqlite::missing_build_flags().unwrap();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_reader_of_manifests_reads() {
    let packages = packages();
    let api = &packages["workgraph-api"];
    assert!(api.dependencies.contains("workgraph-wire"));
    assert!(
        api.dev.contains("workgraph-testkit") && !api.dependencies.contains("workgraph-testkit")
    );
    assert!(packages["workgraph-server"].dependencies.contains("hyper"));
}

/// The README names the kind of every module of tests.
#[test]
fn every_module_of_tests_has_its_row() {
    let read = |path: &str| std::fs::read_to_string(golden::root(path)).unwrap();
    let main = read("crates/api/tests/all/main.rs");
    let modules: BTreeSet<&str> = main
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .filter(|name| !["golden", "world"].contains(name))
        .collect();
    let table = read("crates/api/tests/README.md");
    let rows: Vec<&str> = table
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0))
        .collect();
    assert_eq!(rows.len(), modules.len(), "a row twice, or of nothing");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), modules);
}
