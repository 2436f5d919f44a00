//! Recently valid tokens, whose limits can be queried during the next token look-up.
use crate::limits::admission::LimitedToken;
use parking_lot::Mutex;
use std::collections::HashMap;
use workgraph_limits::LimitKey;

/// Maximum number of remembered tokens; when it is reached, all are forgotten.
const TOKENS_MAX: usize = 16_384;

/// Properties of recent tokens by the key of their limits. They may be outdated: an answer obtained with them only counts
/// if the look-up finds the same properties.
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
