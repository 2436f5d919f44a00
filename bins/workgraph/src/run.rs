//! `workgraph run`: a program with its own stand-in.
use crate::cli::RunArgs;
use anyhow::{Context, Result};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use tokio::signal::unix::{SignalKind, signal};
use workgraph_server::{Config, Server, StartOptions};

/// Exit code of a program that a signal ended, minus the number of the signal.
const OF_SIGNALS: i32 = 128;

/// Data folder and address of a stand-in, as named by flags.
pub(crate) struct Places {
    /// Data folder; a temporary one if none is named.
    pub(crate) data: Option<String>,
    /// Address; a free port of this machine if none is named.
    pub(crate) listen: Option<String>,
}

/// Starts a stand-in, runs the program, and stops the stand-in. Returns the exit code of the program.
///
/// # Errors
/// Fails if the stand-in or the program can't start.
pub(crate) async fn run(config: Config, arguments: RunArgs, places: Places) -> Result<ExitCode> {
    let options = StartOptions {
        stand_in: true,
        seed: arguments.seed,
        now: arguments.now,
        clock: arguments.clock,
        strict: arguments.strict,
        intercept: arguments.intercept,
        ..StartOptions::default()
    };
    let mut builder = Server::builder().options(options).config(config);
    if let Some(folder) = places.data {
        builder = builder.data(folder);
    }
    if let Some(address) = places.listen {
        builder = builder.set("listen", address);
    }
    let server = builder.start().await?;
    let (name, rest) = arguments
        .program
        .split_first()
        .context("a program is needed")?;
    let token = server.bootstrap().map(|boot| &*boot.personal_access_token);
    let mut program = Command::new(name);
    program
        .args(rest)
        .env("WORKGRAPH_STAND_IN_URL", server.auth_url())
        .env("WORKGRAPH_BASE_URL", server.base_url())
        .env("WORKGRAPH_TOKEN", token.unwrap_or_default())
        .envs(server.interception());
    // The program also gets the interrupt of a terminal, and decides how to react.
    let mut interrupt = signal(SignalKind::interrupt()).context("signals can't be watched")?;
    let mut child = program
        .spawn()
        .with_context(|| format!("{name}: the program can't be started"))?;
    let mut ended = tokio::task::spawn_blocking(move || child.wait());
    let status = loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            status = &mut ended => break status,
        }
    };
    let status = status
        .context("the wait for the program broke off")?
        .with_context(|| format!("{name}: its end can't be awaited"))?;
    server.stop().await?;
    Ok(exit_code(status))
}

/// Returns the exit code of a program, as a shell does.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code();
    let code = code.or_else(|| Some(OF_SIGNALS + status.signal()?));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_program_or_of_its_signal() {
        let of = |raw| format!("{:?}", exit_code(ExitStatus::from_raw(raw)));
        let expected = |code: u8| format!("{:?}", ExitCode::from(code));
        assert_eq!(of(0), expected(0));
        assert_eq!(of(3 << 8), expected(3));
        assert_eq!(of(9), expected(137));
    }
}
