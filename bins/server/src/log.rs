//! Logging: one line an event, as text on a terminal and as JSON elsewhere.
use crate::config::schema::LogConfig;
use crate::config::setting::LogFormat;
use anyhow::{Context, Error, Result};
use std::io::IsTerminal;
use tracing_subscriber::{EnvFilter, fmt};

/// Starts logging to standard error.
///
/// # Errors
/// Fails if the level is not a level.
pub(crate) fn start(log: &LogConfig) -> Result<()> {
    let filter = EnvFilter::builder()
        .parse(&log.level)
        .with_context(|| format!("log.level: `{}`", log.level))?;
    let terminal = std::io::stderr().is_terminal();
    let builder = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    let text = match log.format {
        LogFormat::Auto => terminal,
        LogFormat::Text => true,
        LogFormat::Json => false,
    };
    let started = if text {
        builder.with_ansi(terminal).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
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
        tracing::error!(place, "a thread panicked");
    }));
    Ok(())
}
