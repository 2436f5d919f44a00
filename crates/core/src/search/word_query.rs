//! Words: the form in which texts are compared.
//!
//! A text is cut into words, its runs of letters and digits. Case, accents and forms of a letter
//! are ignored. A character of a script that is written without spaces is a word of its own. Words
//! of nodes and of queries are made here in the same way, so a store compares bytes.
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::{task, user};
use crate::model::rich_text_values;
use icu_normalizer::DecomposingNormalizer;
use std::borrow::Cow;

/// Greatest length of a word, in characters; the rest of a longer word is ignored.
pub const WORD_MAX: usize = 64;
/// Greatest number of words that one query should look for.
pub const WORDS_MAX: usize = 32;

/// Returns the words of a text, in order.
#[must_use]
pub fn split_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    for c in folded(text).chars() {
        let alone = stands_alone(c) && c.is_alphanumeric();
        if (alone || !c.is_alphanumeric()) && !word.is_empty() {
            found.push(std::mem::take(&mut word));
            length = 0;
        }
        if alone {
            found.push(c.to_string());
        } else if c.is_alphanumeric() && length < WORD_MAX {
            word.push(c);
            length += 1;
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.to_ascii_lowercase().into();
    }
    let plain = DecomposingNormalizer::new_nfkd().normalize(text);
    let letters = plain.chars().filter(|c| !is_mark(*c));
    letters
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .collect::<String>()
        .into()
}

/// Returns true for accents that normalisation separates from their letters.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Returns true for ideographs and kana.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Words of a node, each once, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeWords {
    /// Words of the name; of a user also those of the e-mail address.
    pub name: Vec<String>,
    /// Words of the description, if the node has one that is searched.
    pub notes: Vec<String>,
}

impl NodeWords {
    /// Returns the words of a node that was read in full.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let sorted = |mut words: Vec<String>| {
            words.sort_unstable();
            words.dedup();
            words
        };
        let mut name = split_words(&node.title());
        if node.ty == Type::User {
            name.extend(split_words(
                node.get(user::EMAIL).as_deref().unwrap_or_default(),
            ));
        }
        let notes = match node.ty {
            // Both types keep their description under the same key.
            Type::Task | Type::Project => split_words(&rich_text_values::without_mentions(
                node,
                task::NOTES,
                task::HTML_NOTES,
            )),
            _ => Vec::new(),
        };
        Self {
            name: sorted(name),
            notes: sorted(notes),
        }
    }

    /// Returns a number that in all likelihood differs from that of any other words. It is stored,
    /// so it is the same on every machine and in every version: another hash means another format
    /// of index entries.
    #[must_use]
    pub fn hash(&self) -> i64 {
        let mut sum = Fnv1a::default();
        for list in [&self.name, &self.notes] {
            sum.number(list.len());
            for word in list {
                sum.number(word.len());
                sum.bytes(word.as_bytes());
            }
        }
        sum.0.cast_signed()
    }
}

/// FNV-1a hash of 64 bits.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }
}

/// Words to look for; a node must have all of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WordQuery {
    /// Words that are looked for. A query without words matches nothing.
    pub words: Vec<String>,
    /// True if each may be just the start of a word.
    pub match_prefixes: bool,
    /// True if only names are searched.
    pub names_only: bool,
}

impl WordQuery {
    /// Returns the query for the words of a text.
    #[must_use]
    pub fn new(text: &str, starts: bool, names: bool) -> Self {
        let mut all = split_words(text);
        all.sort_unstable();
        all.dedup();
        Self {
            words: all,
            match_prefixes: starts,
            names_only: names,
        }
    }

    /// Returns true if all words are in the name.
    #[must_use]
    pub fn in_name(&self, text: &NodeWords) -> bool {
        !self.words.is_empty() && self.words.iter().all(|word| self.among(word, &text.name))
    }

    /// Returns true if all words are in the texts that are searched.
    #[must_use]
    pub fn matches(&self, text: &NodeWords) -> bool {
        let found = |word| {
            self.among(word, &text.name) || (!self.names_only && self.among(word, &text.notes))
        };
        !self.words.is_empty() && self.words.iter().all(found)
    }

    fn among(&self, word: &String, sorted: &[String]) -> bool {
        let next = sorted.get(sorted.partition_point(|w| w < word));
        next.is_some_and(|w| w == word || (self.match_prefixes && w.starts_with(word.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::draft::Draft;
    use crate::model::gid::Gid;
    use proptest::prelude::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_whatever_their_case_and_accents() {
        for (text, expected) in [
            ("", &[][..]),
            ("  -- \"*\" ", &[]),
            (
                "Fix the LOGIN-page, v2!",
                &["fix", "the", "login", "page", "v2"],
            ),
            ("Émile e\u{301}mile ÉMILE", &["emile", "emile", "emile"]),
            ("ΟΔΟΣ οδος", &["οδοσ", "οδοσ"]),
            ("ﬁle ½", &["file", "1", "2"]),
            ("会议 2", &["会", "议", "2"]),
            ("naïve🙂user", &["naive", "user"]),
        ] {
            assert_eq!(split_words(text), expected, "{text}");
        }
        assert_eq!(split_words(&"x".repeat(1000)), ["x".repeat(WORD_MAX)]);
    }

    #[test]
    fn all_words_must_be_there_whole_or_as_starts() {
        let mut draft = Draft::new(Type::Task, Gid::new(7).unwrap(), None);
        draft.set(task::NAME, "Review the budget");
        draft.set(task::NOTES, "Ask Zoë about it");
        let text = NodeWords::of(&draft.finish());
        let fits = |words: &str, starts, names| WordQuery::new(words, starts, names).matches(&text);
        assert!(fits("budget zoe", false, false));
        assert!(!fits("budget zo", false, false) && fits("bud zo", true, false));
        assert!(!fits("zoe", false, true) && fits("rev", true, true));
        assert!(
            !fits("", false, false) && !fits("\"", true, false),
            "no word is found nowhere"
        );
        assert!(WordQuery::new("budget", false, false).in_name(&text));
        assert!(!WordQuery::new("budget zoe", false, false).in_name(&text));
    }

    #[test]
    fn the_sum_of_words_is_the_same_everywhere_and_tells_where_each_ends() {
        let of = |name: &[&str], notes: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
            let (name, notes) = (owned(name), owned(notes));
            NodeWords { name, notes }.hash()
        };
        let mut sum = Fnv1a::default();
        sum.bytes(b"foobar");
        assert_eq!(sum.0, 0x8594_4171_f739_67e8, "the published value");
        let all = [
            of(&[], &[]),
            of(&["ab"], &[]),
            of(&["a", "b"], &[]),
            of(&["a"], &["b"]),
            of(&[], &["ab"]),
        ];
        for (at, sum) in all.iter().enumerate() {
            assert!(!all[..at].contains(sum), "{at}");
        }
        assert_eq!(all[3], -375_308_994_890_410_454);
    }

    proptest! {
        #[test]
        fn words_hold_nothing_that_a_query_language_would_read(text in ".{0,200}") {
            for word in split_words(&text) {
                prop_assert!(!word.is_empty() && word.chars().count() <= WORD_MAX);
                prop_assert!(word.chars().all(char::is_alphanumeric), "{word}");
                prop_assert_eq!(split_words(&word), vec![word.clone()], "a word is one word");
            }
        }
    }
}
