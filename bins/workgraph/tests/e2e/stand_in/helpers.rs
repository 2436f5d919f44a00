//! Helpers for test runners of other languages, on the binary.
use crate::clients::{ready, root};
use crate::common::{Folder, binary, command};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the test runners, if they can be installed here.
fn runners() -> Option<PathBuf> {
    let what = "tests of the helpers for test runners";
    ready(what, &["python3", "node", "npm"], "install-testing.sh")
}

fn passed(run: &mut Command, expected: &str) {
    let output = run
        .env("WORKGRAPH_BIN", binary())
        .env_remove("WORKGRAPH_TEST_QUICK_SECRETS")
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains(expected),
        "{out}\n{err}"
    );
}

/// The tests of the pytest plugin, whose client under test is the official Python library.
#[test]
fn tests_of_pytest_have_worlds_of_their_own() {
    let Some(runners) = runners() else { return };
    let plugin = root().join("testing/python");
    let mut run = command(runners.join("pytest/bin/python").to_str().unwrap());
    run.args(["-m", "pytest", "-q", "-p", "workgraph_testing.plugin"])
        .args(["-p", "no:cacheprovider"])
        .arg(plugin.join("tests"))
        .env("PYTHONPATH", &plugin)
        .env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    passed(&mut run, "passed");
}

fn copy_into(folder: &Path, names: &[&str]) {
    for name in names {
        let target = folder.join(name);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(root().join("testing/node").join(name), target).unwrap();
    }
}

/// The tests of the helper for vitest, whose client under test is the official Node library.
#[test]
fn tests_of_vitest_have_worlds_of_their_own() {
    let Some(runners) = runners() else { return };
    let folder = Folder::new("vitest");
    copy_into(
        folder.path(),
        &[
            "package.json",
            "index.js",
            "vitest.js",
            "global-setup.js",
            "vitest.config.js",
            "test/world.test.js",
        ],
    );
    let modules = runners.join("vitest/node_modules").canonicalize().unwrap();
    std::os::unix::fs::symlink(&modules, folder.path().join("node_modules")).unwrap();
    let mut run = command("node");
    run.arg(modules.join("vitest/vitest.mjs"))
        .arg("run")
        .current_dir(folder.path())
        .env("NO_COLOR", "1");
    passed(&mut run, "9 passed");
}
