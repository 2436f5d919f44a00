//! Walks over a list, page by page.

use super::subject::{PageReply, PageRequest, PagedList};
use crate::SubjectError;

/// Rows of a walk, and the reason if it failed.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) ids: Vec<String>,
    pub(super) fault: Option<String>,
}

/// Walks the list from its first page. `limit` returns the limit of each page; `between` is called after each page except
/// the last, with its rows.
pub(super) fn walk(
    list: &mut dyn PagedList,
    most_pages: usize,
    mut limit: impl FnMut() -> u32,
    mut between: impl FnMut(&mut dyn PagedList, &[String]) -> Result<(), SubjectError>,
) -> Result<Walk, SubjectError> {
    let mut found = Walk::default();
    let mut cursor: Option<String> = None;
    let mut empty_pages = 0;
    for _ in 0..most_pages {
        let limit = limit();
        match list.page(&PageRequest::new(limit, cursor.as_deref()))? {
            PageReply::Refused { status } => {
                found.fault = Some(format!("a page is refused with {status}"));
                return Ok(found);
            }
            PageReply::Page { ids, next } => {
                if ids.len() > limit as usize {
                    found.fault = Some(format!("a page of limit {limit} has {} rows", ids.len()));
                    return Ok(found);
                }
                found.ids.extend(ids.iter().cloned());
                let Some(next) = next else { return Ok(found) };
                empty_pages = if ids.is_empty() { empty_pages + 1 } else { 0 };
                if empty_pages > 1 || cursor.as_ref() == Some(&next) {
                    found.fault = Some(
                        "the walk does not end: pages without rows, or the same cursor again"
                            .to_owned(),
                    );
                    return Ok(found);
                }
                cursor = Some(next);
                between(list, &ids)?;
            }
        }
    }
    found.fault = Some(format!("the walk has not ended after {most_pages} pages"));
    Ok(found)
}

/// Reads the whole list in pages of the maximum limit.
pub(super) fn whole(list: &mut dyn PagedList) -> Result<Walk, SubjectError> {
    let most = list.profile().max_limit.max(1);
    walk(list, 10_000, || most, |_, _| Ok(()))
}

/// Returns the first row that occurs twice.
pub(super) fn repeated(ids: &[String]) -> Option<&String> {
    let mut seen = std::collections::HashSet::new();
    ids.iter().find(|id| !seen.insert(*id))
}
