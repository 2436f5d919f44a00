//! Address of a database: `postgres://user:password@host:port/database?sslmode=require&sslrootcert=FILE`.
use crate::database_error::DatabaseError;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// Port of a server if its address names none.
const PORT: u16 = 5432;

/// Address, split into the parts needed to connect.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// Options of the connection; their `Debug` form omits the password.
    pub(crate) config: Config,
    /// File with the trusted certificate authorities, instead of those that the machine trusts.
    pub(crate) authorities: Option<PathBuf>,
}

impl Address {
    /// Reads an address. TLS is required for a host other than this machine, unless the address says otherwise.
    pub(crate) fn parse(url: &str) -> Result<Self, DatabaseError> {
        let wrong = |reason: String| DatabaseError::Address(reason);
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("it must begin with postgres://".into()));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut kept, mut authorities, mut says_mode) = (Vec::new(), None, false);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", file)) => {
                    let file = percent_decode_str(file)
                        .decode_utf8()
                        .map_err(|_| wrong("sslrootcert is not UTF-8".into()))?;
                    authorities = Some(PathBuf::from(file.as_ref()));
                }
                // Certificates and names are always verified.
                Some(("sslmode", "verify-ca" | "verify-full")) => {
                    says_mode = true;
                    kept.push("sslmode=require".to_owned());
                }
                Some(("sslmode", _)) => {
                    says_mode = true;
                    kept.push(pair.to_owned());
                }
                // The parser takes one host per parameter; libpq, and people, write a list.
                Some(("host", hosts)) => {
                    kept.extend(hosts.split(',').map(|host| format!("host={host}")));
                }
                _ => kept.push(pair.to_owned()),
            }
        }
        let plain = format!("{base}?{}", kept.join("&"));
        let mut config = Config::from_str(plain.trim_end_matches('?'))
            .map_err(|error| wrong(describe(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host".into()));
        }
        if config.get_dbname().is_none() {
            return Err(wrong("it names no database".into()));
        }
        if !says_mode && !config.get_hosts().iter().all(is_local) {
            config.ssl_mode(SslMode::Require);
        }
        if config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        Ok(Self {
            config,
            authorities,
        })
    }

    /// Returns true if connections may use TLS.
    pub(crate) fn may_encrypt(&self) -> bool {
        let by_network = |host: &Host| matches!(host, Host::Tcp(_));
        self.config.get_ssl_mode() != SslMode::Disable
            && self.config.get_hosts().iter().any(by_network)
            && !(self.config.get_ssl_mode() == SslMode::Prefer
                && self.config.get_hosts().iter().all(is_local))
    }
}

/// Shows only hosts and database, never the user's password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => {
                    // A single port is used for all hosts.
                    let port = ports.get(at).or(ports.first()).unwrap_or(&PORT);
                    write!(f, "{separator}{name}:{port}")?;
                }
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{separator}{}", folder.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

fn describe(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns true for sockets of this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || IpAddr::from_str(name).is_ok_and(|ip| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_lists_several_hosts() {
        for (url, shown) in [
            (
                "postgres://u@/w?host=db-1.example,db-2.example&port=5432,5433",
                "db-1.example:5432,db-2.example:5433/w",
            ),
            (
                "postgres:///w?host=/run/one,/run/two&user=u",
                "/run/one,/run/two/w",
            ),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.config.get_hosts().len(), 2, "{url}");
            assert_eq!(address.to_string(), shown);
        }
    }

    #[test]
    fn tls_is_required_off_this_machine_and_no_text_has_the_password() {
        for (url, mode, encrypts) in [
            ("postgres://u:geheim@db.example/w", SslMode::Require, true),
            (
                "postgres://u:geheim@db.example/w?sslmode=disable",
                SslMode::Disable,
                false,
            ),
            (
                "postgres://u:geheim@db.example/w?sslmode=verify-full&sslrootcert=%2Fa%20b",
                SslMode::Require,
                true,
            ),
            (
                "postgres://u:geheim@127.0.0.1:5433/w",
                SslMode::Prefer,
                false,
            ),
            (
                "postgres://u:geheim@localhost/w?sslmode=require",
                SslMode::Require,
                true,
            ),
            (
                "postgresql:///w?host=/run/postgresql&user=u&password=geheim",
                SslMode::Prefer,
                false,
            ),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.config.get_ssl_mode(), mode, "{url}");
            assert_eq!(address.may_encrypt(), encrypts, "{url}");
            assert!(!format!("{address:?}").contains("geheim"), "{url}");
        }
        let with_file = Address::parse("postgres://h/w?sslrootcert=%2Fa%20b").unwrap();
        assert_eq!(with_file.authorities, Some(PathBuf::from("/a b")));
    }

    #[test]
    fn a_wrong_address_says_what_is_wrong_without_the_password() {
        for (url, reason) in [
            ("mysql://u:geheim@h/w", "postgres://"),
            ("postgres:///w", "no host"),
            ("postgres://u:geheim@h", "no database"),
            ("postgres://u:geheim@h:x/w", "port"),
            ("postgres://u:geheim@h/w?sslmode=maybe", "sslmode"),
            ("postgres://u:geheim@h/w?shoe_size=44", "shoe_size"),
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
            assert!(!error.contains("geheim"), "{url}: {error}");
        }
    }
}
