//! Printing of the output of commands.
/// Prints a line. The reader may have closed the pipe, which is no error.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{}", text.trim_end_matches('\n'));
}

/// Writes bytes to standard output. The reader may have closed the pipe, which is no error.
pub(crate) fn say_bytes(bytes: &[u8]) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(bytes);
}
