//! Golden files: compared as text; a run with `BLESS=1` rewrites them.
use std::path::{Path, PathBuf};

/// Returns true if this run rewrites golden files.
pub(crate) fn blessing() -> bool {
    std::env::var("BLESS").is_ok_and(|v| v == "1")
}

/// Returns a path of the project, from its root.
pub(crate) fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Checks that the file has exactly this text.
pub(crate) fn check(path: &Path, now: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    if before == now {
        return;
    }
    if blessing() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, now).unwrap();
        return;
    }
    let line = before
        .lines()
        .zip(now.lines())
        .position(|(a, b)| a != b)
        .unwrap_or_else(|| before.lines().count().min(now.lines().count()));
    let show = |text: &str| {
        let from = line.saturating_sub(2);
        let lines: Vec<&str> = text.lines().skip(from).take(8).collect();
        lines.join("\n    ")
    };
    panic!(
        "{} is stale from line {} on; BLESS=1 rewrites it.\n  file:\n    {}\n  now:\n    {}",
        path.display(),
        line + 1,
        show(&before),
        show(now)
    );
}
