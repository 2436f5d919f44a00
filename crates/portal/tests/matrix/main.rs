//! docs/OAUTH.md: every rule of the authorization server, with the tests that hold it.
//!
//! A test names its rules at the start of its doc comment (`/// B28. Of many ...`), or at the start
//! of its name (`b28_of_many`).
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The numbers at the start of a doc comment: `B13. B14. What ...`, `B13, B14, F7.` Those with an F
/// are rows of the bad inputs.
fn of_comment(text: &str) -> Vec<String> {
    let number = |word: &str| {
        let number = word.strip_suffix(['.', ','])?;
        let digits = number.strip_prefix(['B', 'F'])?;
        let sound = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        sound.then(|| number.to_owned())
    };
    let numbers = text.split_whitespace().map_while(number);
    numbers.filter(|number| number.starts_with('B')).collect()
}

/// The numbers at the start of a name: `b13_b14_scopes`.
fn of_name(name: &str) -> Vec<String> {
    let number = |word: &&str| {
        let digits = word.strip_prefix('b').unwrap_or_default();
        digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit())
    };
    name.split('_')
        .take_while(number)
        .map(str::to_uppercase)
        .collect()
}

/// The tests of a file, each with the rules that it names.
fn tests(text: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let (mut rules, mut documented, mut is_test) = (Vec::new(), false, false);
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            if !documented {
                rules = of_comment(comment);
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
                rules.extend(of_name(name));
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
            // This one has tests as texts.
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

/// The tests that name each rule: file and function.
fn holders() -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "bins"] {
        sources(&root().join(folder), &mut files);
    }
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let short = file.strip_prefix(root()).unwrap().display().to_string();
        for (name, rules) in tests(&text) {
            for rule in rules {
                let holder = format!("[`{name}`](../{short})");
                let held = all.entry(rule).or_default();
                if !held.contains(&holder) {
                    held.push(holder);
                }
            }
        }
    }
    all
}

#[test]
fn each_rule_has_its_test() {
    let table = std::fs::read_to_string(root().join("fixtures/oauth-rows.tsv")).unwrap();
    let holders = holders();
    let mut out = String::from(
        "# What the authorization server promises\n\n\
         Each rule with the tests that hold it. Written by `just bless` from `fixtures/oauth-rows.tsv` and the tests\n\
         that name a rule; a rule without a test fails the test run.\n",
    );
    let (mut part, mut known, mut missing) = ("", Vec::new(), Vec::new());
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [rule, this, words] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}");
        };
        if this != part {
            part = this;
            write!(out, "\n## {part}\n\n| | Rule | Tests |\n|---|---|---|\n").unwrap();
        }
        match holders.get(rule) {
            Some(tests) => writeln!(
                out,
                "| {rule} | {} | {} |",
                words.replace('|', "\\|"),
                tests.join("<br>")
            )
            .unwrap(),
            None => missing.push(rule),
        }
        known.push(rule);
    }
    assert!(missing.is_empty(), "no test names {missing:?}");
    let stray: Vec<_> = holders
        .keys()
        .filter(|rule| !known.contains(&rule.as_str()))
        .collect();
    assert!(
        stray.is_empty(),
        "tests name {stray:?}, which fixtures/oauth-rows.tsv does not have"
    );
    let file = root().join("docs/OAUTH.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &out).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == out,
        "docs/OAUTH.md is out of date: run `just bless`"
    );
}

#[test]
fn the_reader_of_tests_reads() {
    let text = "
        /// B28. B29. Of many, one.
        /// B30. not the start
        #[test]
        fn once() {}
        /// B31. no test
        fn helper() {}
        #[tokio::test]
        async fn b32_b33_form(x: u8) {}
        /// B20, F69, B21.
        #[test]
        fn commas() {}
        /// About B34.
        #[test]
        fn other() {}
    ";
    let found: Vec<(String, String)> = tests(text)
        .into_iter()
        .map(|(name, rules)| (name, rules.join(" ")))
        .collect();
    let pair = |name: &str, rules: &str| (name.to_owned(), rules.to_owned());
    assert_eq!(
        found,
        [
            pair("once", "B28 B29"),
            pair("b32_b33_form", "B32 B33"),
            pair("commas", "B20 B21"),
            pair("other", "")
        ]
    );
}
