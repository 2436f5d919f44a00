//! The list of expected counts: instructions per request, in total and of the functions with the largest shares.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::callgrind::InstructionProfile;

/// First line of the list.
const HEADER: &str = "build\ttasks\trow\tfunction\tinstructions";
/// Name of the sum of all functions of a row.
const ALL: &str = "*";
/// Functions with less than this share of a row, in thousandths, are not listed.
const LISTED: u64 = 10;

/// Build of the server and size of the graph that counts belong to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountContext {
    /// Name of the build profile.
    pub(crate) build: String,
    /// Number of tasks in the graph.
    pub(crate) tasks: u64,
}

/// Counts of one row, per request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowCount {
    pub(crate) total: u64,
    /// Instructions of the functions themselves.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl RowCount {
    /// Divides a profile by the number of its requests.
    pub(crate) fn of(profile: &InstructionProfile, requests: u64) -> Self {
        let each = |count: u64| count / requests.max(1);
        let functions = profile.functions.iter();
        Self {
            total: each(profile.total),
            functions: functions
                .map(|(name, count)| (name.clone(), each(*count)))
                .collect(),
        }
    }

    /// Returns the `most` functions whose counts differ most from those of another profile, each with the difference.
    pub(crate) fn moved(&self, before: &Self, most: usize) -> Vec<(String, i64)> {
        // A list names only the largest functions: one that is not in both is compared with what the list leaves out.
        let least = before.functions.values().copied().min().unwrap_or(0);
        let names: std::collections::BTreeSet<&String> = self
            .functions
            .keys()
            .chain(before.functions.keys())
            .collect();
        let mut moved: Vec<(String, i64)> = names
            .into_iter()
            .filter_map(|name| {
                let now = self.functions.get(name).copied().unwrap_or(0);
                let then = match before.functions.get(name) {
                    Some(then) => *then,
                    None if now > least => 0,
                    None => return None,
                };
                Some((name.clone(), now.cast_signed() - then.cast_signed()))
            })
            .filter(|(_, by)| *by != 0)
            .collect();
        moved.sort_by_key(|(_, by)| std::cmp::Reverse(by.unsigned_abs()));
        moved.truncate(most);
        moved
    }
}

/// Difference between a count and the expected one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CountChange {
    /// No change, or one within the tolerance.
    Within,
    /// Fewer instructions than the tolerance allows.
    Fewer,
    /// More instructions than the tolerance allows.
    More,
}

impl CountChange {
    /// Compares totals; the tolerance is in thousandths of the earlier one.
    pub(crate) fn of(now: u64, then: u64, tolerance: u64) -> Self {
        let room = then.saturating_mul(tolerance) / 1_000;
        if now > then.saturating_add(room) {
            Self::More
        } else if now < then.saturating_sub(room) {
            Self::Fewer
        } else {
            Self::Within
        }
    }

    pub(crate) const fn text(&self) -> &'static str {
        match self {
            Self::Within => "as before",
            Self::Fewer => "fewer than before",
            Self::More => "more than before",
        }
    }
}

/// Expected counts of all builds, graphs and rows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ExpectedCounts(BTreeMap<(CountContext, String), RowCount>);

impl ExpectedCounts {
    /// Reads the list in a file; without the file it is empty.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Parses a list of expected counts.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut counts = Self::default();
        for (number, line) in text.lines().enumerate().skip(1) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [build, tasks, row, function, count] = cells[..] else {
                anyhow::bail!("line {} does not have 5 columns: {line}", number + 1);
            };
            let reason = || format!("line {} of the expected counts: {line}", number + 1);
            let context = CountContext {
                build: build.to_owned(),
                tasks: tasks.parse().with_context(reason)?,
            };
            let count: u64 = count.parse().with_context(reason)?;
            let row = counts.0.entry((context, row.to_owned())).or_default();
            if function == ALL {
                row.total = count;
            } else {
                row.functions.insert(function.to_owned(), count);
            }
        }
        Ok(counts)
    }

    /// Formats the list as it is stored.
    pub(crate) fn text(&self) -> String {
        let mut out = format!("{HEADER}\n");
        for ((context, row), counts) in &self.0 {
            let mut line = |function: &str, count: u64| {
                // Writing to a string never fails.
                let _ = writeln!(
                    out,
                    "{}\t{}\t{row}\t{function}\t{count}",
                    context.build, context.tasks
                );
            };
            line(ALL, counts.total);
            let mut functions: Vec<_> = counts.functions.iter().collect();
            functions.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
            for (name, count) in functions {
                if count * 1_000 >= counts.total * LISTED {
                    line(name, *count);
                }
            }
        }
        out
    }

    /// Returns the expected counts of a row, if the list has them.
    pub(crate) fn get(&self, context: &CountContext, row: &str) -> Option<&RowCount> {
        self.0.get(&(context.clone(), row.to_owned()))
    }

    /// Returns the builds with counts on a graph of this many tasks.
    pub(crate) fn builds(&self, tasks: u64) -> Vec<CountContext> {
        let contexts = self.0.keys().map(|(context, _)| context);
        let mut builds: Vec<CountContext> = contexts
            .filter(|context| context.tasks == tasks)
            .cloned()
            .collect();
        builds.dedup();
        builds
    }

    /// Replaces the expected counts of a row.
    pub(crate) fn put(&mut self, context: &CountContext, row: &str, counts: RowCount) {
        self.0.insert((context.clone(), row.to_owned()), counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(tasks: u64) -> CountContext {
        let build = "dist".to_owned();
        CountContext { build, tasks }
    }

    fn counts(total: u64, functions: &[(&str, u64)]) -> RowCount {
        let functions = functions.iter().map(|(name, n)| ((*name).to_owned(), *n));
        RowCount {
            total,
            functions: functions.collect(),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written_without_small_functions() {
        let mut list = ExpectedCounts::default();
        list.put(
            &context(10),
            "hot",
            counts(1_000, &[("parse", 600), ("tiny", 9)]),
        );
        list.put(&context(9), "hot", counts(500, &[("read", 400)]));
        let text = list.text();
        assert_eq!(
            text,
            "build\ttasks\trow\tfunction\tinstructions\ndist\t9\thot\t*\t500\ndist\t9\thot\tread\t400\n\
             dist\t10\thot\t*\t1000\ndist\t10\thot\tparse\t600\n"
        );
        let read = ExpectedCounts::parse(&text).unwrap();
        assert_eq!(read.text(), text);
        assert_eq!(read.get(&context(9), "hot"), list.get(&context(9), "hot"));
        assert_eq!(read.get(&context(9), "cold"), None);
        assert!(ExpectedCounts::parse("header\ndist\tmany\trow\t*\t1\n").is_err());
        assert!(ExpectedCounts::parse("header\ndist\t1\n").is_err());
    }

    #[test]
    fn only_a_count_above_the_tolerance_is_too_much() {
        for (now, change) in [
            (10_200, CountChange::Within),
            (10_201, CountChange::More),
            (9_800, CountChange::Within),
            (9_799, CountChange::Fewer),
        ] {
            assert_eq!(CountChange::of(now, 10_000, 20), change, "{now}");
        }
    }

    #[test]
    fn functions_that_moved_most_come_first() {
        let before = counts(1_000, &[("parse", 600), ("read", 300), ("gone", 50)]);
        let now = counts(
            1_200,
            &[
                ("parse", 590),
                ("read", 300),
                ("new", 260),
                ("unlisted", 49),
            ],
        );
        let moved = now.moved(&before, 3);
        let moved: Vec<(&str, i64)> = moved.iter().map(|(name, by)| (&**name, *by)).collect();
        assert_eq!(moved, [("new", 260), ("gone", -50), ("parse", -10)]);
    }
}
