//! Connection to the server: a single one, on which the calls of all requests run without waiting for each other.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::RwLock;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind, IntoConnectionInfo, Pipeline,
    RedisError, ServerErrorKind, TlsCertificates, Value, cmd,
};

use crate::connect_error::ConnectError;
use crate::functions::Functions;
use crate::protocol::Protocol;

/// Oldest major version with functions.
const OLDEST_VERSION: u32 = 7;

/// Reason why a call has no reply.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The connection is lost, or leads to a server that cannot decide.
    Lost,
    /// The call failed, but the connection is usable.
    Failed,
}

/// Reply to a call, or its failure and the number of the connection.
pub(crate) type CallResult = Result<Value, (CallError, u64)>;

/// Server that passed all checks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerReport {
    /// Warnings about the server.
    pub(crate) warnings: Vec<&'static str>,
    /// Time for which the server has had data about limits.
    pub(crate) knows_for: Duration,
    /// Name of the server's data; it changes after a restart, a replacement, or when the data was deleted.
    pub(crate) server_id: String,
}

/// Client with its connection, if there is one.
#[derive(Debug)]
pub(crate) struct RedisLink {
    client: Client,
    /// Address without user and password.
    server: String,
    /// True if a password is sent over the network unencrypted.
    is_readable: bool,
    functions: &'static Functions,
    connect_timeout: Duration,
    open: RwLock<Option<OpenConnection>>,
    /// Number of connections made so far.
    made: AtomicU64,
}

/// Open connection, with its number.
#[derive(Clone)]
struct OpenConnection {
    number: u64,
    connection: MultiplexedConnection,
}

impl std::fmt::Debug for OpenConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.number)
    }
}

impl RedisLink {
    /// Makes a client without a connection. With a file of certificates, only the authorities in it are trusted.
    pub(crate) fn new(
        url: &str,
        root_certificates: Option<&Path>,
        functions: &'static Functions,
        connect_timeout: Duration,
    ) -> Result<Self, ConnectError> {
        let info = url
            .into_connection_info()
            .map_err(|_| ConnectError::Address)?;
        let server = shown(info.addr());
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        let is_readable = info.redis_settings().password().is_some() && is_plain(info.addr());
        let client = match root_certificates {
            None => Client::open(info).map_err(|_| ConnectError::Address)?,
            Some(file) => {
                let wrong = |reason: String| ConnectError::Certificates {
                    file: file.display().to_string(),
                    reason,
                };
                let certificates = fs::read(file).map_err(|error| wrong(error.to_string()))?;
                if !certificates.windows(PEM.len()).any(|text| text == PEM) {
                    return Err(wrong(
                        "there is no certificate in PEM form in it".to_owned(),
                    ));
                }
                let trusted = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(certificates),
                };
                Client::build_with_tls(info, trusted).map_err(|error| wrong(error.to_string()))?
            }
        };
        Ok(Self {
            client,
            server,
            is_readable,
            functions,
            connect_timeout,
            open: RwLock::new(None),
            made: AtomicU64::new(0),
        })
    }

    /// Returns the address without user and password.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Connects, checks the server, loads the functions and tries them.
    pub(crate) async fn connect(&self, protocol: &Protocol) -> Result<ServerReport, ConnectError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(Some(self.connect_timeout));
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.map_err(|e| self.connect_error(&e))?;
        let info: String = cmd("INFO")
            .query_async(&mut connection)
            .await
            .map_err(|e| self.connect_error(&e))?;
        self.check(&info)?;
        let prepared = prepare(&mut connection, protocol).await;
        let (knows_for, since) = prepared.map_err(|e| self.connect_error(&e))?;
        let server_id = format!("{}/{since}", field(&info, "run_id").unwrap_or("?"));
        let number = self.made.fetch_add(1, Relaxed) + 1;
        *self.open.write() = Some(OpenConnection { number, connection });
        let policy = field(&info, "maxmemory_policy").unwrap_or("noeviction");
        let bounded = field(&info, "maxmemory").is_some_and(|bytes| bytes != "0");
        let mut warnings = Vec::new();
        if bounded && policy != "noeviction" {
            warnings.push("the server may drop keys when its memory is full, and with them what has been used of the limits; set maxmemory-policy to noeviction there");
        }
        if self.is_readable {
            warnings.push(
                "the password of the server crosses the network readable; use TLS (rediss://)",
            );
        }
        Ok(ServerReport {
            warnings,
            knows_for,
            server_id,
        })
    }

    fn check(&self, info: &str) -> Result<(), ConnectError> {
        let server = self.server.clone();
        let version = field(info, "redis_version").unwrap_or("?");
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        if major.unwrap_or(0_u32) < OLDEST_VERSION {
            let version = version.to_owned();
            return Err(ConnectError::Version { server, version });
        }
        if field(info, "redis_mode") == Some("cluster") {
            return Err(ConnectError::Cluster { server });
        }
        if field(info, "role") == Some("slave") {
            return Err(ConnectError::Replica { server });
        }
        Ok(())
    }

    fn connect_error(&self, error: &RedisError) -> ConnectError {
        let (server, reason) = (self.server.clone(), error.to_string());
        let code = error.code().unwrap_or_default();
        let is_refused = error.kind() == ErrorKind::AuthenticationFailed
            || matches!(code, "NOAUTH" | "WRONGPASS");
        let is_away = matches!(code, "" | "LOADING" | "BUSY" | "MASTERDOWN");
        if is_refused {
            ConnectError::Credentials { server, reason }
        } else if reason.contains("certificate") {
            ConnectError::Untrusted { server, reason }
        } else if is_away {
            ConnectError::Unreachable { server, reason }
        } else {
            ConnectError::Functions { server, reason }
        }
    }

    /// Makes a call, in a separate future.
    pub(crate) fn call(&self, command: Cmd) -> impl Future<Output = CallResult> + Send + 'static {
        let open = self.open.read().clone();
        let functions = self.functions;
        async move {
            let Some(OpenConnection {
                number,
                mut connection,
            }) = open
            else {
                return Err((CallError::Lost, 0));
            };
            let first = command.query_async(&mut connection).await;
            let answer = match first {
                Err(e) if is_missing_function(&e) => match load(&mut connection, functions).await {
                    Ok(()) => command.query_async(&mut connection).await,
                    Err(e) => Err(e),
                },
                answer => answer,
            };
            answer.map_err(|e| (classify(&e), number))
        }
    }

    /// Makes calls whose replies are ignored.
    pub(crate) async fn call_all(&self, calls: &Pipeline) -> Result<(), (CallError, u64)> {
        let Some(OpenConnection {
            number,
            mut connection,
        }) = self.open.read().clone()
        else {
            return Err((CallError::Lost, 0));
        };
        let first = calls.query_async::<()>(&mut connection).await;
        let answer = match first {
            Err(e) if is_missing_function(&e) => {
                match load(&mut connection, self.functions).await {
                    Ok(()) => calls.query_async::<()>(&mut connection).await,
                    Err(e) => Err(e),
                }
            }
            answer => answer,
        };
        answer.map_err(|e| (classify(&e), number))
    }

    /// Closes a connection, unless there is a newer one; returns true if there was one to close.
    pub(crate) fn close(&self, number: u64) -> bool {
        let mut open = self.open.write();
        let is_it = open.as_ref().is_some_and(|open| open.number == number);
        if is_it {
            *open = None;
        }
        is_it
    }

    /// Closes whichever connection is open.
    pub(crate) fn close_any(&self) {
        *self.open.write() = None;
    }

    /// Returns true if there is a connection that may be usable.
    pub(crate) fn is_open(&self) -> bool {
        self.open.read().is_some()
    }
}

/// Loads the functions on a server and tries them. Returns how long the server has had data about limits, and since which
/// second.
async fn prepare(
    connection: &mut MultiplexedConnection,
    protocol: &Protocol,
) -> Result<(Duration, u64), RedisError> {
    load(connection, protocol.functions).await?;
    protocol.trial().query_async::<Value>(connection).await?;
    let (now, _): (u64, u64) = cmd("TIME").query_async(connection).await?;
    let mut first = cmd("SET");
    first
        .arg(protocol.since_key())
        .arg(now)
        .arg("NX")
        .arg("GET");
    let kept = first.query_async::<Option<String>>(connection).await;
    let since = match kept {
        Ok(None) => now,
        Ok(Some(text)) => match text.parse() {
            Ok(since) => since,
            // The value is not from this software, so the server is treated as new.
            Err(_) => renew_since(connection, protocol, now).await?,
        },
        Err(e) if e.code() == Some("WRONGTYPE") => renew_since(connection, protocol, now).await?,
        Err(e) => return Err(e),
    };
    Ok((Duration::from_secs(now.saturating_sub(since)), since))
}

/// Records that a server has data about limits from now on, replacing any earlier record.
async fn renew_since(
    connection: &mut MultiplexedConnection,
    protocol: &Protocol,
    now: u64,
) -> Result<u64, RedisError> {
    let mut write = cmd("SET");
    write.arg(protocol.since_key()).arg(now);
    write.query_async::<()>(connection).await?;
    Ok(now)
}

async fn load(
    connection: &mut MultiplexedConnection,
    functions: &Functions,
) -> Result<(), RedisError> {
    let mut command = cmd("FUNCTION");
    command.arg("LOAD").arg(&functions.source);
    match command.query_async::<Value>(connection).await {
        Err(e) if !e.to_string().contains("already exists") => Err(e),
        _ => Ok(()),
    }
}

fn is_missing_function(error: &RedisError) -> bool {
    error.to_string().contains("Function not found")
}

fn classify(error: &RedisError) -> CallError {
    // A primary that has become a replica answers, but can no longer decide.
    let is_replica = error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly);
    if is_replica
        || error.is_io_error()
        || error.is_connection_dropped()
        || error.is_unrecoverable_error()
    {
        CallError::Lost
    } else {
        CallError::Failed
    }
}

/// Start of a certificate in a file.
const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Returns true for a network address without TLS.
fn is_plain(address: &ConnectionAddr) -> bool {
    let ConnectionAddr::Tcp(host, _) = address else {
        return false;
    };
    let is_own = |ip: IpAddr| ip.to_canonical().is_loopback();
    host != "localhost" && !host.parse().is_ok_and(is_own)
}

/// Returns an address without its secrets.
fn shown(address: &ConnectionAddr) -> String {
    address.to_string()
}

/// Returns the value of a field in the output of `INFO`.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(name)?.strip_prefix(':');
    info.lines().find_map(value).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::{ConnectError, RedisLink, field};
    use crate::functions;
    use std::time::Duration;

    /// S914.
    #[test]
    fn old_servers_and_clusters_are_refused() {
        let url = "redis://user:secret@h:7/0";
        let link = RedisLink::new(url, None, functions::current(), Duration::ZERO).unwrap();
        let shown = format!("{link:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert_eq!(link.server(), "h:7");
        let check = |info: &str| link.check(info);
        assert!(check("redis_version:7.2.4\r\nredis_mode:standalone\r\n").is_ok());
        let old = check("redis_version:6.2.14\r\n").unwrap_err();
        assert!(
            matches!(&old, ConnectError::Version { version, .. } if version == "6.2.14"),
            "{old}"
        );
        assert!(matches!(check(""), Err(ConnectError::Version { .. })));
        let cluster = check("redis_version:8.0.0\r\nredis_mode:cluster\r\n");
        assert!(matches!(cluster, Err(ConnectError::Cluster { .. })));
        let replica = check("redis_version:8.0.0\r\nredis_mode:standalone\r\nrole:slave\r\n");
        assert!(matches!(replica, Err(ConnectError::Replica { .. })));
        assert_eq!(
            field("maxmemory_human:0B\r\nmaxmemory:5\r\n", "maxmemory"),
            Some("5")
        );
    }
}
