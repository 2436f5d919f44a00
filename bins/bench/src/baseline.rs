//! The bare hyper server: the same runtime and settings as the product, a fixed JSON body, nothing else.

use anyhow::Result;
use std::convert::Infallible;
use std::fs;
use std::io::Read;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::bench_cli::BaselineArgs;

/// Serves until standard input closes, so that the bare server ends with the run that started it.
pub(crate) fn serve(args: &BaselineArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let body = fixed_body(args.body_size);
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let partial = args.port_file.with_extension("partial");
        fs::write(&partial, listener.local_addr()?.to_string())?;
        fs::rename(&partial, &args.port_file)?;
        std::thread::spawn(until_parent_is_gone);
        accept(listener, body).await
    })
}

async fn accept(listener: TcpListener, body: Bytes) -> ! {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        // A connection without it still works, only slower.
        let _ = stream.set_nodelay(true);
        let body = body.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| answer(request, body.clone()));
            // A client that goes away is no event here.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    body: Bytes,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::GET {
        // The product reads what it is sent; a failed read shows as a broken connection anyway.
        let _ = request.into_body().collect().await;
    }
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=UTF-8"),
    );
    Ok(response)
}

fn until_parent_is_gone() {
    let mut byte = [0; 16];
    while !matches!(std::io::stdin().read(&mut byte), Ok(0) | Err(_)) {}
    std::process::exit(0);
}

/// Returns valid JSON of exactly `size` bytes (at least the empty envelope).
fn fixed_body(size: usize) -> Bytes {
    let (head, tail) = ("{\"data\":\"", "\"}");
    let filler = size.saturating_sub(head.len() + tail.len());
    Bytes::from(format!("{head}{}{tail}", "x".repeat(filler)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_json_of_the_size_asked_for() {
        let body = fixed_body(700);
        assert_eq!(body.len(), 700);
        serde_json::from_slice::<serde_json::Value>(&body).unwrap();
    }
}
