//! Counters and their Prometheus text.
mod families;

pub(crate) use self::families::write_family;
use crate::log::lossy_writer::dropped_lines;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;
use workgraph_api::RefusalReason;
use workgraph_limits::{DigestLimiter, LimitCounts};

/// Upper bounds of the latency buckets, in microseconds, with their names in seconds.
const BUCKETS: [(u64, &str); 8] = [
    (100, "0.0001"),
    (500, "0.0005"),
    (2_500, "0.0025"),
    (10_000, "0.01"),
    (50_000, "0.05"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (5_000_000, "5"),
];

/// Latencies of one kind of request. The counters that most requests change lie on one cache line, alone.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Histogram {
    micros: AtomicU64,
    counts: [AtomicU64; BUCKETS.len() + 1],
}

/// Number of shards of the counters, so that threads seldom write to the same one.
const SHARDS: usize = 8;

/// Shard with the counts of some of the connections.
#[derive(Debug)]
struct MetricsShard {
    /// Replies by operation, each with a status of 1xx to 5xx.
    replies: Box<[[AtomicU64; 5]]>,
    reads: Histogram,
    writes: Histogram,
}

impl MetricsShard {
    /// Returns the latencies of reads, or of writes.
    fn histogram(&self, read: bool) -> &Histogram {
        if read { &self.reads } else { &self.writes }
    }
}

/// All counters. No locks: rows are made once, from the table of operations.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Index of each operation in every shard. The empty name is for requests that matched none.
    operations: FxHashMap<&'static str, usize>,
    shards: [MetricsShard; SHARDS],
    /// Number of open connections.
    pub(crate) connections: AtomicI64,
    /// Number of connections refused because there were too many.
    pub(crate) refused: AtomicU64,
    /// Number of requests that a deadline or a panic ended.
    pub(crate) faults: AtomicU64,
    /// Counters of the jobs.
    pub(crate) jobs: JobMetrics,
    /// Refusals by the index of their reason.
    refusals: [AtomicU64; RefusalReason::COUNT],
}

/// Counters of the jobs.
#[derive(Debug, Default)]
pub(crate) struct JobMetrics {
    /// Jobs that a worker carries out now.
    pub(crate) running: AtomicI64,
    /// Steps of jobs that were taken.
    pub(crate) steps: AtomicU64,
    /// Jobs that succeeded, and jobs that failed.
    pub(crate) ended: [AtomicU64; 2],
}

impl Metrics {
    /// Returns metrics with all counters at zero.
    pub(crate) fn new() -> Self {
        let names = workgraph_api::operations::all()
            .map(|o| o.id)
            .chain(workgraph_portal::names())
            .chain([workgraph_portal::reference::OPERATION])
            .chain(std::iter::once(""));
        let mut operations = FxHashMap::default();
        for name in names {
            // Some names stand for several routes.
            let index = operations.len();
            operations.entry(name).or_insert(index);
        }
        let shard = |_| MetricsShard {
            replies: operations.values().map(|_| Default::default()).collect(),
            reads: Histogram::default(),
            writes: Histogram::default(),
        };
        Self {
            shards: std::array::from_fn(shard),
            operations,
            connections: AtomicI64::new(0),
            refused: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            jobs: JobMetrics::default(),
            refusals: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Counts a refusal.
    pub(crate) fn count_refusal(&self, reason: RefusalReason) {
        if let Some(counter) = self.refusals.get(reason.index()) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Counts a reply on a connection of this number.
    pub(crate) fn count(
        &self,
        connection: u64,
        operation: &'static str,
        read: bool,
        status: u16,
        took: Duration,
    ) {
        let Some(shard) = self.shards.get(connection as usize % SHARDS) else {
            return;
        };
        let class = usize::from(status / 100).saturating_sub(1);
        let row = self.operations.get(operation);
        let row = row.or_else(|| self.operations.get(""));
        let row = row.and_then(|at| shard.replies.get(*at));
        if let Some(counter) = row.and_then(|row| row.get(class)) {
            counter.fetch_add(1, Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let histogram = shard.histogram(read);
        let at = BUCKETS.partition_point(|(bound, _)| *bound < micros);
        if let Some(counter) = histogram.counts.get(at) {
            counter.fetch_add(1, Relaxed);
        }
        histogram.micros.fetch_add(micros, Relaxed);
    }

    /// Sums a counter over all shards.
    fn sum_shards<'m>(
        &'m self,
        counter: impl Fn(&'m MetricsShard) -> Option<&'m AtomicU64>,
    ) -> u64 {
        let all = self.shards.iter().filter_map(counter);
        all.map(|counter| counter.load(Relaxed)).sum()
    }

    /// Returns the Prometheus text, format 0.0.4, with the bytes kept for clients, the number of bodies and replies for
    /// which there was no room, the number of requests being answered, and the attempts to deliver that succeeded and failed.
    pub(crate) fn text(
        &self,
        (buffered, unbuffered): (usize, u64),
        busy: u64,
        limiter: &DigestLimiter,
        deliveries: [u64; 2],
        store: &[(&'static str, u64)],
    ) -> String {
        let mut out = String::with_capacity(32_768);
        let mut line = |name: &str, rows: &[(String, String)]| write_family(&mut out, name, rows);
        let one = |value: &dyn ToString| vec![(String::new(), value.to_string())];
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        line("build_info", &[(version, "1".to_owned())]);
        let mut names: Vec<_> = self.operations.iter().collect();
        names.sort_unstable_by_key(|(name, _)| **name);
        let mut rows = Vec::new();
        for (name, at) in names {
            for class in 0..5 {
                let count = self.sum_shards(|shard| shard.replies.get(*at)?.get(class));
                if count > 0 {
                    rows.push((
                        format!("{{operation=\"{name}\",status=\"{}xx\"}}", class + 1),
                        count.to_string(),
                    ));
                }
            }
        }
        line("requests_total", &rows);
        let mut rows = Vec::new();
        for class in ["read", "write"] {
            let read = class == "read";
            let mut sum = 0;
            for at in 0..=BUCKETS.len() {
                sum += self.sum_shards(|shard| shard.histogram(read).counts.get(at));
                let bound = BUCKETS.get(at).map_or("+Inf", |(_, name)| name);
                rows.push((
                    format!("_bucket{{class=\"{class}\",le=\"{bound}\"}}"),
                    sum.to_string(),
                ));
            }
            let micros = self.sum_shards(|shard| Some(&shard.histogram(read).micros));
            let seconds = Duration::from_micros(micros).as_secs_f64();
            rows.push((format!("_sum{{class=\"{class}\"}}"), seconds.to_string()));
            rows.push((format!("_count{{class=\"{class}\"}}"), sum.to_string()));
        }
        line("request_duration_seconds", &rows);
        line("requests_in_flight", &one(&busy));
        line("log_lines_dropped_total", &one(&dropped_lines()));
        line("buffered_bytes", &one(&buffered));
        line("buffer_refusals_total", &one(&unbuffered));
        line("connections", &one(&self.connections.load(Relaxed)));
        line(
            "connections_refused_total",
            &one(&self.refused.load(Relaxed)),
        );
        line("request_faults_total", &one(&self.faults.load(Relaxed)));
        let refused = RefusalReason::all().zip(&self.refusals);
        let rows: Vec<_> = refused
            .map(|(reason, count)| {
                let labels = format!("{{reason=\"{}\"}}", reason.name());
                (labels, count.load(Relaxed).to_string())
            })
            .collect();
        line("refusals_total", &rows);
        let counts = limiter.counts();
        line("limiter_admitted_total", &one(&counts.admitted));
        type Count = fn(&LimitCounts) -> u64;
        let each: [(&str, Count); 3] = [
            ("limiter_passed_total", |counts| counts.passed),
            ("limiter_refused_total", |counts| counts.refused),
            ("limiter_shadowed_total", |counts| counts.shadowed),
        ];
        for (name, of) in each {
            let rows = counts.limits.iter().map(|(limit, counts)| {
                let labels = format!("{{limit=\"{}\"}}", limit.name());
                (labels, of(counts).to_string())
            });
            line(name, &rows.collect::<Vec<_>>());
        }
        line("limiter_keys", &one(&limiter.tracked_keys()));
        line("jobs_running", &one(&self.jobs.running.load(Relaxed)));
        line("job_steps_total", &one(&self.jobs.steps.load(Relaxed)));
        let outcomes = ["succeeded", "failed"].iter().zip(&self.jobs.ended);
        let rows: Vec<_> = outcomes
            .map(|(name, count)| {
                let count = count.load(Relaxed);
                (format!("{{outcome=\"{name}\"}}"), count.to_string())
            })
            .collect();
        line("jobs_ended_total", &rows);
        let outcomes = ["succeeded", "failed"].iter().zip(deliveries);
        let rows: Vec<_> = outcomes
            .map(|(name, count)| (format!("{{outcome=\"{name}\"}}"), count.to_string()))
            .collect();
        line("webhook_deliveries_total", &rows);
        for (name, value) in store {
            line(name, &one(value));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_counted_by_operation_class_and_bucket() {
        let metrics = Metrics::new();
        metrics.count(1, "getTask", true, 200, Duration::from_micros(100));
        metrics.count(2, "getTask", true, 404, Duration::from_micros(101));
        metrics.count(
            u64::MAX,
            "no such operation",
            false,
            500,
            Duration::from_secs(9),
        );
        let limits = workgraph_api::TokenLimits::default();
        let limiter = DigestLimiter::new((&limits).into());
        let text = metrics.text((0, 0), 0, &limiter, [3, 4], &[("store_wal_bytes", 7)]);
        for line in [
            "workgraph_requests_total{operation=\"getTask\",status=\"2xx\"} 1",
            "workgraph_requests_total{operation=\"getTask\",status=\"4xx\"} 1",
            "workgraph_requests_total{operation=\"\",status=\"5xx\"} 1",
            "workgraph_request_duration_seconds_bucket{class=\"read\",le=\"0.0001\"} 1",
            "workgraph_request_duration_seconds_bucket{class=\"read\",le=\"+Inf\"} 2",
            "workgraph_request_duration_seconds_bucket{class=\"write\",le=\"5\"} 0",
            "workgraph_request_duration_seconds_count{class=\"write\"} 1",
            "workgraph_store_wal_bytes 7",
            "# TYPE workgraph_store_wal_bytes gauge",
            "workgraph_webhook_deliveries_total{outcome=\"failed\"} 4",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
