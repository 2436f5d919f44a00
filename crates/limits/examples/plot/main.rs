//! Draws what clients get that hammer and that obey, on a virtual clock.
//!
//! `cargo run -p workgraph-limits --example plot > docs/limits/hammering.svg`

mod picture;

fn main() {
    print!("{}", picture::svg());
}
