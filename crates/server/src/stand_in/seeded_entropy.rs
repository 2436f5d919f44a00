//! Random bytes that are derived from a seed, so that a run can be repeated.
//!
//! Each request, job and delivery has its own stream, so that an additional draw in one does not affect another. Bytes drawn
//! outside of them form one more stream.
use crate::log::request_scope::current_request;
use parking_lot::Mutex;
use ring::hmac;
use std::collections::{HashMap, VecDeque};
use workgraph_api::Entropy;
use workgraph_api::ports::EntropyUnavailable;

/// Number of streams whose positions are kept. It exceeds the number of concurrent requests, so that no stream starts over.
const STREAMS_KEPT: usize = 4_096;

tokio::task_local! {
    /// Stream of the task's work, unless that work is the answer to its request.
    static STREAM: String;
}

/// Lets a future draw its random bytes from a stream of this name.
pub(crate) async fn in_stream<F: Future>(name: String, future: F) -> F::Output {
    STREAM.scope(name, future).await
}

/// Returns the name of the caller's stream; empty outside of requests, jobs and deliveries. The effects of a control request
/// have their own stream.
fn current_stream() -> String {
    let named = STREAM.try_with(String::clone).ok();
    named
        .or_else(|| current_request().map(|id| id.to_text()))
        .unwrap_or_default()
}

/// Source of random bytes: HMAC-SHA-256 of the stream and the position in it, with a key made from the seed. Anyone who
/// knows the seed knows all bytes.
pub(crate) struct SeededEntropy {
    key: hmac::Key,
    positions: Mutex<StreamPositions>,
}

#[derive(Default)]
struct StreamPositions {
    /// Number of blocks drawn from each stream.
    drawn: HashMap<String, u64>,
    /// Streams, oldest first.
    begun: VecDeque<String>,
}

impl StreamPositions {
    /// Returns the position of the next block of a stream.
    fn next(&mut self, stream: &str) -> u64 {
        if let Some(drawn) = self.drawn.get_mut(stream) {
            *drawn += 1;
            return *drawn;
        }
        if self.begun.len() == STREAMS_KEPT
            && let Some(first) = self.begun.pop_front()
        {
            self.drawn.remove(&first);
        }
        // The stream outside of requests never starts over.
        if !stream.is_empty() {
            self.begun.push_back(stream.to_owned());
        }
        self.drawn.insert(stream.to_owned(), 0);
        0
    }
}

impl SeededEntropy {
    /// Returns the source whose bytes follow from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &seed.to_be_bytes()),
            positions: Mutex::default(),
        }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        let stream = current_stream();
        for chunk in buffer.chunks_mut(32) {
            let position = self.positions.lock().next(&stream);
            let mut block = hmac::Context::with_key(&self.key);
            block.update(stream.as_bytes());
            block.update(&position.to_be_bytes());
            for (to, from) in chunk.iter_mut().zip(block.sign().as_ref()) {
                *to = *from;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::system_clock::random;
    use crate::log::request_id::RequestIdSeed;
    use crate::log::request_scope::RequestScope;
    use std::time::SystemTime;

    fn draw(source: &SeededEntropy, request: Option<u64>) -> [u8; 40] {
        let seed = RequestIdSeed([0; 10]);
        let id = request.map(|number| seed.id(SystemTime::UNIX_EPOCH, 0, number));
        let _scope = RequestScope::enter(id);
        random(source).unwrap()
    }

    #[test]
    fn bytes_follow_from_the_seed_and_a_draw_more_in_one_request_changes_no_other() {
        let source = || SeededEntropy::new(7);
        let (one, other) = (source(), source());
        let first = draw(&one, Some(1));
        assert_ne!(draw(&one, Some(1)), first, "a stream goes on");
        assert_eq!(draw(&other, Some(1)), first);
        assert_eq!(draw(&one, Some(2)), draw(&other, Some(2)));
        assert_eq!(draw(&one, None), draw(&other, None));
        let mut all = vec![first, draw(&one, Some(2)), draw(&one, None)];
        all.push(draw(&SeededEntropy::new(8), Some(1)));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn a_stream_goes_on_after_many_others() {
        let source = SeededEntropy::new(7);
        let outside = draw(&source, None);
        let inside = draw(&source, Some(0));
        for number in 1..STREAMS_KEPT as u64 {
            draw(&source, Some(number));
        }
        assert_ne!(draw(&source, Some(0)), inside);
        assert_ne!(draw(&source, None), outside);
    }
}
