//! Families of metrics: their names, kinds and meanings, and their text.
use std::fmt::Write;

/// Name without `workgraph_`, kind and meaning of each family, by name.
const FAMILIES: [(&str, &str, &str); 36] = [
    (
        "archive_failures_total",
        "counter",
        "Attempts to write the archive that failed.",
    ),
    (
        "archive_lag_seconds",
        "gauge",
        "Time since the archive last had every commit: what would be lost with the disk now.",
    ),
    (
        "archive_waiting_bytes",
        "gauge",
        "Bytes of commits that wait in memory for the archive.",
    ),
    (
        "audit_sequence",
        "gauge",
        "Number of the last row of the audit log.",
    ),
    (
        "buffer_refusals_total",
        "counter",
        "Bodies and replies for which there was no room in memory.",
    ),
    (
        "buffered_bytes",
        "gauge",
        "Bytes that are kept for clients.",
    ),
    (
        "build_info",
        "gauge",
        "Version of the server, as a label; always 1.",
    ),
    ("connections", "gauge", "Open connections."),
    (
        "connections_refused_total",
        "counter",
        "Connections refused because there were too many.",
    ),
    (
        "job_steps_total",
        "counter",
        "Steps of jobs that were taken.",
    ),
    (
        "jobs_ended_total",
        "counter",
        "Jobs that ended, by kind and outcome.",
    ),
    (
        "jobs_running",
        "gauge",
        "Jobs that a worker carries out now.",
    ),
    (
        "limiter_admitted_total",
        "counter",
        "Requests that the limits admitted.",
    ),
    (
        "limiter_keys",
        "gauge",
        "Tokens of which the limiter remembers something.",
    ),
    (
        "limiter_passed_total",
        "counter",
        "Requests admitted that a limit had to do with, by limit.",
    ),
    (
        "limiter_refused_total",
        "counter",
        "Requests that a limit refused, by limit.",
    ),
    (
        "limiter_shadowed_total",
        "counter",
        "Requests that a limit in shadow mode would have refused, by limit.",
    ),
    (
        "log_lines_dropped_total",
        "counter",
        "Lines of the log that could not be written.",
    ),
    (
        "operation_duration_seconds",
        "histogram",
        "Time from the end of a request's head to the beginning of its reply, by operation and class of the status.",
    ),
    (
        "refusals_total",
        "counter",
        "Refused requests, by reason; docs/LOGGING.md says where the reasons are.",
    ),
    (
        "request_duration_seconds",
        "histogram",
        "Time from the end of a request's head to the beginning of its reply, for reads and writes.",
    ),
    (
        "request_faults_total",
        "counter",
        "Requests that a deadline or a panic ended.",
    ),
    ("requests_in_flight", "gauge", "Requests being answered."),
    (
        "requests_total",
        "counter",
        "Requests, by operation and class of the status; the empty operation is for those that matched none.",
    ),
    (
        "shared_limits_decisions_total",
        "counter",
        "Decisions about requests, by who made them.",
    ),
    (
        "shared_limits_failures_total",
        "counter",
        "Calls to Redis that failed or took too long.",
    ),
    (
        "shared_limits_mode",
        "gauge",
        "Limits of all nodes: 0 exact, 1 with this node's part besides, 2 this node's part alone.",
    ),
    (
        "shared_limits_parts",
        "gauge",
        "Number by which this node divides each limit while it decides alone.",
    ),
    (
        "sign_ins_total",
        "counter",
        "Sign-ins with a password, by outcome: succeeded, or the reason of the refusal.",
    ),
    (
        "store_connections",
        "gauge",
        "Open connections to the database.",
    ),
    (
        "store_database_bytes",
        "gauge",
        "Bytes of the database on disk.",
    ),
    (
        "store_read_trips_total",
        "counter",
        "Times that reads waited for the database.",
    ),
    ("store_reads_total", "counter", "Reads of the database."),
    ("store_sequence", "gauge", "Number of the last commit."),
    (
        "store_wal_bytes",
        "gauge",
        "Bytes of the write-ahead log on disk.",
    ),
    (
        "webhook_deliveries_total",
        "counter",
        "Attempts to deliver events to webhooks, by outcome.",
    ),
];

/// Appends a family with its rows, each made of the rest of the name and the value.
pub(crate) fn write_family(out: &mut String, name: &str, rows: &[(String, String)]) {
    let at = FAMILIES.binary_search_by_key(&name, |(name, ..)| *name);
    let family = at.ok().and_then(|at| FAMILIES.get(at));
    debug_assert!(family.is_some(), "{name} is not in the table");
    // Writing to a String cannot fail.
    if let Some((_, kind, help)) = family {
        let _ = writeln!(
            out,
            "# HELP workgraph_{name} {help}\n# TYPE workgraph_{name} {kind}"
        );
    }
    for (labels, value) in rows {
        let _ = writeln!(out, "workgraph_{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::process_figures;
    use std::collections::BTreeSet;

    /// Returns the metric names in a text, without the suffixes of histogram rows.
    fn names(text: &str) -> BTreeSet<&str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = text.split(|c| !is_part(c));
        let ours = words.filter(|word| {
            let of_process = word.starts_with("process_") && !word.ends_with('_');
            word.starts_with("workgraph_") || of_process
        });
        let family = |word| {
            let ends = ["_bucket", "_sum", "_count"];
            ends.iter()
                .find_map(|end| str::strip_suffix(word, end))
                .unwrap_or(word)
        };
        ours.map(family).collect()
    }

    #[test]
    fn the_families_are_in_order_and_each_says_what_it_is() {
        assert!(FAMILIES.is_sorted_by_key(|(name, ..)| *name));
        for (name, kind, help) in FAMILIES {
            assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
        }
    }

    #[test]
    fn every_metric_of_the_dashboard_and_the_rules_exists() {
        let mut process = String::new();
        process_figures::write(&mut process, std::time::UNIX_EPOCH);
        let ours = FAMILIES.map(|(name, ..)| format!("workgraph_{name}"));
        let mut known: BTreeSet<&str> = ours.iter().map(String::as_str).collect();
        known.extend(names(&process));
        for (file, text) in [
            (
                "dashboard.json",
                include_str!("../../../../deploy/monitoring/dashboard.json"),
            ),
            (
                "rules.yaml",
                include_str!("../../../../deploy/monitoring/rules.yaml"),
            ),
        ] {
            let used = names(text);
            assert!(used.len() > 5, "{file}: {used:?}");
            let unknown: Vec<_> = used.difference(&known).collect();
            assert!(unknown.is_empty(), "{file} names {unknown:?}");
        }
        let dashboard: serde_json::Value =
            serde_json::from_str(include_str!("../../../../deploy/monitoring/dashboard.json"))
                .unwrap();
        assert!(dashboard["panels"].as_array().unwrap().len() > 5);
        assert!(
            names("rate(workgraph_no_such_total[5m])")
                .difference(&known)
                .next()
                .is_some()
        );
    }
}
