//! The commands of README and guides: each block is pasted into a shell as it stands, and shows what its page says.
use crate::common::{BINARY, Folder};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use workgraph_limits_redis::test_server::TestServer;
use workgraph_testkit::{PostgresCluster, TestDatabase};

/// Marks of the blocks that a test does not paste, how many there are, and why.
const LEFT_OUT: &[(&str, usize, &str)] = &[
    (
        "needs-build",
        2,
        "compiles for minutes what this test was built with",
    ),
    ("needs-docker", 3, "wants a daemon that runs containers"),
    ("needs-systemd", 2, "changes users and units of the machine"),
];

/// Marks of the blocks that are pasted where the test has what they need.
const PLAYED: &[(&str, &str)] = &[
    ("needs-browser", "`person.sh` signs in and allows the app"),
    ("needs-postgresql", "a database and a Redis of the test"),
];

/// Languages of the blocks that nobody pastes into a shell.
const NO_COMMANDS: &[&str] = &["python", "conf"];

/// Commands of a page, with what they show.
#[derive(Debug, Default, PartialEq)]
struct Block {
    commands: String,
    mark: String,
    /// Lines of the output, in order; `…` stands for what differs from one run to the next.
    shows: String,
}

fn is_known(mark: &str) -> bool {
    let left_out = LEFT_OUT.iter().map(|(known, ..)| known);
    let played = PLAYED.iter().map(|(known, _)| known);
    mark.is_empty() || left_out.chain(played).any(|known| *known == mark)
}

/// Returns the blocks of a page, or the number and text of a line that opens one of an unknown kind.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else {
            continue;
        };
        let inside: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        let (language, mark) = kind.split_once(' ').unwrap_or((kind, ""));
        match (language, blocks.last_mut()) {
            ("sh", _) if is_known(mark) => blocks.push(Block {
                commands: inside,
                mark: mark.to_owned(),
                shows: String::new(),
            }),
            ("text", Some(block)) if mark.is_empty() && block.shows.is_empty() => {
                block.shows = inside
            }
            (other, _) if mark.is_empty() && NO_COMMANDS.contains(&other) => {}
            _ => return Err(format!("line {}: {line}", number + 1)),
        }
    }
    Ok(blocks)
}

/// Returns true if a line is what a page shows, where `…` is anything.
fn is_like(line: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    true
}

/// Returns the first line of what a page shows that is not in the output, in order.
fn missing<'a>(output: &str, shows: &'a str) -> Option<&'a str> {
    let mut lines = output.lines();
    shows
        .lines()
        .find(|shown| !lines.any(|line| is_like(line, shown)))
}

/// Services that some pages need.
struct Services {
    database: Option<TestDatabase>,
    redis: Option<TestServer>,
}

/// Line between the outputs of two blocks.
const RULE: &str = "----- next block -----";

/// A page with a shell of its own, in an empty folder.
struct Pasted<'p> {
    page: &'p str,
    folder: Folder,
}

impl Pasted<'_> {
    /// Returns the commands, with folders and services of this test in place of those of the page.
    fn script(&self, blocks: &[&Block], services: &Services) -> String {
        let mut script =
            "set -m; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; set -e\n".to_owned();
        script += include_str!("guides/person.sh");
        let needs_database = |block: &&Block| block.mark == "needs-postgresql";
        if blocks.iter().any(needs_database) {
            // The server that is moved.
            script += "mkdir -p srv && install -d -m 0700 shared\n\
                workgraph serve --data srv/workgraph > start.txt 2> server.log &\n\
                until workgraph healthcheck 2> /dev/null; do sleep 0.1; done; kill %1; wait %1\n";
        }
        for block in blocks {
            script += &block.commands;
            script += &format!("echo; echo '{RULE}'\n");
        }
        let redis = services
            .redis
            .as_ref()
            .map(TestServer::url)
            .unwrap_or_default();
        let database = services
            .database
            .as_ref()
            .map(TestDatabase::url)
            .unwrap_or_default();
        let folder = self.folder.0.display();
        script
            .replace(
                "postgres://workgraph:PASSWORD@db.example/workgraph",
                &format!("'{database}'"),
            )
            .replace("redis://:PASSWORD@redis.example", &format!("'{redis}'"))
            .replace("/srv/", &format!("{folder}/srv/"))
            .replace("/mnt/shared", &format!("{folder}/shared"))
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.0.join(file)).unwrap_or_default()
    }

    /// Pastes the blocks. Returns the output of each.
    fn run(&self, script: &str, address: &str) -> Vec<String> {
        let bin = self.folder.0.join("bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(BINARY, bin.join("workgraph")).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("timeout");
        shell
            .args(["--kill-after=5", "120", "bash", "--norc", "-c", script])
            .current_dir(&self.folder.0)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.folder.0)
            .env("WORKGRAPH_LISTEN", address)
            .env("WORKGRAPH_STORE_ALLOW_UNSAFE", "true")
            .env("GUIDES", root().join("docs/guides"))
            .stdout(File::create(self.folder.0.join("printed.txt")).unwrap())
            .stderr(File::create(self.folder.0.join("errors.txt")).unwrap());
        let status = shell.status().unwrap();
        let printed = self.read("printed.txt");
        let of = |file: &str| format!("----- {file}\n{}", self.read(file));
        assert!(
            status.success(),
            "{}: {status}\n{printed}\n{}{}{}",
            self.page,
            of("errors.txt"),
            of("demo.log"),
            of("server.log"),
        );
        let end = format!("\n{RULE}\n");
        let mut outputs: Vec<String> = printed.split(&end).map(ToOwned::to_owned).collect();
        assert_eq!(outputs.pop().as_deref(), Some(""), "{}", self.page);
        outputs
    }
}

fn free_port() -> String {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    taken.local_addr().unwrap().port().to_string()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages whose commands can be pasted, with their names.
fn pages() -> Vec<(String, String)> {
    let guides = fs::read_dir(root().join("docs/guides")).unwrap().flatten();
    let mut pages = vec![root().join("README.md"), root().join("deploy/README.md")];
    pages.extend(guides.map(|entry| entry.path()));
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    let named = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    pages.iter().map(named).collect()
}

/// Pastes a page and compares what it shows.
fn paste(page: &str, text: &str, services: &Services) {
    let blocks = blocks(text).unwrap_or_else(|line| panic!("{page}, {line}"));
    let has_services = services.database.is_some() && services.redis.is_some();
    let is_pasted = |block: &&Block| {
        let is_left_out = LEFT_OUT.iter().any(|(mark, ..)| *mark == block.mark);
        !is_left_out && (block.mark != "needs-postgresql" || has_services)
    };
    let pasted: Vec<&Block> = blocks.iter().filter(is_pasted).collect();
    if pasted.is_empty() {
        return;
    }
    let folder = Folder::new(&format!("guide-{}", page.replace(['/', '.'], "-")));
    let shell = Pasted { page, folder };
    let ports = [free_port(), free_port()];
    let with_ports = |text: &str| text.replace("8080", &ports[0]).replace("8099", &ports[1]);
    let script = with_ports(&shell.script(&pasted, services));
    let outputs = shell.run(&script, &format!("127.0.0.1:{}", ports[0]));
    for (block, output) in pasted.iter().zip(&outputs) {
        let shows = with_ports(&block.shows);
        if let Some(line) = missing(output, &shows) {
            panic!(
                "{page} says {line:?} after\n{}which showed\n{output}",
                block.commands
            );
        }
    }
}

/// Every block of commands in README and guides runs as it stands, and shows what its page says.
#[test]
fn every_block_of_commands_in_readme_and_guides_can_be_pasted() {
    let services = Services {
        database: PostgresCluster::shared().map(PostgresCluster::database),
        redis: TestServer::start(&[]),
    };
    let pages = pages();
    assert!(pages.len() >= 9, "{pages:?}");
    std::thread::scope(|scope| {
        for half in pages.chunks(pages.len().div_ceil(2)) {
            let services = &services;
            scope.spawn(move || {
                for (page, text) in half {
                    paste(page, text, services);
                }
            });
        }
    });
}

/// Blocks that are not pasted are marked with one of a few reasons, and counted.
#[test]
fn blocks_that_are_not_pasted_are_counted_by_reason() {
    let pages = pages();
    let all: Vec<Block> = pages
        .iter()
        .flat_map(|(_, text)| blocks(text).unwrap())
        .collect();
    for (mark, times, reason) in LEFT_OUT {
        let found = all.iter().filter(|block| block.mark == *mark).count();
        assert_eq!(found, *times, "{mark}: {reason}");
    }
    let guides = &pages
        .iter()
        .find(|(name, _)| name == "docs/guides/README.md")
        .unwrap()
        .1;
    for (mark, ..) in LEFT_OUT {
        let what = mark.trim_start_matches("needs-");
        assert!(
            guides.contains(&format!("`{mark}`")),
            "docs/guides/README.md says nothing of {what}"
        );
    }
}

#[test]
fn a_block_of_an_unknown_kind_and_output_that_differs_are_found() {
    assert!(
        blocks("```sh\nls\n```\n").unwrap()[0]
            .commands
            .contains("ls")
    );
    assert_eq!(
        blocks("a\n```sh needs-luck\n```\n"),
        Err("line 2: ```sh needs-luck".to_owned())
    );
    assert_eq!(blocks("```\nls\n```\n"), Err("line 1: ```".to_owned()));
    let output = "ready: 127.0.0.1:1\n{\"gid\":\"12\",\"name\":\"Ann\"}\n";
    assert_eq!(
        missing(output, "ready: …\n{\"gid\":\"…\",\"name\":\"Ann\"}\n"),
        None
    );
    assert_eq!(missing(output, "{…Ann…}\nready: …\n"), Some("ready: …"));
    assert_eq!(missing(output, "ready\n"), Some("ready"));
    assert_eq!(missing(output, "…\"Ben\"…\n"), Some("…\"Ben\"…"));
}
