//! Counters and their Prometheus text.
mod families;

pub(crate) use self::families::write_family;
use crate::log::lossy_writer::dropped_lines;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
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

/// Indices of the buckets that are written for each operation. Every operation and status class that occurred has seven
/// lines of about 90 bytes: 100 of them are 63 kB of a scrape, and 700 series in Prometheus.
const OPERATION_BUCKETS: [usize; 4] = [3, 4, 5, 6];

/// Status classes: 1xx to 5xx.
const CLASSES: usize = 5;

/// Latencies of one kind of request. The counters that most requests change are on one cache line, and nothing else is on
/// it.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Histogram {
    micros: AtomicU64,
    counts: [AtomicU64; BUCKETS.len() + 1],
}

impl Histogram {
    fn add(&self, micros: u64) {
        let at = BUCKETS.partition_point(|(bound, _)| *bound < micros);
        if let Some(counter) = self.counts.get(at) {
            counter.fetch_add(1, Relaxed);
        }
        self.micros.fetch_add(micros, Relaxed);
    }
}

#[derive(Debug, Default)]
struct HistogramSum {
    micros: u64,
    counts: [u64; BUCKETS.len() + 1],
}

impl HistogramSum {
    fn of<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Self {
        let mut sum = Self::default();
        for histogram in histograms {
            sum.micros += histogram.micros.load(Relaxed);
            for (sum, count) in sum.counts.iter_mut().zip(&histogram.counts) {
                *sum += count.load(Relaxed);
            }
        }
        sum
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Appends the rows of a histogram with these labels and buckets.
    fn write(&self, rows: &mut Vec<(String, String)>, labels: &str, buckets: &[usize]) {
        for at in buckets {
            let count: u64 = self.counts.iter().take(at + 1).sum();
            let bound = BUCKETS.get(*at).map_or("+Inf", |(_, name)| name);
            rows.push((
                format!("_bucket{{{labels},le=\"{bound}\"}}"),
                count.to_string(),
            ));
        }
        let count = self.count().to_string();
        rows.push((format!("_bucket{{{labels},le=\"+Inf\"}}"), count.clone()));
        let seconds = Duration::from_micros(self.micros).as_secs_f64();
        rows.push((format!("_sum{{{labels}}}"), seconds.to_string()));
        rows.push((format!("_count{{{labels}}}"), count));
    }
}

/// Outcomes of work that can fail.
const OUTCOMES: [&str; 2] = ["succeeded", "failed"];

/// Number of shards of the counters, so that threads rarely write to the same one.
const SHARDS: usize = 8;

/// Shard with the counts of a subset of the connections.
#[derive(Debug)]
struct MetricsShard {
    /// Latencies of each operation by status class, allocated when they first occur.
    operations: Box<[OnceLock<Box<[Histogram; CLASSES]>>]>,
    reads: Histogram,
    writes: Histogram,
}

impl MetricsShard {
    /// Returns the latencies of reads, or of writes.
    const fn histogram(&self, read: bool) -> &Histogram {
        if read { &self.reads } else { &self.writes }
    }

    /// Returns the latencies of an operation, if it occurred.
    fn operation(&self, at: usize, class: usize) -> Option<&Histogram> {
        self.operations.get(at)?.get()?.get(class)
    }
}

/// All counters. There are no locks: the rows are created once from the table of operations.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Index of each operation in every shard. The empty name is for requests that match none.
    operations: FxHashMap<&'static str, usize>,
    shards: [MetricsShard; SHARDS],
    /// Number of open connections.
    pub(crate) connections: AtomicI64,
    /// Number of connections refused because there were too many.
    pub(crate) refused: AtomicU64,
    /// Number of requests that ended by a deadline or a panic.
    pub(crate) faults: AtomicU64,
    /// Counters of the jobs.
    pub(crate) jobs: JobMetrics,
    /// Refusals by the index of the reason.
    refusals: [AtomicU64; RefusalReason::COUNT],
    /// Number of successful sign-ins.
    sign_ins: AtomicU64,
    /// Refused sign-ins, by the index of the reason.
    refused_sign_ins: [AtomicU64; RefusalReason::COUNT],
}

/// Counters of the jobs.
#[derive(Debug, Default)]
pub(crate) struct JobMetrics {
    /// Number of jobs that are running now.
    pub(crate) running: AtomicI64,
    /// Number of completed job steps.
    pub(crate) steps: AtomicU64,
}

/// Figures from other parts of the server.
pub(crate) struct OtherFigures<'f> {
    /// Bytes held for clients.
    pub(crate) buffered: usize,
    /// Number of bodies and replies for which the byte budgets had no room.
    pub(crate) unbuffered: u64,
    /// Number of requests in progress.
    pub(crate) busy: u64,
    pub(crate) limiter: &'f DigestLimiter,
    /// Numbers of successful and failed delivery attempts.
    pub(crate) deliveries: [u64; 2],
    /// Kinds of jobs with the numbers of successful and failed ones.
    pub(crate) jobs: Vec<(&'static str, [u64; 2])>,
    /// Families of the store that have one row.
    pub(crate) store: Vec<(&'static str, u64)>,
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
            // Some names are shared by several routes.
            let index = operations.len();
            operations.entry(name).or_insert(index);
        }
        let shard = |_| MetricsShard {
            operations: operations.values().map(|_| OnceLock::new()).collect(),
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
            sign_ins: AtomicU64::new(0),
            refused_sign_ins: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Counts a refusal of an operation, or a successful sign-in.
    pub(crate) fn count_outcome(&self, operation: &str, refusal: Option<RefusalReason>) {
        let is_sign_in = operation == workgraph_portal::SIGN_IN;
        match refusal {
            Some(reason) => {
                let of_sign_ins = is_sign_in.then_some(&self.refused_sign_ins);
                for counts in [Some(&self.refusals), of_sign_ins].into_iter().flatten() {
                    if let Some(counter) = counts.get(reason.index()) {
                        counter.fetch_add(1, Relaxed);
                    }
                }
            }
            None if is_sign_in => drop(self.sign_ins.fetch_add(1, Relaxed)),
            None => {}
        }
    }

    /// Counts a reply on the connection with this number.
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
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        shard.histogram(read).add(micros);
        let row = self.operations.get(operation);
        let row = row.or_else(|| self.operations.get(""));
        let row = row.and_then(|at| shard.operations.get(*at));
        let row = row.map(|row| row.get_or_init(Box::default));
        if let Some(histogram) = row.and_then(|row| row.get(class)) {
            histogram.add(micros);
        }
    }

    /// Returns the Prometheus text, format 0.0.4.
    pub(crate) fn text(&self, figures: &OtherFigures<'_>) -> String {
        let mut out = String::with_capacity(32_768);
        let mut line = |name: &str, rows: &[(String, String)]| write_family(&mut out, name, rows);
        let one = |value: &dyn ToString| vec![(String::new(), value.to_string())];
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        line("build_info", &[(version, "1".to_owned())]);
        let mut names: Vec<_> = self.operations.iter().collect();
        names.sort_unstable_by_key(|(name, _)| **name);
        let (mut totals, mut durations) = (Vec::new(), Vec::new());
        for (name, at) in names {
            for class in 0..CLASSES {
                let shards = self.shards.iter();
                let sum = HistogramSum::of(shards.filter_map(|shard| shard.operation(*at, class)));
                if sum.count() > 0 {
                    let labels = format!("operation=\"{name}\",status=\"{}xx\"", class + 1);
                    totals.push((format!("{{{labels}}}"), sum.count().to_string()));
                    sum.write(&mut durations, &labels, &OPERATION_BUCKETS);
                }
            }
        }
        line("requests_total", &totals);
        line("operation_duration_seconds", &durations);
        let mut rows = Vec::new();
        let all: [usize; BUCKETS.len()] = std::array::from_fn(|at| at);
        for (class, read) in [("read", true), ("write", false)] {
            let shards = self.shards.iter();
            HistogramSum::of(shards.map(|shard| shard.histogram(read))).write(
                &mut rows,
                &format!("class=\"{class}\""),
                &all,
            );
        }
        line("request_duration_seconds", &rows);
        line("requests_in_flight", &one(&figures.busy));
        line("log_lines_dropped_total", &one(&dropped_lines()));
        line("buffered_bytes", &one(&figures.buffered));
        line("buffer_refusals_total", &one(&figures.unbuffered));
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
        let refused = RefusalReason::all().zip(&self.refused_sign_ins);
        let refused = refused.map(|(reason, count)| (reason.name(), count.load(Relaxed)));
        let refused = refused.filter(|(_, count)| *count > 0);
        let rows: Vec<_> = [("succeeded", self.sign_ins.load(Relaxed))]
            .into_iter()
            .chain(refused)
            .map(|(name, count)| (format!("{{outcome=\"{name}\"}}"), count.to_string()))
            .collect();
        line("sign_ins_total", &rows);
        let limiter = figures.limiter;
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
        let kinds = figures.jobs.iter().flat_map(|(kind, counts)| {
            let outcomes = OUTCOMES.iter().zip(counts);
            outcomes.map(move |(outcome, count)| {
                let labels = format!("{{kind=\"{kind}\",outcome=\"{outcome}\"}}");
                (labels, count.to_string())
            })
        });
        line("jobs_ended_total", &kinds.collect::<Vec<_>>());
        let outcomes = OUTCOMES.iter().zip(figures.deliveries);
        let rows: Vec<_> = outcomes
            .map(|(name, count)| (format!("{{outcome=\"{name}\"}}"), count.to_string()))
            .collect();
        line("webhook_deliveries_total", &rows);
        for (name, value) in &figures.store {
            line(name, &one(value));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_api::RequestRefusal;
    use workgraph_auth::AuthRefusal;

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
        metrics.count_outcome("signIn", None);
        metrics.count_outcome("signIn", Some(AuthRefusal::PasswordWrong.into()));
        metrics.count_outcome("getTask", None);
        metrics.count_outcome("getTask", Some(RequestRefusal::NotFound.into()));
        let text = metrics.text(&OtherFigures {
            buffered: 0,
            unbuffered: 0,
            busy: 0,
            limiter: &limiter,
            deliveries: [3, 4],
            jobs: vec![("export", [5, 6])],
            store: vec![("store_wal_bytes", 7)],
        });
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
            "workgraph_operation_duration_seconds_bucket{operation=\"getTask\",status=\"4xx\",le=\"0.01\"} 1",
            "workgraph_operation_duration_seconds_bucket{operation=\"\",status=\"5xx\",le=\"1\"} 0",
            "workgraph_operation_duration_seconds_bucket{operation=\"\",status=\"5xx\",le=\"+Inf\"} 1",
            "workgraph_operation_duration_seconds_sum{operation=\"\",status=\"5xx\"} 9",
            "workgraph_operation_duration_seconds_count{operation=\"getTask\",status=\"2xx\"} 1",
            "workgraph_sign_ins_total{outcome=\"succeeded\"} 1",
            "workgraph_sign_ins_total{outcome=\"password_wrong\"} 1",
            "workgraph_refusals_total{reason=\"password_wrong\"} 1",
            "workgraph_refusals_total{reason=\"not_found\"} 1",
            "workgraph_jobs_ended_total{kind=\"export\",outcome=\"succeeded\"} 5",
            "workgraph_jobs_ended_total{kind=\"export\",outcome=\"failed\"} 6",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        // Operations that did not occur have no rows.
        assert!(!text.contains("operation=\"getProject\""), "{text}");
        assert!(
            !text.contains("sign_ins_total{outcome=\"not_found\"}"),
            "{text}"
        );
    }
}
