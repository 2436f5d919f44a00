//! The notary: signs what the audit log has come to, anchors it elsewhere, and drops what is too old.
//!
//! The key is in the data folder and not in the database. Each checkpoint goes into the database, into
//! a file that is only ever appended to, and into the log of the server.
use crate::config::Audit;
use crate::folder::write_private;
use crate::storage::Storage;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;
use workgraph_api::{Clock, Entropy};
use workgraph_audit::{Checkpoint, Key, Mark, Report, read};
use workgraph_core::time::Time;

/// How often the notary looks whether there is something to sign.
const LOOK: Duration = Duration::from_secs(60);
/// Every which look signs whatever is new: once an hour.
const HOURLY: u32 = 60;

/// `audit-key.json`: the seed of the key that signs checkpoints, base64.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    seed: String,
}

fn key_path(folder: &Path) -> PathBuf {
    folder.join("audit-key.json")
}

/// The key of a data folder; none if there is none yet.
fn key(folder: &Path) -> Result<Option<Key>, String> {
    let path = key_path(folder);
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let file: File = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| wrong(&e))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(wrong(&e)),
    };
    let seed = STANDARD.decode(&file.seed).map_err(|e| wrong(&e))?;
    let seed = seed.try_into().map_err(|_| wrong(&"not 32 bytes"))?;
    Key::from_seed(&seed).map(Some).map_err(|e| wrong(&e))
}

/// Where checkpoints are anchored, unless it is set: beside the database.
fn anchor_path(folder: &Path, settings: &Audit) -> PathBuf {
    if settings.anchor.is_empty() {
        folder.join("audit-anchors")
    } else {
        PathBuf::from(&settings.anchor)
    }
}

/// Signs the audit log of one data folder.
pub(crate) struct Notary {
    key: Key,
    anchor: PathBuf,
    /// After so many rows a checkpoint is signed, whenever that is.
    rows: u64,
    /// How long rows are kept.
    retention: Duration,
    storage: Arc<Storage>,
    clock: Arc<dyn Clock>,
}

impl Notary {
    /// The notary of a data folder, with its key, which is made if there is none.
    ///
    /// # Errors
    /// When the key can't be read or made.
    pub(crate) fn open(
        folder: &Path,
        settings: &Audit,
        retention: Duration,
        storage: &Arc<Storage>,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self, String> {
        let key = match key(folder)? {
            Some(key) => key,
            None => {
                let seed = crate::seams::random::<32>(entropy)?;
                let file = File {
                    seed: STANDARD.encode(seed),
                };
                let text = serde_json::to_vec_pretty(&file).map_err(|e| e.to_string())?;
                write_private(&key_path(folder), &text)?;
                Key::from_seed(&seed).map_err(|e| e.to_string())?
            }
        };
        Ok(Self {
            key,
            anchor: anchor_path(folder, settings),
            rows: u64::from(settings.rows.max(1)),
            retention,
            storage: Arc::clone(storage),
            clock,
        })
    }

    /// Looks after the log for as long as the server runs.
    pub(crate) async fn watch(&self) {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 0.. {
            looks.tick().await;
            self.tend(look % HOURLY == 0).await;
        }
    }

    /// Signs what is new, if that is much or `all` of it is to be signed, and drops what is too old.
    pub(crate) async fn tend(&self, all: bool) {
        loop {
            match self.step(all).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(why) => {
                    tracing::error!(why, "the audit log was not signed");
                    return;
                }
            }
        }
    }

    /// One checkpoint; says whether there may be more to drop.
    async fn step(&self, all: bool) -> Result<bool, String> {
        let tail = self.storage.audit_tail()?;
        let public = self.key.public();
        let last = match &tail.checkpoint {
            Some(line) => Some(read(line, &public).map_err(|_| {
                "the last checkpoint in the database is not of this key; see `workgraph check --audit`"
            })?),
            None => None,
        };
        if let Some(line) = &tail.checkpoint {
            // It may have been kept by a process that ended before, or failed at, anchoring it.
            self.anchor(line)?;
        }
        let (base, signed) = last.map_or((Mark::START, 0), |c| (c.base, c.head.seq));
        let now = self.clock.now();
        let before = now.checked_sub(self.retention).map(Time::from_system);
        let old = match before {
            Some(before) => self.storage.audit_old(before)?,
            None => None,
        };
        let old = old.filter(|old| old.seq > base.seq);
        let new = tail.head.seq.saturating_sub(signed);
        if old.is_none() && (new == 0 || (new < self.rows && !all)) {
            return Ok(false);
        }
        let checkpoint = Checkpoint {
            at: Time::from_system(now).millis().unsigned_abs(),
            base: old.unwrap_or(base),
            head: tail.head,
        };
        let line = self.key.sign(&checkpoint);
        let (head, base) = (checkpoint.head.seq, checkpoint.base.seq);
        self.storage
            .keep_checkpoint(line.clone(), head, base)
            .await?;
        tracing::info!(checkpoint = line, rows = head, "the audit log was signed");
        self.anchor(&line)?;
        Ok(old.is_some())
    }

    /// Appends a line to the anchors, unless it is the last of them.
    fn anchor(&self, line: &str) -> Result<(), String> {
        let say = |e: std::io::Error| format!("{}: {e}", self.anchor.display());
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(&self.anchor)
            .map_err(say)?;
        let end = end(&mut file, line.len() + 2).map_err(say)?;
        let before = match end.strip_suffix(b"\n") {
            Some(whole) if whole.rsplit(|b| *b == b'\n').next() == Some(line.as_bytes()) => {
                return Ok(());
            }
            Some(_) => "",
            None if end.is_empty() => "",
            // A line that was written in part stays one of its own.
            None => "\n",
        };
        file.write_all(format!("{before}{line}\n").as_bytes())
            .and_then(|()| file.sync_data())
            .map_err(say)
    }
}

/// The last bytes of a file, so many at most.
fn end(file: &mut std::fs::File, most: usize) -> std::io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most as u64)))?;
    let mut end = Vec::with_capacity(most);
    file.take(most as u64).read_to_end(&mut end)?;
    Ok(end)
}

/// What an inspection of a data folder's audit log found.
pub(crate) struct Inspected {
    report: Report,
    findings: Vec<String>,
}

/// Inspects the audit log of a data folder; a server may be running. Anchored checkpoints are the
/// lines of `anchor`, or of the file that is set.
///
/// # Errors
/// When the database, the key or the anchors can't be read.
pub(crate) fn inspect(
    folder: &Path,
    settings: &Audit,
    anchor: Option<&Path>,
) -> Result<Inspected, String> {
    let none = || {
        format!(
            "{}: there is no key, so nothing was ever signed here; start the server once",
            key_path(folder).display()
        )
    };
    let public = key(folder)?.ok_or_else(none)?.public();
    let path = anchor.map_or_else(|| anchor_path(folder, settings), Path::to_path_buf);
    let mut findings = Vec::new();
    let lines = match std::fs::read_to_string(&path) {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            findings.push(format!(
                "{}: there are no anchored checkpoints, without which a log that was cut looks whole",
                path.display()
            ));
            Vec::new()
        }
        Err(e) => return Err(format!("{}: {e}", path.display())),
    };
    let report = crate::storage::inspect_audit(folder, &public, &lines)?;
    if report.covered == 0 && report.findings.is_empty() {
        // Nothing was signed yet, so nothing was anchored.
        findings.clear();
    }
    findings.extend(report.findings.iter().map(ToString::to_string));
    if report.more > 0 {
        findings.push(format!("and {} more findings", report.more));
    }
    Ok(Inspected { report, findings })
}

impl Inspected {
    /// Whether nothing was found.
    pub(crate) fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// What was found, for programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "sound": self.is_sound(),
            "rows": self.report.rows,
            "last_row": self.report.last,
            "last_signed_row": self.report.covered,
            "findings": self.findings,
        })
    }

    /// What was found, for people.
    pub(crate) fn text(&self) -> String {
        let Report {
            rows,
            last,
            covered,
            ..
        } = self.report;
        let mut out = String::new();
        for finding in &self.findings {
            out.push_str(finding);
            out.push('\n');
        }
        let word = if self.is_sound() {
            "the audit log is sound"
        } else {
            "the audit log was tampered with, or is damaged"
        };
        out.push_str(&format!(
            "{word}: {rows} rows up to row {last}, signed up to row {covered}\n"
        ));
        out
    }
}

#[cfg(test)]
mod tests;
