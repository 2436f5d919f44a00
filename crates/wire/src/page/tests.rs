//! Walks over pages, and the bodies of pages.

use super::*;
use crate::keyring::KeyRing;

/// Rows in the order of the list: a name, which may be missing, and an id.
const ROWS: [(Option<&str>, u64); 7] = [
    (None, 4),
    (None, 9),
    (Some("Ann"), 2),
    (Some("Ann"), 3),
    (Some("Bo"), 1),
    (Some("Zoë & co"), 7),
    (Some("Zoë & co"), 8),
];

type Key = (Option<String>, u64);

fn pages() -> PageTokens {
    PageTokens::new(KeyRing::new(1, [1; 32]))
}

/// Returns the page for a path with a query.
fn people(path: &str) -> Page<(Option<&'static str>, u64)> {
    let (path, query) = path.split_once('?').unwrap();
    let params = PageParams::<3, 4>::parse(path, query).unwrap();
    let binding = (path, "user 7", params.query().get("team").unwrap());
    let after: Option<Key> = params.after(&pages(), &binding).unwrap();
    let is_behind = |row: &(Option<&str>, u64)| {
        let after = after.as_ref().map(|(name, id)| (name.as_deref(), *id));
        after.is_none_or(|after| *row > after)
    };
    let rows = ROWS.into_iter().filter(is_behind);
    let rows = rows.take(params.rows_to_read()).collect();
    let key = |row: &(Option<&str>, u64)| (row.0.map(str::to_owned), row.1);
    params.page(rows, &pages(), &binding, key).unwrap()
}

/// Returns the rows of each page, starting at a path.
fn walk(path: &str) -> Vec<Vec<u64>> {
    let (mut pages, mut path) = (Vec::new(), path.to_owned());
    loop {
        let page = people(&path);
        pages.push(page.data.iter().map(|row| row.1).collect());
        match page.next {
            Some(next) => path = next.path,
            None => return pages,
        }
    }
}

#[test]
fn a_walk_sends_every_row_once_whatever_the_size_of_its_pages() {
    assert_eq!(
        walk("/people?team=a%26b"),
        [&[4, 9, 2][..], &[3, 1, 7], &[8]]
    );
    for limit in 1..=4 {
        let rows = walk(&format!("/people?limit={limit}&team=1")).concat();
        assert_eq!(rows, ROWS.map(|row| row.1), "{limit}");
    }
}

#[test]
fn the_link_repeats_the_filters_of_the_request() {
    let next = people("/people?team=a%26b&limit=2").next.unwrap();
    let link = format!("/people?team=a%26b&limit=2&offset={}", next.offset);
    assert_eq!(next.path, link);
}

#[test]
fn a_body_has_the_uri_only_if_it_has_a_base() {
    let mut page = Page::last(vec![1, 2]);
    assert_eq!(page.body().unwrap(), br#"{"data":[1,2],"next_page":null}"#);
    page.next = Some(NextLink {
        offset: "o".to_owned(),
        path: "/n?offset=o".to_owned(),
    });
    let short = br#"{"data":[1,2],"next_page":{"offset":"o","path":"/n?offset=o"}}"#;
    assert_eq!(page.body().unwrap(), short);
    let page = page.with_base("https://a.example");
    let long = br#"{"data":[1,2],"next_page":{"offset":"o","path":"/n?offset=o","uri":"https://a.example/n?offset=o"}}"#;
    assert_eq!(page.body().unwrap(), long);
    assert_eq!(Envelope("x").body().unwrap(), br#"{"data":"x"}"#);
}

#[test]
fn a_page_size_outside_its_bounds_is_refused_with_them() {
    for query in ["limit=0", "limit=5", "limit=04", "limit=x", "limit=-1"] {
        let error = PageParams::<3, 4>::parse("/people", query).unwrap_err();
        assert_eq!(error.to_string(), "limit: must be 1 to 4", "{query}");
    }
    let twice = PageParams::<3, 4>::parse("/people", "offset=a&offset=b").unwrap_err();
    assert_eq!(twice.to_string(), "offset: given twice");
    let absent = PageParams::<3, 4>::parse("/people", "limit=&offset=").unwrap();
    assert_eq!((absent.limit, absent.offset), (3, None));
    let wide = PageParams::<50, 1000>::parse("/people", "limit=1000").unwrap();
    assert_eq!(wide.rows_to_read(), 1_001);
}
