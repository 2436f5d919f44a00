//! Reasons why the limiter cannot start.

use thiserror::Error;

/// Reason why there is no connection. No text contains a password.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The address cannot be read.
    #[error(
        "the address is not one of a Redis server; redis://HOST:PORT, rediss://HOST:PORT (TLS) or redis+unix:///PATH is expected, with USER:PASSWORD@ before the host if need be"
    )]
    Address,
    /// The trusted certificates cannot be read, or the address does not use TLS.
    #[error("the certificates in {file} cannot be used ({reason})")]
    Certificates {
        /// Configured file that could not be read.
        file: String,
        /// Reason, and how to fix it.
        reason: String,
    },
    /// The server's certificate was not issued by a trusted authority, or is for another name.
    #[error(
        "{server} shows a certificate that is not trusted ({reason}); name the certificates of its authority in a file, and the host as the certificate does"
    )]
    Untrusted {
        /// Address without user and password.
        server: String,
        /// Reason given by TLS.
        reason: String,
    },
    /// The server does not answer, or is not ready.
    #[error(
        "{server} does not answer ({reason}); start it, or check the address, the port and the firewall"
    )]
    Unreachable {
        /// Address without user and password.
        server: String,
        /// Reason given by the system.
        reason: String,
    },
    /// The server refuses the user or the password.
    #[error(
        "{server} refuses the user or the password; check them, or `ACL LIST` there ({reason})"
    )]
    Credentials {
        /// Address without user and password.
        server: String,
        /// Reason given by the server.
        reason: String,
    },
    /// The server is too old to support functions.
    #[error(
        "{server} runs version {version}, which has no functions; Redis 7.0 or Valkey 7.2 or newer is needed"
    )]
    Version {
        /// Address without user and password.
        server: String,
        /// Version of the server.
        version: String,
    },
    /// The server is part of a cluster, which is not supported.
    #[error(
        "{server} is part of a cluster; a single primary is needed, with as many replicas as you like"
    )]
    Cluster {
        /// Address without user and password.
        server: String,
    },
    /// The server is a copy of another one.
    #[error("{server} is a replica, which takes no changes; name its primary")]
    Replica {
        /// Address without user and password.
        server: String,
    },
    /// The server does not accept the functions, or does not run them.
    #[error(
        "{server} does not run the functions of the limiter ({reason}); a primary with memory left is needed, and a user with +fcall +fcall_ro +function|load +info +ping +get +set +del +time and the keys of the prefix"
    )]
    Functions {
        /// Address without user and password.
        server: String,
        /// Reason given by the server.
        reason: String,
    },
}
