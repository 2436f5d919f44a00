//! Start of a stand-in: its folder, its seed and its time.
use crate::adapters::data_dir::{create_data_dir, write_private};
use crate::adapters::system_clock::{SystemEntropy, WallClock, random};
use crate::stand_in::test_sources::TestSources;
use crate::stand_in::world_options::parse_time;
use crate::start_options::StartOptions;
use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_api::Clock;

/// Name of the file that marks the folder of a stand-in. Each start of the stand-in empties the folder.
pub(crate) const MARK: &str = "stand-in";

/// Folder of a stand-in, which no other process uses as long as this exists.
pub(crate) struct StandInFolder {
    /// Locked mark of the folder.
    _mark: File,
}

/// Refuses to run an ordinary server in the data folder of a stand-in.
///
/// # Errors
/// Fails if the folder has the mark of a stand-in.
pub(crate) fn check_is_real(folder: &Path) -> Result<()> {
    if folder.join(MARK).exists() {
        bail!(
            "{}: this data folder is that of a stand-in, whose time and random bytes are not real; name another with --data",
            folder.display()
        );
    }
    Ok(())
}

impl StandInFolder {
    /// Empties the folder of a stand-in, or marks an empty one.
    ///
    /// # Errors
    /// Fails if the folder has other content, another process uses it, or it can't be emptied.
    pub(crate) fn prepare(folder: &Path) -> Result<Self> {
        let (mark, named) = (folder.join(MARK), || folder.display().to_string());
        if mark.exists() {
            // Held until the folder is empty.
            let _former = lock(&mark)?;
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("{}: can't be emptied", folder.display()))?;
        } else if folder.is_dir() {
            let mut entries = std::fs::read_dir(folder).with_context(named)?;
            if entries.next().is_some() {
                bail!(
                    "{}: this folder is not empty and not that of a stand-in, which removes what is in it at each start; name another with --data",
                    folder.display()
                );
            }
        }
        create_data_dir(folder)?;
        write_private(
            &mark,
            b"The data of a stand-in: its next start removes it.\n",
        )?;
        Ok(Self {
            _mark: lock(&mark)?,
        })
    }
}

/// Locks the mark of a folder.
///
/// # Errors
/// Fails if another process has locked it.
fn lock(mark: &Path) -> Result<File> {
    let named = || mark.display().to_string();
    let file = File::open(mark).with_context(named)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "{}: another stand-in uses this folder; name another with --data",
                named()
            )
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(named),
    }
}

/// Raises the limit of open files of this process as far as the system allows, since each world has one open.
///
/// # Errors
/// Fails if the system refuses.
pub(crate) fn allow_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).context("the number of open files can't be raised")
}

/// Returns the time and the random bytes of the world at the root, and logs the options that repeat the run.
///
/// # Errors
/// Fails if the time is not valid, or the system has no random bytes for a seed.
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
    Ok(TestSources::new(machine, seed, now).strict(options.strict))
}

/// Returns the text that describes a stand-in at its start.
pub(crate) fn banner(sources: &TestSources, root: &str) -> String {
    let now = crate::stand_in::time_text(sources.clock.now());
    format!(
        "\nA stand-in, whose clock shows {now}; its seed is {}. A world for a test, and time:\n  curl -s -H 'Content-Type: application/json' -d '{{}}' {root}/-/worlds\n  curl -s -H 'Content-Type: application/json' -d '{{\"advance\":\"1h\"}}' {root}/-/clock\n",
        sources.seed
    )
}

/// Returns a time without its fraction of a second.
fn whole_second(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs())
}
