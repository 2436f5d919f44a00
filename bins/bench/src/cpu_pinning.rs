//! Separate processors for client and server in rows with one connection. Without them, a row would measure the scheduler's
//! placement of the two instead of the cost of a request.

use anyhow::{Context, Result, bail};
use std::fs::{read_link, read_to_string};
use std::process::{Command, Stdio};

use crate::server_process::ServerProcess;

/// Guard that keeps the calling thread and a server on one processor each until it is dropped.
pub(crate) struct CpuPinning {
    /// Threads and processes with the processors they could use before.
    before: Vec<(String, String)>,
}

impl CpuPinning {
    /// Keeps the calling thread on the first processor available to it, and all threads of a server on the last.
    /// If there is only one processor, both share it.
    ///
    /// # Errors
    /// Fails if `taskset` is missing or refuses.
    pub(crate) fn new(server: &ServerProcess) -> Result<Self> {
        let (thread, process) = (own_thread()?, server.pid().to_string());
        let usable = usable("/proc/thread-self/status")?;
        let processors = processors(&usable);
        let (Some(first), Some(last)) = (processors.first(), processors.last()) else {
            bail!("the kernel names no processor for this thread");
        };
        let served = crate::cpu_pinning::usable(&format!("/proc/{process}/status"))?;
        let pinned = Self {
            before: vec![(thread.clone(), usable), (process.clone(), served)],
        };
        pin(&thread, &first.to_string())?;
        pin(&process, &last.to_string())?;
        Ok(pinned)
    }
}

impl Drop for CpuPinning {
    fn drop(&mut self) {
        for (thread, processors) in &self.before {
            // A server that has ended needs no processor; the thread's own set can only grow back.
            if let Err(error) = pin(thread, processors) {
                eprintln!("not unpinned: {error:#}");
            }
        }
    }
}

/// Returns the number of the calling thread.
fn own_thread() -> Result<String> {
    let link = read_link("/proc/thread-self")?;
    let name = link
        .file_name()
        .context("/proc/thread-self leads nowhere")?;
    Ok(name.to_string_lossy().into_owned())
}

/// Returns the list of processors in a status file.
fn usable(status: &str) -> Result<String> {
    let text = read_to_string(status)?;
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(list.context("no Cpus_allowed_list")?.trim().to_owned())
}

/// Returns the processors of a list such as `0-2,5`.
fn processors(list: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Restricts a process with all its threads, or one thread, to some processors.
fn pin(id: &str, processors: &str) -> Result<()> {
    // The standard library can't do this, but util-linux can, which every Linux has.
    let mut command = Command::new("taskset");
    if std::path::Path::new(&format!("/proc/self/task/{id}")).exists() {
        command.arg("-cp");
    } else {
        command.arg("-acp");
    }
    let output = command
        .args([processors, id])
        .stdin(Stdio::null())
        .output()
        .context("taskset, from util-linux")?;
    if output.status.success() {
        return Ok(());
    }
    bail!(
        "taskset: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_has_numbers_and_ranges() {
        assert_eq!(processors("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(processors("7"), [7]);
        assert!(processors("").is_empty());
        let own = processors(&usable("/proc/thread-self/status").unwrap());
        assert!(!own.is_empty());
        own_thread().unwrap().parse::<u32>().unwrap();
    }
}
