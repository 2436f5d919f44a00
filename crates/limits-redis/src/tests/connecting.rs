//! Connecting: refused connections and their messages.

use std::time::{Duration, Instant};

use redis::{Value, cmd};
use workgraph_limits::SharedLimiter;
use workgraph_limits::shared_limiter::SharedMode;

use super::function_limiter::connect;
use super::nodes::{Node, request};
use crate::breaker::CAUTION_MS;
use crate::connect_error::ConnectError;
use crate::functions;
use crate::redis_limiter::RedisLimiter;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestServer;

/// Returns a port on which nothing listens at the moment.
pub(super) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

async fn refused(url: &str) -> ConnectError {
    let settings = RedisLimiterSettings {
        connect_timeout: Duration::from_millis(500),
        ..RedisLimiterSettings::new(url)
    };
    assert!(!format!("{settings:?}").contains("secret"));
    let error = RedisLimiter::connect(&settings).await.err().unwrap();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("secret"), "{shown}");
    error
}

/// S914.
#[tokio::test]
async fn an_address_that_is_none_or_leads_nowhere_is_refused_without_its_password() {
    for url in [
        "",
        "redis://:secret@",
        "http://u:secret@h",
        "redis://u:secret@h:port",
        "postgres://secret@h/1",
    ] {
        assert!(matches!(refused(url).await, ConnectError::Address), "{url}");
    }
    let gone = refused("redis://user:secret@127.0.0.1:1/0").await;
    let text = gone.to_string();
    assert!(matches!(gone, ConnectError::Unreachable { .. }), "{text}");
    assert!(
        text.contains("127.0.0.1:1") && text.contains("start it"),
        "{text}"
    );
    let tls = refused("rediss://user:secret@127.0.0.1:1/0").await;
    assert!(matches!(tls, ConnectError::Unreachable { .. }), "{tls}");
}

/// S914.
#[tokio::test]
async fn a_wrong_password_is_refused_without_showing_it() {
    let Some(server) = TestServer::start(&["--requirepass", "right"]) else {
        return;
    };
    for url in [server.url(), format!("{}?pass=secret", server.url())] {
        let error = refused(&url).await;
        assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
    }
    let mut user = cmd("ACL");
    user.arg(&["SETUSER", "app", "on", ">secret", "~other:*", "+@all"]);
    let _: Value = user
        .query(&mut connect(
            &format!("{}?pass=right", server.url()),
            functions::current(),
        ))
        .unwrap();
    let unknown = refused(&format!("{}?user=nobody&pass=secret", server.url())).await;
    assert!(
        matches!(unknown, ConnectError::Credentials { .. }),
        "{unknown}"
    );
    let foreign = refused(&format!("{}?user=app&pass=secret", server.url())).await;
    assert!(
        matches!(&foreign, ConnectError::Functions { reason, .. } if reason.contains("NoPerm")),
        "the keys of the limiter are not its own: {foreign}"
    );
    let url = format!("{}?pass=right", server.url());
    let (limiter, warnings) = RedisLimiter::connect(&RedisLimiterSettings::new(url))
        .await
        .unwrap();
    assert!(
        warnings.is_empty() && !format!("{limiter:?}").contains("right"),
        "{limiter:?}"
    );
}

#[tokio::test]
async fn a_server_that_forgets_keys_is_warned_of() {
    let options = ["--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(server) = TestServer::start(&options) else {
        return;
    };
    let (_, warnings) = RedisLimiter::connect(&RedisLimiterSettings::new(server.url()))
        .await
        .unwrap();
    assert!(warnings.concat().contains("noeviction"), "{warnings:?}");
}

/// S972.
#[tokio::test]
async fn replicas_clusters_and_servers_without_memory_are_refused() {
    let Some(primary) = TestServer::start(&[]) else {
        return;
    };
    let replica = TestServer::start(&["--replicaof", "127.0.0.1", "1"]).unwrap();
    let error = refused(&replica.url()).await;
    assert!(matches!(error, ConnectError::Replica { .. }), "{error}");
    let cluster = TestServer::start(&[
        "--cluster-enabled",
        "yes",
        "--port",
        &free_port().to_string(),
    ])
    .unwrap();
    let error = refused(&cluster.url()).await;
    assert!(matches!(error, ConnectError::Cluster { .. }), "{error}");
    let mut admin = connect(&primary.url(), functions::current());
    let _: Value = cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .query(&mut admin)
        .unwrap();
    let error = refused(&primary.url()).await;
    assert!(
        matches!(&error, ConnectError::Functions { reason, .. } if reason.contains("OOM")),
        "{error}"
    );
}

/// S971. The earlier admissions of a new server, or of one that lost its data, are unknown.
#[tokio::test]
async fn new_processes_do_not_trust_a_new_server() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let settings = RedisLimiterSettings::new(server.url());
    let (known, _) = RedisLimiter::connect(&settings).await.unwrap();
    assert_eq!(known.mode(), SharedMode::Exact);
    let mut admin = connect(&server.url(), functions::current());
    let _: Value = cmd("FLUSHALL").query(&mut admin).unwrap();
    for _ in 0..2 {
        let (new, _) = RedisLimiter::connect(&settings).await.unwrap();
        assert_eq!(new.mode(), SharedMode::Cautious);
    }
    let (now, _): (u64, u64) = cmd("TIME").query(&mut admin).unwrap();
    let _: Value = cmd("SET")
        .arg("workgraph:since")
        .arg(now - 62)
        .query(&mut admin)
        .unwrap();
    let (later, _) = RedisLimiter::connect(&settings).await.unwrap();
    assert_eq!(later.mode(), SharedMode::Exact, "what counts, it knows");
}

#[tokio::test]
async fn the_permissions_that_the_readme_names_are_enough() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let readme = include_str!("../../README.md");
    let named = readme
        .split('`')
        .find(|text| text.starts_with("+fcall "))
        .unwrap();
    let mut admin = connect(&server.url(), functions::current());
    let _: Value = cmd("FUNCTION").arg("FLUSH").query(&mut admin).unwrap();
    let mut user = cmd("ACL");
    user.arg(&["SETUSER", "app", "on", ">right", "~workgraph:*"]);
    for permission in named.split(' ') {
        user.arg(permission);
    }
    let _: Value = user.query(&mut admin).unwrap();
    let settings = RedisLimiterSettings {
        timeout: Duration::from_secs(10),
        ..RedisLimiterSettings::new(format!("{}?user=app&pass=right", server.url()))
    };
    let node = Node::connect(&settings, CAUTION_MS).await;
    let mut one = request(10);
    one.custom.concurrent_reads = Some(1);
    drop(node.admit(&one, 0).await.unwrap());
    let begun = Instant::now();
    one.batch.weight = 0;
    while node.admit(&one, 0).await.is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the end of a request is taken"
        );
    }
    let counts = node.shared.counts();
    assert_eq!((counts.local, counts.failures), (0, 0));
}
