//! Progress of a move: a bar on a terminal, otherwise a line for each table.
use std::io::{IsTerminal, Write, stderr};
use workgraph_rows::CopyProgress;

/// Width of the bar in characters.
const WIDTH: u64 = 40;

/// Progress shown on standard error.
pub(crate) struct MoveProgress {
    is_terminal: bool,
    last: String,
}

impl MoveProgress {
    pub(crate) fn start() -> Self {
        let (is_terminal, last) = (stderr().is_terminal(), String::new());
        Self { is_terminal, last }
    }

    /// Shows the progress of a copy on the terminal.
    pub(crate) fn show(&mut self, progress: CopyProgress) {
        let line = if self.is_terminal {
            bar(progress)
        } else {
            progress.step.to_owned()
        };
        if line == self.last {
            return;
        }
        // Standard error may be closed; the move continues.
        let _ = if self.is_terminal {
            write!(stderr(), "\r{line}\u{1b}[K")
        } else {
            writeln!(
                stderr(),
                "{line} ({} of {} rows)",
                progress.copied,
                progress.total
            )
        };
        self.last = line;
    }

    /// Ends the line of the bar.
    pub(crate) fn end(&self) {
        if self.is_terminal && !self.last.is_empty() {
            let _ = writeln!(stderr());
        }
    }
}

/// Returns the bar with its percentage and step.
fn bar(progress: CopyProgress) -> String {
    let part = |of: u64| {
        progress
            .copied
            .saturating_mul(of)
            .checked_div(progress.total)
    };
    let filled = usize::try_from(part(WIDTH).unwrap_or(WIDTH)).unwrap_or_default();
    let rest = usize::try_from(WIDTH)
        .unwrap_or_default()
        .saturating_sub(filled);
    format!(
        "[{}{}] {:>3} % {}",
        "#".repeat(filled),
        ".".repeat(rest),
        part(100).unwrap_or(100),
        progress.step
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_goes_from_empty_to_full() {
        let at = |copied, total| {
            bar(CopyProgress {
                step: "edge",
                copied,
                total,
            })
        };
        assert_eq!(at(0, 200), format!("[{}]   0 % edge", ".".repeat(40)));
        assert_eq!(
            at(100, 200),
            format!("[{}{}]  50 % edge", "#".repeat(20), ".".repeat(20))
        );
        assert_eq!(at(200, 200), format!("[{}] 100 % edge", "#".repeat(40)));
        assert_eq!(at(0, 0), format!("[{}] 100 % edge", "#".repeat(40)));
    }
}
