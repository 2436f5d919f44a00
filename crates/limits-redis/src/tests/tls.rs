//! TLS to a server with a certificate from a private authority.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use redis::{Value, cmd};
use workgraph_limits::SharedLimiter;

use super::connecting::free_port;
use super::function_limiter::connect;
use super::nodes::{Node, request};
use crate::breaker::CAUTION_MS;
use crate::connect_error::ConnectError;
use crate::functions;
use crate::redis_limiter::RedisLimiter;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestServer;

/// Folder with an authority, and a certificate that it issued for `localhost`.
struct Certificates(PathBuf);

impl Certificates {
    fn make() -> Self {
        let made =
            Self(std::env::temp_dir().join(format!("workgraph-redis-tls-{}", std::process::id())));
        std::fs::create_dir_all(&made.0).unwrap();
        for authority in ["ca", "other"] {
            made.request(authority, &["-subj", "/CN=an authority"]);
        }
        let (authority, key) = (made.file("ca.pem"), made.file("ca.key"));
        let signed = [
            "-CA",
            authority.to_str().unwrap(),
            "-CAkey",
            key.to_str().unwrap(),
        ];
        let names = [
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        ];
        made.request(
            "server",
            &[&["-subj", "/CN=localhost"][..], &names, &signed].concat(),
        );
        made
    }

    fn request(&self, name: &str, more: &[&str]) {
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
            ])
            .args(["-nodes", "-days", "2", "-keyout"])
            .arg(self.file(&format!("{name}.key")))
            .arg("-out")
            .arg(self.file(&format!("{name}.pem")))
            .args(more)
            .stdin(Stdio::null())
            .output()
            .expect("openssl is installed");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // Leftovers in the temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(url: &str, trusted: Option<&Path>) -> RedisLimiterSettings {
    RedisLimiterSettings {
        root_certificates: trusted.map(Path::to_owned),
        timeout: std::time::Duration::from_secs(10),
        ..RedisLimiterSettings::new(url)
    }
}

/// S973.
#[tokio::test]
async fn only_a_server_with_a_trusted_certificate_gets_the_password() {
    let made = Certificates::make();
    let (port, file) = (free_port().to_string(), |name| {
        made.file(name).display().to_string()
    });
    let options = [
        "--tls-port",
        &port,
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &file("server.pem"),
        "--tls-key-file",
        &file("server.key"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
    ];
    let Some(server) = TestServer::start(&options) else {
        return;
    };
    let mut user = cmd("ACL");
    user.arg(&["SETUSER", "app", "on", ">right", "~workgraph:*", "+@all"]);
    let _: Value = user
        .query(&mut connect(&server.url(), functions::current()))
        .unwrap();

    let url = format!("rediss://app:right@localhost:{port}/0");
    let node = Node::connect(&settings(&url, Some(&made.file("ca.pem"))), CAUTION_MS).await;
    drop(node.admit(&request(10), 0).await.unwrap());
    let counts = node.shared.counts();
    assert_eq!((counts.shared, counts.local, counts.failures), (1, 0, 0));

    let refused = async |url: &str, trusted: Option<&str>| {
        let file = trusted.map(|name| made.file(name));
        let connected = RedisLimiter::connect(&settings(url, file.as_deref())).await;
        let error = connected.err().unwrap();
        assert!(!format!("{error} {error:?}").contains("right"), "{error}");
        error
    };
    for trusted in [None, Some("other.pem")] {
        let error = refused(&url, trusted).await;
        assert!(
            matches!(error, ConnectError::Untrusted { .. }),
            "{trusted:?}: {error}"
        );
    }
    let other_name = url.replace("localhost", "127.0.0.1");
    let error = refused(&other_name, Some("ca.pem")).await;
    assert!(matches!(error, ConnectError::Untrusted { .. }), "{error}");
    for (trusted, url) in [
        ("none.pem", url.as_str()),
        ("ca.key", url.as_str()),
        ("ca.pem", "redis://localhost"),
    ] {
        let error = refused(url, Some(trusted)).await;
        assert!(
            matches!(error, ConnectError::Certificates { .. }),
            "{trusted}: {error}"
        );
    }
    let wrong = refused(&url.replace(":right@", ":wrong@"), Some("ca.pem")).await;
    assert!(matches!(wrong, ConnectError::Credentials { .. }), "{wrong}");
    // Neither side understands the other's protocol.
    let plain = refused(&url.replace("rediss", "redis"), None).await;
    assert!(matches!(plain, ConnectError::Unreachable { .. }), "{plain}");
}
