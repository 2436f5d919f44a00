//! A limiter behind JSON lines, as `workgraph laws limiter -- PROGRAM` runs it. An argument names a law to break.

use std::io::{BufReader, stdin, stdout};

use workgraph_laws::limiter::{ReferenceLimiter, answer_json_lines};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let law = std::env::args().nth(1).unwrap_or_default();
    let mut limiter = ReferenceLimiter::breaking(&law);
    Ok(answer_json_lines(
        &mut limiter,
        BufReader::new(stdin()),
        stdout().lock(),
    )?)
}
