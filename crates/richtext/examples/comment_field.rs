//! A field of comments: what a client sends is checked and stored, and each reader gets the names that they may see.
//!
//! `cargo run -p workgraph-richtext --example comment_field`
use std::collections::BTreeMap;
use workgraph_richtext::{
    LinkTarget, RichError, RichTextProfile, normalize, reader_view, without_names,
};

/// Objects by gid, with their names and the users who may see them.
type Objects = BTreeMap<u64, (&'static str, Vec<&'static str>)>;

/// Returns the object behind a link, if the user may see it.
fn link(objects: &Objects, user: &str, gid: u64) -> Option<LinkTarget> {
    let (name, readers) = objects.get(&gid)?;
    readers.contains(&user).then(|| LinkTarget {
        gid,
        kind: "task".to_owned(),
        name: (*name).to_owned(),
        href: format!("https://work.example/tasks/{gid}"),
    })
}

/// Checks what a user sent, and returns it as it is stored: with gids, without names.
fn store(objects: &Objects, user: &str, sent: &str) -> Result<String, RichError> {
    let links = |gid| link(objects, user, gid);
    let rich = normalize(sent, RichTextProfile::Comment, &links)?;
    Ok(without_names(&rich.html)?.map_or(rich.html, |unnamed| unnamed.html))
}

/// Returns a stored text as a user sees it.
fn show(objects: &Objects, user: &str, stored: &str) -> Result<String, RichError> {
    let links = |gid| link(objects, user, gid);
    Ok(reader_view(stored, &links)?.map_or_else(|| stored.to_owned(), |rich| rich.html))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let objects = Objects::from([(12, ("Plan the launch", vec!["ann"]))]);
    let sent = r#"<body>See <a data-asana-gid="12"/>, <strong>today</strong>.</body>"#;
    let stored = store(&objects, "ann", sent)?;
    assert!(!stored.contains("Plan the launch"));
    for user in ["ann", "ben"] {
        let shown = show(&objects, user, &stored)?;
        assert_eq!(shown.contains("Plan the launch"), user == "ann");
        println!("{user}: {shown}");
    }
    for wrong in [
        "no body",
        "<body><b>x</body>",
        "<body><img src='x'/></body>",
    ] {
        let error = store(&objects, "ann", wrong)
            .err()
            .ok_or("it should have been refused")?;
        println!("{wrong}: {error}");
    }
    Ok(())
}
