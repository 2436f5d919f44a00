//! The index of custom field values: search compares its keys instead of reading tasks.
//!
//! Each commit that writes a value also writes its keys ([`crate::storage::Changes::index_updates`]), so the index is never
//! behind. A store keeps entries `(field, key, node)`; the entries of a node and a field are replaced as a whole. A cleared
//! value has no entry, so "is set" means "has an entry".
//!
//! | Type of field | Keys |
//! |---|---|
//! | text | the text in lower case |
//! | number | the number |
//! | date | milliseconds since 1970 of the instant, or of midnight UTC of the day |
//! | enum, multi_enum | the gid of each option |
//! | people, reference | the gid of each user or object |
use crate::model::gid::Gid;
pub use crate::model::index_key::IndexKey;

/// Keys of a node for a field after a commit; none if the value is cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueIndexEntry {
    /// Gid of the node, a task.
    pub node: Gid,
    /// Gid of the custom field.
    pub field: Gid,
    /// Keys of the value.
    pub keys: Vec<IndexKey>,
}
