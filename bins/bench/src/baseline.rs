//! The bare hyper server: the same runtime and settings as the product, with only a fixed JSON body.

use anyhow::Result;
use std::convert::Infallible;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::bench_cli::BaselineArgs;

/// Serves until standard input closes, so that the bare server ends with the run that started it.
pub(crate) fn serve(args: &BaselineArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let body = fixed_body(args.body_size);
    let uploads = args.uploads.clone().map(Arc::from);
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let partial = args.port_file.with_extension("partial");
        fs::write(&partial, listener.local_addr()?.to_string())?;
        fs::rename(&partial, &args.port_file)?;
        std::thread::spawn(until_parent_is_gone);
        accept(listener, body, uploads).await
    })
}

async fn accept(listener: TcpListener, body: Bytes, uploads: Option<Arc<Path>>) -> ! {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        // A connection without it is slower, but works.
        let _ = stream.set_nodelay(true);
        let (body, uploads) = (body.clone(), uploads.clone());
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                answer(request, body.clone(), uploads.clone())
            });
            // A disconnecting client is ignored here.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    body: Bytes,
    uploads: Option<Arc<Path>>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body));
    if let (&Method::POST, Some(folder)) = (request.method(), uploads) {
        if let Err(error) = store(request.into_body(), folder).await {
            eprintln!("an upload was not written: {error:#}");
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
    } else if request.method() != Method::GET {
        // The product also reads request bodies; a failed read shows as a broken connection anyway.
        let _ = request.into_body().collect().await;
    }
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=UTF-8"),
    );
    Ok(response)
}

/// Writes a body to a new file, and makes it durable: the file, its name, and its entry in the folder.
async fn store(mut body: Incoming, folder: Arc<Path>) -> Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (pieces, mut received) = tokio::sync::mpsc::channel::<Bytes>(2);
    let written = tokio::task::spawn_blocking(move || -> Result<()> {
        let part = folder.join(format!("{number}.part"));
        let mut file = fs::File::create(&part)?;
        while let Some(piece) = received.blocking_recv() {
            file.write_all(&piece)?;
        }
        file.sync_all()?;
        fs::rename(&part, folder.join(number.to_string()))?;
        fs::File::open(&folder)?.sync_all()?;
        Ok(())
    });
    while let Some(frame) = body.frame().await {
        if let Ok(piece) = frame?.into_data()
            && pieces.send(piece).await.is_err()
        {
            break;
        }
    }
    drop(pieces);
    written.await?
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
