//! Keys of the value index as bytes that sort in the same order: numbers before texts, texts by their bytes.
use crate::database_error::DatabaseError;
use tokio_postgres::Row;
use workgraph_core::storage::custom_field_index::IndexKey;

/// Maximum number of bytes of a key in the index; the rest is in another column.
const HEAD_MAX: usize = 1000;
const NUMBER: u8 = 0;
const TEXT: u8 = 1;
const SIGN: u64 = 1 << 63;

/// Encodes a key as bytes, which sort like the key.
pub(super) fn bytes(key: &IndexKey) -> Vec<u8> {
    match key {
        IndexKey::Number(number) => {
            let bits = number.to_bits();
            let ordered = if bits & SIGN == 0 { bits ^ SIGN } else { !bits };
            std::iter::once(NUMBER)
                .chain(ordered.to_be_bytes())
                .collect()
        }
        IndexKey::Text(text) => std::iter::once(TEXT).chain(text.bytes()).collect(),
    }
}

/// Returns the part of a key for the index, and the rest if there is one.
pub(super) fn split(mut bytes: Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>) {
    if bytes.len() <= HEAD_MAX {
        return (bytes, None);
    }
    let tail = bytes.split_off(HEAD_MAX);
    (bytes, Some(tail))
}

/// Returns the key in the first columns of a row: `key, tail`.
pub(super) fn key(row: &Row) -> Result<IndexKey, DatabaseError> {
    key_at(row, 0)
}

/// Returns the key in the columns `key, tail`, which begin at `from`.
pub(crate) fn key_at(row: &Row, from: usize) -> Result<IndexKey, DatabaseError> {
    let mut whole = row.try_get::<_, &[u8]>(from)?.to_vec();
    whole.extend_from_slice(
        row.try_get::<_, Option<&[u8]>>(from + 1)?
            .unwrap_or_default(),
    );
    parse(&whole).ok_or_else(|| DatabaseError::unreadable("key"))
}

fn parse(bytes: &[u8]) -> Option<IndexKey> {
    match bytes.split_first()? {
        (&NUMBER, rest) => {
            let ordered = u64::from_be_bytes(rest.try_into().ok()?);
            let bits = if ordered & SIGN == 0 {
                !ordered
            } else {
                ordered ^ SIGN
            };
            Some(IndexKey::Number(f64::from_bits(bits)))
        }
        (&TEXT, rest) => Some(IndexKey::Text(std::str::from_utf8(rest).ok()?.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = IndexKey> {
        prop_oneof![
            Just(IndexKey::FIRST),
            any::<f64>().prop_filter_map("finite", IndexKey::number),
            (-3i32..3).prop_map(|n| IndexKey::Number(f64::from(n))),
            any::<String>().prop_map(IndexKey::Text),
            "[ab\u{0}]{0,3}".prop_map(IndexKey::Text),
        ]
    }

    proptest! {
        #[test]
        fn bytes_are_in_the_order_of_the_keys(a in keys(), b in keys()) {
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.cmp(&b));
            prop_assert_eq!(parse(&bytes(&a)), Some(a.clone()));
            let (mut head, tail) = split(bytes(&a));
            prop_assert!(head.len() <= HEAD_MAX);
            head.extend(tail.unwrap_or_default());
            prop_assert_eq!(parse(&head), Some(a));
        }
    }
}
