//! The commands of README and guides: each block is pasted into a shell as it stands.
use crate::common::{BINARY, Folder};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Blocks of commands in a page; those that need another program are marked in their first line and left out.
fn blocks(text: &str) -> (Vec<String>, usize) {
    let (mut blocks, mut marked, mut open) = (Vec::new(), 0, None::<String>);
    for line in text.lines() {
        match (&mut open, line) {
            (None, "```sh") => open = Some(String::new()),
            (None, _) if line.starts_with("```sh ") => {
                let mark = line.trim_start_matches("```sh ");
                assert!(mark.starts_with("needs-"), "an unknown mark: {line}");
                marked += 1;
            }
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), _) => {
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    (blocks, marked)
}

/// Pastes the blocks of a page into one shell, in an empty folder, with other ports than those of the page.
fn paste(name: &str, text: &str) {
    let (blocks, marked) = blocks(text);
    if blocks.is_empty() {
        assert!(marked > 0, "{name} has no block of commands");
        return;
    }
    let folder = Folder::new(&format!("guide-{}", name.replace(['/', '.'], "-")));
    let bin = folder.0.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("workgraph")).unwrap();
    let port = |_: u8| {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        taken.local_addr().unwrap().port().to_string()
    };
    let (own, receiver) = (port(0), port(1));
    let pasted = blocks
        .join("\n")
        .replace("8080", &own)
        .replace("8099", &receiver);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script =
        format!("set -m; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; set -e\n{pasted}");
    let mut shell = Command::new("timeout");
    let shell = shell
        .args(["--kill-after=5", "120", "bash", "--norc", "-c", &script])
        .current_dir(&folder.0)
        .env_clear()
        .env("PATH", path)
        .env("HOME", &folder.0)
        .env("WORKGRAPH_LISTEN", format!("127.0.0.1:{own}"))
        .env("GUIDES", root().join("docs/guides"));
    let done = shell.output().unwrap();
    let read = |file: &str| std::fs::read_to_string(folder.0.join(file)).unwrap_or_default();
    assert!(
        done.status.success(),
        "{name}: {}\n{}\n{}\n{}{}",
        done.status,
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
        read("demo.log"),
        read("server.log"),
    );
}

#[test]
fn every_block_of_commands_in_readme_and_guides_can_be_pasted() {
    let guides = root().join("docs/guides");
    let mut pages = vec![root().join("README.md"), root().join("deploy/README.md")];
    let found = std::fs::read_dir(&guides).unwrap().flatten();
    pages.extend(found.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md")
    }));
    assert!(pages.len() >= 9, "{pages:?}");
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        paste(&name, &text);
    }
}
