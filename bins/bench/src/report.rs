//! The table of results, for the terminal and as Markdown.

use std::fmt::Write;

use crate::bench_rows::Basis;
use crate::bench_rows::BenchResult;
use crate::bench_rows::Bound;
use crate::measure::Figure;

const HEADS: [&str; COLUMNS] = [
    "What",
    "CPU us each, ours / ceiling",
    "CPU ratio",
    "Workgraph",
    "Ceiling",
    "Rate ratio",
    "Floor",
    "Aim",
    "Verdict",
    "p50 / p99 us, ours | ceiling",
];
/// Number of columns of the table.
const COLUMNS: usize = 10;

/// Share of its ratio that a row must keep as the graph grows.
const SCALING_FLOOR: f64 = 0.9;

/// Line of the table, as the texts of its cells.
pub(crate) struct ReportLine(pub(crate) [String; COLUMNS]);

impl ReportLine {
    /// Returns the line of a measured row.
    pub(crate) fn of(measured: &BenchResult) -> Self {
        let (ours, ceiling) = (measured.ours(), measured.ceiling());
        let (floor, aim) = bounds(measured.row.bound, measured.row.basis.word(), "");
        Self([
            measured.row.description.to_owned(),
            format!("{} / {}", cpu(&ours), cpu(&ceiling)),
            ratio(measured.ratio_by(Basis::Cpu)),
            format!("{}/s", number(ours.rate)),
            format!("{} {}/s", measured.row.ceiling, number(ceiling.rate)),
            ratio(measured.ratio_by(Basis::Rate)),
            floor,
            aim,
            measured.verdict(),
            format!("{} | {}", latency(&ours), latency(&ceiling)),
        ])
    }

    /// Returns the line of a row that was also measured on a smaller graph: the share that it keeps of its ratio there.
    pub(crate) fn kept(here: &BenchResult, there: &BenchResult, tasks: u64) -> Self {
        let bound = Bound::AtLeast(SCALING_FLOOR, 1.0);
        let kept = here.scaling_share(there);
        let (floor, aim) = bounds(bound, "kept", "");
        let verdict = here.verdict_of_kept(there, bound);
        let of = |measured: &BenchResult| {
            let basis = measured.row.basis.word();
            format!("{basis} ratio {}", ratio(measured.ratio()))
        };
        let (ours, theirs) = (here.ours(), there.ours());
        Self([
            format!(
                "{} beside the same with {} tasks, and what it keeps",
                here.row.name,
                number(tasks as f64)
            ),
            format!("{} / {}", cpu(&ours), cpu(&theirs)),
            ratio(kept),
            of(here),
            of(there),
            "-".to_owned(),
            floor,
            aim,
            verdict,
            format!("{} | {}", latency(&ours), latency(&theirs)),
        ])
    }

    /// Returns the line of an absolute figure.
    pub(crate) fn absolute(
        what: &str,
        ours: f64,
        ceiling: Option<f64>,
        unit: &str,
        bound: Bound,
    ) -> Self {
        let (floor, aim) = bounds(bound, "", unit);
        let mut cells = [const { String::new() }; COLUMNS].map(|_| "-".to_owned());
        let filled = [
            (0, what.to_owned()),
            (3, format!("{ours:.1} {unit}")),
            (
                4,
                ceiling.map_or("-".into(), |c| format!("bare hyper {c:.1} {unit}")),
            ),
            (6, floor),
            (7, aim),
            (8, crate::bench_rows::judge(ours, bound).to_owned()),
        ];
        fill(&mut cells, filled);
        Self(cells)
    }

    /// Returns the line of a ceiling without a row.
    pub(crate) fn ceiling(what: &str, figure: &Figure) -> Self {
        let mut cells = [const { String::new() }; COLUMNS].map(|_| "-".to_owned());
        let errors = figure.errors.values().sum::<u64>();
        let verdict = if errors == 0 {
            "-".into()
        } else {
            format!("{errors} errors")
        };
        let filled = [
            (0, what.to_owned()),
            (1, format!("- / {}", cpu(figure))),
            (4, format!("{}/s", number(figure.rate))),
            (8, verdict),
            (9, format!("- | {}", latency(figure))),
        ];
        fill(&mut cells, filled);
        Self(cells)
    }
}

fn fill<const N: usize>(cells: &mut [String; COLUMNS], filled: [(usize, String); N]) {
    for (column, text) in filled {
        if let Some(cell) = cells.get_mut(column) {
            *cell = text;
        }
    }
}

fn ratio(number: Option<f64>) -> String {
    number.map_or("-".into(), |number| format!("{number:.2}"))
}

/// Returns the cells for floor and aim; the floor names the figure that it bounds.
fn bounds(bound: Bound, basis: &str, unit: &str) -> (String, String) {
    let (before, after) = (
        if basis.is_empty() { "" } else { " " },
        if unit.is_empty() { "" } else { " " },
    );
    let (sign, floor, aim) = match bound {
        Bound::AtLeast(floor, aim) => (">=", floor, aim),
        Bound::AtMost(limit, aim) => ("<=", limit, aim),
        Bound::None => return ("-".into(), "-".into()),
    };
    (
        format!("{basis}{before}{sign} {floor}{after}{unit}"),
        format!("{aim}{after}{unit}"),
    )
}

fn cpu(figure: &Figure) -> String {
    figure.cpu.map_or("-".into(), |cpu| format!("{cpu:.1}"))
}

fn latency(figure: &Figure) -> String {
    figure
        .latency
        .map_or("-".into(), |(p50, p99)| format!("{p50:.0} / {p99:.0}"))
}

/// Formats a number for readers: `65,432`, or with one decimal if it is small.
pub(crate) fn number(value: f64) -> String {
    if value < 1000.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the table with aligned columns.
pub(crate) fn terminal(lines: &[ReportLine]) -> String {
    let heads = HEADS.map(str::to_owned);
    let rows = || std::iter::once(&heads).chain(lines.iter().map(|line| &line.0));
    let mut text = String::new();
    for row in rows() {
        for (column, cell) in row.iter().enumerate() {
            let width = rows()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0);
            // Writing to a String cannot fail.
            let _ = write!(text, "{cell:<width$}  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// Returns the report: the counts of instructions, the machine, the method of measurement, the table, the notes.
pub(crate) fn markdown(
    counts: &str,
    (machine, how): (&str, &str),
    lines: &[ReportLine],
    notes: &[String],
) -> String {
    let mut text = format!(
        "# Benchmarks\n\nWritten by `workgraph-bench run`; do not edit by hand.\n\n{counts}## Times\n\nMachine: {machine}.\n\n{how}\n\n"
    );
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    text.push_str(&line(&HEADS.map(|head| head.replace('|', "\\|"))));
    text.push_str(&line(&HEADS.map(|_| "---".to_owned())));
    for row in lines {
        text.push_str(&line(&row.0.clone().map(|cell| cell.replace('|', "\\|"))));
    }
    text.push_str("\nNotes\n\n");
    for note in notes {
        text.push_str(&format!("- {note}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(number(7.25), "7.2");
        assert_eq!(number(1000.0), "1,000");
        assert_eq!(number(1_234_567.0), "1,234,567");
    }

    #[test]
    fn every_line_has_every_column() {
        let lines = [
            ReportLine::ceiling("bare", &Figure::default()),
            ReportLine::absolute("start", 7.5, None, "ms", Bound::AtMost(50.0, 8.0)),
        ];
        let table = markdown("", ("a machine", "so"), &lines, &["a note".to_owned()]);
        let rows: Vec<_> = table.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 4);
        for row in rows {
            assert_eq!(
                row.replace("\\|", "").matches('|').count(),
                COLUMNS + 1,
                "{row}"
            );
        }
        assert!(table.contains("<= 50 ms"));
        assert_eq!(terminal(&lines).lines().count(), 3);
    }
}
