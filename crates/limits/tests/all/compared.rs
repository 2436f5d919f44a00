//! The README's table agrees with the results of the laws for this limiter and others.

#[path = "../../examples/compare/others.rs"]
mod others;

#[test]
fn the_readme_has_the_table_that_the_example_prints() {
    let readme = include_str!("../../README.md");
    let findings = others::findings();
    for finding in &findings {
        if let Some(others::Answer::Broken(violation)) = finding.answers.first() {
            panic!("{violation}");
        }
    }
    let table = others::table(&findings);
    assert!(readme.contains(&table), "the README should have\n{table}");
}
