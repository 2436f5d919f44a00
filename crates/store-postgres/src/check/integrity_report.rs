//! Report on the problems that a check found.

/// Maximum number of problems that are listed; further ones are only counted.
const NAMED: usize = 100;

/// Problems found so far.
#[derive(Default)]
pub(super) struct IntegrityReport {
    pub(super) named: Vec<String>,
    pub(super) more: usize,
}

impl IntegrityReport {
    pub(super) fn add(&mut self, problem: String) {
        if self.named.len() < NAMED {
            self.named.push(problem);
        } else {
            self.more += 1;
        }
    }
}
