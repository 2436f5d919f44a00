//! Requests in flight as Redis counts them, looked at from outside.
use crate::common::pause;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Place of the numbers of reads and writes in an account, as `functions.lua` packs it.
const COUNTS: [u32; 2] = [49, 56];

/// Looks until it is told to stop. Returns the reads and writes in flight of each account at each look.
pub(crate) fn watch(socket: &Path, is_over: impl Fn() -> bool) -> Vec<[u32; 2]> {
    let mut seen = Vec::new();
    while !is_over() {
        // Redis may be away.
        let _away = look(socket, &mut seen);
        pause(50);
    }
    seen
}

fn look(socket: &Path, seen: &mut Vec<[u32; 2]>) -> std::io::Result<()> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut ask = stream.try_clone()?;
    let mut answer = BufReader::new(stream);
    ask.write_all(b"KEYS workgraph:limit:*\r\n")?;
    let count = number(&mut answer, '*')?;
    let mut keys = Vec::new();
    for _ in 0..count {
        keys.push(bulk(&mut answer)?);
    }
    for key in keys {
        let key = String::from_utf8_lossy(&key).into_owned();
        ask.write_all(format!("GETRANGE {key} {} {}\r\n", COUNTS[0], COUNTS[1]).as_bytes())?;
        let counts = bulk(&mut answer)?;
        if let Ok(counts) = <[u8; 8]>::try_from(counts) {
            let number = |at: usize| u32::from_be_bytes(counts[at..at + 4].try_into().unwrap());
            seen.push([number(0), number(4)]);
        }
    }
    Ok(())
}

fn number(answer: &mut impl BufRead, kind: char) -> std::io::Result<usize> {
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let number = line.trim().strip_prefix(kind).and_then(|n| n.parse().ok());
    number.ok_or_else(|| std::io::Error::other(line))
}

fn bulk(answer: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; number(answer, '$')? + 2];
    answer.read_exact(&mut bytes)?;
    bytes.truncate(bytes.len() - 2);
    Ok(bytes)
}
