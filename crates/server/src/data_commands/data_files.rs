//! Files that belong to the data of a store.
use std::path::Path;

/// Folder of the attachment files.
pub(super) const ATTACHMENTS: &str = "attachments";
/// Folders whose files belong to the data.
pub(super) const FOLDERS: [&str; 2] = [ATTACHMENTS, "exports"];
/// Suffix of the name of a file that is being copied.
pub(super) const COPYING: &str = "moving";
/// Suffixes of the names of files that are still written to: an export in progress continues after a move.
pub(super) const UNFINISHED: [&str; 2] = ["part", "fence"];

/// Returns true if a file with this name is still written to, or was left partly copied.
pub(super) fn is_unfinished(name: &Path) -> bool {
    let ends = || UNFINISHED.iter().chain([&COPYING]);
    name.extension()
        .is_some_and(|end| ends().any(|known| end == *known))
}
