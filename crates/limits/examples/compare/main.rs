//! Runs the laws on this crate's limiter, on `governor` and on `ratelimit`; prints which laws each keeps, and for each
//! broken law the shortest counterexample found.
//!
//! `cargo run --release -p workgraph-limits --features laws --example compare`

mod others;

fn main() {
    let findings = others::findings();
    println!("{}", others::table(&findings));
    for finding in &findings {
        for (subject, answer) in others::SUBJECTS.iter().zip(&finding.answers) {
            if let others::Answer::Broken(violation) = answer {
                println!("{}: {violation}\n", subject.name);
            }
        }
    }
}
