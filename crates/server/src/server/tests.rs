//! Tests of servers that run within one process.
use super::Server;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

/// Returns the complete reply to a GET.
async fn get(address: SocketAddr, path: &str, token: &str) -> String {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    let exchange = spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    });
    exchange.await.unwrap()
}

fn token(server: &Server) -> String {
    let bootstrap = server.bootstrap().unwrap();
    bootstrap.personal_access_token.clone()
}

#[test]
fn servers_of_one_process_share_nothing_and_leave_nothing() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let one = Server::builder().demo().start().await.unwrap();
        let other = Server::builder().demo().start().await.unwrap();
        assert!(one.address() != other.address() && one.folder != other.folder);
        let me = "/api/1.0/users/me";
        for (server, token, status) in [
            (&one, token(&one), "200"),
            (&other, token(&other), "200"),
            (&other, token(&one), "401"),
        ] {
            let reply = get(server.address(), me, &token).await;
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        }
        let (folder, address) = (one.folder.clone(), one.address());
        assert!(folder.join("workgraph.db").exists());
        one.stop().await.unwrap();
        assert!(!folder.exists());
        assert!(TcpStream::connect(address).is_err());
        other.stop().await.unwrap();
    });
}

#[test]
fn a_data_folder_that_is_named_is_kept_and_opened_again() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let folder = workgraph_testkit::ScratchFolder::new("server-kept");
    runtime.block_on(async {
        let builder = Server::builder()
            .data(folder.path())
            .set("limits.search", "7");
        let first = builder.clone().start().await.unwrap();
        let token = token(&first);
        first.stop().await.unwrap();
        let second = builder.start().await.unwrap();
        let reply = get(second.address(), "/api/1.0/users/me", &token).await;
        assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
        second.stop().await.unwrap();
    });
}

#[test]
fn a_setting_that_is_unknown_is_named() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let started = runtime.block_on(Server::builder().set("limits.serch", "7").start());
    let error = format!("{:#}", started.err().unwrap());
    assert!(
        error.contains("limits.serch") && error.contains("limits.search"),
        "{error}"
    );
}
