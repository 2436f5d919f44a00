//! Documents docs/generated/CONTRACT.md and docs/generated/OAUTH.md: every rule with the tests that hold it.
//!
//! The rules are lines of `fixtures`: number, part, rule and, if no test can show it, the reason. Each has either tests
//! or a reason, and no test names a rule that does not exist.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]
mod reader;

use reader::{holders, root};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Table of rules, and the document that is made from it.
struct Table {
    /// Letter that its rules begin with.
    letter: &'static str,
    rules: &'static str,
    document: &'static str,
    title: &'static str,
    about: &'static str,
}

const TABLES: [Table; 2] = [
    Table {
        letter: "B",
        rules: "fixtures/oauth-rows.tsv",
        document: "docs/generated/OAUTH.md",
        title: "What the authorization server promises",
        about: "Each rule with the tests that hold it.",
    },
    Table {
        letter: "S",
        rules: "fixtures/contract-rows.tsv",
        document: "docs/generated/CONTRACT.md",
        title: "What the contract demands",
        about: "Each demand of the public contract with the tests that show it, or why none can.",
    },
];

/// Returns the document of a table, and the faults of the table.
fn render(
    table: &Table,
    rules: &str,
    holders: &BTreeMap<String, Vec<String>>,
) -> (String, Vec<String>) {
    let mut out = format!(
        "# {}\n\n{} Written by `just bless` from\n`{}` and the tests that name a rule; a rule with neither test nor reason fails the test run.\n",
        table.title, table.about, table.rules
    );
    let (mut part, mut known, mut wrong) = ("", Vec::new(), Vec::new());
    for line in rules.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let (rule, this, words, reason) = match cells[..] {
            [rule, this, words] => (rule, this, words, None),
            [rule, this, words, reason] => (rule, this, words, Some(reason)),
            _ => {
                wrong.push(format!("neither three nor four columns: {line}"));
                continue;
            }
        };
        if this != part {
            part = this;
            write!(out, "\n## {part}\n\n| | Rule | Tests |\n|---|---|---|\n").unwrap();
        }
        let shown = match (holders.get(rule), reason) {
            (Some(tests), None) => tests.join("<br>"),
            (None, Some(reason)) => format!("none: {}", reason.replace('|', "\\|")),
            (Some(_), Some(_)) => {
                wrong.push(format!("{rule} has tests and a reason why there are none"));
                continue;
            }
            (None, None) => {
                wrong.push(format!("no test names {rule}"));
                continue;
            }
        };
        if known.contains(&rule) {
            wrong.push(format!("{rule} is there twice"));
        }
        known.push(rule);
        writeln!(out, "| {rule} | {} | {shown} |", words.replace('|', "\\|")).unwrap();
    }
    let of_table = holders.keys().filter(|r| r.starts_with(table.letter));
    for stray in of_table.filter(|r| !known.contains(&r.as_str())) {
        wrong.push(format!("tests name {stray}, which is not in the table"));
    }
    (out, wrong)
}

#[test]
fn each_rule_has_its_test() {
    let letters: String = TABLES.iter().map(|t| t.letter).collect();
    let holders = holders(&letters);
    for table in &TABLES {
        let rules = std::fs::read_to_string(root().join(table.rules)).unwrap();
        let (out, wrong) = render(table, &rules, &holders);
        assert!(wrong.is_empty(), "{}: {wrong:#?}", table.rules);
        let file = root().join(table.document);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, &out).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == out,
            "{} is out of date: run `just bless`",
            table.document
        );
    }
}

#[test]
fn a_rule_without_test_or_reason_and_a_test_without_rule_are_noticed() {
    let held = |rule: &str| (rule.to_owned(), vec!["[`a_test`](../../a.rs)".to_owned()]);
    let holders = BTreeMap::from([held("S01"), held("S04"), held("S09"), held("B01")]);
    let rules =
        "# head\nS01\tPart\tone\nS02\tPart\ttwo\nS03\tPart\tthree\twhy\nS04\tPart\tfour\twhy\nS05";
    let (out, wrong) = render(&TABLES[1], rules, &holders);
    assert!(out.contains("| S01 | one | [`a_test`](../../a.rs) |\n"));
    assert!(out.contains("| S03 | three | none: why |\n"));
    let expected = [
        "no test names S02",
        "S04 has tests and a reason why there are none",
        "neither three nor four columns: S05",
        "tests name S04, which is not in the table",
        "tests name S09, which is not in the table",
    ];
    assert_eq!(wrong, expected);
}
