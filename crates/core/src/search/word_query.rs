//! Words: the form in which texts are compared.
//!
//! Words of nodes and of queries are formed here in the same way, so a store compares bytes; the module `word_split` defines what
//! a word is.
use super::word_split::{self, TextPart};
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::{task, user};
use crate::model::rich_text_values;

/// Maximum number of words that one query should search for.
pub const WORDS_MAX: usize = 32;

/// Returns the words of a text, in order.
#[must_use]
pub fn split_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in word_split::parts(text) {
        match part {
            TextPart::Word(word) | TextPart::Sign(word) => found.push(word),
            TextPart::Unspaced(run) => {
                found.extend(run.iter().map(char::to_string));
                found.extend(run.windows(2).map(String::from_iter));
            }
        }
    }
    found
}

/// Returns the words that a text must have to match this one. A run without blanks contributes only its pairs, and
/// punctuation counts only if the text has nothing else.
fn wanted_words(text: &str) -> Vec<String> {
    let parts = word_split::parts(text);
    let is_punctuation =
        |part: &TextPart| matches!(part, TextPart::Sign(sign) if word_split::is_punctuation(sign));
    let is_bare = parts.iter().all(is_punctuation);
    let mut found = Vec::new();
    for part in parts {
        match part {
            TextPart::Sign(sign) if !is_bare && word_split::is_punctuation(&sign) => (),
            TextPart::Word(word) | TextPart::Sign(word) => found.push(word),
            TextPart::Unspaced(run) if run.len() == 1 => {
                found.extend(run.iter().map(char::to_string))
            }
            TextPart::Unspaced(run) => found.extend(run.windows(2).map(String::from_iter)),
        }
    }
    found
}

/// Words of a node, each once, sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeWords {
    /// Words of the name; for a user, also the words of the e-mail address.
    pub name: Vec<String>,
    /// Words of the description, if the node has one that is searched.
    pub notes: Vec<String>,
}

impl NodeWords {
    /// Returns the words of a node that was read in full.
    #[must_use]
    pub fn of(node: &Node) -> Self {
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
            notes: sorted(notes),
            ..Self::of_name(node)
        }
    }

    /// Returns the words of a node's name alone.
    #[must_use]
    pub fn of_name(node: &Node) -> Self {
        let mut name = split_words(&node.title());
        if node.ty == Type::User {
            name.extend(split_words(
                node.get(user::EMAIL).as_deref().unwrap_or_default(),
            ));
        }
        Self {
            name: sorted(name),
            notes: Vec::new(),
        }
    }

    /// Returns a hash of the words, which almost certainly differs from the hash of any other words. It is stored, so it is
    /// the same on every machine and in every version: another hash means another format of index entries.
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

fn sorted(mut words: Vec<String>) -> Vec<String> {
    words.sort_unstable();
    words.dedup();
    words
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

/// Words to search for; a node must have all of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WordQuery {
    /// The words. A query without words matches nothing.
    pub words: Vec<String>,
    /// True if each word may be just the start of a word of the node.
    pub match_prefixes: bool,
    /// True if only names are searched.
    pub names_only: bool,
}

impl WordQuery {
    /// Returns the query for the words of a text.
    #[must_use]
    pub fn new(text: &str, starts: bool, names: bool) -> Self {
        let mut all = wanted_words(text);
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

    /// Returns true if all words are in the texts of a node that are searched.
    #[must_use]
    pub fn matches_node(&self, node: &Node) -> bool {
        self.matches(&if self.names_only {
            NodeWords::of_name(node)
        } else {
            NodeWords::of(node)
        })
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
    use crate::search::WORD_MAX;
    use proptest::prelude::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_whatever_their_case_and_accents() {
        for (text, expected) in [
            ("", &[][..]),
            (
                "Fix the LOGIN page v2",
                &["fix", "the", "login", "page", "v2"],
            ),
            ("Émile e\u{301}mile ÉMILE", &["emile", "emile", "emile"]),
            ("ΟΔΟΣ οδος", &["οδοσ", "οδοσ"]),
            ("Straße STRASSE STRAẞE", &["strasse", "strasse", "strasse"]),
            ("Łódź Ørsted İzmir", &["lodz", "orsted", "izmir"]),
            ("हिन्दी में", &["हिन्दी", "में"]),
            ("שָׁלוֹם سَلَام", &["שלום", "سلام"]),
            ("ﬁle", &["file"]),
            ("co\u{ad}operate", &["cooperate"]),
        ] {
            assert_eq!(split_words(text), expected, "{text}");
        }
        assert_eq!(split_words(&"x".repeat(1000)), ["x".repeat(WORD_MAX)]);
    }

    #[test]
    fn signs_are_words_and_emoji_sequences_are_whole() {
        for (text, expected) in [
            ("C# → €5", &["c", "#", "→", "€", "5"][..]),
            ("a+b", &["a", "+", "b"]),
            ("naïve🙂user", &["naive", "🙂", "user"]),
            ("❤\u{fe0f} ❤", &["❤", "❤"]),
            ("👍🏽👍", &["👍🏽", "👍"]),
            ("👩\u{200d}💻!", &["👩\u{200d}💻", "!"]),
            ("🇩🇪🇫🇷", &["🇩🇪", "🇫🇷"]),
            ("1\u{fe0f}\u{20e3} 1", &["1\u{20e3}", "1"]),
            (
                "🏴\u{e0067}\u{e0062}\u{e007f}",
                &["🏴\u{e0067}\u{e0062}\u{e007f}"],
            ),
        ] {
            assert_eq!(split_words(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_written_without_blanks_is_found_by_its_parts() {
        assert_eq!(split_words("会议 2"), ["会", "议", "会议", "2"]);
        for (text, part, other) in [
            ("会议室", "议室", "室会"),
            ("プロジェクト計画", "ジェクト", "クジ"),
            ("ประชุมทีมงาน", "ทีมงาน", "งานทีม"),
            ("ພາສາລາວ", "ສາລາ", "ວພາ"),
            ("ភាសាខ្មែរ", "ខ្មែរ", "រខ្មែ"),
            ("မြန်မာစာ", "မာစာ", "စာမြ"),
        ] {
            let name: Vec<String> = {
                let mut words = split_words(text);
                words.sort_unstable();
                words
            };
            let text = NodeWords {
                name,
                notes: Vec::new(),
            };
            for starts in [false, true] {
                assert!(WordQuery::new(part, starts, false).matches(&text), "{part}");
                assert!(
                    !WordQuery::new(other, starts, false).matches(&text),
                    "{other}"
                );
            }
            let first = part.chars().next().unwrap().to_string();
            assert!(
                WordQuery::new(&first, false, true).matches(&text),
                "{first}"
            );
        }
    }

    #[test]
    fn punctuation_is_looked_for_only_where_it_stands_for_itself() {
        let of = |text: &str| WordQuery::new(text, false, false).words;
        assert_eq!(of("login-page, v2!"), ["login", "page", "v2"]);
        assert_eq!(of("C#"), ["#", "c"]);
        assert_eq!(of("?!"), ["!", "?"]);
        assert_eq!(of("\"plan\" → x*"), ["plan", "x", "→"]);
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
        fn a_text_has_the_words_that_are_looked_for_with_it(text in "[\\PC\u{200d}\u{fe0f}]{0,60}") {
            let mut words = split_words(&text);
            words.sort_unstable();
            for word in &words {
                prop_assert!(!word.is_empty() && word.chars().count() <= WORD_MAX);
                prop_assert!(!word.chars().any(|c| c.is_whitespace() || c.is_control()), "{word:?}");
            }
            let query = WordQuery::new(&text, false, false);
            prop_assert_eq!(query.words.is_empty(), words.is_empty());
            for word in &query.words {
                prop_assert!(words.binary_search(word).is_ok(), "{word:?} of {words:?}");
                prop_assert_eq!(&WordQuery::new(word, false, false).words, std::slice::from_ref(word), "a word is one word");
            }
        }
    }
}
