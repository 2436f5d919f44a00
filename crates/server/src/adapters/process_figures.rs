//! Metrics of this process, under the names common among Prometheus clients.
use std::fmt::Write;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Kernel ticks per second, the unit of process times.
const TICKS: f64 = 100.0;

/// Appends the metrics that the system provides; `started` is the start time of the process.
pub(crate) fn write(out: &mut String, started: SystemTime) {
    let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut family = |name: &str, kind: &str, help: &str, value: Option<f64>| {
        let Some(value) = value else { return };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "# HELP process_{name} {help}\n# TYPE process_{name} {kind}\nprocess_{name} {value}"
        );
    };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = |name| field(&status, name).map(|kilobytes| kilobytes * 1024.0);
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let open = fs::read_dir("/proc/self/fd").ok();
    #[expect(clippy::cast_precision_loss, reason = "a process has few files")]
    let open = open.map(|files| files.count() as f64);
    for (name, kind, help, value) in [
        (
            "cpu_seconds_total",
            "counter",
            "Time of processors used.",
            cpu_seconds(),
        ),
        (
            "max_fds",
            "gauge",
            "Most open files and sockets.",
            field(&limits, "Max open files"),
        ),
        ("open_fds", "gauge", "Open files and sockets.", open),
        (
            "resident_memory_bytes",
            "gauge",
            "Memory in use.",
            memory("VmRSS:"),
        ),
        (
            "start_time_seconds",
            "gauge",
            "Start, in seconds of the Unix epoch.",
            Some(since.as_secs_f64()),
        ),
        (
            "virtual_memory_bytes",
            "gauge",
            "Addresses in use.",
            memory("VmSize:"),
        ),
    ] {
        family(name, kind, help, value);
    }
}

/// Returns the first number after a name at the start of a line.
fn field(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut next = || times.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_memory_files_and_start() {
        let mut text = String::new();
        write(&mut text, UNIX_EPOCH + std::time::Duration::from_secs(5));
        for name in [
            "resident_memory_bytes",
            "open_fds",
            "max_fds",
            "cpu_seconds_total",
        ] {
            let value = field(&text, &format!("process_{name} "));
            assert!(value.is_some_and(|value| value >= 0.0), "{name}: {text}");
        }
        assert!(text.contains("\nprocess_start_time_seconds 5\n"), "{text}");
    }
}
