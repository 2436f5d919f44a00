//! Logging: one line an event, as text on a terminal and as JSON elsewhere.
mod line_format;
pub(crate) mod request_scope;

use crate::config::schema::LogConfig;
use crate::config::setting::LogFormat;
use crate::log::line_format::WithRequestId;
use anyhow::{Context, Error, Result};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{JsonFields, format};

/// Starts logging to standard error.
///
/// # Errors
/// Fails if the level is not a level.
pub(crate) fn start(log: &LogConfig) -> Result<()> {
    let filter = EnvFilter::builder()
        .parse(&log.level)
        .with_context(|| format!("log.level: `{}`", log.level))?;
    let terminal = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let format = format().with_target(false);
    let is_json = match log.format {
        LogFormat::Auto => !terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let started = if is_json {
        let format = format.json().flatten_event(true).with_span_list(false);
        builder
            .fmt_fields(JsonFields::new())
            .event_format(WithRequestId { format })
            .try_init()
    } else {
        let format = format.with_ansi(terminal);
        builder
            .with_ansi(terminal)
            .event_format(WithRequestId { format })
            .try_init()
    };
    started
        .map_err(Error::from_boxed)
        .context("logging can't start")?;
    std::panic::set_hook(Box::new(|panic| {
        // The message may hold a client's data, so only the location is logged.
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        tracing::error!(place, thread, "a thread panicked");
    }));
    Ok(())
}
