//! The figures in docs/LIMITS.md agree with the limiters.

use workgraph_limits::{CostInputs, LimiterSettings};

#[path = "../examples/plot/picture.rs"]
mod picture;

fn document() -> &'static str {
    include_str!("../../../docs/LIMITS.md")
}

#[test]
fn the_plot_is_current() {
    assert!(
        picture::svg() == include_str!("../../../docs/limits/hammering.svg"),
        "cargo run -p workgraph-limits --example plot > docs/limits/hammering.svg"
    );
    assert!(document().contains("](limits/hammering.svg)"));
}

#[test]
fn the_costs_worked_out_are_those_of_the_formula() {
    let mut rows = 0;
    for line in document().lines() {
        let figures: Vec<u32> = line
            .split('|')
            .filter_map(|cell| cell.trim().replace(',', "").parse().ok())
            .collect();
        let [objects, edges, extra_fields, cost] = figures[..] else {
            continue;
        };
        let work = CostInputs {
            objects,
            edges,
            extra_fields,
            steps: 0,
        };
        assert_eq!(work.cost(), cost, "{line}");
        rows += 1;
    }
    assert!(rows >= 5, "{rows} examples");
}

#[test]
fn the_figures_of_the_examples_are_the_defaults() {
    let settings = LimiterSettings::default();
    for figure in [
        format!("{} requests a minute", settings.standard.free),
        "At 1,500 requests a minute, 600,000 credits are".to_owned(),
        format!("\"search\";q={};", settings.search_per_minute),
        format!("\"concurrent_reads\";q={};", settings.concurrent_reads),
        format!("\"concurrent_writes\";q={};", settings.concurrent_writes),
    ] {
        assert!(document().contains(&figure), "{figure}");
    }
    assert_eq!(settings.standard.paid, 1_500);
    assert_eq!(settings.cost_per_minute, Some(600_000));
}
