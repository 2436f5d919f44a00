//! Logging: one line per event, as text on a terminal and as JSON elsewhere.
mod line_format;
pub(crate) mod lossy_writer;
pub(crate) mod request_id;
pub(crate) mod request_scope;

use crate::config::Config;
use crate::config::setting::LogFormat;
use crate::log::line_format::WithRequestId;
use crate::log::lossy_writer::LossyWriter;
use anyhow::{Context, Result};
use std::io::IsTerminal;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{JsonFields, format};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging to standard error, configured by the settings.
///
/// # Errors
/// Fails if the level is invalid, or logging was already started.
pub fn start(config: &Config) -> Result<()> {
    let log = &config.log;
    let filter: Targets = log
        .level
        .parse()
        .with_context(|| format!("log.level: `{}`", log.level))?;
    let of_targets = filter.iter().map(|(_, level)| level);
    let levels = of_targets.chain(filter.default_level());
    let terminal = std::io::stderr().is_terminal();
    let builder = tracing_subscriber::fmt()
        .with_max_level(levels.max().unwrap_or(LevelFilter::OFF))
        .with_writer(|| LossyWriter::new(std::io::stderr()));
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
            .finish()
            .with(filter)
            .try_init()
    } else {
        let format = format.with_ansi(terminal);
        builder
            .with_ansi(terminal)
            .event_format(WithRequestId { format })
            .finish()
            .with(filter)
            .try_init()
    };
    started.context("logging can't start")?;
    std::panic::set_hook(Box::new(|panic| {
        // The message may contain a client's data, so only the location is logged.
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or_default();
        tracing::error!(location, thread, "a thread panicked");
    }));
    Ok(())
}
