//! One measurement: a load on a server, and the processor time that it takes there.

use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::cpu_pinning::CpuPinning;
use crate::loadgen::{self, LoadEnd, LoadResult, LoadSpec, RequestMaker};
use crate::server_process::ServerProcess;

/// Duration of the load before the measurement.
const WARM_UP: Duration = Duration::from_millis(300);

/// Figures of one measurement: rate, processor time, latency and failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figure {
    /// Requests, or other units of work, per second.
    pub(crate) rate: f64,
    /// Microseconds of processor time of the server (or the loop) per unit.
    pub(crate) cpu: Option<f64>,
    /// Median and 99th percentile of the latency in microseconds.
    pub(crate) latency: Option<(f64, f64)>,
    /// Failures, with the count of each kind.
    pub(crate) errors: BTreeMap<String, u64>,
}

impl Figure {
    /// Returns the same work counted in parts, given the number of parts per unit.
    pub(crate) fn times(mut self, parts: f64) -> Self {
        self.rate *= parts;
        self.cpu = self.cpu.map(|cpu| cpu / parts);
        self
    }

    fn of(outcome: LoadResult, cpu: Duration) -> Self {
        let answers = outcome.requests + outcome.failed();
        Self {
            rate: outcome.rate(),
            cpu: (answers > 0).then(|| cpu.as_secs_f64() * 1e6 / answers as f64),
            latency: Some((outcome.p50, outcome.p99)),
            errors: outcome.errors,
        }
    }

    /// Returns the medians of several figures; errors add up.
    pub(crate) fn median(figures: &[Self]) -> Self {
        let mut errors = BTreeMap::new();
        for (what, count) in figures.iter().flat_map(|figure| &figure.errors) {
            *errors.entry(what.clone()).or_default() += count;
        }
        let of = |pick: &dyn Fn(&Self) -> Option<f64>| {
            median(&figures.iter().filter_map(pick).collect::<Vec<_>>())
        };
        let half = of(&|figure| figure.latency.map(|(p50, _)| p50));
        let tail = of(&|figure| figure.latency.map(|(_, p99)| p99));
        Self {
            rate: of(&|figure| Some(figure.rate)).unwrap_or_default(),
            cpu: of(&|figure| figure.cpu),
            latency: half.zip(tail),
            errors,
        }
    }
}

pub(crate) fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// Puts a load on a server: first a short warm-up, then for the measured time.
pub(crate) fn load(
    server: &ServerProcess,
    connections: usize,
    time: Duration,
    make: &Arc<RequestMaker>,
) -> Result<Figure> {
    let run = |time| {
        loadgen::run(LoadSpec {
            addr: server.addr,
            connections,
            stop: LoadEnd::After(time),
            seed: None,
            pace: None,
            make: Arc::clone(make),
            seen: None,
        })
    };
    // With one request at a time, the processors of client and server would determine the figure.
    let _pinned = (connections == 1)
        .then(|| CpuPinning::new(server))
        .transpose()?;
    run(WARM_UP.min(time))?;
    let before = server.cpu()?;
    let outcome = run(time)?;
    let cpu = server.cpu()?.saturating_sub(before);
    if let Some(sample) = &outcome.sample {
        eprintln!("failed answers, the first: {sample}");
    }
    Ok(Figure::of(outcome, cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn medians_keep_every_error() {
        let one = Figure {
            rate: 5.0,
            errors: BTreeMap::from([("429".to_owned(), 2)]),
            ..Figure::default()
        };
        let all = Figure::median(&[one.clone(), one]);
        assert_eq!(all.errors.get("429"), Some(&4));
        assert!(all.cpu.is_none() && all.latency.is_none());
    }
}
