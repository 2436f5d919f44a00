//! A request, or several requests at once, as the limiter sees them.

/// Key of requests that a limiter for several processes can count: the first half of a digest, so that it is uniform and
/// reveals nothing. The limiter of a single process accepts any key.
pub type LimitKey = [u8; 16];

/// Request as a limiter sees it: a key, and the amounts that it counts for. A batch whose requests are all admitted
/// together, or not at all, is a request with more weight and more slots.
///
/// ```
/// use workgraph_limits::{AdmissionRequest, SlotRequest, WindowCharge};
///
/// let key = "alice".to_owned();
/// // Counts once in each window, and takes one slot of each class.
/// let plain = AdmissionRequest::new(&key);
/// // Counts ten times in the first window, whose quota is 500 for this key, and not in the second; takes two slots.
/// let windows = [WindowCharge::of(10).with_quota(500), WindowCharge::of(0)];
/// let slots = [SlotRequest::of(2)];
/// let batch = AdmissionRequest::new(&key).windows(&windows).slots(&slots);
/// # assert_eq!((plain.charge(1).weight, batch.charge(0).weight, batch.slot(0).slots), (1, 10, 2));
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct AdmissionRequest<'a, K> {
    pub(crate) key: &'a K,
    pub(crate) label: u16,
    weight: u32,
    credits: Option<u32>,
    windows: &'a [WindowCharge],
    slots: &'a [SlotRequest],
}

impl<K> Clone for AdmissionRequest<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for AdmissionRequest<'_, K> {}

/// Weight of a request in one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCharge {
    /// Weight to count; 0 if the request does not count in the window.
    ///
    /// A weight above the quota or above [`MAX_WEIGHT`](crate::window::MAX_WEIGHT) is never admitted, no matter how long the
    /// client waits.
    pub weight: u32,
    /// Quota of this key, for instance of its plan, which replaces the quota of the settings. Earlier counts stay when it
    /// changes.
    pub quota: Option<u32>,
}

/// Slots of one class that a request takes while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRequest {
    /// Number of slots. A request for more than the maximum is never admitted.
    pub slots: u32,
    /// Maximum number of slots of this key, which replaces the maximum of the settings.
    pub most: Option<u32>,
}

impl WindowCharge {
    /// Returns a charge of this weight with the quota of the settings.
    #[must_use]
    pub const fn of(weight: u32) -> Self {
        let quota = None;
        Self { weight, quota }
    }

    /// Returns the charge with a quota specific to the key.
    #[must_use]
    pub const fn with_quota(self, quota: u32) -> Self {
        let Self { weight, .. } = self;
        let quota = Some(quota);
        Self { weight, quota }
    }
}

impl SlotRequest {
    /// Returns a request for this many slots, with the maximum of the settings.
    #[must_use]
    pub const fn of(slots: u32) -> Self {
        let most = None;
        Self { slots, most }
    }

    /// Returns the request with the maximum `most`.
    #[must_use]
    pub const fn with_most(self, most: u32) -> Self {
        let Self { slots, .. } = self;
        let most = Some(most);
        Self { slots, most }
    }
}

impl<'a, K> AdmissionRequest<'a, K> {
    /// Makes a request of a key that counts once in every window and takes one slot of every class.
    #[inline]
    #[must_use]
    pub const fn new(key: &'a K) -> Self {
        Self {
            key,
            label: 0,
            weight: 1,
            credits: None,
            windows: &[],
            slots: &[],
        }
    }

    /// Sets the weight in all windows that are not set by [`windows`](Self::windows); 1 by default.
    #[inline]
    #[must_use]
    pub const fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Sets the weight in each window, in the order in which the limiter was built.
    #[inline]
    #[must_use]
    pub const fn windows(mut self, windows: &'a [WindowCharge]) -> Self {
        self.windows = windows;
        self
    }

    /// Sets the slots of each class, in the order in which the limiter was built. A request without slots is assumed to need
    /// one slot of the first class.
    #[inline]
    #[must_use]
    pub const fn slots(mut self, slots: &'a [SlotRequest]) -> Self {
        self.slots = slots;
        self
    }

    /// Sets the credits of the key, which replace the credits of the settings, even if the cost quota is off there.
    #[inline]
    #[must_use]
    pub const fn credits(mut self, quota: Option<u32>) -> Self {
        self.credits = quota;
        self
    }

    /// Sets a label for [`LimiterState::recent`](crate::LimiterState::recent); the limiter does not read it.
    #[inline]
    #[must_use]
    pub const fn label(mut self, label: u16) -> Self {
        self.label = label;
        self
    }

    /// Returns the key.
    #[must_use]
    pub const fn key(&self) -> &'a K {
        self.key
    }

    /// Returns the weight in the window with an index, and its specific quota.
    #[inline]
    #[must_use]
    pub fn charge(&self, index: usize) -> WindowCharge {
        let charge = self.windows.get(index).copied();
        charge.unwrap_or(WindowCharge::of(self.weight))
    }

    /// Returns the slots of the class with an index.
    #[inline]
    #[must_use]
    pub fn slot(&self, index: usize) -> SlotRequest {
        let slot = self.slots.get(index).copied();
        slot.unwrap_or(SlotRequest::of(1))
    }

    /// Returns the specific credits of the key.
    #[inline]
    #[must_use]
    pub const fn own_credits(&self) -> Option<u32> {
        self.credits
    }
}
