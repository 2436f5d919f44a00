//! Tokens that were valid lately, so that their limits can be asked for while they are looked up again.
use crate::limits::admission::LimitedToken;
use parking_lot::Mutex;
use std::collections::HashMap;
use workgraph_limits::LimitKey;

/// Most tokens that are remembered; then all are forgotten.
const TOKENS_MAX: usize = 16_384;

/// Properties of recent tokens by the key of their limits. They may be outdated: what was asked for with them holds only
/// if the look-up finds the same.
#[derive(Debug, Default)]
pub(crate) struct RecentTokens(Mutex<HashMap<LimitKey, LimitedToken>>);

impl RecentTokens {
    pub(crate) fn get(&self, key: &LimitKey) -> Option<LimitedToken> {
        self.0.lock().get(key).copied()
    }

    pub(crate) fn put(&self, key: LimitKey, token: LimitedToken) {
        let mut tokens = self.0.lock();
        if tokens.len() >= TOKENS_MAX {
            tokens.clear();
        }
        tokens.insert(key, token);
    }

    pub(crate) fn remove(&self, key: &LimitKey) {
        self.0.lock().remove(key);
    }
}
