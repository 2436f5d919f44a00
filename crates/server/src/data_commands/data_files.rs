//! Files that belong to the data of a store.
use std::path::Path;

/// Folder of the files of attachments.
pub(super) const ATTACHMENTS: &str = "attachments";
/// Folders whose files belong to the data.
pub(super) const FOLDERS: [&str; 2] = [ATTACHMENTS, "exports"];
/// End of the name of a file that is being copied.
pub(super) const COPYING: &str = "moving";
/// Ends of the names of files that are still written to: an export that is under way goes on after a move.
pub(super) const UNFINISHED: [&str; 2] = ["part", "fence"];

/// Returns true if a file of this name is still written to, or was left half copied.
pub(super) fn is_unfinished(name: &Path) -> bool {
    let ends = || UNFINISHED.iter().chain([&COPYING]);
    name.extension()
        .is_some_and(|end| ends().any(|known| end == *known))
}
