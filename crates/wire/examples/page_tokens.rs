//! A list with sealed page tokens, without a framework: `cargo run -p workgraph-wire --example page_tokens`

use workgraph_wire::{ErrorReply, KeyRing, Page, PageParams, PageTokens};

const PEOPLE: [(&str, u64); 5] = [("Ann", 1), ("Ann", 4), ("Bo", 2), ("Cy", 5), ("Zoe", 3)];

/// Answers `GET /people?limit=...&offset=...` with two people, or with the requested number.
fn people(
    pages: &PageTokens,
    user: u64,
    query: &str,
) -> Result<Page<(&'static str, u64)>, ErrorReply> {
    let params = PageParams::<2>::parse("/people", query)?;
    let binding = ("GET /people", user, "by name");
    let after = params.after::<(String, u64)>(pages, &binding)?;
    let rows = PEOPLE.into_iter().filter(|(name, id)| {
        let row = (name.to_string(), *id);
        after.as_ref().is_none_or(|after| row > *after)
    });
    let rows = rows.take(params.rows_to_read()).collect();
    Ok(params.page(rows, pages, &binding, |row| *row)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = PageTokens::new(KeyRing::new(1, [42; 32])); // 32 secret random bytes
    let mut page = people(&pages, 7, "")?;
    let mut query = String::new();
    while let Some(next) = &page.next {
        println!("{}", String::from_utf8_lossy(&page.body()?));
        query = format!("offset={}", next.offset);
        page = people(&pages, 7, &query)?;
    }
    assert_eq!(page.data, [("Zoe", 3)], "5 people are 3 pages");
    let refused = people(&pages, 8, &query).map_err(|reply| reply.to_string());
    let message = "offset: the page token belongs to another list";
    assert_eq!(refused, Err(message.to_owned()));
    Ok(())
}
