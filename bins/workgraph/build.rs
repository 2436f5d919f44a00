//! Passes the order of functions to the linker of a shipped binary, and makes it link for a fixed address.
//!
//! This applies only to the profile `dist`, and only to the linker that comes with Rust for this target: other linkers do
//! not support such an order. Without it, the program does the same, but more of its pages are read.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const ORDER: &str = "link-order.txt";
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo:rerun-if-changed={ORDER}");
    let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if let Some(order) = folder.map(|folder| folder.join(ORDER))
        && is_dist()
        && env::var("TARGET").is_ok_and(|target| target == TARGET)
        && links_with_lld().unwrap_or(false)
    {
        let order = order.display();
        println!("cargo:rustc-link-arg-bins=-Wl,--symbol-ordering-file={order}");
        println!("cargo:rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
        // A position-independent program writes a megabyte of addresses at each start, which is then private memory. A
        // static build chooses its own relocation model.
        let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
        if !features.split(',').any(|feature| feature == "crt-static") {
            println!("cargo:rustc-link-arg-bins=-no-pie");
        }
    }
}

/// Returns true if the profile is `dist`: the folder of the build is `dist/build/<package>/out`.
fn is_dist() -> bool {
    let folder = env::var_os("OUT_DIR").map(PathBuf::from);
    let profile = folder.as_deref().and_then(|out| out.ancestors().nth(3));
    profile.and_then(Path::file_name) == Some("dist".as_ref())
}

/// Returns true if the compiler comes with its own linker.
fn links_with_lld() -> Option<bool> {
    let found = Command::new(env::var_os("RUSTC")?)
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let root = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    let linker = format!("lib/rustlib/{TARGET}/bin/gcc-ld/ld.lld");
    Some(root.join(linker).exists())
}
