//! Connecting: what is refused, and in which words.

use std::time::Duration;

use crate::connect_error::ConnectError;
use crate::redis_limiter::RedisLimiter;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestServer;

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

#[tokio::test]
async fn a_wrong_password_is_refused_without_showing_it() {
    let Some(server) = TestServer::start(&["--requirepass", "right"]) else {
        return;
    };
    for url in [server.url(), format!("{}?pass=secret", server.url())] {
        let error = refused(&url).await;
        assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
    }
    let url = format!("{}?pass=right", server.url());
    let (limiter, warning) = RedisLimiter::connect(&RedisLimiterSettings::new(url))
        .await
        .unwrap();
    assert!(
        warning.is_none() && !format!("{limiter:?}").contains("right"),
        "{limiter:?}"
    );
}

#[tokio::test]
async fn a_server_that_forgets_keys_is_warned_of() {
    let options = ["--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(server) = TestServer::start(&options) else {
        return;
    };
    let (_, warning) = RedisLimiter::connect(&RedisLimiterSettings::new(server.url()))
        .await
        .unwrap();
    assert!(warning.unwrap().contains("noeviction"));
}
