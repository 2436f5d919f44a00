//! Signing, anchoring and dropping, with a clock that the test sets.
use super::*;
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::system_clock::SystemEntropy;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use workgraph_core::Gid;
use workgraph_core::audit::{AuditEntry, AuditQuery, event_kinds};
use workgraph_core::storage::Changes;

const DAY: Duration = Duration::from_secs(86_400);

struct TestClock(Mutex<SystemTime>);

impl Clock for TestClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

/// Data folder with its audit signer, and a user who starts exports there.
struct SignerFixture {
    folder: PathBuf,
    settings: AuditConfig,
    storage: Arc<Storage>,
    clock: Arc<TestClock>,
    signer: AuditSigner,
}

impl SignerFixture {
    async fn new(rows: u32) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (number, process) = (NUMBER.fetch_add(1, Ordering::Relaxed), std::process::id());
        let folder = std::env::temp_dir().join(format!("workgraph-signer-{process}-{number}"));
        crate::adapters::data_dir::create_data_dir(&folder).unwrap();
        let anchor = String::new();
        let settings = AuditConfig { anchor, rows };
        let start = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let clock = Arc::new(TestClock(Mutex::new(start)));
        let keys = workgraph_wire::KeyRing::new(1, [7; 32]);
        let entropy = Arc::new(crate::adapters::system_clock::SystemEntropy::new());
        let sealer = crate::adapters::sealed_webhooks::WebhookSecretSealer::new(keys, entropy);
        let options = crate::adapters::stores::StoreOptions::default();
        let storage = Arc::new(
            Storage::open(&folder, 0, options, None, sealer, AcceptedLosses::default()).unwrap(),
        );
        let values = PrivateValues::Folder(folder.clone());
        let entropy = SystemEntropy::new();
        let signer = AuditSigner::new(
            (&folder, &values),
            (&settings, AcceptedLosses::default()),
            90 * DAY,
            &storage,
            clock.clone(),
            &entropy,
        );
        Self {
            signer: signer.unwrap(),
            folder,
            settings,
            storage,
            clock,
        }
    }

    fn pass(&self, time: Duration) {
        *self.clock.0.lock().unwrap() += time;
    }

    async fn act(&self, times: usize) {
        let workspace = Gid::new(7).unwrap();
        for _ in 0..times {
            let changes = Changes {
                time: Time::from_system(self.clock.now()),
                audit_entries: vec![AuditEntry::new(
                    event_kinds::OBJECT_EXPORT_STARTED,
                    workspace,
                    workspace,
                )],
                ..Changes::default()
            };
            self.storage.graph.commit(changes).await.unwrap();
        }
    }

    async fn rows(&self) -> usize {
        let ask = AuditQuery::all(Gid::new(7).unwrap(), 100);
        self.storage
            .graph
            .audit_rows(ask, None)
            .await
            .unwrap()
            .len()
    }

    /// Returns the output of `workgraph check --audit`: number of rows, last row, last signed row, findings.
    async fn check(&self) -> (u64, u64, u64, Vec<String>) {
        let mut config = Config {
            audit: self.settings.clone(),
            ..Config::default()
        };
        config.server.data = self.folder.to_str().unwrap().into();
        let found = inspect(&config, None).await.unwrap();
        let InspectionReport {
            rows,
            last,
            covered,
            ..
        } = found.report;
        (rows, last, covered, found.findings)
    }

    fn anchored(&self) -> usize {
        let text = std::fs::read_to_string(self.folder.join("audit-anchors"));
        text.unwrap_or_default().lines().count()
    }
}

impl Drop for SignerFixture {
    fn drop(&mut self) {
        // The folder of a failing test is kept for inspection.
        if !std::thread::panicking() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_new_is_signed_when_it_is_much_or_time_is_up() {
    let fixture = SignerFixture::new(3).await;
    fixture.signer.run_once(true).await;
    assert_eq!(
        (fixture.check().await, fixture.anchored()),
        ((0, 0, 0, vec![]), 0)
    );
    fixture.act(2).await;
    fixture.signer.run_once(false).await;
    assert_eq!(fixture.check().await, (2, 2, 0, vec![]), "two are not much");
    fixture.act(1).await;
    fixture.signer.run_once(false).await;
    assert_eq!(fixture.check().await, (3, 3, 3, vec![]));
    fixture.act(1).await;
    fixture.signer.run_once(true).await;
    fixture.signer.run_once(true).await;
    assert_eq!(
        (fixture.check().await, fixture.anchored()),
        ((4, 4, 4, vec![]), 2)
    );
    let mode = std::fs::metadata(fixture.folder.join("audit-key.json")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn old_rows_are_dropped_and_the_rest_can_be_checked() {
    let fixture = SignerFixture::new(100).await;
    fixture.act(5).await;
    fixture.signer.run_once(true).await;
    fixture.pass(60 * DAY);
    fixture.act(4).await;
    fixture.signer.run_once(true).await;
    fixture.pass(30 * DAY - Duration::from_secs(1));
    fixture.signer.run_once(true).await;
    assert_eq!(
        fixture.check().await,
        (9, 9, 9, vec![]),
        "not a second too early"
    );
    fixture.pass(Duration::from_secs(2));
    fixture.signer.run_once(false).await;
    assert_eq!(
        (fixture.rows().await, fixture.check().await),
        (4, (4, 9, 9, vec![]))
    );
    // The last row stays regardless of its age, so that the numbers continue.
    fixture.pass(365 * DAY);
    fixture.signer.run_once(true).await;
    assert_eq!(
        (fixture.rows().await, fixture.check().await),
        (1, (1, 9, 9, vec![]))
    );
    fixture.act(2).await;
    fixture.signer.run_once(true).await;
    assert_eq!(fixture.check().await, (2, 11, 11, vec![]));
}

#[tokio::test]
async fn what_was_signed_and_not_anchored_is_anchored_later() {
    let fixture = SignerFixture::new(1).await;
    let anchors = fixture.folder.join("audit-anchors");
    std::fs::create_dir(&anchors).unwrap();
    fixture.act(1).await;
    fixture.signer.run_once(true).await;
    assert_eq!(
        fixture.storage.audit_log.progress().await.unwrap().head.seq,
        1
    );
    std::fs::remove_dir(&anchors).unwrap();
    fixture.signer.run_once(true).await;
    fixture.signer.run_once(true).await;
    assert_eq!(
        (fixture.check().await, fixture.anchored()),
        ((1, 1, 1, vec![]), 1)
    );
    // A broken line is not continued.
    let mut text = std::fs::read_to_string(&anchors).unwrap();
    text.pop();
    std::fs::write(&anchors, &text).unwrap();
    fixture.act(1).await;
    fixture.signer.run_once(true).await;
    let (rows, last, covered, findings) = fixture.check().await;
    assert_eq!((rows, last, covered, findings), (2, 2, 2, vec![]));
    let anchored = std::fs::read_to_string(&anchors).unwrap();
    assert!(
        anchored.starts_with(&(text + "\n")) && anchored.ends_with('\n'),
        "{anchored}"
    );
}

#[tokio::test]
async fn another_key_signs_nothing_and_says_so() {
    let fixture = SignerFixture::new(1).await;
    fixture.act(2).await;
    fixture.signer.run_once(true).await;
    std::fs::remove_file(fixture.folder.join("audit-key.json")).unwrap();
    let values = PrivateValues::Folder(fixture.folder.clone());
    let open = async |accepted| {
        let signer = AuditSigner::new(
            (&fixture.folder, &values),
            (&fixture.settings, accepted),
            90 * DAY,
            &fixture.storage,
            fixture.clock.clone(),
            &SystemEntropy::new(),
        )?;
        signer.check_key().await.map(|()| signer)
    };
    let lost = AcceptedLosses {
        keys: true,
        ..AcceptedLosses::default()
    };
    let refused = open(AcceptedLosses::default()).await.err().unwrap();
    assert!(refused.to_string().contains("--new-keys"), "{refused:#}");
    let going_on = open(lost).await.unwrap();
    let other = open(AcceptedLosses::default()).await.unwrap();
    fixture.act(1).await;
    assert!(
        other
            .step(true)
            .await
            .unwrap_err()
            .to_string()
            .contains("not of this key")
    );
    let (_, _, covered, findings) = fixture.check().await;
    assert_eq!((covered, findings.len()), (0, 2), "{findings:?}");
    // Once the loss is accepted, the other key signs everything, and the anchors of the former one are kept.
    going_on.run_once(true).await;
    let (_, _, covered, findings) = fixture.check().await;
    assert_eq!((covered, findings.len()), (3, 1), "{findings:?}");
    assert!(
        findings[0].contains("not signed with"),
        "the loss stays told"
    );
    assert!(fixture.folder.join("audit-anchors.former").exists());
}
