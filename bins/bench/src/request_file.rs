//! The load given by a file of requests, for campaigns that start servers and ceilings themselves.
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::bench_cli::LoadArgs;
use crate::http_client::{write_get, write_post};
use crate::loadgen::{self, LoadEnd, LoadSpec, RequestMaker};

/// Sends the requests, and prints the result as JSON.
pub(crate) fn run(args: &LoadArgs) -> Result<()> {
    let text =
        fs::read_to_string(&args.requests).with_context(|| args.requests.display().to_string())?;
    let requests: Result<Vec<Vec<u8>>> = text
        .lines()
        .map(|line| request(line, &args.token))
        .collect();
    let requests = requests?;
    let count = requests.len();
    let (once, stop) = match args.once {
        true => (true, LoadEnd::Count(count as u64)),
        false => (false, LoadEnd::After(Duration::from_secs_f64(args.seconds))),
    };
    let make: Arc<RequestMaker> = Arc::new(move |rng, index, out| {
        let at = match once {
            true => usize::try_from(index).unwrap_or(usize::MAX),
            false => rng.below(count),
        };
        out.extend_from_slice(requests.get(at).map_or(&[], Vec::as_slice));
    });
    let result = loadgen::run(LoadSpec {
        addr: args.addr,
        connections: args.connections,
        stop,
        seed: None,
        pace: None,
        make,
        seen: None,
    })?;
    let shown = json!({
        "rate": result.rate(),
        "requests": result.requests,
        "failed": result.failed(),
        "errors": result.errors,
        "sample": result.sample,
        "seconds": result.seconds,
        "p50_us": result.p50,
        "p99_us": result.p99,
    });
    println!("{shown}");
    Ok(())
}

/// Returns the bytes of the request on a line.
fn request(line: &str, token: &str) -> Result<Vec<u8>> {
    let mut words = line.splitn(3, ' ');
    let (method, path, body) = (words.next(), words.next(), words.next());
    let mut out = Vec::new();
    match (method, path, body) {
        (Some("GET"), Some(path), None) => write_get(&mut out, path, token),
        (Some("POST"), Some(path), Some(body)) => write_post(&mut out, path, token, body),
        _ => bail!("not `GET PATH` or `POST PATH BODY`: {line}"),
    }
    Ok(out)
}
