//! Draws the admissions of clients that hammer and of one that obeys, on a virtual clock.
//!
//! `cargo run -p workgraph-limits --example plot > docs/limits/hammering.svg`

mod picture;

fn main() {
    print!("{}", picture::svg());
}
