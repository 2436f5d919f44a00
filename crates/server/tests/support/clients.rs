//! The other programs that tests need, and their libraries.
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Returns the folder of the libraries that `clients/{script}` installs; they are installed if they were not there.
/// Returns `None`, with a message, if this test cannot or is not to run here.
pub(crate) fn ready(what: &str, programs: &[&str], script: &str) -> Option<PathBuf> {
    static INSTALLED: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    // Of two tests that need the same, one installs it and the other waits.
    let mut installed = INSTALLED.lock();
    if let Some(done) = installed.get(script) {
        return done.clone();
    }
    let outcome = install(what, programs, script);
    installed.insert(script.to_owned(), outcome.clone());
    outcome
}

fn install(what: &str, programs: &[&str], script: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var(name).is_ok_and(|v| !v.is_empty() && v != "0");
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let missing: Vec<&&str> = programs.iter().filter(|p| !there(p)).collect();
    let skipped = if set("WORKGRAPH_SKIP_CLIENTS") {
        Some("WORKGRAPH_SKIP_CLIENTS is set".to_owned())
    } else if missing.is_empty() {
        None
    } else {
        assert!(
            !set("CI"),
            "{missing:?} must be there in continuous integration"
        );
        Some(format!("{missing:?} must be there for it"))
    };
    if let Some(reason) = skipped {
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(std::io::stderr(), "SKIPPED: {what}: {reason}");
        return None;
    }
    let given = std::env::var("WORKGRAPH_CLIENTS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|_| root().join("target/clients"));
    let mut install = Command::new("bash");
    install
        .stdin(Stdio::null())
        .arg(root().join("clients").join(script))
        .arg(&folder);
    let output = install.output().unwrap();
    assert!(
        output.status.success(),
        "what {what} needs could not be installed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(folder)
}
