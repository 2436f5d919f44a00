//! Nodes of one database, and commands that use it.
use crate::common::{Folder, Server, run};
use std::path::Path;
use workgraph_testkit::TestDatabase;

/// Returns the address of a database, with a password that must be shown nowhere.
pub(crate) fn address(database: &TestDatabase) -> String {
    let url = database.url();
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}password=geheim")
}

/// Starts a node.
pub(crate) fn node(folder: &Folder, shared: &Folder, url: &str, demo: bool) -> Server {
    let files = shared.0.to_str().unwrap();
    let more = ["--allow-unsafe-store", "--shared-files", files];
    Server::start(folder, demo, &more, &[("WORKGRAPH_STORE_URL", url)])
}

/// Starts a node that is expected to refuse. Returns what it says.
pub(crate) fn refused(folder: &Folder, more: &[&str]) -> String {
    let data = folder.data();
    let args = [&["serve", "--listen", "127.0.0.1:0", "--data", &data], more].concat();
    let (served, says) = run(&args);
    assert!(!served, "{says}");
    assert!(!says.contains("geheim"), "{says}");
    says
}

pub(crate) fn copy_keys(from: &Folder, to: &Folder) {
    std::fs::create_dir_all(to.data()).unwrap();
    let keys = |folder: &Folder| Path::new(&folder.data()).join("keys.json");
    std::fs::copy(keys(from), keys(to)).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(to.data(), std::fs::Permissions::from_mode(0o700)).unwrap();
}
