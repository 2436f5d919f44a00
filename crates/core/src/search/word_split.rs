//! Cutting and folding of texts into words.
//!
//! A word is a run of letters and digits; case, accents and variants of a letter are ignored. A sign that is not a letter,
//! digit or blank is a separate word, and an emoji sequence is one sign. Scripts without blanks do not show where a word
//! ends: in them each character is a word, and each pair of neighbours, so that any part of a text is found.
use icu_normalizer::DecomposingNormalizer;
use icu_properties::props::{ExtendedPictographic, GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::borrow::Cow;

/// Longest word, in characters; the rest of a longer word is ignored.
pub const WORD_MAX: usize = 64;

/// Part of a text: a word, a run without blanks, or a sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TextPart {
    /// Run of letters and digits.
    Word(String),
    /// Run of characters of scripts without blanks.
    Unspaced(Vec<char>),
    /// Sign, or emoji sequence.
    Sign(String),
}

/// Character that joins emoji into one sign.
const JOINER: char = '\u{200d}';
/// Character that turns a digit, `#` or `*` into a keycap.
const KEYCAP: char = '\u{20e3}';

/// Class of a folded character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Letter,
    Unspaced,
    /// Part of a letter or sign that does not distinguish it.
    Ignored,
    /// Mark that belongs to the letter before it.
    Mark,
    Blank,
    Sign,
}

/// Returns the parts of a text, in order.
pub(super) fn parts(text: &str) -> Vec<TextPart> {
    let folded = folded(text);
    let mut found = Parts::default();
    let mut chars = folded.chars().peekable();
    while let Some(c) = chars.next() {
        let class = class(c);
        let starts_emoji = class == CharClass::Sign && is_emoji(c);
        let starts_keycap =
            matches!(c, '0'..='9' | '#' | '*') && chars.peek().is_some_and(|next| is_keycap(*next));
        if starts_emoji || starts_keycap {
            let mut sign = String::from(c);
            if is_flag_letter(c) {
                sign.extend(chars.next_if(|next| is_flag_letter(*next)));
            }
            while let Some(next) = chars.next_if(|next| continues_emoji(*next)) {
                match next {
                    _ if is_variation(next) => (),
                    JOINER => {
                        if let Some(joined) = chars.next_if(|far| is_emoji(*far)) {
                            sign.push(JOINER);
                            sign.push(joined);
                        }
                    }
                    next => sign.push(next),
                }
            }
            found.sign(sign);
            continue;
        }
        match class {
            CharClass::Letter => found.letter(c),
            CharClass::Unspaced => found.unspaced(c),
            CharClass::Mark => found.mark(c),
            CharClass::Ignored => (),
            CharClass::Blank => found.close(),
            CharClass::Sign => found.sign(String::from(c)),
        }
    }
    found.all
}

#[derive(Default)]
struct Parts {
    all: Vec<TextPart>,
    /// True if the next character may belong to the last part.
    is_open: bool,
    /// Number of characters of the last word.
    length: usize,
}

impl Parts {
    fn letter(&mut self, c: char) {
        match self.all.last_mut().filter(|_| self.is_open) {
            Some(TextPart::Word(word)) => {
                if self.length < WORD_MAX {
                    word.push(c);
                    self.length += 1;
                }
            }
            _ => {
                self.all.push(TextPart::Word(c.into()));
                self.length = 1;
            }
        }
        self.is_open = true;
    }

    fn unspaced(&mut self, c: char) {
        match self.all.last_mut().filter(|_| self.is_open) {
            Some(TextPart::Unspaced(run)) => run.push(c),
            _ => self.all.push(TextPart::Unspaced(vec![c])),
        }
        self.is_open = true;
    }

    /// Adds a mark to a word; marks elsewhere are ignored.
    fn mark(&mut self, c: char) {
        if self.is_open && matches!(self.all.last(), Some(TextPart::Word(_))) {
            self.letter(c);
        }
    }

    fn sign(&mut self, sign: String) {
        let sign = sign.chars().take(WORD_MAX).collect();
        self.all.push(TextPart::Sign(sign));
        self.is_open = false;
    }

    const fn close(&mut self) {
        self.is_open = false;
    }
}

/// Returns a text with variants of a letter replaced by the same letter.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.to_ascii_lowercase().into();
    }
    let plain = DecomposingNormalizer::new_nfkd().normalize(text);
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            'a'..='z' => out.push(c),
            // Upper case first: it makes `ß` the same as `ss`.
            _ => {
                c.to_uppercase()
                    .flat_map(char::to_lowercase)
                    .for_each(|c| match plain_letter(c) {
                        Some(plain) => out.push_str(plain),
                        None => out.push(c),
                    })
            }
        }
    }
    out.into()
}

/// Returns the usual substitute for a letter that normalisation does not decompose.
const fn plain_letter(c: char) -> Option<&'static str> {
    Some(match c {
        'ς' => "σ",
        'ß' => "ss",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ŧ' => "t",
        'þ' => "th",
        'æ' => "ae",
        'œ' => "oe",
        _ => return None,
    })
}

fn class(c: char) -> CharClass {
    if c.is_ascii() {
        return match c {
            'a'..='z' | '0'..='9' => CharClass::Letter,
            ' ' | '\0'..='\u{1f}' | '\u{7f}' => CharClass::Blank,
            _ => CharClass::Sign,
        };
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    if is_accent(c) || is_variation(c) {
        return CharClass::Ignored;
    }
    match category {
        // Joins or separates letters invisibly.
        GeneralCategory::Format if c != '\u{200b}' => CharClass::Ignored,
        GeneralCategory::Format => CharClass::Blank,
        _ if GeneralCategoryGroup::Separator.contains(category) => CharClass::Blank,
        GeneralCategory::Control => CharClass::Blank,
        _ if is_unspaced(c) => {
            if c.is_alphanumeric() {
                CharClass::Unspaced
            } else if GeneralCategoryGroup::Mark.contains(category) {
                CharClass::Ignored
            } else {
                CharClass::Sign
            }
        }
        _ if c.is_alphanumeric() => CharClass::Letter,
        _ if GeneralCategoryGroup::Mark.contains(category) => CharClass::Mark,
        _ => CharClass::Sign,
    }
}

/// Returns true for accents that normalisation separates from their letters, for the points of Hebrew and Arabic, and for
/// the marks of kana.
const fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}'
        | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{3099}' | '\u{309a}')
}

/// Returns true for characters of scripts without blanks between words.
fn is_unspaced(c: char) -> bool {
    // The long vowel of kana belongs to two scripts.
    c == 'ー'
        || matches!(
            CodePointMapData::<Script>::new().get(c),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Bopomofo
                | Script::Yi
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
                | Script::TaiLe
                | Script::NewTaiLue
                | Script::TaiTham
                | Script::TaiViet
        )
}

fn is_emoji(c: char) -> bool {
    is_flag_letter(c)
        || (!c.is_ascii() && CodePointSetData::new::<ExtendedPictographic>().contains(c))
}

const fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

const fn is_variation(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

const fn is_keycap(c: char) -> bool {
    matches!(c, '\u{fe0f}' | KEYCAP)
}

/// Returns true for characters that continue an emoji sequence: variations, skin tones, letters of regions, keycaps, joiners.
const fn continues_emoji(c: char) -> bool {
    is_variation(c)
        || matches!(c, JOINER | KEYCAP | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// Returns true for signs that surround words in prose and carry no meaning of their own.
pub(super) fn is_punctuation(sign: &str) -> bool {
    let mut chars = sign.chars();
    let (Some(c), None) = (chars.next(), chars.next()) else {
        return false;
    };
    match c {
        '#' | '%' | '&' | '@' | '$' | '+' | '<' | '=' | '>' | '|' | '~' | '^' => false,
        _ if c.is_ascii() => true,
        _ => GeneralCategoryGroup::Punctuation
            .contains(CodePointMapData::<GeneralCategory>::new().get(c)),
    }
}
