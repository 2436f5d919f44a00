//! Compiler flags of SQLite for this store, and the flags that a build lacks.
//!
//! The bundled SQLite is compiled by `libsqlite3-sys`, which takes further flags only from the environment. Without them the
//! store is as safe and gives the same answers, but reads and writes take longer, and only the first 2 GiB of a larger file are
//! mapped into memory.
use rusqlite::Connection;

/// Flags that the authors of SQLite recommend, without modules that this store does not use, without counters for each
/// allocation, and without checks of arguments that Rust's types already guarantee. Files of up to 1 TiB are mapped.
const FLAGS: [&str; 11] = [
    "-DSQLITE_DEFAULT_MEMSTATUS=0",
    "-DSQLITE_OMIT_SHARED_CACHE",
    "-DSQLITE_OMIT_DEPRECATED",
    "-DSQLITE_LIKE_DOESNT_MATCH_BLOBS",
    "-USQLITE_ENABLE_API_ARMOR",
    "-USQLITE_ENABLE_STAT4",
    "-USQLITE_ENABLE_RTREE",
    "-USQLITE_ENABLE_FTS3",
    "-USQLITE_ENABLE_FTS3_PARENTHESIS",
    "-USQLITE_ENABLE_DBSTAT_VTAB",
    "-DSQLITE_MAX_MMAP_SIZE=0x10000000000",
];

/// Returns the value of `LIBSQLITE3_FLAGS` for building a program that embeds the store, for example in the section `[env]` of
/// its `.cargo/config.toml`.
#[must_use]
pub fn build_flags() -> String {
    FLAGS.join(" ")
}

/// Returns the flags that the linked SQLite was compiled without. The store logs them when it opens.
///
/// # Errors
/// Fails if SQLite can't be queried.
pub fn missing_build_flags() -> Result<Vec<&'static str>, rusqlite::Error> {
    missing_in(&Connection::open_in_memory()?)
}

/// Logs the flags that the linked SQLite was compiled without.
pub(crate) fn log_missing(connection: &Connection) -> Result<(), rusqlite::Error> {
    let missing = missing_in(connection)?;
    if !missing.is_empty() {
        let flags = missing.join(" ");
        tracing::warn!(
            flags,
            "SQLite was compiled without flags that make it faster; build the program with them in LIBSQLITE3_FLAGS"
        );
    }
    Ok(())
}

fn missing_in(connection: &Connection) -> Result<Vec<&'static str>, rusqlite::Error> {
    let mut statement = connection.prepare("PRAGMA compile_options")?;
    let options = statement.query_map([], |row| row.get(0))?;
    Ok(missing(&options.collect::<Result<Vec<String>, _>>()?))
}

/// Returns the flags missing from the output of `PRAGMA compile_options`, which lists only defined names, without `SQLITE_`.
fn missing(options: &[String]) -> Vec<&'static str> {
    let is_listed = |name: &str| options.iter().any(|option| option == name);
    let is_missing = |flag: &&str| match flag.strip_prefix("-DSQLITE_") {
        Some(name) => !is_listed(name),
        None => flag.strip_prefix("-USQLITE_").is_some_and(is_listed),
    };
    FLAGS.into_iter().filter(|flag| is_missing(flag)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_missing_if_the_options_of_the_build_do_not_show_it() {
        let names = FLAGS
            .iter()
            .filter_map(|flag| flag.strip_prefix("-DSQLITE_"));
        let right: Vec<String> = names.map(str::to_owned).collect();
        assert!(missing(&right).is_empty());
        let mut armored = right.clone();
        armored.push("ENABLE_API_ARMOR".to_owned());
        assert_eq!(missing(&armored), ["-USQLITE_ENABLE_API_ARMOR"]);
        let (first, rest) = right.split_first().unwrap();
        assert_eq!(missing(rest), [format!("-DSQLITE_{first}")]);
        let usual = [
            "ENABLE_FTS3",
            "ENABLE_FTS3_PARENTHESIS",
            "MAX_MMAP_SIZE=0x7fff0000",
        ];
        assert_eq!(missing(&usual.map(str::to_owned)).len(), 7);
    }
}
