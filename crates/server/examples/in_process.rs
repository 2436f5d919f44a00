//! Runs a server inside a test: a demo on a free port of this machine, which is gone at the end.
//!
//! Run it with `cargo run -p workgraph-server --example in_process`.
use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use workgraph_server::Server;

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::builder().demo().start().await?;
    let bootstrap = server.bootstrap().context("a new server has users")?;
    let token = &bootstrap.personal_access_token;

    // The code under test comes here, with `server.base_url()` and the token.
    let mut stream = TcpStream::connect(server.address()).await?;
    let request = format!(
        "GET /api/1.0/users/me HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await?;
    ensure!(reply.starts_with("HTTP/1.1 200"), "{reply}");

    server.stop().await
}
