//! Ids of requests: UUIDs of version 7, made without a lock.
use hyper::header::HeaderName;
use std::fmt;
use std::time::SystemTime;
use uuid::{Builder, Uuid};

pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Id of a request: a UUID (RFC 9562), in the header `X-Request-Id` of the reply. A trusted proxy may have provided it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestId {
    uuid: Uuid,
    /// True if it is written without hyphens, as the proxy wrote it.
    is_simple: bool,
}

/// Random part of the ids of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestIdSeed(pub(crate) [u8; 10]);

impl RequestIdSeed {
    /// Returns the id of a request that began at a time: a UUID of version 7 (RFC 9562, section 5.7). Its random bits are
    /// those of the process plus the numbers of connection and request, so that no two ids of a process are equal, even if
    /// its clock goes back, and no id needs its own random bytes.
    pub(crate) fn id(&self, now: SystemTime, connection: u64, number: u64) -> RequestId {
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let milliseconds = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default();
        let [first, second, rest @ ..] = self.0;
        let count = connection.wrapping_shl(32).wrapping_add(number);
        let [a, b, c, d, e, f, g, h] = u64::from_be_bytes(rest).wrapping_add(count).to_be_bytes();
        let random = [first, second, a, b, c, d, e, f, g, h];
        RequestId {
            uuid: Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid(),
            is_simple: false,
        }
    }
}

impl RequestId {
    /// Returns the id in a proxy's header, if it is a UUID, with or without hyphens.
    pub(crate) fn given(text: &str) -> Option<Self> {
        let is_simple = match text.len() {
            32 => true,
            36 => false,
            _ => return None,
        };
        let uuid = Uuid::try_parse(text).ok().filter(|uuid| !uuid.is_nil())?;
        Some(Self { uuid, is_simple })
    }

    /// Returns the id as text of exact capacity, so that it becomes a header value without copying.
    pub(crate) fn to_text(self) -> String {
        let mut room = Uuid::encode_buffer();
        let text: &str = match self.is_simple {
            true => self.uuid.simple().encode_lower(&mut room),
            false => self.uuid.hyphenated().encode_lower(&mut room),
        };
        text.to_owned()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_simple {
            true => self.uuid.simple().fmt(f),
            false => self.uuid.hyphenated().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn ids_tell_the_time_and_no_two_are_equal() {
        let seed = RequestIdSeed([0xff; 10]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(0x0123_4567_89ab);
        let first = seed.id(now, 0, 0);
        assert_eq!(first.to_string(), "01234567-89ab-7fff-bfff-ffffffffffff");
        assert_eq!(
            (&*first.to_text(), first.to_text().capacity()),
            (&*first.to_string(), 36)
        );
        assert_eq!(first.uuid.get_version_num(), 7);
        let numbers =
            (0..50).flat_map(|connection| (0..50).map(move |number| (connection, number)));
        let ids: BTreeSet<String> = numbers
            .map(|(connection, number)| seed.id(now, connection, number).to_text())
            .collect();
        assert_eq!(ids.len(), 2_500);
    }

    #[test]
    fn an_id_of_a_proxy_is_a_uuid_and_keeps_its_form() {
        for text in [
            "01234567-89ab-7fff-bfff-ffffffffffff",
            "3f2504e04f8911d39a0c0305e82c3301",
        ] {
            assert_eq!(RequestId::given(text).unwrap().to_text(), text);
            assert_eq!(RequestId::given(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "x",
            "00000000-0000-0000-0000-000000000000",
            "{3f2504e0-4f89-11d3-9a0c-0305e82c3301}",
            "3f2504e0-4f89-11d3-9a0c-0305e82c330\n",
            "3f2504e0-4f89-11d3-9a0c-0305e82c330g",
        ] {
            assert_eq!(RequestId::given(text), None, "{text}");
        }
    }
}
