//! Phrases that identify one server fault in the log (the spec's section "Error object").

use crate::phrase_words::{ADJECTIVES, ADVERBS, ANIMALS, VERBS};

/// Smallest count in a phrase.
const COUNT_MIN: u64 = 2;
/// Number of random bits that the count takes.
const COUNT_BITS: u32 = 10;

/// Returns a phrase such as `6 sad squid snuggle softly`, made from 34 bits of `random`. It connects
/// the error body and the log line of the same fault; it identifies but doesn't authenticate.
#[must_use]
pub fn phrase(random: u64) -> String {
    let count = COUNT_MIN + (random & ((1 << COUNT_BITS) - 1));
    let words = random >> COUNT_BITS;
    let adjective = pick(&ADJECTIVES, words);
    let animal = pick(&ANIMALS, words >> 6);
    let verb = pick(&VERBS, words >> 12);
    let adverb = pick(&ADVERBS, words >> 18);
    format!("{count} {adjective} {animal} {verb} {adverb}")
}

fn pick(list: &[&'static str; 64], bits: u64) -> &'static str {
    let index = usize::try_from(bits % 64).unwrap_or_default();
    list.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// S04.
    #[test]
    fn a_phrase_has_a_count_and_four_words() {
        for random in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
            let text = phrase(random);
            let parts: Vec<_> = text.split(' ').collect();
            assert_eq!(parts.len(), 5, "{text}");
            assert!(parts[0].parse::<u32>().unwrap() >= 2, "{text}");
        }
    }

    #[test]
    fn each_of_the_34_bits_counts() {
        let all: BTreeSet<_> = (0..34)
            .map(|bit| phrase(1 << bit))
            .chain([phrase(0)])
            .collect();
        assert_eq!(all.len(), 35);
    }

    #[test]
    fn the_word_lists_are_plain_words_without_repeats() {
        for list in [ADJECTIVES, ANIMALS, VERBS, ADVERBS] {
            let set: BTreeSet<_> = list.iter().collect();
            assert_eq!(set.len(), 64);
            assert!(
                list.iter()
                    .all(|w| (3..=12).contains(&w.len())
                        && w.bytes().all(|b| b.is_ascii_lowercase()))
            );
        }
    }
}
