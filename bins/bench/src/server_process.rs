//! The server processes of a run: start, port file, readiness, processor time, and end.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use crate::bench_clock;
use crate::http_client;
use crate::procfs;

/// Running server; dropping this value ends the process.
pub(crate) struct ServerProcess {
    child: Child,
    /// Address at which the server listens.
    pub(crate) addr: SocketAddr,
    /// Time from the spawn to the first 200 of the readiness path, in seconds.
    pub(crate) ready_after: f64,
}

impl ServerProcess {
    /// Starts `workgraph serve` on a data folder; `demo` fills a new folder with the demo graph.
    pub(crate) fn workgraph(
        binary: &Path,
        data: &Path,
        env: &[(String, String)],
        demo: bool,
    ) -> Result<Self> {
        Self::workgraph_under(&[], binary, data, env, demo)
    }

    /// Starts `workgraph serve` by a command that the binary and its arguments are appended to.
    pub(crate) fn workgraph_under(
        command: &[OsString],
        binary: &Path,
        data: &Path,
        env: &[(String, String)],
        demo: bool,
    ) -> Result<Self> {
        let port_file = data.with_extension("port");
        let log = fs::File::create(data.with_extension("log"))?;
        let words = command.iter().map(OsString::as_os_str);
        let mut words = words.chain([binary.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or(binary.as_os_str()));
        command.args(words).arg("serve");
        if demo {
            command.arg("--demo");
        }
        command
            .arg("--data")
            .arg(data)
            .args(["--listen", "127.0.0.1:0", "--port-file"])
            .arg(&port_file)
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Self::start(command, &port_file, "/-/readyz")
    }

    /// Starts a bare hyper server whose responses have bodies of this size.
    pub(crate) fn bare(scratch: &Path, name: &str, body_size: usize) -> Result<Self> {
        let port_file = scratch.join(format!("bare-{name}.port"));
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["bare", "--body-size", &body_size.to_string(), "--port-file"])
            .arg(&port_file)
            .stdin(Stdio::piped());
        Self::start(command, &port_file, "/")
    }

    /// Starts a bare hyper server that writes the bodies of POSTs to files in a folder.
    pub(crate) fn bare_uploads(scratch: &Path, uploads: &Path) -> Result<Self> {
        let port_file = scratch.join("bare-uploads.port");
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["bare", "--body-size", "300", "--uploads"])
            .arg(uploads)
            .arg("--port-file")
            .arg(&port_file)
            .stdin(Stdio::piped());
        Self::start(command, &port_file, "/")
    }

    fn start(mut command: Command, port_file: &Path, ready: &str) -> Result<Self> {
        match fs::remove_file(port_file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let began = bench_clock::now();
        let mut server = Self {
            child: command
                .spawn()
                .with_context(|| command.get_program().display().to_string())?,
            addr: (Ipv4Addr::LOCALHOST, 0).into(),
            ready_after: 0.0,
        };
        let mut request = Vec::new();
        http_client::write_get(&mut request, ready, "none");
        let mut last = "no port file".to_owned();
        while bench_clock::now().duration_since(began) < Duration::from_secs(120) {
            if let Some(status) = server.child.try_wait()? {
                let log = fs::read_to_string(port_file.with_extension("log")).unwrap_or_default();
                let end = log.get(log.len().saturating_sub(2000)..).unwrap_or(&log);
                bail!("the server ended before it was ready ({status})\n{end}");
            }
            if let Some(addr) = fs::read_to_string(port_file).ok().and_then(|t| address(&t)) {
                server.addr = addr;
                match http_client::exchange(addr, &request) {
                    Ok((200, _)) => {
                        server.ready_after = bench_clock::now().duration_since(began).as_secs_f64();
                        return Ok(server);
                    }
                    Ok((status, _)) => last = format!("{ready} answered {status}"),
                    Err(error) => last = format!("{error:#}"),
                }
            }
            bench_clock::pause(Duration::from_micros(200));
        }
        bail!("the server did not get ready: {last}")
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processor time that the process has used so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        procfs::process_cpu(self.pid())
    }

    /// Asks the server to stop gracefully, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        // The standard library can only kill; a shell can send the polite signal.
        let asked = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", self.pid())])
            .status()?;
        let began = bench_clock::now();
        while asked.success() && bench_clock::now().duration_since(began) < Duration::from_secs(60)
        {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            bench_clock::pause(Duration::from_millis(5));
        }
        bail!("the server did not stop within a minute of SIGTERM")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already; in either case nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Parses a port file: `PORT` or `ADDRESS:PORT`. Returns `None` for an unfinished one.
fn address(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let addr = match text.parse::<u16>() {
        Ok(port) => (Ipv4Addr::LOCALHOST, port).into(),
        Err(_) => text.parse::<SocketAddr>().ok()?,
    };
    (addr.port() != 0).then_some(addr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_file_holds_a_port_or_an_address() {
        let local = |port| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        assert_eq!(address("8080\n"), local(8080));
        assert_eq!(address("127.0.0.1:81"), local(81));
        assert_eq!(address(""), None);
        assert_eq!(address("0"), None);
        assert_eq!(address("127.0.0.1:"), None);
    }
}
