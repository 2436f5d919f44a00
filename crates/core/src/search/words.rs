//! Words: what texts are compared by.
//!
//! A text is cut into words, its runs of letters and digits, without regard to case, accents and
//! forms of a letter. A sign of a script that is written without spaces is a word of its own. The
//! words of a node and those of a query are made here alike, so a store compares bytes.
use crate::mentions;
use crate::node::Node;
use crate::registry::Type;
use crate::resources::{task, user};
use icu_normalizer::DecomposingNormalizer;
use std::borrow::Cow;

/// The longest word, in characters; the rest of a longer one is not looked at.
pub const WORD_MAX: usize = 64;
/// The most words that one query should look for.
pub const WORDS_MAX: usize = 32;

/// The words of a text, in order.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
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

/// Accents, as normalisation takes them off their letters.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Ideographs and kana.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a node, each once, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text {
    /// Of its name; of a user also those of the e-mail address.
    pub name: Vec<String>,
    /// Of its description, if it has one that is searched.
    pub notes: Vec<String>,
}

impl Text {
    /// The words of a node that was read whole.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let sorted = |mut words: Vec<String>| {
            words.sort_unstable();
            words.dedup();
            words
        };
        let mut name = words(&node.title());
        if node.ty == Type::User {
            name.extend(words(node.get(user::EMAIL).as_deref().unwrap_or_default()));
        }
        let notes = match node.ty {
            // Both types keep their description under the same key.
            Type::Task | Type::Project => {
                words(&mentions::unnamed(node, task::NOTES, task::HTML_NOTES))
            }
            _ => Vec::new(),
        };
        Self {
            name: sorted(name),
            notes: sorted(notes),
        }
    }

    /// A number that in all likelihood tells these words from any others. It is stored, so it is the
    /// same on every machine and in every version: another way to make it is another form of cards.
    #[must_use]
    pub fn sum(&self) -> i64 {
        let mut sum = Sum::default();
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

/// FNV-1a of 64 bits.
struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Sum {
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// The words. None are found nowhere.
    pub all: Vec<String>,
    /// Each may be just the start of a word.
    pub starts: bool,
    /// Only names count.
    pub names: bool,
}

impl Words {
    /// The words of a text that someone looks for.
    #[must_use]
    pub fn new(text: &str, starts: bool, names: bool) -> Self {
        let mut all = words(text);
        all.sort_unstable();
        all.dedup();
        Self { all, starts, names }
    }

    /// Whether all of them are in the name.
    #[must_use]
    pub fn in_name(&self, text: &Text) -> bool {
        !self.all.is_empty() && self.all.iter().all(|word| self.among(word, &text.name))
    }

    /// Whether all of them are where they may be.
    #[must_use]
    pub fn fit(&self, text: &Text) -> bool {
        let found =
            |word| self.among(word, &text.name) || (!self.names && self.among(word, &text.notes));
        !self.all.is_empty() && self.all.iter().all(found)
    }

    fn among(&self, word: &String, sorted: &[String]) -> bool {
        let next = sorted.get(sorted.partition_point(|w| w < word));
        next.is_some_and(|w| w == word || (self.starts && w.starts_with(word.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Draft;
    use crate::gid::Gid;
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
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(&"x".repeat(1000)), ["x".repeat(WORD_MAX)]);
    }

    #[test]
    fn all_words_must_be_there_whole_or_as_starts() {
        let mut draft = Draft::new(Type::Task, Gid::new(7).unwrap(), None);
        draft.set(task::NAME, "Review the budget");
        draft.set(task::NOTES, "Ask Zoë about it");
        let text = Text::of(&draft.finish());
        let fits = |words: &str, starts, names| Words::new(words, starts, names).fit(&text);
        assert!(fits("budget zoe", false, false));
        assert!(!fits("budget zo", false, false) && fits("bud zo", true, false));
        assert!(!fits("zoe", false, true) && fits("rev", true, true));
        assert!(
            !fits("", false, false) && !fits("\"", true, false),
            "no word is found nowhere"
        );
        assert!(Words::new("budget", false, false).in_name(&text));
        assert!(!Words::new("budget zoe", false, false).in_name(&text));
    }

    #[test]
    fn the_sum_of_words_is_the_same_everywhere_and_tells_where_each_ends() {
        let of = |name: &[&str], notes: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
            let (name, notes) = (owned(name), owned(notes));
            Text { name, notes }.sum()
        };
        let mut sum = Sum::default();
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
            for word in words(&text) {
                prop_assert!(!word.is_empty() && word.chars().count() <= WORD_MAX);
                prop_assert!(word.chars().all(char::is_alphanumeric), "{word}");
                prop_assert_eq!(words(&word), vec![word.clone()], "a word is one word");
            }
        }
    }
}
