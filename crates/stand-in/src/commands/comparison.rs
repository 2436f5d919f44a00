//! `workgraph compare`: sends recorded requests to a server again, and compares its replies with the recorded ones.
use super::CommandOutput;
use super::flag_values::parse_pair;
use anyhow::{Context, Result};
use clap::Args;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;
use ureq::http::Request;
use workgraph_recordings::{
    API_BASE_PATH, Comparison, RecordedReply, RecordedRequest, Recording, Strictness,
};

/// Exit status if the recording could not be compared.
pub const NOT_COMPARED: u8 = 2;
/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of bytes of a reply.
const REPLY_MAX: u64 = 64 << 20;

/// Options of a comparison.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Recording: an HTTP archive (HAR), as browsers, proxies and `GET /-/recording` of a stand-in write it. `-` is the standard
    /// input.
    #[arg(value_name = "FILE")]
    recording: PathBuf,
    /// Address of the API to compare with the recording.
    #[arg(long, env = "WORKGRAPH_BASE_URL", value_name = "URL")]
    base_url: String,
    /// Access token for this API.
    #[arg(
        long,
        env = "WORKGRAPH_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    token: String,
    /// Path of the API in the addresses of the recording.
    #[arg(long, value_name = "PATH", default_value = API_BASE_PATH)]
    recorded_base: String,
    /// Object in the recording that has another gid in this API, such as the workspace; may be repeated.
    #[arg(long = "gid", value_name = "RECORDED=NEW", value_parser = parse_pair)]
    gids: Vec<(String, String)>,
    /// Compare only the form of replies: statuses, fields and types.
    #[arg(long)]
    shape: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Sends the requests of a recording, and returns how the replies differ. The exit status is 1 if they do.
///
/// # Errors
/// Fails if the recording can't be read, or the server does not answer.
pub fn compare(arguments: CompareArgs) -> Result<CommandOutput> {
    let text = read(&arguments.recording)?;
    let recording = Recording::from_har_below(&text, &arguments.recorded_base);
    let recording = recording.with_context(|| arguments.recording.display().to_string())?;
    let gids: BTreeMap<String, String> = arguments.gids.into_iter().collect();
    let strictness = match arguments.shape {
        true => Strictness::Shape,
        false => Strictness::Values,
    };
    let comparison = Comparison::new(recording).with_strictness(strictness);
    let mut comparison = comparison.with_names(gids);
    let base = arguments.base_url.trim_end_matches('/');
    let client = client(base);
    while let Some(request) = comparison.next_request() {
        let reply = send(&client, base, &arguments.token, &request)
            .with_context(|| format!("{} {base}{}", request.method, request.target))?;
        comparison.compare(&reply);
    }
    let report = comparison.finish();
    let output = match arguments.json {
        true => CommandOutput::json(&report.json()),
        false => CommandOutput::text(report.text()),
    };
    Ok(output.with_status(u8::from(!report.holds())))
}

fn read(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        let mut input = std::io::stdin().lock();
        input
            .read_to_string(&mut text)
            .context("the standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// Returns a client for an address, which follows no redirects. For `http`, it ignores the proxy in the environment, which
/// is meant for other addresses.
fn client(base: &str) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0);
    let config = match base.starts_with("http://") {
        true => config.proxy(None),
        false => config,
    };
    config.build().into()
}

/// Sends a request, and returns the reply.
///
/// # Errors
/// Fails if there is none.
fn send(
    client: &Agent,
    base: &str,
    token: &str,
    request: &RecordedRequest,
) -> Result<RecordedReply> {
    let mut builder = Request::builder()
        .method(request.method.as_str())
        .uri(format!("{base}{}", request.target))
        .header("Authorization", format!("Bearer {token}"));
    if let Some(kind) = &request.content_type {
        builder = builder.header("Content-Type", kind);
    }
    let mut reply = match &request.body {
        Some(body) => client.run(builder.body(body.clone())?)?,
        None => client.run(builder.body(())?)?,
    };
    let status = reply.status().as_u16();
    let body = reply
        .body_mut()
        .with_config()
        .limit(REPLY_MAX)
        .read_to_vec()?;
    Ok(RecordedReply::received(status, &body))
}
