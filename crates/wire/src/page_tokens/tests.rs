//! The format of page tokens with keys, and the laws of page tokens for keys of many types.

use std::fmt::Debug;
use std::marker::PhantomData;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::codec_laws::{self, Codec, CodecCase, CodecViolation, RotatingCodec};
use crate::cursor::{Cursor, CursorError};

fn pages() -> PageTokens {
    PageTokens::new(KeyRing::new(1, [1; 32]))
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The tokens were made by a program in another language from the description of the format.
#[test]
fn the_form_is_the_one_that_is_described() {
    let binding = ("/people", 7);
    let token = "AgABLYnS5ttUIlDTHSMiT_FTsNAlc0b7C_jID_CKkUF2WEKcM85r122sDU40XYmx3IkCslclwJJO";
    assert_eq!(pages().seal(&("Ann", 31), &binding), Ok(token.to_owned()));
    let key = pages().open(token, &binding);
    assert_eq!(key, Ok(("Ann".to_owned(), 31)));
    let token = "AwABtekDuWySPHl696B1FmYTRT6k-6gOFbUKi7VeQAxA6ZCKjuXSR7BZ2PUGBLrzmx7-HyVVKbJh9Lx8rY0QL9u46HI";
    let key = ("Zoë", None::<u64>);
    let sealed = pages().seal_until(&key, &binding, at(1_000));
    assert_eq!(sealed, Ok(token.to_owned()));
    let opened = pages().open_at(token, &binding, at(999));
    assert_eq!(opened, Ok(("Zoë".to_owned(), None::<u64>)));
}

#[test]
fn each_reason_for_a_refusal_has_its_error() {
    let (pages, binding) = (pages(), ("/people", "user 7"));
    let token = pages.seal(&("Ann", 31), &binding).unwrap();
    let open = |token: &str| pages.open::<(String, u64)>(token, &binding);
    for text in [
        "",
        "Ann",
        "é",
        "AQAB",
        &"A".repeat(3_000),
        &format!("{token}="),
    ] {
        assert_eq!(open(text), Err(PageTokenError::Malformed), "{text}");
    }
    let integers = Cursor {
        listing: [7; 16],
        after: vec![1],
        max_seq: 0,
        rows_sent: 0,
        expires: at(1_000),
    };
    let integers = integers.seal(&KeyRing::new(1, [1; 32]), [3; 12]);
    assert_eq!(open(&integers), Err(PageTokenError::Malformed));
    let changed = format!(
        "{}AAAA",
        token.strip_suffix(&token[token.len() - 4..]).unwrap()
    );
    assert_eq!(open(&changed), Err(PageTokenError::Forged));
    let strangers = PageTokens::new(KeyRing::new(1, [2; 32])).seal(&("Ann", 31), &binding);
    assert_eq!(open(&strangers.unwrap()), Err(PageTokenError::Forged));
    let unknown = PageTokens::new(KeyRing::new(2, [1; 32])).seal(&("Ann", 31), &binding);
    assert_eq!(open(&unknown.unwrap()), Err(PageTokenError::Forged));
    let others = pages.open::<(String, u64)>(&token, &("/people", "user 8"));
    assert_eq!(others, Err(PageTokenError::OtherBinding));
    let other_type = pages.open::<(u64, u64)>(&token, &binding);
    assert_eq!(other_type, Err(PageTokenError::OtherType));
    let ends = pages.seal_until(&("Ann", 31), &binding, at(10)).unwrap();
    assert_eq!(open(&ends), Err(PageTokenError::TimeNeeded));
    let late = pages.open_at::<(String, u64)>(&ends, &binding, at(10));
    assert_eq!(late, Err(PageTokenError::Expired));
    let mut rotated = pages.clone();
    rotated.keys_mut().rotate(2, [2; 32]).unwrap();
    assert!(rotated.open::<(String, u64)>(&token, &binding).is_ok());
    rotated.keys_mut().retire(1).unwrap();
    let retired = rotated.open::<(String, u64)>(&token, &binding);
    assert_eq!(retired, Err(PageTokenError::Expired));
}

#[test]
fn a_key_has_a_longest_length_and_its_token_opens() {
    let pages = pages();
    let longest = "a".repeat(KEY_BYTES_MAX - 2);
    let token = pages.seal_until(&longest, &(), at(10)).unwrap();
    assert!(token.len() <= 1_440, "{}", token.len());
    assert_eq!(pages.open_at(&token, &(), at(9)), Ok(longest.clone()));
    let too_long = pages.seal(&format!("{longest}a"), &());
    assert_eq!(too_long, Err(SealError::KeyTooLong(KEY_BYTES_MAX + 1)));
}

#[test]
fn a_key_or_a_binding_without_json_is_refused() {
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(
        pages().seal(&no_json, &()),
        Err(SealError::Key(_))
    ));
    let bound = pages().seal(&1, &no_json);
    assert!(matches!(bound, Err(SealError::Binding(_))));
    let token = pages().seal(&1, &()).unwrap();
    let opened = pages().open::<u64>(&token, &no_json);
    assert_eq!(opened, Err(PageTokenError::OtherBinding));
}

#[test]
fn equal_input_gives_an_equal_token_and_other_input_another() {
    let token = pages().seal(&(1, "a"), &"list").unwrap();
    assert_eq!(pages().seal(&(1, "a"), &"list"), Ok(token.clone()));
    for other in [
        pages().seal(&(1, "b"), &"list"),
        pages().seal(&(1, "a"), &"tail"),
        pages().seal_until(&(1, "a"), &"list", at(10)),
        PageTokens::new(KeyRing::new(1, [2; 32])).seal(&(1, "a"), &"list"),
    ] {
        assert_ne!(other, Ok(token.clone()));
    }
}

/// Flaw of a variant that must break a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Binds every token to the same data.
    Unbound,
    /// Writes null as empty text.
    NullIsEmpty,
}

/// Page tokens with keys of one type, as an input for the laws.
struct Subject<P> {
    pages: PageTokens,
    flaw: Option<Flaw>,
    key: PhantomData<P>,
}

impl<P> Subject<P> {
    fn new(flaw: Option<Flaw>) -> Self {
        Self {
            pages: pages(),
            flaw,
            key: PhantomData,
        }
    }

    fn binding(&self, listing: [u8; 16]) -> [u8; 16] {
        if self.flaw == Some(Flaw::Unbound) {
            [0; 16]
        } else {
            listing
        }
    }
}

impl<P: Serialize + DeserializeOwned + Clone + PartialEq + Debug> Codec for Subject<P> {
    type Position = P;

    fn seal(&self, case: &CodecCase<P>) -> String {
        let binding = self.binding(case.listing);
        let is_null = || serde_json::to_string(&case.position).unwrap() == "null";
        if self.flaw == Some(Flaw::NullIsEmpty) && is_null() {
            return self.pages.seal_until("", &binding, case.expires).unwrap();
        }
        let token = self
            .pages
            .seal_until(&case.position, &binding, case.expires);
        token.unwrap()
    }

    fn open(&self, token: &str, listing: [u8; 16], now: SystemTime) -> Result<P, CursorError> {
        let opened = self.pages.open_at(token, &self.binding(listing), now);
        opened.map_err(|error| match error {
            PageTokenError::Expired => CursorError::Expired,
            _ => CursorError::Invalid,
        })
    }
}

impl<P: Serialize + DeserializeOwned + Clone + PartialEq + Debug> RotatingCodec for Subject<P> {
    fn rotate(&mut self) {
        let id = self.pages.keys_mut().current() + 1;
        self.pages.keys_mut().rotate(id, [9; 32]).unwrap();
    }

    fn retire(&mut self) {
        for id in 0..self.pages.keys_mut().current() {
            self.pages.keys_mut().retire(id).unwrap();
        }
    }
}

fn case<P>(position: P) -> CodecCase<P> {
    CodecCase {
        position,
        listing: [9; 16],
        expires: at(1_800_000_000),
        nonce: [5; 12],
    }
}

/// Checks every law but `fresh` and `length`: a position always gives the same token, which is as long as its key.
fn keeps_laws<P>(position: P, flaw: Option<Flaw>) -> Result<(), CodecViolation>
where
    P: Serialize + DeserializeOwned + Clone + PartialEq + Debug,
{
    let case = case(position);
    for (name, law) in codec_laws::all::<Subject<P>>() {
        if name != "fresh" {
            law(&Subject::new(flaw), &case)?;
        }
    }
    codec_laws::rotation(&mut Subject::new(flaw), &case)?;
    codec_laws::retirement(&mut Subject::new(flaw), &case)
}

fn round_trips<P>(position: P) -> Result<(), CodecViolation>
where
    P: Serialize + DeserializeOwned + Clone + PartialEq + Debug,
{
    codec_laws::round_trip(&Subject::new(None), &case(position))
}

/// Sort values of a row, as a service might name them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum SortKey {
    ByName { name: Option<String>, id: u128 },
    ByAge(i64, [u8; 16]),
    Unsorted,
}

fn sort_key() -> impl Strategy<Value = SortKey> {
    prop_oneof![
        (any::<Option<String>>(), any::<u128>())
            .prop_map(|(name, id)| SortKey::ByName { name, id }),
        (any::<i64>(), any::<[u8; 16]>()).prop_map(|(age, id)| SortKey::ByAge(age, id)),
        Just(SortKey::Unsorted),
    ]
}

proptest! {
    #[test]
    fn keys_of_every_type_come_back(
        text in (any::<String>(), any::<u64>()),
        null in any::<(Option<String>, Option<i64>, Option<bool>)>(),
        wide in any::<(u128, i128, char, [u8; 16])>(),
        float in prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL,
        list in prop::collection::vec(any::<i64>(), 0..8),
        named in sort_key(),
    ) {
        prop_assert_eq!(round_trips(text), Ok(()));
        prop_assert_eq!(round_trips(null), Ok(()));
        prop_assert_eq!(round_trips(wide), Ok(()));
        prop_assert_eq!(round_trips(float), Ok(()));
        prop_assert_eq!(round_trips(list), Ok(()));
        prop_assert_eq!(round_trips(named), Ok(()));
        prop_assert_eq!(round_trips(()), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn tokens_of_every_key_keep_the_laws(
        text in ("[a-zé]{0,12}", any::<u64>()),
        null in any::<Option<bool>>(),
        named in sort_key(),
    ) {
        prop_assert_eq!(keeps_laws(text, None), Ok(()));
        prop_assert_eq!(keeps_laws(null, None), Ok(()));
        prop_assert_eq!(keeps_laws(named, None), Ok(()));
    }
}

#[test]
fn a_twin_that_binds_nothing_or_loses_null_breaks_a_law() {
    let key = ("Ann".to_owned(), 31_u64);
    assert!(keeps_laws(key.clone(), None).is_ok());
    assert!(keeps_laws(key, Some(Flaw::Unbound)).is_err());
    assert!(keeps_laws(None::<String>, None).is_ok());
    assert!(keeps_laws(None::<String>, Some(Flaw::NullIsEmpty)).is_err());
}
