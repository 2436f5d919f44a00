//! `workgraph serve`: a server that is controlled by signals and a service manager.
use crate::cli::ServeArgs;
use crate::standard_output::say;
use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use workgraph_server::{Config, Server, notify_service_manager, write_port};

/// Signals that a server acts on. They end a process that does not watch them yet.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Begins to watch the signals.
    fn watch() -> Result<Self> {
        let watch = |kind| signal(kind).context("signals can't be watched");
        Ok(Self {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }
}

/// Runs the server until it gets a signal to stop. `load` reads the configuration again.
///
/// # Errors
/// Fails if the server can't start or continue.
pub(crate) async fn serve(
    config: Config,
    options: ServeArgs,
    load: impl Fn() -> Result<Config>,
) -> Result<()> {
    let prepared = Server::prepare(config, options.start).await?;
    // Signals are handled before the server says that it is ready, since it may be stopped from then on.
    let mut signals = Signals::watch()?;
    let mut server = prepared.serve();
    if let Some(path) = &options.port_file {
        write_port(path, server.address().port())?;
    }
    say(server.banner());
    notify_service_manager("READY=1");
    let outcome = loop {
        tokio::select! {
            _ = signals.terminate.recv() => server.request_stop(),
            _ = signals.interrupt.recv() => server.request_stop(),
            _ = signals.hangup.recv() => reload(&server, load()),
            outcome = server.stopped() => break outcome,
        }
    };
    notify_service_manager("STOPPING=1");
    outcome.and(server.finish().await)
}

/// Takes over the limits of a changed configuration.
fn reload(server: &Server, config: Result<Config>) {
    match config.and_then(|config| server.reload(&config)) {
        Ok(()) => tracing::info!(
            "the limits of the configuration are in force; other settings need a restart"
        ),
        Err(error) => tracing::error!(
            reason = format!("{error:#}"),
            "the configuration could not be reloaded"
        ),
    }
}
