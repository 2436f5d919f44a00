//! Download slots: limits of concurrent downloads, in total and per client or owner.
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use workgraph_core::Gid;

/// Maximum number of concurrent downloads.
const ALL: usize = 32;
/// Maximum number of concurrent downloads per client, and per user that addresses were made for.
const PER_HOLDER: usize = 8;

/// Client or owner for which downloads are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SlotHolder {
    /// Client, by its network.
    Network(IpAddr),
    /// User for whom the address of the file was made, or the file if addresses name no user.
    Owner(Gid),
}

/// Free and used slots.
#[derive(Debug, Default)]
pub(crate) struct DownloadSlots {
    taken: Mutex<TakenSlots>,
}

#[derive(Debug, Default)]
struct TakenSlots {
    all: usize,
    by_holder: HashMap<SlotHolder, usize>,
}

/// Slot of a download; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct DownloadSlot {
    slots: Arc<DownloadSlots>,
    holders: [SlotHolder; 2],
}

impl DownloadSlots {
    /// Takes a slot for a client and an owner. Returns `None` if no slot is free, or the client or the owner has used up its
    /// share.
    pub(crate) fn take(self: &Arc<Self>, network: IpAddr, owner: Gid) -> Option<DownloadSlot> {
        let holders = [SlotHolder::Network(network), SlotHolder::Owner(owner)];
        let mut taken = self.taken.lock();
        let is_full = |holder| {
            taken
                .by_holder
                .get(holder)
                .is_some_and(|n| *n >= PER_HOLDER)
        };
        if taken.all >= ALL || holders.iter().any(is_full) {
            return None;
        }
        taken.all += 1;
        for holder in holders {
            *taken.by_holder.entry(holder).or_default() += 1;
        }
        Some(DownloadSlot {
            slots: Arc::clone(self),
            holders,
        })
    }
}

impl Drop for DownloadSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        taken.all = taken.all.saturating_sub(1);
        for holder in self.holders {
            if let Some(count) = taken.by_holder.get_mut(&holder) {
                *count -= 1;
                if *count == 0 {
                    taken.by_holder.remove(&holder);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> IpAddr {
        [10, 0, 0, number].into()
    }

    fn owner(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    #[test]
    fn slow_readers_of_one_client_or_one_owner_leave_slots_to_all_others() {
        let slots = Arc::new(DownloadSlots::default());
        let of_one_client: Vec<_> = (1..=40)
            .filter_map(|file| slots.take(client(1), owner(file)))
            .collect();
        assert_eq!(of_one_client.len(), PER_HOLDER);
        let of_one_owner: Vec<_> = (2..=41)
            .filter_map(|number| slots.take(client(number), owner(99)))
            .collect();
        assert_eq!(of_one_owner.len(), PER_HOLDER);
        assert!(slots.take(client(50), owner(50)).is_some(), "somebody else");
        drop(of_one_client);
        assert!(slots.take(client(1), owner(1)).is_some(), "given back");
        drop(of_one_owner);
        assert!(slots.taken.lock().by_holder.is_empty());
    }

    #[test]
    fn no_more_files_than_the_slots_are_sent_at_the_same_time() {
        let slots = Arc::new(DownloadSlots::default());
        let all: Vec<_> = (1..=200u8)
            .filter_map(|n| slots.take(client(n), owner(n.into())))
            .collect();
        assert_eq!(all.len(), ALL);
    }
}
