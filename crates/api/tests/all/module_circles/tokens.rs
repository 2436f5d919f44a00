//! Tokens of Rust source text: enough to see paths and items, no more.

/// A token. Comments and attributes of documentation are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A name or keyword; a raw identifier without its `r#`.
    Name(String),
    /// The separator of a path, `::`.
    Separator,
    /// A string, character or number, or a lifetime.
    Literal,
    /// Any other character.
    Mark(char),
}

impl Token {
    pub(super) fn is(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.name() == Some(name)
    }
}

fn in_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the tokens of a source text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let text: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&character) = text.get(at) {
        let next = text.get(at + 1).copied().unwrap_or(' ');
        at = match character {
            '/' if next == '/' => end_of_line(&text, at),
            '/' if next == '*' => end_of_comment(&text, at),
            '"' => literal(&mut tokens, end_of_string(&text, at)),
            '\'' => literal(&mut tokens, end_of_quote(&text, at)),
            ':' if next == ':' => {
                tokens.push(Token::Separator);
                at + 2
            }
            character if character.is_whitespace() => at + 1,
            character if character.is_ascii_digit() => literal(&mut tokens, end_of_name(&text, at)),
            character if in_name(character) => name(&text, at, &mut tokens),
            character => {
                tokens.push(Token::Mark(character));
                at + 1
            }
        };
    }
    tokens
}

fn literal(tokens: &mut Vec<Token>, end: usize) -> usize {
    tokens.push(Token::Literal);
    end
}

/// Reads a name, or the string whose prefix it is (`r"`, `b"`, `br#"`, `b'`, `c"`).
fn name(text: &[char], start: usize, tokens: &mut Vec<Token>) -> usize {
    let end = end_of_name(text, start);
    let name: String = text[start..end].iter().collect();
    let quote = text.get(end).copied().unwrap_or(' ');
    let raw = matches!(name.as_str(), "r" | "br" | "cr");
    let hashes = text[end..].iter().take_while(|c| **c == '#').count();
    if raw && text.get(end + hashes) == Some(&'"') {
        return literal(tokens, end_of_raw_string(text, end + hashes + 1, hashes));
    }
    if name == "r" && quote == '#' {
        let end = end_of_name(text, start + 2);
        tokens.push(Token::Name(text[start + 2..end].iter().collect()));
        return end;
    }
    if matches!(name.as_str(), "b" | "c") && quote == '"' {
        return literal(tokens, end_of_string(text, end));
    }
    if name == "b" && quote == '\'' {
        return literal(tokens, end_of_quote(text, end));
    }
    tokens.push(Token::Name(name));
    end
}

fn end_of_name(text: &[char], start: usize) -> usize {
    start + text[start..].iter().take_while(|c| in_name(**c)).count()
}

fn end_of_line(text: &[char], start: usize) -> usize {
    start + text[start..].iter().take_while(|c| **c != '\n').count()
}

/// Returns the end of a comment in which comments may lie.
fn end_of_comment(text: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_string(text: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn end_of_raw_string(text: &[char], start: usize, hashes: usize) -> usize {
    let ends = |at: &usize| {
        text[*at] == '"' && text[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    (start..text.len()).find(ends).unwrap_or(text.len()) + 1 + hashes
}

/// Returns the end of a character (`'a'`, `'\''`, `'\u{1}'`) or of a lifetime (`'a`).
fn end_of_quote(text: &[char], start: usize) -> usize {
    if text.get(start + 1) == Some(&'\\') {
        let from = start + 3;
        return from + text[from..].iter().take_while(|c| **c != '\'').count() + 1;
    }
    if text.get(start + 2) == Some(&'\'') {
        return start + 3;
    }
    end_of_name(text, start + 1)
}
