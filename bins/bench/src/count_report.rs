//! The table of instruction counts in the report.

use crate::bench_rows::judge;
use crate::count_rows::COUNT_ROWS;
use crate::expected_counts::{CountContext, ExpectedCounts};
use crate::report;

/// Returns the counts on a graph of this many tasks as Markdown: for each request, the counts of each build, its floor and
/// its aim. Returns an empty text if the list has no such counts.
pub(crate) fn counts_markdown(counts: &ExpectedCounts, tasks: u64) -> String {
    let builds = counts.builds(tasks);
    let Some(last) = builds.last() else {
        return String::new();
    };
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut heads = vec!["Request".to_owned()];
    heads.extend(builds.iter().map(|context| context.build.clone()));
    heads.extend([
        "Floor".to_owned(),
        "Aim".to_owned(),
        format!("{}: verdict", last.build),
    ]);
    let mut text = format!(
        "## Instructions of a request\n\nCounted by `workgraph-bench count` on {} tasks, and the same twice to within 2 % \
         (hot requests 4 %, creates 3 %). They are those of user space: what the kernel does for a request, above all the pages \
         that a durable write puts on the disk, is only in the times below. `dist` is `cargo build --profile dist`; `shipped` \
         is what `deploy/profile.sh` and `deploy/release.sh` make.\n\n",
        shown(tasks)
    );
    text.push_str(&line(&heads));
    text.push_str(&line(
        &heads.iter().map(|_| "---".to_owned()).collect::<Vec<_>>(),
    ));
    for row in COUNT_ROWS {
        let total = |context: &CountContext| counts.get(context, row.name).map(|count| count.total);
        let mut cells = vec![row.name.to_owned()];
        cells.extend(
            builds
                .iter()
                .map(|context| total(context).map_or("-".into(), shown)),
        );
        cells.extend([shown(row.floor), shown(row.aim)]);
        cells.push(
            total(last)
                .map_or("-", |count| judge(count as f64, row.bound()))
                .to_owned(),
        );
        text.push_str(&line(&cells));
    }
    text.push('\n');
    text
}

fn shown(count: u64) -> String {
    report::number(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "build\ttasks\trow\tfunction\tinstructions\n\
        ci\t1000\ttask-hot\t*\t1\ndist\t100000\ttask-hot\t*\t19132\ndist\t100000\ttask-hot\tparse\t900\n\
        shipped\t100000\ttask-hot\t*\t14900\n";

    #[test]
    fn each_row_has_the_counts_of_each_build_of_that_graph() {
        let counts = ExpectedCounts::parse(LIST).unwrap();
        let text = counts_markdown(&counts, 100_000);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(lines.len(), COUNT_ROWS.len() + 2);
        assert!(
            lines[0].contains("| dist | shipped | Floor |") && !text.contains("ci"),
            "{}",
            lines[0]
        );
        let hot = "| task-hot | 19,132 | 14,900 | 15,000 | 13,000 | floor met |";
        assert!(lines.contains(&hot), "{text}");
        assert!(text.contains("| users-me | - | - | 15,000 | 13,000 | - |"));
        assert_eq!(counts_markdown(&counts, 7), "");
    }
}
