//! The beginning of a stand-in: its folder, its seed and its time.
use crate::adapters::data_dir::{create_data_dir, write_private};
use crate::adapters::system_clock::{SystemEntropy, WallClock, random};
use crate::stand_in::test_world::TestSources;
use crate::stand_in::world_options::parse_time;
use crate::start_options::StartOptions;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_api::Clock;

/// File that marks a folder as that of a stand-in, whose content each start removes.
pub(crate) const MARK: &str = "stand-in";

/// Prepares a data folder: that of a stand-in is emptied and marked, and no other server uses it.
///
/// # Errors
/// Fails if the folder is that of a stand-in and this server is none, or the reverse, or it can't be emptied.
pub(crate) fn prepare_folder(folder: &Path, is_stand_in: bool) -> Result<()> {
    let mark = folder.join(MARK);
    match (mark.exists(), is_stand_in) {
        (false, false) => return Ok(()),
        (true, false) => bail!(
            "{}: this data folder is that of a stand-in, whose time and random bytes are not real; name another with --data",
            folder.display()
        ),
        (false, true) => {
            let named = || folder.display().to_string();
            if folder.is_dir()
                && std::fs::read_dir(folder)
                    .with_context(named)?
                    .next()
                    .is_some()
            {
                bail!(
                    "{}: this folder is not empty and not that of a stand-in, which removes what is in it at each start; name another with --data",
                    folder.display()
                );
            }
        }
        (true, true) => std::fs::remove_dir_all(folder)
            .with_context(|| format!("{}: can't be emptied", folder.display()))?,
    }
    create_data_dir(folder)?;
    write_private(
        &mark,
        b"The data of a stand-in: its next start removes it.\n",
    )
}

/// Returns the time and the random bytes of the world at the root, and logs what repeats them.
///
/// # Errors
/// Fails if the time is none, or the system has no random bytes for a seed.
pub(crate) fn sources(options: &StartOptions, machine: &Arc<WallClock>) -> Result<TestSources> {
    let now = match &options.now {
        Some(text) => parse_time("--now", text)?,
        None => whole_second(machine.now()),
    };
    let seed = match options.seed {
        Some(seed) => seed,
        // Short enough to be typed.
        None => u64::from(u32::from_be_bytes(random(&SystemEntropy::new())?)),
    };
    let shown = crate::stand_in::time_text(now);
    tracing::info!(
        seed,
        now = shown,
        "a stand-in: --seed and --now repeat this run"
    );
    Ok(TestSources::new(machine, seed, now))
}

/// Returns a time without the part of a second.
fn whole_second(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs())
}
