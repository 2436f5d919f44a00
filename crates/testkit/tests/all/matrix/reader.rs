//! Index of the tests by the rules that they name.
//!
//! A test names its rules at the start of its doc comment (`/// B28. Of many ...`), or at the start of its name
//! (`b28_of_many`). A rule is a letter and two or three digits.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the root of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn is_rule(word: &str, letters: &str) -> bool {
    let digits = word.strip_prefix(|c| letters.contains(c));
    digits.is_some_and(|d| (2..=3).contains(&d.len()) && d.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the rules at the start of a doc comment: `B13. B14. The ...`, `B13, S07.`
fn of_comment(text: &str, letters: &str) -> Vec<String> {
    let rules = text
        .split_whitespace()
        .map_while(|word| word.strip_suffix(['.', ',']))
        .take_while(|word| is_rule(word, letters));
    rules.map(str::to_owned).collect()
}

/// Returns the rules at the start of a name: `b13_b14_scopes`.
fn of_name(name: &str, letters: &str) -> Vec<String> {
    let rules = name
        .split('_')
        .map(str::to_uppercase)
        .take_while(|word| is_rule(word, letters));
    rules.collect()
}

/// Returns the tests of a file, each with the rules that it names.
fn tests(text: &str, letters: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let (mut rules, mut documented, mut is_test) = (Vec::new(), false, false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            if !documented {
                rules = of_comment(comment, letters);
            }
            documented = true;
        } else if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else {
            let after = line
                .strip_prefix("async ")
                .unwrap_or(line)
                .strip_prefix("fn ");
            if let Some(after) = after.filter(|_| is_test) {
                let name = after
                    .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next()
                    .unwrap_or_default();
                rules.extend(of_name(name, letters));
                all.push((name.to_owned(), std::mem::take(&mut rules)));
            }
            (rules, documented, is_test) = (Vec::new(), false, false);
        }
    }
    all
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            // The folder of this file has tests as texts.
            let passed = ["target", "matrix"];
            if path
                .file_name()
                .is_none_or(|name| !passed.iter().any(|p| name == *p))
            {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Returns the tests that name each rule, as links from `docs`.
pub(crate) fn holders(letters: &str) -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "bins", "examples"] {
        sources(&root().join(folder), &mut files);
    }
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let short = file.strip_prefix(root()).unwrap().display().to_string();
        for (name, rules) in tests(&text, letters) {
            for rule in rules {
                let holder = format!("[`{name}`](../../{short})");
                let holders_of_rule = all.entry(rule).or_default();
                if !holders_of_rule.contains(&holder) {
                    holders_of_rule.push(holder);
                }
            }
        }
    }
    all
}

#[test]
fn the_reader_of_tests_reads() {
    let text = "
        /// B28. S29. Of many, one.
        /// B30. not the start
        #[test]
        fn once() {}
        /// B31. no test
        fn helper() {}
        #[tokio::test]
        async fn b32_s33_form(x: u8) {}
        /// B20, S21, F69, B22.
        #[test]
        fn commas() {}
        /// About B34. B35 has no full stop.
        #[test]
        fn other() {}
    ";
    let found: Vec<(String, String)> = tests(text, "BS")
        .into_iter()
        .map(|(name, rules)| (name, rules.join(" ")))
        .collect();
    let pair = |name: &str, rules: &str| (name.to_owned(), rules.to_owned());
    assert_eq!(
        found,
        [
            pair("once", "B28 S29"),
            pair("b32_s33_form", "B32 S33"),
            pair("commas", "B20 S21"),
            pair("other", "")
        ]
    );
}
