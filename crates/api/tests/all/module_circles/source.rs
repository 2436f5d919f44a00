//! The modules of a crate as its source text has them: what each declares, imports and names.
use super::tokens::{Token, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// A `use` of one name, or of all names of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// Name it has here; `None` for `*`.
    pub(super) name: Option<String>,
    /// `pub use`, of any width.
    pub(super) exported: bool,
}

/// A module. Code under `#[cfg(test)]` is left out.
#[derive(Default, Debug)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    /// In the file of its parent.
    pub(super) inline: bool,
    pub(super) children: BTreeMap<String, usize>,
    pub(super) declared: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Paths of two names or more in code.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Names that stand alone or begin a path.
    pub(super) heads: BTreeSet<String>,
}

/// The modules of a crate, the root first.
#[derive(Debug)]
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "union",
];

impl Crate {
    /// Reads a crate from the text of its files, by their paths within `src`.
    ///
    /// # Panics
    /// If a module has no file.
    pub(super) fn read(name: &str, root: &str, text: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut read = Self { modules: vec![] };
        let tokens = tokens(&text(root).expect("a crate has a root"));
        read.add(name, None, false, &tokens, "", text);
        read
    }

    /// Returns the name of a module from that of the crate on: `core::storage::load`.
    pub(super) fn path(&self, module: usize) -> String {
        let own = &self.modules[module];
        own.parent.map_or_else(
            || own.name.clone(),
            |parent| format!("{}::{}", self.path(parent), own.name),
        )
    }

    /// Adds a module and those below it, whose files are in `folder`.
    fn add(
        &mut self,
        name: &str,
        parent: Option<usize>,
        inline: bool,
        tokens: &[Token],
        folder: &str,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> usize {
        let index = self.modules.len();
        self.modules.push(Module {
            name: name.to_owned(),
            parent,
            inline,
            ..Module::default()
        });
        let mut reader = Reader {
            tokens,
            at: 0,
            depth: 0,
            module: Module::default(),
            below: vec![],
        };
        reader.run();
        let Reader { module, below, .. } = reader;
        let own = &mut self.modules[index];
        own.declared = module.declared;
        own.imports = module.imports;
        own.paths = module.paths;
        own.heads = module.heads;
        for (name, body) in below {
            let inside = format!("{folder}{name}/");
            let child = match body {
                Some(body) => self.add(&name, Some(index), true, body, &inside, text),
                None => {
                    let body = [format!("{folder}{name}.rs"), format!("{inside}mod.rs")]
                        .iter()
                        .find_map(|path| text(path))
                        .unwrap_or_else(|| panic!("no file for the module {folder}{name}"));
                    self.add(&name, Some(index), false, &tokens_of(&body), &inside, text)
                }
            };
            self.modules[index].children.insert(name, child);
        }
        index
    }
}

fn tokens_of(text: &str) -> Vec<Token> {
    tokens(text)
}

/// A walk over the tokens of one module.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Brackets that are open.
    depth: usize,
    module: Module,
    /// Modules declared here: name, and body if it stands here.
    below: Vec<(String, Option<&'a [Token]>)>,
}

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is(&self, ahead: usize, mark: char) -> bool {
        self.token(ahead).is_some_and(|token| token.is(mark))
    }

    fn name(&self, ahead: usize) -> Option<&'a str> {
        self.token(ahead)?.name()
    }

    fn run(&mut self) {
        while let Some(token) = self.token(0) {
            match token {
                Token::Mark('#') if self.is(1, '[') || self.is(1, '!') => self.attribute(),
                Token::Mark('(' | '[' | '{') => {
                    (self.at, self.depth) = (self.at + 1, self.depth + 1)
                }
                Token::Mark(')' | ']' | '}') => {
                    (self.at, self.depth) = (self.at + 1, self.depth.saturating_sub(1));
                }
                Token::Name(name) => self.word(name),
                _ => self.at += 1,
            }
        }
    }

    /// Passes an attribute, and the item after it if that is compiled for tests alone.
    fn attribute(&mut self) {
        let inner = self.is(1, '!');
        self.at += if inner { 2 } else { 1 };
        let end = self.matching(self.at);
        let tests = is_for_tests(&self.tokens[self.at + 1..end]);
        self.at = end + 1;
        if tests && !inner {
            self.skip_item();
        }
    }

    /// Returns the index of the bracket that closes the one at `open`.
    fn matching(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return index;
            }
        }
        self.tokens.len()
    }

    /// Passes one item, statement, field or arm.
    fn skip_item(&mut self) {
        while self.is(0, '#') {
            self.at = self.matching(self.at + 1) + 1;
        }
        if self.name(0) == Some("pub") {
            self.at += 1;
            if self.is(0, '(') {
                self.at = self.matching(self.at) + 1;
            }
        }
        let first = self.name(0).unwrap_or("");
        let to_semicolon = matches!(first, "use" | "const" | "static" | "type" | "let")
            && self.name(1) != Some("fn");
        let part = self.is(1, ':');
        while let Some(token) = self.token(0) {
            match token {
                Token::Mark('(' | '[') => self.at = self.matching(self.at) + 1,
                Token::Mark('{') => {
                    self.at = self.matching(self.at) + 1;
                    if !to_semicolon {
                        return;
                    }
                }
                Token::Mark(')' | ']' | '}') => return,
                Token::Mark(';') => return self.at += 1,
                Token::Mark(',') if part => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }

    fn word(&mut self, name: &'a str) {
        match name {
            "use" if !self.is(1, '<') => return self.import(),
            "mod" if self.name(1).is_some() && (self.is(2, ';') || self.is(2, '{')) => {
                return self.declare_module();
            }
            "macro_rules" if self.is(1, '!') => {
                self.module.declared.extend(self.name(2).map(str::to_owned));
            }
            item if self.depth == 0 && ITEMS.contains(&item) => {
                let after = usize::from(self.name(1) == Some("mut")) + 1;
                let declared = self.name(after).filter(|name| !ITEMS.contains(name));
                self.module.declared.extend(declared.map(str::to_owned));
            }
            _ => {}
        }
        self.path();
    }

    fn declare_module(&mut self) {
        let name = self.name(1).unwrap_or("").to_owned();
        self.at += 2;
        if self.is(0, ';') {
            self.below.push((name, None));
            self.at += 1;
        } else {
            let end = self.matching(self.at);
            self.below
                .push((name, Some(&self.tokens[self.at + 1..end])));
            self.at = end + 1;
        }
    }

    /// Reads a path in code, if it goes on from nothing: `a.b::c` and `<T>::a` begin elsewhere.
    fn path(&mut self) {
        let before = |back: usize| self.at.checked_sub(back).map(|at| &self.tokens[at]);
        let is_member = before(1).is_some_and(|token| token.is('.'))
            && !before(2).is_some_and(|token| token.is('.'));
        let goes_on = before(1) == Some(&Token::Separator);
        let mut path = vec![self.name(0).unwrap_or("").to_owned()];
        self.at += 1;
        while self.token(0) == Some(&Token::Separator) {
            let Some(name) = self.name(1) else { break };
            path.push(name.to_owned());
            self.at += 2;
        }
        if is_member || goes_on {
            return;
        }
        self.module.heads.extend(path.first().cloned());
        if path.len() > 1 {
            self.module.paths.insert(path);
        }
    }

    fn import(&mut self) {
        let exported = self.at.checked_sub(1).is_some_and(|at| {
            self.tokens[at].is_name("pub") || (self.depth == 0 && self.tokens[at].is(')'))
        });
        self.at += 1;
        if self.token(0) == Some(&Token::Separator) {
            self.at += 1;
        }
        self.import_tree(&[], exported);
    }

    /// Reads one tree of a `use`: `a::b`, `a::*`, `a as b`, `a::{..}`.
    fn import_tree(&mut self, prefix: &[String], exported: bool) {
        let mut path = prefix.to_vec();
        loop {
            match self.token(0) {
                Some(Token::Name(name)) => path.push(name.clone()),
                Some(Token::Mark('*')) => {
                    self.module.imports.push(Import {
                        path,
                        name: None,
                        exported,
                    });
                    return self.at += 1;
                }
                Some(Token::Mark('{')) => {
                    self.at += 1;
                    while self.at < self.tokens.len() && !self.is(0, '}') {
                        self.import_tree(&path, exported);
                        self.at += usize::from(self.is(0, ','));
                    }
                    return self.at += 1;
                }
                _ => return self.at += 1,
            }
            self.at += 1;
            if self.token(0) != Some(&Token::Separator) {
                break;
            }
            self.at += 1;
        }
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        let mut name = path.last().cloned();
        if self.name(0) == Some("as") {
            name = self.name(1).map(str::to_owned);
            self.at += 2;
        }
        self.module.imports.push(Import {
            path,
            name,
            exported,
        });
    }
}

/// Returns true for `cfg(test)` and `cfg(all(test, ..))`.
fn is_for_tests(attribute: &[Token]) -> bool {
    let inside = |tokens: &[Token], name: &str| {
        tokens.first().is_some_and(|token| token.is_name(name))
            && tokens.get(1).is_some_and(|token| token.is('('))
    };
    if !inside(attribute, "cfg") {
        return false;
    }
    let condition = &attribute[2..];
    if condition.first().is_some_and(|token| token.is_name("test")) {
        return true;
    }
    inside(condition, "all") && {
        let mut depth = 0;
        condition.iter().any(|token| {
            match token {
                Token::Mark('(') => depth += 1,
                Token::Mark(')') => depth -= 1,
                _ => {}
            }
            depth == 1 && token.is_name("test")
        })
    }
}
