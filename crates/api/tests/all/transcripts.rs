//! Golden transcripts: `fixtures/transcripts/*.http`, replayed on both stores.
//!
//! The format is explained in the first transcript. `BLESS=1` rewrites the replies.
use crate::golden;
use crate::world::{BASE, KINDS, Kind, World};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

/// All transcripts. A file that is not in this list fails, and so does a name without a file.
const FILES: &[&str] = &[
    "01-workspaces",
    "02-users",
    "03-teams",
    "04-memberships",
    "05-projects",
    "06-sections",
    "07-tasks",
    "08-task-dates-and-kinds",
    "09-task-links",
    "10-tags",
    "11-stories",
    "12-pages",
    "13-fields",
    "14-bodies",
    "15-errors",
    "16-custom-fields",
    "17-custom-field-values",
    "16-events",
    "17-webhooks",
    "18-search",
    "19-typeahead",
    "20-batch",
    "21-jobs",
    "22-templates",
    "23-audit-log",
    "24-exports",
    "25-automatic-ids",
    "26-custom-field-memberships",
    "27-resource-exports",
    "28-status-updates",
    "30-attachments",
    "31-time-tracking",
    "29-portfolios",
    "32-project-records",
    "33-portfolio-fields",
    "34-goals",
    "35-budgets",
    "36-timesheets",
    "37-custom-types",
    "38-access-requests",
    "39-roles-and-rules",
    "40-shipped-clients",
];

/// A part of a transcript.
enum Part {
    /// Text that stays as it is: comments and blank lines.
    Text(String),
    /// The clock moves by this number of seconds.
    Step(u64),
    /// Every job runs to its end.
    Jobs,
    Exchange(Exchange),
}

#[derive(Default)]
struct Exchange {
    token: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<String>,
    captures: Vec<(String, String)>,
}

fn parse(name: &str, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(seconds) = line.strip_prefix("@ +") {
            let seconds = seconds.strip_suffix('s').and_then(|s| s.parse().ok());
            parts.push(Part::Step(
                seconds.unwrap_or_else(|| panic!("{name}: {line}")),
            ));
            continue;
        }
        if line == "@ jobs" {
            parts.push(Part::Jobs);
            continue;
        }
        let Some(request) = line.strip_prefix("> ") else {
            assert!(line.is_empty() || line.starts_with('#'), "{name}: {line}");
            parts.push(Part::Text(line.to_owned()));
            continue;
        };
        let mut words = request.splitn(3, ' ').map(str::to_owned);
        let mut exchange = Exchange {
            token: words.next().unwrap_or_default(),
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            ..Exchange::default()
        };
        while let Some(line) = lines.next_if(|l| !l.is_empty()) {
            if line.starts_with("< ") {
                // The old reply, to the next blank line.
                while lines.next_if(|l| !l.is_empty()).is_some() {}
                break;
            } else if let Some(capture) = line.strip_prefix("= ") {
                let (name, pointer) = capture.split_once(' ').unwrap();
                exchange
                    .captures
                    .push((name.to_owned(), pointer.to_owned()));
            } else if let (true, Some((name, value))) = (exchange.body.is_empty(), header(line)) {
                exchange.headers.push((name.to_owned(), value.to_owned()));
            } else {
                exchange.body.push(line.to_owned());
            }
        }
        parts.push(Part::Exchange(exchange));
    }
    parts
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ")?;
    let plain = name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    (plain && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some((name, value))
}

/// A replay: the world, and the names that its captures defined.
struct Replay {
    world: World,
    names: BTreeMap<String, String>,
    back: BTreeMap<String, String>,
    unnamed: usize,
}

impl Replay {
    fn new(world: World) -> Self {
        let names: BTreeMap<String, String> = world
            .names
            .iter()
            .map(|(n, g)| (n.clone(), g.to_string()))
            .collect();
        let back = names.iter().map(|(n, g)| (g.clone(), n.clone())).collect();
        Self {
            world,
            names,
            back,
            unnamed: 0,
        }
    }

    /// Replaces names by values.
    fn fill(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").unwrap();
            let value = self.names.get(name);
            out.push_str(before);
            out.push_str(value.unwrap_or_else(|| panic!("nothing is called {name}")));
            rest = after;
        }
        out + rest
    }

    /// Replaces values by names.
    fn hide(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, name) in &self.back {
            if !value.bytes().all(|b| b.is_ascii_digit()) {
                text = text.replace(value.as_str(), &format!("{{{{{name}}}}}"));
            }
        }
        let bytes = text.as_bytes();
        let mut out = String::new();
        let mut at = 0;
        while at < bytes.len() {
            let run = bytes[at..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            if run == 0 {
                let len = text[at..].chars().next().unwrap().len_utf8();
                out.push_str(&text[at..at + len]);
                at += len;
                continue;
            }
            let digits = &text[at..at + run];
            let before = at.checked_sub(1).map_or(b'"', |i| bytes[i]);
            let after = bytes.get(at + run).copied().unwrap_or(b'"');
            let alone = b"\"/ =,>".contains(&before) && b"\"/?,&<];\\".contains(&after);
            match self.back.get(digits) {
                Some(name) if alone || run >= 14 => write!(out, "{{{{{name}}}}}").unwrap(),
                None if run >= 14 && alone => {
                    self.unnamed += 1;
                    let name = format!("?{}", self.unnamed);
                    write!(out, "{{{{{name}}}}}").unwrap();
                    self.back.insert(digits.to_owned(), name);
                }
                _ => out.push_str(digits),
            }
            at += run;
        }
        out
    }

    /// Replays one exchange and writes it with its reply.
    fn exchange(&mut self, e: &Exchange, out: &mut String, covered: &mut BTreeSet<&'static str>) {
        let mut request = self.world.request(
            &e.token,
            &e.method,
            &self.fill(&e.target),
            self.fill(&e.body.join("\n")),
        );
        for (name, value) in &e.headers {
            match name.as_str() {
                // Each line of the body is a part.
                "Content-Type" if value == "multipart/form-data" => {
                    let parts = e.body.iter().map(|line| self.fill(line));
                    let (kind, body) = multipart(parts);
                    request.content_type = Some(kind);
                    request.body = body.into();
                }
                "Content-Type" => request.content_type = Some(value.clone()),
                "Authorization" => request.authorization.push(self.fill(value)),
                other => panic!("no use for the header {other}"),
            }
        }
        let answer = self.world.send(request);
        if answer.status < 300 {
            covered.insert(answer.operation);
        }
        for (name, pointer) in &e.captures {
            let value = answer.json.pointer(pointer).and_then(Value::as_str);
            let value = value
                .unwrap_or_else(|| panic!("no {pointer} in {} {}", answer.status, answer.text));
            self.names.insert(name.clone(), value.to_owned());
            self.back.insert(value.to_owned(), name.clone());
        }
        writeln!(out, "> {} {} {}", e.token, e.method, e.target).unwrap();
        for (name, value) in &e.headers {
            writeln!(out, "{name}: {value}").unwrap();
        }
        for line in &e.body {
            writeln!(out, "{line}").unwrap();
        }
        for (name, pointer) in &e.captures {
            writeln!(out, "= {name} {pointer}").unwrap();
        }
        writeln!(out, "< {}", answer.status).unwrap();
        for (name, value) in &answer.headers {
            let line = self.hide(&format!("< {name}: {value}"));
            writeln!(out, "{line}").unwrap();
        }
        let shown = if answer.text.contains('\n') {
            answer.text.trim_end().to_owned()
        } else {
            let mut shown = String::new();
            show(&without_help(answer.json), 0, &mut shown);
            shown
        };
        let shown = without_ticket(&self.hide(&shown));
        writeln!(out, "{shown}").unwrap();
    }
}

/// Returns the type and the text of a body whose parts are lines: `name: value`, or `file: name of the file: content`.
fn multipart(lines: impl Iterator<Item = String>) -> (String, String) {
    let mut body = String::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        let (file, content) = match name {
            "file" => {
                let (file, content) = value.split_once(": ").unwrap();
                (format!("; filename=\"{file}\""), content)
            }
            _ => (String::new(), value),
        };
        write!(
            body,
            "--part\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{content}\r\n"
        )
        .unwrap();
    }
    body.push_str("--part--\r\n");
    ("multipart/form-data; boundary=part".to_owned(), body)
}

/// Removes the help of an error: it is the same for every error, and checked elsewhere.
fn without_help(mut json: Value) -> Value {
    if let Some(errors) = json.get_mut("errors").and_then(Value::as_array_mut) {
        for error in errors {
            error.as_object_mut().unwrap().remove("help");
        }
    }
    json
}

/// Removes the ticket of a file's address: each address has its own.
fn without_ticket(text: &str) -> String {
    let mut text = text.to_owned();
    for parameter in ["?ticket=", "?view="] {
        let mut parts = text.split(parameter);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str(parameter);
            out.push_str("...");
            out.push_str(part.find('"').map_or("", |end| &part[end..]));
        }
        text = out;
    }
    text
}

/// Writes JSON on few lines: a value that fits on one line stays on one.
fn show(value: &Value, indent: usize, out: &mut String) {
    let flat = value.to_string();
    let pad = "  ".repeat(indent + 1);
    let end = "  ".repeat(indent);
    match value {
        Value::Object(map) if flat.len() + indent * 2 > 110 => {
            out.push_str("{\n");
            for (i, (name, item)) in map.iter().enumerate() {
                write!(out, "{pad}\"{name}\": ").unwrap();
                show(item, indent + 1, out);
                out.push_str(if i + 1 < map.len() { ",\n" } else { "\n" });
            }
            write!(out, "{end}}}").unwrap();
        }
        Value::Array(items) if flat.len() + indent * 2 > 110 => {
            out.push_str("[\n");
            for (i, item) in items.iter().enumerate() {
                out.push_str(&pad);
                show(item, indent + 1, out);
                out.push_str(if i + 1 < items.len() { ",\n" } else { "\n" });
            }
            write!(out, "{end}]").unwrap();
        }
        _ => out.push_str(&flat),
    }
}

/// Replays a transcript and returns its new text.
fn replay(name: &str, text: &str, kind: Kind, covered: &mut BTreeSet<&'static str>) -> String {
    replay_in(World::new(kind), name, text, covered)
}

/// Replays a transcript in a world and returns its new text.
fn replay_in(world: World, name: &str, text: &str, covered: &mut BTreeSet<&'static str>) -> String {
    let mut replay = Replay::new(world);
    let mut out = String::new();
    for part in parse(name, text) {
        match part {
            Part::Text(line) => writeln!(out, "{line}").unwrap(),
            Part::Step(seconds) => {
                replay.world.advance(seconds);
                writeln!(out, "@ +{seconds}s").unwrap();
            }
            Part::Jobs => {
                replay.world.work();
                writeln!(out, "@ jobs").unwrap();
            }
            Part::Exchange(exchange) => {
                // Instants of nodes in one millisecond depend on what the node that answers has written before.
                replay.world.clock.0.advance(Duration::from_millis(100));
                replay.exchange(&exchange, &mut out, covered);
            }
        }
    }
    // Filters of webhooks can name every change.
    let commits = replay.world.events(0).into_iter();
    for record in commits.flat_map(|commit| commit.change_records) {
        assert!(record.ty.has_events(), "{name}: {:?}", record.ty);
    }
    out
}

/// Returns the transcripts in which each operation succeeds.
pub(crate) fn shown() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut all: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for name in FILES {
        let path = golden::root("fixtures/transcripts").join(format!("{name}.http"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut covered = BTreeSet::new();
        replay(name, &text, Kind::Memory, &mut covered);
        for id in covered {
            all.entry(id).or_default().insert(*name);
        }
    }
    all
}

#[test]
fn transcripts_are_what_the_api_says_on_both_stores() {
    let folder = golden::root("fixtures/transcripts");
    let found: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> = FILES.iter().map(|n| format!("{n}.http")).collect();
    assert_eq!(
        found, named,
        "files in fixtures/transcripts, and names in FILES"
    );

    let mut covered = BTreeSet::new();
    for name in FILES {
        let path = folder.join(format!("{name}.http"));
        let text = std::fs::read_to_string(&path).unwrap();
        let [memory, sqlite] = KINDS.map(|kind| replay(name, &text, kind, &mut covered));
        assert_eq!(memory, sqlite, "{name}: the stores differ");
        let waves = replay(name, &text, Kind::Waves, &mut covered);
        assert_eq!(memory, waves, "{name}: in waves");
        golden::check(&path, &memory);
    }
    every_row_is_covered(&covered);
}

/// S985. Each request is answered by the next of three nodes over one PostgreSQL database, and every byte is the same.
#[test]
fn transcripts_are_what_three_nodes_say() {
    if golden::blessing() {
        // Another test writes the files.
        return;
    }
    let folder = golden::root("fixtures/transcripts");
    for name in FILES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.http"))).unwrap();
        let Some(world) = World::of_nodes() else {
            return;
        };
        let said = replay_in(world, name, &text, &mut BTreeSet::new());
        assert!(said == text, "{name}: {}", difference(&text, &said));
    }
}

/// Returns the first lines that differ.
fn difference(expected: &str, said: &str) -> String {
    let pairs = expected.lines().zip(said.lines()).enumerate();
    let first = pairs.clone().find(|(_, (expected, said))| expected != said);
    first.map_or("one is longer".to_owned(), |(at, (expected, said))| {
        format!("line {}: expected {expected}, got {said}", at + 1)
    })
}

/// Every link in the replies of all operations begins with the address at which the client reached the API: the replies are those
/// at the address of the settings, but for the address.
#[test]
fn links_follow_the_address_at_which_a_client_reached_the_api() {
    const REACHED: &str = "http://tasks.lan:8443/api/1.0";
    if golden::blessing() {
        // Another test writes the files.
        return;
    }
    let [own, reached] = [BASE, REACHED].map(workgraph_core::model::permalink::pages_url);
    let folder = golden::root("fixtures/transcripts");
    let mut links = 0;
    for name in FILES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.http"))).unwrap();
        let mut world = World::new(Kind::Memory);
        world.reached_at = Some(REACHED);
        let expected = text.replace(own, reached);
        let said = replay_in(world, name, &expected, &mut BTreeSet::new());
        assert!(said == expected, "{name}: {}", difference(&expected, &said));
        links += said.matches(reached).count();
    }
    assert!(links > 100, "{links}");
    let mut world = World::new(Kind::Memory);
    let help = |world: &World| world.get("ada", "/tasks/1").json["errors"][0]["help"].to_string();
    assert!(help(&world).contains(own), "{}", help(&world));
    world.reached_at = Some(REACHED);
    assert!(help(&world).contains(reached), "{}", help(&world));
}

/// Checks that rows without a successful exchange are listed. The list may only shrink.
fn every_row_is_covered(covered: &BTreeSet<&'static str>) {
    let path = golden::root("fixtures/uncovered.txt");
    let listed = std::fs::read_to_string(&path).unwrap_or_default();
    let listed: BTreeSet<&str> = listed.lines().filter(|l| !l.starts_with('#')).collect();
    let rows: BTreeSet<&str> = workgraph_operations::all().map(|r| r.id).collect();
    let missing: BTreeSet<&str> = rows
        .iter()
        .copied()
        .filter(|id| !covered.contains(id))
        .collect();
    let new: Vec<_> = missing.difference(&listed).collect();
    assert!(new.is_empty(), "no transcript shows these to work: {new:?}");
    let mut text =
        String::from("# Operations that no transcript shows to work. This list may only shrink.\n");
    for id in &missing {
        writeln!(text, "{id}").unwrap();
    }
    golden::check(&path, &text);
}
