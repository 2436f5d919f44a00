//! Listening: accepts connections, ends idle ones, and drains them at shutdown.
use crate::http::accept::accept_all;
use crate::http::connection_context::ConnectionContext;
use crate::http::connections::{ClientConnection, TICK_MILLIS};
use crate::http::instrumented_socket::InstrumentedSocket;
use crate::http::process::Process;
use crate::http::request_body::ClientBody;
use crate::http::request_service::{self, RequestHandler};
use crate::http::stop_signal::StopSignal;
use crate::http::world::World;
use anyhow::Result;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{MissedTickBehavior, interval};
use workgraph_api::ConnectionTokenCache;

/// Maximum bytes of a head that hyper itself may read; beyond it the refusal has no body.
const HARD_HEAD: usize = 64 << 10;
/// Interval between writes of the last-used times of tokens. Every second time, limits are swept, and the clock catches up.
const HALF_MINUTE: Duration = Duration::from_secs(30);
/// Bytes that a client may send on an HTTP/2 stream, and on all streams of a connection, before they are read.
const STREAM_WINDOW: u32 = 128 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Maximum number of connections to the metrics listener, and maximum time of each.
const SCRAPERS: usize = 64;
const SCRAPE: Duration = Duration::from_secs(60);

/// Serves until the server is asked to stop or this node is replaced, then lets started requests finish, unless it is
/// asked to stop again.
///
/// # Errors
/// Fails if it can't continue.
pub(crate) async fn serve(
    (process, world): (Arc<Process>, Arc<World>),
    handler: Arc<dyn RequestHandler>,
    (listener, metrics): (TcpListener, Option<TcpListener>),
    stop: Arc<StopSignal>,
    replaced: impl Future<Output = ()>,
) -> Result<()> {
    let door = Arc::clone(&process.connections);
    let builder = Arc::new(builder(&process));
    if let Some(listener) = metrics {
        tokio::spawn(serve_metrics(
            (Arc::clone(&process), Arc::clone(&world)),
            listener,
        ));
    }
    let (mut asked, mut replaced) = (pin!(stop.requested(1)), pin!(replaced));
    let mut ticks = interval(Duration::from_millis(TICK_MILLIS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut half_minutes = interval(HALF_MINUTE);
    half_minutes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut count, mut paused) = (0u32, false);
    loop {
        tokio::select! {
            accepted = listener.accept(), if !paused => match accepted {
                Ok((stream, _)) => connect((&process, &world), &handler, &builder, stream),
                // Most likely out of descriptors: the next tick may end idle connections, which frees some.
                Err(e) => {
                    tracing::warn!(reason = e.to_string(), "a connection was not accepted");
                    paused = true;
                }
            },
            // Without a connection nothing is timed, so an idle server sleeps.
            _ = ticks.tick(), if paused || door.open_connections() > 0 => {
                paused = false;
                door.tick();
            }
            () = door.opened() => {}
            _ = half_minutes.tick() => {
                tokio::spawn(write_uses(Arc::clone(&world)));
                count = count.wrapping_add(1);
                if count.is_multiple_of(2) {
                    process.clock.catch_up();
                    world.api.sweep_limits();
                }
            }
            () = &mut asked => break,
            () = &mut replaced => break,
        }
    }
    drop(listener);
    process.draining.store(true, Relaxed);
    tracing::info!(connections = door.open_connections(), "draining");
    let drained = tokio::time::timeout(process.http.drain_timeout, door.drain());
    tokio::select! {
        outcome = drained => if outcome.is_err() {
            tracing::warn!(connections = door.open_connections(), "connections were cut off");
        },
        () = stop.requested(2) => {}
    }
    write_uses(world).await;
    Ok(())
}

/// Writes buffered last-used times of tokens to the store.
async fn write_uses(world: Arc<World>) {
    if let Err(error) = world.api.flush_token_usage().await {
        let reason = error.to_string();
        tracing::warn!(
            reason,
            "the times of last use of tokens could not be written"
        );
    }
}

fn builder(process: &Process) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // The connection tracker ends slow heads and idle connections, and checks all of them at once.
        .header_read_timeout(None)
        // Setting a limit on the number of headers would allocate space for them for each request; hyper's default is the same
        // as ours.
        .max_buf_size(HARD_HEAD)
        // Started requests are completed, even if the client is gone: nothing is read during them.
        .half_close(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(process.http.streams)
        // Bytes that arrive before their request is authorized wait in these windows, outside of all budgets.
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(u32::try_from(HARD_HEAD).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20);
    builder
}

fn connect(
    (process, world): (&Arc<Process>, &Arc<World>),
    handler: &Arc<dyn RequestHandler>,
    builder: &Arc<Builder<TokioExecutor>>,
    stream: TcpStream,
) {
    let Some((client, inside)) = stream
        .peer_addr()
        .ok()
        .and_then(|peer| process.connections.register(peer.ip()))
    else {
        return;
    };
    // A socket without it is slower, but works.
    let _ = stream.set_nodelay(true);
    let (handler, builder) = (Arc::clone(handler), Arc::clone(builder));
    let peer = Arc::new(ConnectionContext {
        process: Arc::clone(process),
        world: Arc::clone(world),
        connection: Arc::clone(&client),
        token_cache: ConnectionTokenCache::default(),
    });
    let task = tokio::spawn(async move {
        let _inside = inside;
        let client = Arc::clone(&peer.connection);
        let io = TokioIo::new(InstrumentedSocket::new(stream, Arc::clone(&client)));
        let service = service_fn(move |request: Request<Incoming>| {
            let request = request.map(ClientBody::Left);
            Arc::clone(&handler).handle(Arc::clone(&peer), request)
        });
        let connection = builder.serve_connection(io, service).into_owned();
        if let Err(e) = until_closed(connection, &client).await {
            tracing::debug!(reason = e.to_string(), "a connection broke");
        }
    });
    client.served_by(task.abort_handle());
}

/// Serves a connection; once it should close, only completes the requests that have begun.
async fn until_closed<C: GracefulConnection>(
    connection: C,
    client: &ClientConnection,
) -> C::Output {
    let mut connection = pin!(connection);
    let (mut is_first_poll, mut is_closing_announced) = (true, false);
    // For each request this only checks the connection's own flag; the watch channel of the library is a lock that all
    // connections share.
    poll_fn(move |cx| {
        if std::mem::take(&mut is_first_poll) {
            client.on_close(cx.waker());
        }
        if !is_closing_announced && client.is_closing() {
            is_closing_announced = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(cx)
    })
    .await
}

/// Runs a listener for metrics and health only, which may be on another network.
async fn serve_metrics(served: (Arc<Process>, Arc<World>), listener: TcpListener) {
    let mut plain = Builder::new(TokioExecutor::new());
    plain
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(10));
    let plain = Arc::new(plain);
    let serve = move |stream| {
        let (served, plain) = (served.clone(), Arc::clone(&plain));
        async move {
            let service =
                service_fn(move |request| request_service::serve_metrics(served.clone(), request));
            let connection = plain.serve_connection(TokioIo::new(stream), service);
            // A scraper that closes its connection is no error.
            let _ = tokio::time::timeout(SCRAPE, connection).await;
        }
    };
    accept_all("metrics", SCRAPERS, |cx| listener.poll_accept(cx), serve).await;
}
