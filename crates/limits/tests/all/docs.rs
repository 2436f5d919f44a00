//! The plot in docs/LIMITS.md is that of the limiter.

#[path = "../../examples/plot/picture.rs"]
mod picture;

fn document() -> &'static str {
    include_str!("../../../../docs/LIMITS.md")
}

#[test]
fn the_plot_is_current() {
    assert!(
        picture::svg() == include_str!("../../../../docs/limits/hammering.svg"),
        "cargo run -p workgraph-limits --example plot > docs/limits/hammering.svg"
    );
    assert!(document().contains("](limits/hammering.svg)"));
}
