//! The request to stop: the first one lets requests finish, the second one cuts them off.
use tokio::sync::watch;

/// Number of times that a server was asked to stop.
#[derive(Debug)]
pub(crate) struct StopSignal(watch::Sender<u32>);

impl Default for StopSignal {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl StopSignal {
    /// Asks the server to stop: the first time started requests may finish, the second time they are cut off.
    pub(crate) fn request(&self) {
        self.0.send_modify(|times| *times = times.saturating_add(1));
    }

    /// Waits until the server was asked to stop this many times.
    pub(crate) async fn requested(&self, times: u32) {
        // The sender lives as long as this value, so only a request ends the wait.
        let _ = self.0.subscribe().wait_for(|asked| *asked >= times).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Poll;
    use tokio::runtime::Builder;

    #[test]
    fn the_first_request_drains_and_the_second_cuts_off() {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let stop = StopSignal::default();
            let is_asked = async |times| {
                let mut asked = std::pin::pin!(stop.requested(times));
                std::future::poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_ready())).await
            };
            assert!(!is_asked(1).await);
            stop.request();
            assert!(is_asked(1).await && !is_asked(2).await);
            stop.request();
            assert!(is_asked(2).await);
        });
    }
}
