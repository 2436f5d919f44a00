//! Files, headings, names in code, tests and commands that documents name: all of them exist.
use crate::common::BINARY;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Ends of names of files that are text and may be named.
const TEXTS: &[&str] = &[
    "rs", "md", "tsv", "sh", "py", "cjs", "mjs", "ts", "toml", "txt", "yaml", "json", "conf",
    "service", "sql", "lua",
];

/// Names of other programs, which are nowhere in our sources.
const OF_OTHERS: &[&str] = &["commit_delay", "arbitrary_precision", "incompatible_msrv"];

/// Placeholders that stand for any file of a rule.
const ANY_FILE: &[&str] = &["x.rs", "x/mod.rs", "demo.txt"];

/// Files and folders of the repository, and the words of its sources.
struct Repository {
    root: PathBuf,
    /// Paths from the root, with `/` between the parts.
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
    words: HashSet<String>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl Repository {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()
            .unwrap();
        let mut found = Self {
            root,
            files: BTreeSet::new(),
            folders: BTreeSet::new(),
            words: HashSet::new(),
        };
        found.walk(&mut String::new());
        found
    }

    fn walk(&mut self, folder: &mut String) {
        for entry in fs::read_dir(self.root.join(&*folder)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{folder}/{name}")
            };
            if entry.file_type().unwrap().is_dir() {
                let is_made =
                    ["target", "node_modules", ".git", "workgraph-data"].contains(&&*name);
                if !is_made {
                    self.walk(&mut path.clone());
                    self.folders.insert(path);
                }
                continue;
            }
            let end = name.rsplit('.').next().unwrap_or_default();
            if TEXTS.contains(&end) && !["md", "json"].contains(&end) {
                let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
                let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
                for word in words {
                    if !self.words.contains(word) {
                        self.words.insert(word.to_owned());
                    }
                }
            }
            self.files.insert(path);
        }
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains(path) || self.folders.contains(path)
    }

    /// Returns true if a path that a document names leads to a file or folder: from the root, from the document, from the sources
    /// beside it, or as the end of a path that the sentence began.
    fn leads(&self, document: &str, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let beside = Path::new(document).parent().unwrap();
        let end = format!("/{path}");
        self.has(path)
            || self.has(&plain(&beside.join(path)))
            || self.has(&plain(&beside.join("src").join(path)))
            || self
                .files
                .iter()
                .chain(&self.folders)
                .any(|known| known.ends_with(&end))
    }

    fn documents(&self) -> Vec<(&str, String)> {
        let is_document = |path: &&String| path.ends_with(".md") && *path != "CHANGELOG.md";
        let read = |path: &String| fs::read_to_string(self.root.join(path)).unwrap();
        self.files
            .iter()
            .filter(is_document)
            .map(|path| (path.as_str(), read(path)))
            .collect()
    }

    /// Returns true if a name is one of the sources; metrics have their prefixes elsewhere there.
    fn knows(&self, name: &str) -> bool {
        let own = name
            .trim_start_matches("workgraph_")
            .trim_start_matches("process_");
        self.words.contains(name) || self.words.contains(own) || OF_OTHERS.contains(&name)
    }

    /// Returns what a document names that does not exist.
    fn missing(&self, document: &str, text: &str) -> String {
        let mut missing = String::new();
        let mut say = |line: usize, what: &str, name: &str| {
            writeln!(missing, "{document}:{line}: {what} {name}").unwrap();
        };
        let mut is_code = false;
        for (line, number) in text.lines().zip(1..) {
            if line.starts_with("```") {
                is_code = !is_code;
            }
            if is_code {
                continue;
            }
            for link in links(line) {
                if !self.has_link(document, text, link) {
                    say(number, "link", link);
                }
            }
            for span in line.split('`').skip(1).step_by(2) {
                let last = span.rsplit(['/', '.']).next().unwrap_or_default();
                let is_path = span.chars().all(|c| is_word(c) || "./-".contains(c))
                    && !span.starts_with(['/', '.']);
                let is_ours = [
                    "crates/",
                    "bins/",
                    "docs/",
                    "fixtures/",
                    "deploy/",
                    "clients/",
                ]
                .iter()
                .any(|folder| span.starts_with(folder));
                let is_file = span.contains('.') && TEXTS.contains(&last) && last != "json";
                if is_path && (is_ours || is_file) {
                    if !ANY_FILE.contains(&span) && !self.leads(document, span) {
                        say(number, "path", span);
                    }
                    continue;
                }
                for name in names(span).filter(|name| !self.knows(name)) {
                    say(number, "name", name);
                }
            }
        }
        missing
    }

    fn has_link(&self, document: &str, text: &str, link: &str) -> bool {
        if ["http://", "https://", "mailto:"]
            .iter()
            .any(|start| link.starts_with(start))
        {
            return true;
        }
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = if path.is_empty() {
            document.to_owned()
        } else {
            plain(&Path::new(document).parent().unwrap().join(path))
        };
        let has_heading = || {
            let other = fs::read_to_string(self.root.join(&target)).unwrap_or_default();
            let of = if path.is_empty() { text } else { &other };
            of.lines()
                .filter(|line| line.starts_with('#'))
                .any(|line| anchor(line) == heading)
        };
        self.has(&target) && (heading.is_empty() || has_heading())
    }
}

/// Returns the parts of a path without `.` and `..`.
fn plain(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::Normal(name) => parts.push(name.to_str().unwrap()),
            _ => {}
        }
    }
    parts.join("/")
}

/// Returns the targets of the links of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link)
}

/// Returns the address of a heading in its page.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the names in a span of code that is a name or a path of names, such as `api::gate`.
fn names(span: &str) -> impl Iterator<Item = &str> {
    let name = span.trim_end_matches("()").trim_end_matches('!');
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(is_word)
            && !part.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_path = name.split("::").all(is_name);
    name.split("::").filter(move |_| is_path)
}

/// Every link, path, heading, test and name in code that a document names exists.
#[test]
fn what_documents_name_exists() {
    let repository = Repository::read();
    let documents = repository.documents();
    assert!(documents.len() > 40, "{}", documents.len());
    let missing: String = documents
        .iter()
        .map(|(name, text)| repository.missing(name, text))
        .collect();
    assert_eq!(missing, "");

    // The name must not stand in this file.
    let name = ["missing", "function"].join("_");
    let wrong = format!(
        "[a](nowhere.md) [b](README.md#no-such-heading) `crates/core/src/none.rs` `engine::{name}()`\n"
    );
    let found = repository.missing("README.md", &wrong);
    assert_eq!(found.lines().count(), 4, "{found}");
}

/// Every file and folder in the map of the architecture exists.
#[test]
fn the_map_of_the_architecture_is_true() {
    let repository = Repository::read();
    let text = fs::read_to_string(repository.root.join("docs/ARCHITECTURE.md")).unwrap();
    let map = text
        .split("## Code map")
        .nth(1)
        .unwrap()
        .split("```")
        .nth(1)
        .unwrap();
    let mut base = "";
    let mut count = 0;
    for line in map.lines() {
        if line.starts_with(|c: char| c.is_ascii_lowercase()) {
            base = line.split(' ').next().unwrap();
            assert!(repository.folders.contains(base), "{base}");
        }
        let words = line.split([' ', ',', ';', '(', ')', ':']);
        for word in words.filter(|word| word.ends_with(".rs") || word.ends_with('/')) {
            let end = format!("/{}", word.trim_end_matches('/'));
            let is_there =
                |known: &&String| known.starts_with(&format!("{base}/")) && known.ends_with(&end);
            let mut all = repository.files.iter().chain(&repository.folders);
            assert!(all.any(|known| is_there(&known)), "{base}: {word}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// Help of each command, by its words.
#[derive(Default)]
struct Commands(BTreeMap<Vec<String>, Option<String>>);

impl Commands {
    fn help(&mut self, words: &[String]) -> Option<&str> {
        let ask = || {
            let asked = Command::new(BINARY)
                .args(words)
                .arg("--help")
                .output()
                .unwrap();
            asked
                .status
                .success()
                .then(|| String::from_utf8(asked.stdout).unwrap())
        };
        self.0.entry(words.to_vec()).or_insert_with(ask).as_deref()
    }

    /// Returns what is wrong with a command that a document has, without its program.
    fn fault(&mut self, line: &str) -> Option<String> {
        // It has no help of its own.
        if line.trim() == "help" {
            return None;
        }
        let mut words: Vec<String> = Vec::new();
        for word in line.split_whitespace() {
            let help = self.help(&words)?;
            let has_commands = help.contains("\nCommands:\n");
            if !has_commands || word.starts_with(['-', '[']) {
                break;
            }
            if !word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                break;
            }
            words.push(word.to_owned());
            if self.help(&words).is_none() {
                return Some(format!("no command {words:?}"));
            }
        }
        let help = self.help(&words)?.to_owned();
        let flags = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let mut flags = flags.filter(|word| word.len() > 2 && word.starts_with("--"));
        flags
            .find(|flag| !help.contains(flag))
            .map(|flag| format!("{words:?} has no {flag}"))
    }
}

/// Returns the commands of the server in a document, without the program's name: spans of code, and lines of blocks.
fn commands(text: &str) -> Vec<&str> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let spans = line.split('`').skip(1).step_by(2);
        let lines: Vec<&str> = if is_block {
            vec![line]
        } else {
            spans.collect()
        };
        for line in lines {
            let line = line.trim().strip_prefix("until ").unwrap_or(line.trim());
            // A description stands after some blanks.
            let line = line.split("  ").next().unwrap();
            if let Some(rest) = line.strip_prefix("workgraph ") {
                found.push(rest.split(['|', '&', '>', ';', '#', ')']).next().unwrap());
            }
        }
    }
    found
}

/// Every command that a document shows exists, with the flags it shows; and the server's own document names all commands.
#[test]
fn commands_in_documents_exist() {
    let repository = Repository::read();
    let mut known = Commands::default();
    let mut count = 0;
    for (document, text) in repository.documents() {
        for command in commands(&text) {
            let fault = known.fault(command);
            assert_eq!(fault, None, "{document}: workgraph {command}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
    assert!(known.fault("admin nothing list").is_some());
    assert!(known.fault("check --nothing").is_some());

    let help = known.help(&[]).unwrap();
    let listed = help
        .split("\nCommands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    let own = fs::read_to_string(repository.root.join("bins/workgraph/README.md")).unwrap();
    for line in listed.lines() {
        let name = line.split_whitespace().next().unwrap();
        let is_named = own.lines().any(|line| {
            line.strip_prefix("workgraph ")
                .is_some_and(|rest| rest.starts_with(name))
        });
        assert!(
            is_named || name == "help",
            "bins/workgraph/README.md lacks {name}"
        );
    }
}
