//! The rows of the table, each with its measurement, its ceiling, its floor and its aim.

use crate::measure::{Figure, median};

/// Figure compared by the ratio of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Requests per second, ours over the ceiling's.
    Rate,
    /// Processor time per request, ours over the ceiling's.
    Cpu,
    /// Time per request, ours over the ceiling's.
    Time,
    /// Our processor time per request, in microseconds; it is compared with the bound, and the ceiling's is only shown.
    Own,
    /// Both figures are shown, without a comparison.
    Beside,
}

/// Bound of a ratio, by the direction that is better.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// More is better: floor and aim.
    AtLeast(f64, f64),
    /// Less is better: limit and aim.
    AtMost(f64, f64),
    /// Shown without a bound.
    None,
}

/// Row of the table.
pub(crate) struct BenchRow {
    /// Name that `--only` matches.
    pub(crate) name: &'static str,
    /// Description of the measurement, for the table.
    pub(crate) description: &'static str,
    /// Name of the ceiling for comparison.
    pub(crate) ceiling: &'static str,
    /// Figure compared by the ratio.
    pub(crate) basis: Basis,
    /// Bound that the ratio is compared with.
    pub(crate) bound: Bound,
}

const fn row(
    name: &'static str,
    what: &'static str,
    ceiling: &'static str,
    basis: Basis,
    bound: Bound,
) -> BenchRow {
    BenchRow {
        name,
        description: what,
        ceiling,
        basis,
        bound,
    }
}

/// Rows with a ratio. Start-up and idle memory are absolute and are measured in `bench_run.rs`.
pub(crate) const ROWS: &[BenchRow] = &[
    row(
        "task-random",
        "GET one task, at random, 16 connections",
        "bare hyper",
        Basis::Cpu,
        Bound::AtMost(2.4, 2.0),
    ),
    row(
        "task-working-set",
        "GET one task, of a working set of 50,000, 16 connections",
        "bare hyper",
        Basis::Cpu,
        Bound::AtMost(3.5, 2.0),
    ),
    row(
        "task-one-connection",
        "GET one task, at random, 1 connection, client and server each on a processor",
        "bare hyper",
        Basis::Cpu,
        Bound::AtMost(3.5, 2.0),
    ),
    row(
        "task-hot",
        "GET one hot task, 16 connections",
        "bare hyper",
        Basis::Rate,
        Bound::AtLeast(0.45, 0.64),
    ),
    row(
        "users-me",
        "GET /users/me, 16 connections",
        "bare hyper",
        Basis::Rate,
        Bound::AtLeast(0.75, 0.92),
    ),
    row(
        "introspection",
        "POST /-/token_info, 16 connections",
        "bare hyper",
        Basis::Rate,
        Bound::AtLeast(0.5, 0.7),
    ),
    row(
        "page-compact",
        "GET 100 tasks, compact, 16 connections",
        "bare hyper",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "page-nested",
        "GET 100 tasks, nested opt_fields, 16 connections, CPU",
        "bare SQLite page",
        Basis::Cpu,
        Bound::AtMost(1.6, 1.1),
    ),
    row(
        "portfolio-items",
        "GET 100 of the 1,000 items of a portfolio, nested opt_fields, 16 connections",
        "bare hyper",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "goal-tree",
        "GET the 30 goals that support a goal, of a tree of 930, nested opt_fields, 16 connections",
        "bare hyper",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "tracked-time",
        "GET one task with the sum of 1,000 entries of tracked time, 16 connections",
        "bare hyper",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "page-depth",
        "page cost, deep against depth 0",
        "the first page",
        Basis::Time,
        Bound::AtMost(1.1, 1.02),
    ),
    row(
        "batch-singles",
        "POST /batch of 10 reads, 1 connection",
        "10 single reads, the same connection",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "batch",
        "the same batches",
        "bare hyper",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "refresh",
        "POST /-/oauth_token, a refresh, durable, 64 connections",
        "bare hyper",
        Basis::Rate,
        Bound::AtLeast(0.15, 0.25),
    ),
    row(
        "refresh-one-row",
        "the same refreshes",
        "bare group commit by 64 of one row each",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "search-text",
        "search by text, one match, 16 connections, CPU",
        "the bare SQLite query",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "search-assigned",
        "search by assignee, open, due range, 16 connections, CPU",
        "the bare SQLite query over a covering index",
        Basis::Own,
        Bound::AtMost(1800.0, 300.0),
    ),
    row(
        "search-field",
        "search by custom field, 16 connections, CPU",
        "the bare SQLite query",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "typeahead",
        "typeahead of tasks, 16 connections, CPU",
        "the bare SQLite query",
        Basis::Cpu,
        Bound::None,
    ),
    row(
        "create",
        "POST /tasks, durable, 64 connections",
        "bare group commit by 64 of the same rows",
        Basis::Rate,
        Bound::AtLeast(0.15, 0.28),
    ),
    row(
        "create-one-row",
        "the same creates",
        "bare group commit by 64 of one row each",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "copy-project",
        "copy of a project of 10,000 tasks, durable, tasks",
        "bare group commit by 100 of the same rows",
        Basis::Rate,
        Bound::None,
    ),
    row(
        "delivery",
        "lag of a webhook behind acknowledged creates, 1,000 events/s, to a receiver here",
        "bare hyper, 1 connection",
        Basis::Beside,
        Bound::None,
    ),
    row(
        "create-hook",
        "POST /tasks with a webhook on the project, 64 connections",
        "the same with none",
        Basis::Rate,
        Bound::AtLeast(0.8, 0.95),
    ),
    row(
        "create-hooks",
        "POST /tasks with 1,000 webhooks on the project, 64 connections",
        "the same with none",
        Basis::Rate,
        Bound::None,
    ),
];

impl BenchRow {
    fn ratio(&self, ours: &Figure, ceiling: &Figure) -> Option<f64> {
        self.basis.ratio(ours, ceiling)
    }
}

impl Basis {
    /// Returns the word for this figure in the table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Cpu => "CPU",
            Self::Time => "time",
            Self::Own => "our CPU us",
            Self::Beside => "",
        }
    }

    /// Returns the number to compare with the bounds.
    fn ratio(self, ours: &Figure, ceiling: &Figure) -> Option<f64> {
        let (over, under) = match self {
            Basis::Rate => (ours.rate, ceiling.rate),
            Basis::Cpu => (ours.cpu?, ceiling.cpu?),
            Basis::Time => (ceiling.rate, ours.rate),
            Basis::Own => return ours.cpu,
            Basis::Beside => return None,
        };
        (under > 0.0).then(|| over / under)
    }
}

/// Row with the figures of its rounds, ours and the ceiling's.
pub(crate) struct BenchResult {
    pub(crate) row: &'static BenchRow,
    /// Ours and the ceiling's, round by round.
    pub(crate) rounds: Vec<(Figure, Figure)>,
}

impl BenchResult {
    /// Returns our median.
    pub(crate) fn ours(&self) -> Figure {
        let ours: Vec<_> = self.rounds.iter().map(|round| round.0.clone()).collect();
        Figure::median(&ours)
    }

    /// Returns the ceiling's median figure.
    pub(crate) fn ceiling(&self) -> Figure {
        let all: Vec<_> = self.rounds.iter().map(|round| round.1.clone()).collect();
        Figure::median(&all)
    }

    /// Returns the median of the rounds' ratios for the row's own basis.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.ratio_by(self.row.basis)
    }

    /// Returns the median of the rounds' ratios for a basis.
    pub(crate) fn ratio_by(&self, basis: Basis) -> Option<f64> {
        let ratios: Vec<f64> = self
            .rounds
            .iter()
            .filter_map(|(ours, ceiling)| basis.ratio(ours, ceiling))
            .collect();
        median(&ratios)
    }

    /// Returns the median share of the ratio that a round keeps, compared with the same round elsewhere: 1 is equal, less is
    /// worse.
    pub(crate) fn scaling_share(&self, elsewhere: &Self) -> Option<f64> {
        let rounds = self.rounds.iter().zip(&elsewhere.rounds);
        let kept = rounds.filter_map(|(here, there)| {
            let (here, there) = (
                self.row.ratio(&here.0, &here.1)?,
                self.row.ratio(&there.0, &there.1)?,
            );
            Some(match self.row.bound {
                Bound::AtMost(..) => there / here,
                Bound::AtLeast(..) | Bound::None => here / there,
            })
        });
        median(&kept.collect::<Vec<_>>())
    }

    /// Returns a text with the failures of both sides; `None` if all requests succeeded.
    fn failed(&self) -> Option<String> {
        let errors = [self.ours(), self.ceiling()].map(|figure| figure.errors);
        let messages = errors.iter().flatten();
        let messages: Vec<_> = messages
            .map(|(what, count)| format!("{count} x {what}"))
            .collect();
        (!messages.is_empty()).then(|| format!("errors: {}", messages.join(", ")))
    }

    /// Returns the table's verdict on the share of the ratio that is kept.
    pub(crate) fn verdict_of_kept(&self, elsewhere: &Self, bound: Bound) -> String {
        let failed = self.failed().or_else(|| elsewhere.failed());
        failed.unwrap_or_else(|| match self.scaling_share(elsewhere) {
            Some(kept) => judge(kept, bound).to_owned(),
            None => "no ratio".to_owned(),
        })
    }

    /// Returns the table's verdict on the row.
    pub(crate) fn verdict(&self) -> String {
        if let Some(failed) = self.failed() {
            return failed;
        }
        match self.ratio() {
            Some(ratio) => judge(ratio, self.row.bound).to_owned(),
            None if self.row.basis == Basis::Beside => "-".to_owned(),
            None => "no ratio".to_owned(),
        }
    }
}

/// Returns the verdict on a number: aim met, floor met or floor missed.
pub(crate) fn judge(number: f64, bound: Bound) -> &'static str {
    let (floor, aim) = match bound {
        Bound::AtLeast(floor, aim) => (number >= floor, number >= aim),
        Bound::AtMost(limit, aim) => (number <= limit, number <= aim),
        Bound::None => return "-",
    };
    match (floor, aim) {
        (_, true) => "aim met",
        (true, false) => "floor met",
        (false, false) => "floor missed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_judge_both_ways() {
        let more = Bound::AtLeast(0.35, 0.55);
        assert_eq!(judge(0.30, more), "floor missed");
        assert_eq!(judge(0.35, more), "floor met");
        assert_eq!(judge(0.60, more), "aim met");
        let less = Bound::AtMost(1.6, 1.1);
        assert_eq!(judge(1.7, less), "floor missed");
        assert_eq!(judge(1.6, less), "floor met");
        assert_eq!(judge(1.0, less), "aim met");
    }

    #[test]
    fn errors_are_never_hidden_behind_a_good_ratio() {
        let ours = Figure {
            rate: 9.0,
            errors: [("429".to_owned(), 3)].into(),
            ..Figure::default()
        };
        let ceiling = Figure {
            rate: 10.0,
            ..Figure::default()
        };
        let measured = BenchResult {
            row: ROWS.iter().find(|row| row.name == "users-me").unwrap(),
            rounds: vec![(ours, ceiling)],
        };
        assert_eq!(measured.ratio(), Some(0.9));
        assert_eq!(measured.verdict(), "errors: 3 x 429");
    }

    #[test]
    fn what_is_kept_of_a_ratio_is_less_where_it_is_worse() {
        let figure = |number| Figure {
            rate: number,
            cpu: Some(number),
            ..Figure::default()
        };
        let measured = |name: &str, ours: [f64; 3]| BenchResult {
            row: ROWS.iter().find(|row| row.name == name).unwrap(),
            rounds: ours.map(|ours| (figure(ours), figure(100.0))).into(),
        };
        // Compared round by round, so that a slow moment of both sides does not change the share.
        for (name, here, kept) in [
            ("users-me", [20.0, 10.0, 40.0], 0.5),
            ("page-nested", [80.0, 40.0, 50.0], 0.5),
        ] {
            let there = measured(name, [40.0, 20.0, 40.0]);
            assert_eq!(
                measured(name, here).scaling_share(&there),
                Some(kept),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }
}
