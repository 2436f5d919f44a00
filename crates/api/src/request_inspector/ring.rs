//! The rings of the owners in a shard: each bounded in bytes, and all of them together.
use super::record::{RecordedRequest, RequestOwner};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::time::SystemTime;

/// Bytes that a ring takes besides its requests, rounded up.
const RING_BYTES: usize = 256;
/// Maximum number of owners per shard whose bodies are recorded at the same time.
const RECORDINGS_MAX: usize = 1_024;

/// Requests of the owners in one shard.
#[derive(Debug, Default)]
pub(super) struct InspectorShard {
    rings: FxHashMap<RequestOwner, OwnerRing>,
    /// Owner and number of each request, oldest first. Some of the requests have been dropped already.
    order: VecDeque<(RequestOwner, u64)>,
    /// Number of the next request.
    next: u64,
    /// Number of requests in all rings.
    count: usize,
    bytes: usize,
    /// Owners whose bodies are recorded: the user who enabled the recording, and its end.
    recordings: FxHashMap<RequestOwner, (u64, SystemTime)>,
}

/// Requests of an owner, oldest first, each with its number.
#[derive(Debug, Default)]
struct OwnerRing {
    requests: VecDeque<(u64, Box<RecordedRequest>)>,
    bytes: usize,
}

impl InspectorShard {
    /// Adds a request. Afterwards the owner has at most `owner_max` bytes, and all owners together at most `most`.
    pub(super) fn push(
        &mut self,
        owner: RequestOwner,
        request: RecordedRequest,
        owner_max: usize,
        most: usize,
    ) {
        let bytes = request.bytes();
        let number = self.next;
        self.next += 1;
        let ring = self.rings.entry(owner).or_insert_with(|| {
            self.bytes += RING_BYTES;
            OwnerRing::default()
        });
        ring.requests.push_back((number, Box::new(request)));
        ring.bytes += bytes;
        self.bytes += bytes;
        self.count += 1;
        self.order.push_back((owner, number));
        while self
            .rings
            .get(&owner)
            .is_some_and(|ring| ring.bytes > owner_max)
        {
            self.drop_oldest(owner);
        }
        while self.bytes > most {
            let Some((owner, number)) = self.order.pop_front() else {
                break;
            };
            if self.first_number(owner) == Some(number) {
                self.drop_oldest(owner);
            }
        }
        self.compact_order();
    }

    fn first_number(&self, owner: RequestOwner) -> Option<u64> {
        let (number, _) = self.rings.get(&owner)?.requests.front()?;
        Some(*number)
    }

    fn drop_oldest(&mut self, owner: RequestOwner) {
        let Some(ring) = self.rings.get_mut(&owner) else {
            return;
        };
        if let Some((_, gone)) = ring.requests.pop_front() {
            let bytes = gone.bytes();
            ring.bytes -= bytes;
            self.bytes -= bytes;
            self.count -= 1;
        }
        if ring.requests.is_empty() {
            self.rings.remove(&owner);
            self.bytes -= RING_BYTES;
        }
    }

    /// Drops the entries of dropped requests once they outnumber the other entries.
    fn compact_order(&mut self) {
        if self.order.len() <= 2 * self.count + 64 {
            return;
        }
        let rings = &self.rings;
        self.order.retain(|(owner, number)| {
            let front = rings.get(owner).and_then(|ring| ring.requests.front());
            front.is_some_and(|(first, _)| first <= number)
        });
    }

    /// Returns at most `most` requests of an owner for which `is_wanted` is true, newest first.
    pub(super) fn find(
        &self,
        owner: RequestOwner,
        most: usize,
        is_wanted: &dyn Fn(&RecordedRequest) -> bool,
    ) -> Vec<RecordedRequest> {
        let ring = self.rings.get(&owner);
        let all = ring.into_iter().flat_map(|ring| ring.requests.iter().rev());
        all.map(|(_, request)| &**request)
            .filter(|request| is_wanted(request))
            .take(most)
            .cloned()
            .collect()
    }

    /// Returns the bytes of all requests.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Starts or ends the recording of an owner's bodies at a user's request.
    pub(super) fn set_recording(
        &mut self,
        owner: RequestOwner,
        user: u64,
        until: Option<SystemTime>,
        now: SystemTime,
    ) {
        self.recordings.retain(|_, (_, until)| now < *until);
        match until {
            Some(until) if self.recordings.len() < RECORDINGS_MAX => {
                self.recordings.insert(owner, (user, until));
            }
            _ => {
                self.recordings.remove(&owner);
            }
        }
    }

    /// Returns the user who enabled the recording of an owner's bodies, and its end.
    pub(super) fn recording(&self, owner: RequestOwner) -> Option<(u64, SystemTime)> {
        self.recordings.get(&owner).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn request(length: usize) -> RecordedRequest {
        RecordedRequest {
            id: Box::default(),
            at: UNIX_EPOCH,
            duration: Duration::ZERO,
            token: 1,
            user: 1,
            method: "GET",
            path: "x".repeat(length).into(),
            query: Box::default(),
            operation: "",
            status: 200,
            cost: 1,
            limits: None,
            error: None,
            reason: None,
            bodies: None,
        }
    }

    /// S298. Any sequence of owners and sizes stays within both bounds, the newest request is kept, and the counts match the
    /// contents.
    #[test]
    fn rings_stay_within_their_bounds() {
        let (owner_max, most) = (8_000, 20_000);
        let mut shard = InspectorShard::default();
        let mut random = 1_u64;
        for number in 0..20_000_u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(number);
            // Most requests belong to few owners, so that entries of dropped requests accumulate.
            let owner = RequestOwner::User(if random >> 60 < 12 {
                1
            } else {
                random >> 50 & 0x3f
            });
            let length = usize::try_from(random >> 40 & 0x3ff).unwrap_or(0);
            shard.push(owner, request(length), owner_max, most);
            assert!(shard.bytes() <= most);
            let newest = shard.find(owner, 1, &|_| true);
            assert_eq!(newest.first().map(|r| r.path.len()), Some(length));
            assert!(
                shard.order.len() <= 2 * shard.count + 65,
                "{}",
                shard.order.len()
            );
            if number % 500 == 0 {
                let rings = shard.rings.values();
                let bytes = rings
                    .clone()
                    .map(|r| r.requests.iter().map(|(_, q)| q.bytes()).sum::<usize>());
                assert!(bytes.clone().all(|bytes| bytes <= owner_max));
                assert_eq!(
                    bytes.sum::<usize>() + RING_BYTES * shard.rings.len(),
                    shard.bytes()
                );
                assert_eq!(rings.map(|r| r.requests.len()).sum::<usize>(), shard.count);
            }
        }
    }
}
