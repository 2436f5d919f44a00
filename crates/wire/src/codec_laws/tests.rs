//! Runs the laws against our codec, and against mutants that must fail.

use std::time::UNIX_EPOCH;

use proptest::prelude::*;

use super::mutant_codecs::{CodecPosition, Flaw, TestedCodec};
use super::*;
use crate::cursor::AFTER_MAX;

prop_compose! {
    /// Generates two cases of one kind of order.
    fn cases()(values in 0..=AFTER_MAX)(
        one in prop::collection::vec(any::<i64>(), values),
        other in prop::collection::vec(any::<i64>(), values),
        upto in any::<[u64; 2]>(),
        sent in any::<[u32; 2]>(),
        listing in any::<[[u8; 16]; 2]>(),
        expires in [2..u64::from(u32::MAX), 2..u64::from(u32::MAX)],
        nonce in any::<[[u8; 12]; 2]>(),
    ) -> [CodecCase<CodecPosition>; 2] {
        let case = |n: usize, after| CodecCase {
            position: (after, upto[n], sent[n]),
            listing: listing[n],
            expires: UNIX_EPOCH + Duration::from_secs(expires[n]),
            nonce: nonce[n],
        };
        [case(0, one), case(1, other)]
    }
}

proptest! {
    #[test]
    fn our_codec_keeps_every_law([case, other] in cases(), key in any::<[u8; 32]>()) {
        let subject = TestedCodec::new(key, None);
        for (name, law) in all::<TestedCodec>() {
            prop_assert_eq!((name, law(&subject, &case)), (name, Ok(())));
        }
        prop_assert_eq!(length(&subject, &case, &other), Ok(()));
        prop_assert_eq!(rotation(&mut TestedCodec::new(key, None), &case), Ok(()));
        prop_assert_eq!(retirement(&mut TestedCodec::new(key, None), &case), Ok(()));
    }
}

/// Returns the names of the laws that a codec with this flaw breaks.
fn broken(flaw: Option<Flaw>) -> Vec<&'static str> {
    let case = |after, upto, sent, expires| CodecCase {
        position: (after, upto, sent),
        listing: [9; 16],
        expires: UNIX_EPOCH + Duration::from_secs(expires),
        nonce: [5; 12],
    };
    let one = case(vec![1_700_000_000, 4_711], 88, 200, 1_800_000_000);
    let other = case(vec![-1, i64::MAX], 1, 0, 5);
    let subject = TestedCodec::new([1; 32], flaw);
    let mut names: Vec<_> = all::<TestedCodec>()
        .iter()
        .filter(|(_, law)| law(&subject, &one).is_err())
        .map(|(n, _)| *n)
        .collect();
    let more = [
        ("length", length(&subject, &one, &other)),
        (
            "rotation",
            rotation(&mut TestedCodec::new([1; 32], flaw), &one),
        ),
        (
            "retirement",
            retirement(&mut TestedCodec::new([1; 32], flaw), &one),
        ),
    ];
    names.extend(
        more.iter()
            .filter(|(_, result)| result.is_err())
            .map(|(n, _)| *n),
    );
    names
}

#[test]
fn every_flaw_breaks_its_law_and_no_law_is_without_a_flaw() {
    assert_eq!(broken(None), [""; 0]);
    let expected = [
        (Flaw::Forgets, &["round_trip"][..]),
        (Flaw::Unsealed, &["bit_flips"]),
        (
            Flaw::Decimal,
            &["bit_flips", "truncations", "extensions", "length"],
        ),
        (Flaw::Padding, &["truncations"]),
        (Flaw::Trailing, &["extensions"]),
        (Flaw::Unbound, &["listing"]),
        (Flaw::Late, &["expiry"]),
        (Flaw::OneNonce, &["fresh"]),
        (Flaw::DropsKey, &["rotation"]),
        (Flaw::Amnesia, &["retirement"]),
        (Flaw::Hoards, &["retirement"]),
    ];
    let mut seen = Vec::new();
    for (flaw, laws) in expected {
        let names = broken(Some(flaw));
        for law in laws {
            assert!(
                names.contains(law),
                "{flaw:?} should break {law}, it breaks {names:?}"
            );
        }
        seen.extend(names);
    }
    let every = all::<TestedCodec>()
        .map(|(name, _)| name)
        .into_iter()
        .chain(["length", "rotation", "retirement"]);
    for name in every {
        assert!(seen.contains(&name), "{name} has no flaw that breaks it");
    }
}
