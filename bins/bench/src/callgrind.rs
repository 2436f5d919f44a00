//! The server under valgrind's callgrind, which counts the instructions of user space, function by function.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::bench_clock;

/// Beginning of the line with the sum of a profile.
const TOTALS: &str = "\ntotals: ";
/// Time within which callgrind writes a profile.
const PATIENCE: Duration = Duration::from_secs(60);

/// Callgrind around a server, and the profiles that it writes.
pub(crate) struct Callgrind {
    /// Path of the profiles; a number is appended to each.
    profiles: PathBuf,
    written: u32,
}

impl Callgrind {
    /// Makes callgrind write its profiles to a folder.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            profiles: folder.join("profile"),
            written: 0,
        }
    }

    /// Returns the command that the path and the arguments of the server are appended to. It counts nothing at first.
    pub(crate) fn command(&self) -> Vec<OsString> {
        let mut file = OsString::from("--callgrind-out-file=");
        file.push(&self.profiles);
        vec![
            "valgrind".into(),
            "--quiet".into(),
            "--tool=callgrind".into(),
            "--instr-atstart=no".into(),
            file,
        ]
    }

    /// Starts or stops counting the instructions of a process. The process runs faster without counting, and both changes
    /// take a while.
    pub(crate) fn set_counting(&self, pid: u32, on: bool) -> Result<()> {
        let word = if on { "on" } else { "off" };
        monitor(pid, &["instrumentation", word])
    }

    /// Counts the instructions that a process executes during an action; its counting must be on. Returns their number and
    /// the path of the profile.
    pub(crate) fn count(
        &mut self,
        pid: u32,
        action: impl FnOnce() -> Result<()>,
    ) -> Result<(u64, PathBuf)> {
        monitor(pid, &["zero"])?;
        action()?;
        monitor(pid, &["dump"])?;
        self.written += 1;
        let path = self.profiles.with_extension(self.written.to_string());
        let began = bench_clock::now();
        loop {
            // The last line of a profile is the sum.
            match fs::read_to_string(&path) {
                Ok(text) if text.contains(TOTALS) => return Ok((total(&text)?, path)),
                _ if bench_clock::now().duration_since(began) > PATIENCE => {
                    bail!("callgrind wrote no profile {}", path.display());
                }
                _ => bench_clock::pause(Duration::from_millis(5)),
            }
        }
    }
}

/// Returns the sum of a profile.
fn total(text: &str) -> Result<u64> {
    let (_, total) = text
        .rsplit_once(TOTALS)
        .context("a profile without a sum")?;
    total.trim().parse().context("the sum of a profile")
}

/// Sends a command to the callgrind that a process runs under.
fn monitor(pid: u32, words: &[&str]) -> Result<()> {
    let outcome = Command::new("vgdb")
        .arg(format!("--pid={pid}"))
        .args(words)
        .output()
        .context("vgdb, a part of valgrind, could not be started")?;
    if !outcome.status.success() {
        bail!("vgdb: {}", String::from_utf8_lossy(&outcome.stderr).trim());
    }
    Ok(())
}

/// Numbers of instructions in a profile, in total and by function.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InstructionProfile {
    pub(crate) total: u64,
    /// Instructions of each function without those of the functions that it calls.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl InstructionProfile {
    /// Reads a profile in callgrind's format.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut names = BTreeMap::new();
        let mut current: Option<String> = None;
        let mut profile = Self {
            total: total(text)?,
            ..Self::default()
        };
        let mut is_call = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                current = Some(function(name, &mut names)?);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                function(name, &mut names)?;
            } else if line.starts_with("calls=") {
                // The next line has the cost of the called function, which is counted where it is listed itself.
                is_call = true;
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                let cost = line.split_whitespace().nth(1).unwrap_or("0");
                let cost: u64 = cost.parse().context("a cost of a profile")?;
                if !std::mem::take(&mut is_call)
                    && let Some(name) = &current
                {
                    *profile.functions.entry(name.clone()).or_default() += cost;
                }
            }
        }
        Ok(profile)
    }
}

/// Returns the name of a function: `(NUMBER) NAME` the first time, and `(NUMBER)` afterwards.
fn function(text: &str, names: &mut BTreeMap<String, String>) -> Result<String> {
    let (number, name) = text.split_once(')').context("a function of a profile")?;
    if name.is_empty() {
        let known = names.get(number).cloned();
        return known.with_context(|| format!("a profile does not name the function {number})"));
    }
    let name = without_hash(name.trim()).to_owned();
    names.insert(number.to_owned(), name.clone());
    Ok(name)
}

/// Returns a name without the hash that the compiler appends, which differs between builds.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()) => {
            before
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "version: 1\ncreator: callgrind\nevents: Ir\n\n\
        ob=(1) /bin/server\nfl=(1) main.rs\nfn=(1) server::answer::h0123456789abcdef\n10 5\n+2 7\n\
        cfn=(2) memcpy\ncalls=3 0\n* 90\n-1 1\n\nfn=(2)\n0 90\n\nfn=(3) server::answer::hello\n5 2\n\ntotals: 105\n";

    #[test]
    fn each_function_has_its_own_instructions() {
        let profile = InstructionProfile::parse(PROFILE).unwrap();
        assert_eq!(profile.total, 105);
        let functions: Vec<(&str, u64)> = profile
            .functions
            .iter()
            .map(|(name, count)| (&**name, *count))
            .collect();
        assert_eq!(
            functions,
            [
                ("memcpy", 90),
                ("server::answer", 13),
                ("server::answer::hello", 2)
            ]
        );
        assert_eq!(profile.functions.values().sum::<u64>(), profile.total);
    }

    #[test]
    fn a_function_without_a_name_is_an_error() {
        let error = InstructionProfile::parse("fn=(7)\n1 1\n\ntotals: 1\n").unwrap_err();
        assert!(error.to_string().contains("(7)"), "{error}");
        let error = InstructionProfile::parse("fn=(7) one\n1 1\n").unwrap_err();
        assert!(error.to_string().contains("sum"), "{error}");
    }
}
