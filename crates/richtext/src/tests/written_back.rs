//! Texts that a client writes back as it read them.
use super::{objects, task};
use crate::{RichTextProfile, links, normalize, normalize_edit, reader_view, without_names};

#[test]
fn private_links_that_are_written_back_are_the_links_that_their_reader_could_not_see() {
    let stored =
        task("<body><a data-asana-gid=\"1\"/> and <a data-asana-gid=\"2\"/></body>").unwrap();
    let stored = without_names(&stored.html).unwrap().unwrap();
    let seen = reader_view(&stored.html, &|_| None).unwrap().unwrap();
    assert!(!seen.html.contains("data-asana-gid"), "{}", seen.html);
    let back = |text: &str| {
        let profile = RichTextProfile::Task;
        let written = normalize_edit(text, profile, &|_| None, &stored.html).unwrap();
        without_names(&written.html).unwrap().unwrap_or(written)
    };
    assert_eq!(back(&seen.html), stored);
    let more = back(&seen.html.replace(" and ", " or "));
    assert_eq!(more.html, stored.html.replace(" and ", " or "));
    let (_, last) = seen.html.split_once(" and ").unwrap();
    assert_eq!(
        links(&back(&format!("<body>{last}")).html),
        [2],
        "by its address"
    );
    let new = normalize(&seen.html, RichTextProfile::Task, &|_| None).unwrap();
    assert!(links(&new.html).is_empty(), "nothing was there before");

    // A link shows its own object, and hides the project beside it.
    let along = "<body><a data-asana-gid=\"2\" data-asana-project=\"3\"/></body>";
    let stored = without_names(&task(along).unwrap().html).unwrap().unwrap();
    let seen = |gid| objects(gid).filter(|_| gid == 2);
    let shown = reader_view(&stored.html, &seen).unwrap().unwrap();
    assert!(!shown.html.contains("data-asana-project"), "{}", shown.html);
    let profile = RichTextProfile::Task;
    let back = normalize_edit(&shown.html, profile, &seen, &stored.html).unwrap();
    assert_eq!(links(&back.html), [2, 3]);
}
