//! Kernel figures from /proc: processor time, memory, and a description of the machine.

use anyhow::{Context, Error, Result};
use std::fs::read_to_string;
use std::path::Path;
use std::time::Duration;

/// Kernel ticks per second for user space, on every architecture that Linux runs on today.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the processor time that a process has used so far, over all threads, in user and system mode.
pub(crate) fn process_cpu(pid: u32) -> Result<Duration> {
    stat_cpu(&read_to_string(format!("/proc/{pid}/stat"))?)
}

/// Returns the processor time of the calling thread so far.
pub(crate) fn thread_cpu() -> Result<Duration> {
    // In nanoseconds where the kernel keeps it, in ticks elsewhere.
    if let Ok(text) = read_to_string("/proc/thread-self/schedstat")
        && let Some(nanos) = text.split_whitespace().next()
    {
        return Ok(Duration::from_nanos(nanos.parse()?));
    }
    stat_cpu(&read_to_string("/proc/thread-self/stat")?)
}

fn stat_cpu(stat: &str) -> Result<Duration> {
    // The second field is the command in brackets, which may contain spaces; count from its end.
    let fields = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace())
        .context("/proc stat has no command field")?;
    let mut times = fields.skip(11);
    let mut tick = || -> Result<u64> {
        let field = times.next().context("/proc stat is too short")?;
        field.parse().map_err(Error::from)
    };
    let ticks = tick()? + tick()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Returns the resident memory of a process in MiB.
pub(crate) fn resident_mib(pid: u32) -> Result<f64> {
    memory_mib(pid, "VmRSS:")
}

/// Returns the maximum resident memory of a process since [`reset_peak`], in MiB.
pub(crate) fn peak_mib(pid: u32) -> Result<f64> {
    memory_mib(pid, "VmHWM:")
}

/// Resets the kernel's maximum of a process's resident memory.
pub(crate) fn reset_peak(pid: u32) -> Result<()> {
    Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

fn memory_mib(pid: u32, name: &str) -> Result<f64> {
    let status = read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .with_context(|| format!("/proc status has no {name}"))?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}

/// Returns how often the threads of a process have gone to sleep and been woken since they started.
///
/// A thread that ends while the list is read is not counted, like a thread that ended before.
pub(crate) fn wake_ups(pid: u32) -> Result<u64> {
    let mut all = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        all += thread_wake_ups(&thread?.path())?.unwrap_or(0);
    }
    Ok(all)
}

/// Returns how often one thread, given by its folder in `/proc`, has gone to sleep and been woken,
/// or nothing if it has ended.
fn thread_wake_ups(thread: &Path) -> Result<Option<u64>> {
    let status = match read_to_string(thread.join("status")) {
        Ok(status) => status,
        // The folder goes first; a file that was opened before answers with ESRCH.
        Err(error) if has_ended(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .context("/proc status has no voluntary_ctxt_switches")?;
    Ok(Some(line.trim().parse()?))
}

/// Returns whether an error in reading `/proc` says that the thread or process has ended.
fn has_ended(error: &std::io::Error) -> bool {
    const NO_SUCH_PROCESS: i32 = 3;
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

/// Returns a description of the machine in one line: processors, memory, kernel, load before the run.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let info = text("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches(['\t', ' ', ':']).trim()
        });
    let memory = text("/proc/meminfo");
    let gib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
        .map_or(0.0, |kib: f64| kib / 1024.0 / 1024.0);
    let kernel = text("/proc/sys/kernel/osrelease");
    let load = text("/proc/loadavg");
    format!(
        "{cores} cores ({model}), {gib:.1} GiB of memory, Linux {}, load average before the run {}",
        kernel.trim(),
        load.split_whitespace().next().unwrap_or("unknown"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_counts_from_behind_the_command() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0";
        assert_eq!(stat_cpu(stat).unwrap(), Duration::from_secs(2));
    }

    #[test]
    fn a_thread_that_has_ended_counts_nothing() {
        // No thread has the number 0.
        let ended = Path::new("/proc/self/task/0");
        assert_eq!(thread_wake_ups(ended).unwrap(), None);
        assert!(has_ended(&std::io::Error::from_raw_os_error(3)));
        assert!(!has_ended(&std::io::Error::from_raw_os_error(13)));
    }

    #[test]
    fn own_figures_are_readable() {
        assert!(resident_mib(std::process::id()).unwrap() > 0.0);
        reset_peak(std::process::id()).unwrap();
        assert!(peak_mib(std::process::id()).unwrap() > 0.0);
        process_cpu(std::process::id()).unwrap();
        assert!(wake_ups(std::process::id()).unwrap() > 0);
        thread_cpu().unwrap();
        assert!(machine().contains("Linux"));
    }
}
