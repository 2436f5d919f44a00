//! The admin socket, over which `workgraph admin` reaches a running server.
use crate::admin::admin_commands::AdminCommand;
use crate::admin::admin_service::AdminService;
use crate::admin::commands;
use crate::http::accept::accept_all;
use anyhow::{Context, Error, Result, anyhow};
use serde_json::{Value, json};
use std::fs::DirBuilder;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};

/// Maximum length of a command in bytes, and maximum wait for one.
const LINE_MAX: u64 = 1 << 20;
const WAIT: Duration = Duration::from_secs(10);
/// Maximum number of commands that run at the same time.
const COMMANDS: usize = 64;
/// Maximum length of the address of a Unix socket in bytes.
const ADDRESS_MAX: usize = 100;

/// Returns the socket's address. A path that is too long is replaced by one through the open folder.
fn address(folder: &Path) -> io::Result<(PathBuf, Option<std::fs::File>)> {
    let path = folder.join("admin.sock");
    if path.as_os_str().len() <= ADDRESS_MAX {
        return Ok((path, None));
    }
    let open = std::fs::File::open(folder)?;
    Ok((
        PathBuf::from(format!("/proc/self/fd/{}/admin.sock", open.as_raw_fd())),
        Some(open),
    ))
}

/// Listens in the data folder, which this process holds, and answers commands from now on.
///
/// # Errors
/// Fails if the socket can't be created.
pub(crate) fn listen(folder: &Path, service: Arc<AdminService>) -> io::Result<()> {
    let (path, _open) = address(folder)?;
    // The socket is created in a folder that is closed to others, so that no other user can ever connect to it.
    let closed = path.with_extension("d");
    clear(&closed)?;
    DirBuilder::new().mode(0o700).create(&closed)?;
    let draft = closed.join("s");
    let listener = tokio::net::UnixListener::bind(&draft)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&draft, &path)?;
    clear(&closed)?;
    let serve = move |stream| {
        let service = Arc::clone(&service);
        async move {
            if let Err(e) = answer(&service, stream).await {
                tracing::debug!(
                    reason = e.to_string(),
                    "the connection of an admin command broke"
                );
            }
        }
    };
    tokio::spawn(async move {
        accept_all("admin", COMMANDS, |cx| listener.poll_accept(cx), serve).await;
    });
    Ok(())
}

/// Removes a folder, including the files that an interrupted start left in it.
fn clear(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

async fn answer(service: &AdminService, mut stream: tokio::net::UnixStream) -> io::Result<()> {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    let mut reader = tokio::io::BufReader::new(read).take(LINE_MAX);
    tokio::time::timeout(WAIT, reader.read_line(&mut line)).await??;
    let outcome = match serde_json::from_str::<AdminCommand>(&line) {
        Ok(what) => commands::run(service, what).await,
        Err(e) => Err(anyhow!(
            "the command was not understood; is the server of the same version? ({e})"
        )),
    };
    let reply = match outcome {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": format!("{error:#}")}),
    };
    write.write_all(format!("{reply}\n").as_bytes()).await
}

/// Removes the socket at shutdown.
pub(crate) fn remove(folder: &Path) {
    // If it stays, the next start removes it.
    let _ = std::fs::remove_file(folder.join("admin.sock"));
}

/// Sends a command to the server that runs in this folder. Returns `None` if there is none.
pub(crate) fn send(folder: &Path, what: &AdminCommand) -> Option<Result<Value>> {
    let (path, _open) = address(folder).ok()?;
    let stream = std::os::unix::net::UnixStream::connect(path).ok()?;
    let answer = exchange(&stream, what).context("the server did not answer");
    Some(answer.and_then(|answer| answer))
}

fn exchange(
    mut stream: &std::os::unix::net::UnixStream,
    what: &AdminCommand,
) -> io::Result<Result<Value>> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    let mut reply: Value = serde_json::from_str(&reply)?;
    Ok(match reply.get("error").and_then(Value::as_str) {
        Some(error) => Err(Error::msg(error.to_owned())),
        None => Ok(reply.get_mut("ok").map(Value::take).unwrap_or_default()),
    })
}
