//! Listeners other than the main one: they survive their errors, and serve a bounded number of connections.
use crate::adapters::system_clock::pause;
use crate::http::connections::TICK_MILLIS;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Accepts connections forever and serves each on its own task, at most `most` at the same time; others
/// wait in the system's queue.
pub(crate) async fn accept_all<S, A, F>(
    name: &'static str,
    most: usize,
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<(S, A)>>,
    serve: impl Fn(S) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(most));
    // The semaphore is never closed, so a permit becomes free eventually.
    while let Ok(permit) = Arc::clone(&slots).acquire_owned().await {
        match poll_fn(&mut accept).await {
            Ok((stream, _)) => {
                let served = serve(stream);
                tokio::spawn(async move {
                    served.await;
                    drop(permit);
                });
            }
            // Most likely out of descriptors: wait until some are closed instead of spinning.
            Err(e) => {
                tracing::warn!(
                    name,
                    reason = e.to_string(),
                    "a connection was not accepted"
                );
                pause(Duration::from_millis(TICK_MILLIS)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tokio::sync::{Notify, mpsc};

    #[tokio::test]
    async fn a_listener_outlives_an_error_and_serves_no_more_than_its_bound() {
        let (send, mut served) = mpsc::unbounded_channel();
        let over = Arc::new(Notify::new());
        let mut count = 0;
        let accept = move |_: &mut Context<'_>| {
            count += 1;
            Poll::Ready(match count {
                1 => Err(io::Error::other("out of descriptors")),
                n => Ok((n, ())),
            })
        };
        let begun = Arc::new(Mutex::new(0));
        let serve = {
            let (over, begun) = (Arc::clone(&over), Arc::clone(&begun));
            move |n: u32| {
                *begun.lock().unwrap() += 1;
                let (send, over) = (send.clone(), Arc::clone(&over));
                async move {
                    over.notified().await;
                    send.send(n).unwrap();
                }
            }
        };
        let listener = tokio::spawn(accept_all("test", 2, accept, serve));
        over.notify_one();
        assert_eq!(served.recv().await, Some(2));
        over.notify_one();
        assert_eq!(served.recv().await, Some(3));
        assert!(*begun.lock().unwrap() <= 4, "two at a time");
        listener.abort();
    }
}
