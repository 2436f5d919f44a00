//! The audit signer: signs the head of the audit log, anchors it elsewhere, and drops rows that are too old.
//!
//! The key is in the data folder; nodes that share a database keep it there, sealed with a key that is not in the database.
//! Each checkpoint goes into the database, into an append-only file, and into the server log.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::postgres_node;
use crate::adapters::private_values::PrivateValues;
use crate::adapters::stores::{self, Storage};
use crate::adapters::system_clock::random;
use crate::config::Config;
use crate::config::schema::AuditConfig;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use anyhow::{Context, Result, bail};
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
use tokio::sync::{Mutex, OnceCell};
use tokio::time::MissedTickBehavior;
use workgraph_api::{Clock, Entropy};
use workgraph_audit::{
    ChainPosition, Checkpoint, CheckpointKey, InspectionReport, StoredCheckpoint, read_checkpoint,
    read_unverified_checkpoint,
};
use workgraph_core::model::time::Time;
use workgraph_core::storage::SharedWork;

/// Interval between checks for rows to sign.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// Number of checks after which all new rows are signed: once an hour.
const HOURLY: u32 = 60;

/// Content of `audit-key.json`: the seed of the key that signs checkpoints, base64.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditKeyFile {
    seed: String,
}

/// Name of the value with the key.
const KEY: &str = "audit-key";

/// Returns the key of a store, or `None` if it has none yet.
async fn key(values: &PrivateValues) -> Result<Option<CheckpointKey>> {
    match values.read(KEY).await? {
        Some(value) => parse_key(&value.text)
            .with_context(|| values.describe(KEY))
            .map(Some),
        None => Ok(None),
    }
}

/// Returns the key in a key file.
fn parse_key(text: &str) -> Result<CheckpointKey> {
    let file: AuditKeyFile = serde_json::from_str(text)?;
    let seed = STANDARD.decode(&file.seed)?;
    let seed = seed.try_into().ok().context("not 32 bytes")?;
    Ok(CheckpointKey::from_seed(&seed)?)
}

/// Key of a signer, which is read or created when it is first needed.
struct SignerKey {
    values: PrivateValues,
    storage: Arc<Storage>,
    accepted: AcceptedLosses,
    /// Seed of a new key.
    seed: [u8; 32],
    known: OnceCell<CheckpointKey>,
}

impl SignerKey {
    /// Returns the key. Creates it if there is none, and nothing was signed yet or the loss of the key is accepted.
    async fn get(&self) -> Result<&CheckpointKey> {
        self.known.get_or_try_init(|| self.find_or_make()).await
    }

    async fn find_or_make(&self) -> Result<CheckpointKey> {
        let values = &self.values;
        if let Some(key) = key(values).await? {
            return Ok(key);
        }
        let tail = self.storage.audit_log.progress().await;
        let tail = tail.context("the end of the audit log can't be read")?;
        if tail.checkpoint.is_some() && !self.accepted.keys {
            bail!(
                "{}: the key that signs the audit log is missing. Put it back from its copy (docs/BACKUPS.md). If it is lost, start once with --new-keys: another key goes on, and what was signed before can only be checked with the anchors",
                values.describe(KEY)
            );
        }
        let file = AuditKeyFile {
            seed: STANDARD.encode(self.seed),
        };
        if values
            .replace(KEY, None, &serde_json::to_string_pretty(&file)?)
            .await?
        {
            return Ok(CheckpointKey::from_seed(&self.seed)?);
        }
        // Another node has just created it.
        let made = key(values).await?;
        made.context("there is no key that signs the audit log")
    }
}

/// Returns the file in which checkpoints are anchored: the one in the settings, else one next to the database.
fn anchor_path(folder: &Path, settings: &AuditConfig) -> PathBuf {
    if settings.anchor.is_empty() {
        folder.join("audit-anchors")
    } else {
        PathBuf::from(&settings.anchor)
    }
}

/// Signer of the audit log of one data folder.
pub(crate) struct AuditSigner {
    key: SignerKey,
    /// True if the signer continues after a last checkpoint by another key.
    accepts_lost_key: bool,
    anchor_path: PathBuf,
    /// Number of new rows after which a checkpoint is signed immediately.
    rows: u64,
    /// Time for which rows are kept.
    retention: Duration,
    storage: Arc<Storage>,
    /// Lease on the signing of the log.
    lease: Mutex<WorkLeaseRenewal>,
    clock: Arc<dyn Clock>,
}

impl AuditSigner {
    /// Returns the signer of a data folder. Its key is read or created by [`check_key`](Self::check_key), or when it is first
    /// needed.
    ///
    /// # Errors
    /// Fails without random bytes.
    pub(crate) fn new(
        (folder, values): (&Path, &PrivateValues),
        (settings, accepted): (&AuditConfig, AcceptedLosses),
        retention: Duration,
        storage: &Arc<Storage>,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
    ) -> Result<Self> {
        let key = SignerKey {
            values: values.clone(),
            storage: Arc::clone(storage),
            accepted,
            seed: random(entropy)?,
            known: OnceCell::new(),
        };
        Ok(Self {
            key,
            accepts_lost_key: accepted.keys,
            anchor_path: anchor_path(folder, settings),
            rows: u64::from(settings.rows.max(1)),
            retention,
            lease: Mutex::new(WorkLeaseRenewal::new(
                &storage.leases,
                SharedWork::AuditSigning,
            )),
            storage: Arc::clone(storage),
            clock,
        })
    }

    /// Reads the key, or creates it if there is none.
    ///
    /// # Errors
    /// Fails if the key can't be read or created.
    pub(crate) async fn check_key(&self) -> Result<()> {
        self.key.get().await.map(drop)
    }

    /// Signs and prunes the log as long as the server runs.
    pub(crate) async fn run(&self) {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 0.. {
            looks.tick().await;
            self.run_once(look % HOURLY == 0).await;
        }
    }

    /// Signs the new rows, if there are many or if `all` is true, and drops rows that are too old.
    pub(crate) async fn run_once(&self, all: bool) {
        loop {
            match self.step(all).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::error!(
                        reason = format!("{error:#}"),
                        "the audit log could not be signed"
                    );
                    return;
                }
            }
        }
    }

    /// Returns true if the log has rows after the last checkpoint.
    ///
    /// # Errors
    /// Fails if the log or its last checkpoint can't be read.
    pub(crate) async fn has_unsigned_rows(&self) -> Result<bool> {
        let tail = self.storage.audit_log.progress().await;
        let tail = tail.context("the end of the audit log can't be read")?;
        let signed = match &tail.checkpoint {
            Some(line) => {
                read_checkpoint(line, &self.key.get().await?.public())?
                    .head
                    .seq
            }
            None => 0,
        };
        Ok(tail.head.seq > signed)
    }

    /// Creates one checkpoint, if this node signs the log. Returns true if there may be more to do.
    async fn step(&self, all: bool) -> Result<bool> {
        if self.lease.lock().await.renew_if_due().await.is_none() {
            return Ok(false);
        }
        let tail = self.storage.audit_log.progress().await;
        let tail = tail.context("the end of the audit log can't be read")?;
        let key = self.key.get().await?;
        let public = key.public();
        let last = match &tail.checkpoint {
            Some(line) => match read_checkpoint(line, &public) {
                Err(_) if self.accepts_lost_key => {
                    self.leave_former_anchors(line)?;
                    Some(read_unverified_checkpoint(line)?)
                }
                read => {
                    let read = read.context(
                        "the last checkpoint in the database is not of this key; see `workgraph check --audit`",
                    )?;
                    // The process that stored it may have ended before anchoring it, or failed to do so.
                    self.publish_checkpoint(line)?;
                    Some(read)
                }
            },
            None => None,
        };
        let is_of_lost_key = self.accepts_lost_key
            && tail
                .checkpoint
                .as_ref()
                .is_some_and(|line| read_checkpoint(line, &public).is_err());
        let (base, signed) = last.map_or((ChainPosition::START, 0), |c| (c.base, c.head.seq));
        // The current key signs what the lost one had signed.
        let signed = if is_of_lost_key { 0 } else { signed };
        let now = self.clock.now();
        let old = match now.checked_sub(self.retention) {
            Some(before) => {
                let old = self.storage.audit_log.prunable_rows(before).await;
                old.context("the old rows of the audit log can't be found")?
            }
            None => None,
        };
        let old = old.filter(|old| old.seq > base.seq);
        let new = tail.head.seq.saturating_sub(signed);
        if old.is_none() && (new == 0 || (new < self.rows && !all)) {
            return Ok(false);
        }
        let checkpoint = Checkpoint {
            signed_at_ms: Time::from_system(now).millis().unsigned_abs(),
            base: old.unwrap_or(base),
            head: tail.head,
        };
        let line = key.sign(&checkpoint);
        let head = checkpoint.head.seq;
        let stored = self.storage.audit_log.store_checkpoint(StoredCheckpoint {
            previous: tail.checkpoint,
            line: line.clone(),
            head,
            base: checkpoint.base.seq,
        });
        let stored = stored.await;
        if !stored.with_context(|| format!("the checkpoint of row {head} can't be stored"))? {
            tracing::info!(
                rows = head,
                "another node signed the audit log at the same time"
            );
            return Ok(false);
        }
        tracing::info!(checkpoint = line, rows = head, "the audit log was signed");
        self.publish_checkpoint(&line)?;
        Ok(old.is_some())
    }

    /// Keeps the anchors of a lost key under another name: they can't be checked with the current one.
    fn leave_former_anchors(&self, line: &str) -> Result<()> {
        let former = self.anchor_path.with_extension("former");
        match std::fs::rename(&self.anchor_path, &former) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| self.anchor_path.display().to_string());
            }
            _ => {}
        }
        tracing::warn!(
            checkpoint = line,
            former = former.display().to_string(),
            "the audit log goes on with another key: the checkpoints of the former one are kept under another name"
        );
        Ok(())
    }

    /// Appends a line to the anchors, unless it is already the last one.
    fn publish_checkpoint(&self, line: &str) -> Result<()> {
        append_line(&self.anchor_path, line).with_context(|| {
            let path = self.anchor_path.display();
            format!("{path}: the checkpoint can't be appended")
        })
    }
}

/// Appends a line to a file, which is created if needed, unless it is already the last line.
fn append_line(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    let end = end(&mut file, line.len() + 2)?;
    let before = match end.strip_suffix(b"\n") {
        Some(whole) if whole.rsplit(|b| *b == b'\n').next() == Some(line.as_bytes()) => {
            return Ok(());
        }
        Some(_) => "",
        None if end.is_empty() => "",
        // A partly written line stays on its own.
        None => "\n",
    };
    file.write_all(format!("{before}{line}\n").as_bytes())?;
    file.sync_data()
}

/// Returns the last bytes of a file, at most `most`.
fn end(file: &mut std::fs::File, most: usize) -> std::io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most as u64)))?;
    let mut end = Vec::with_capacity(most);
    file.take(most as u64).read_to_end(&mut end)?;
    Ok(end)
}

/// Result of an inspection of an audit log.
pub(crate) struct AuditInspection {
    report: InspectionReport,
    findings: Vec<String>,
}

/// Inspects the audit log of the store in the settings; servers may be running. Anchored checkpoints are the lines of
/// `anchor`, or of the file in the settings.
///
/// # Errors
/// Fails if the store, the key or the anchors can't be read.
pub(crate) async fn inspect(config: &Config, anchor: Option<&Path>) -> Result<AuditInspection> {
    let folder = config.folder();
    let database = postgres_node::connect(config).await?;
    let values = match &database {
        Some(database) => postgres_node::shared_values(config, database).await?,
        None => PrivateValues::Folder(folder.to_owned()),
    };
    let none = || {
        format!(
            "{}: there is no key, so nothing was ever signed here; start the server once",
            values.describe(KEY)
        )
    };
    let public = key(&values).await?.with_context(none)?.public();
    let path = anchor.map_or_else(|| anchor_path(folder, &config.audit), Path::to_path_buf);
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
        Err(e) => return Err(e).with_context(|| path.display().to_string()),
    };
    let report = match &database {
        Some(database) => {
            let report = database.inspect_audit(&public, &lines).await;
            report.context("the audit log can't be read")?
        }
        None => stores::inspect_audit(folder, &public, &lines)?,
    };
    if report.covered == 0 && report.findings.is_empty() {
        // Nothing was signed yet, so nothing was anchored.
        findings.clear();
    }
    findings.extend(report.findings.iter().map(ToString::to_string));
    if report.unnamed_findings > 0 {
        findings.push(format!("and {} more findings", report.unnamed_findings));
    }
    Ok(AuditInspection { report, findings })
}

impl AuditInspection {
    /// Returns true if there are no findings.
    pub(crate) fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Formats the findings as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "sound": self.is_sound(),
            "rows": self.report.rows,
            "last_row": self.report.last,
            "last_signed_row": self.report.covered,
            "findings": self.findings,
        })
    }

    /// Formats the findings for people.
    pub(crate) fn text(&self) -> String {
        let InspectionReport {
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
