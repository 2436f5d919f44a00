//! The bucket, tested on a real server of its protocol.
use super::*;
use crate::adapters::blob_conformance::conforms;
use crate::adapters::system_clock::{SystemEntropy, WallClock};
use crate::config::Config;
use crate::config::schema::settings;
use bucket_server::BucketServer;
use std::time::Duration;

#[path = "../../../tests/support/bucket_server.rs"]
mod bucket_server;
#[path = "../../../tests/support/clients.rs"]
mod clients;

/// Size of the parts in these tests, the minimum that servers accept.
const PART: u64 = 5 << 20;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("workgraph-bucket-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the bucket of these settings.
fn bucket(folder: &Folder, values: &[(&str, String)]) -> Result<BlobBucket> {
    let mut config = Config::default();
    for (key, value) in values {
        let setting = settings().find(|setting| setting.key == *key).unwrap();
        setting.set(&mut config, value)?;
    }
    let owner = owner_id(&folder.0, &SystemEntropy::new())?;
    let clock = Arc::new(WallClock::start());
    let bucket = BlobBucket::new(&config.bucket, &folder.0, owner, clock, 1 << 30)?;
    Ok(BlobBucket {
        part_size: PART,
        ..bucket
    })
}

/// S280. S281. S282. S284.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_conforms() {
    let folder = Folder::new("conforms");
    let Some(server) = BucketServer::start("a bucket", &folder.0) else {
        return;
    };
    let own = bucket(&folder, &server.settings()).unwrap();
    own.check().await.unwrap();
    assert_eq!(
        conforms(&own, 10_600_000, Duration::from_secs(20)).await,
        Ok(())
    );
    assert_eq!(server.contents(), [Vec::<String>::new(), Vec::new()]);
    let unsent = std::fs::read_dir(folder.0.join(FOLDER)).unwrap();
    assert_eq!(unsent.count(), 0);

    // The key is the path that the file would have in the attachment folder.
    let file = Gid::new(0x14d).unwrap();
    let mut writer = own.create(file).await.unwrap();
    writer.write(Bytes::from_static(b"x")).await.unwrap();
    writer.finish().await.unwrap();
    assert_eq!(server.contents(), [vec!["4d/333".to_owned()], Vec::new()]);

    // A signature with another key is not accepted.
    let mut wrong = server.settings();
    wrong.last_mut().unwrap().1 = "wrong".to_owned();
    let stranger = bucket(&folder, &wrong).unwrap();
    let refused = stranger.check().await.unwrap_err().to_string();
    assert!(refused.contains("403 SignatureDoesNotMatch"), "{refused}");
    let refused = stranger.create(file).await.err().unwrap().to_string();
    assert!(
        refused.starts_with("a file can't be kept: the bucket answered 403"),
        "{refused}"
    );
    assert!(stranger.open(file, 0).await.is_err());
    assert!(stranger.remove(file).await.is_err());
    assert!(stranger.list(0x4d).await.is_err());
}

/// S907. Until the bucket reports its owner, nothing is stored or listed; stored files can be read.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_has_one_owner() {
    let folders = ["first", "second"].map(Folder::new);
    let Some(server) = BucketServer::start("the owner of a bucket", &folders[0].0) else {
        return;
    };
    let [first, second] = folders
        .each_ref()
        .map(|folder| bucket(folder, &server.settings()).unwrap());
    let file = Gid::new(0x14d).unwrap();
    let mut writer = first.create(file).await.unwrap();
    writer.write(Bytes::from_static(b"x")).await.unwrap();
    writer.finish().await.unwrap();

    let refused = second.check().await.unwrap_err();
    assert!(refused.is::<OwnedByAnother>(), "{refused:#}");
    let text = refused.to_string();
    assert!(
        text.contains("another server") && text.contains("graph/workgraph-owner"),
        "{text}"
    );
    assert!(second.list(0x4d).await.is_err());
    assert!(second.remove(file).await.is_err());
    assert!(second.create(file).await.is_err());
    assert_eq!(server.contents(), [vec!["4d/333".to_owned()], Vec::new()]);
    // The same folder still owns the bucket when its server restarts.
    let again = bucket(&folders[0], &server.settings()).unwrap();
    again.check().await.unwrap();

    // The operator gives the bucket to the second one, and the first no longer removes files from it.
    second
        .client
        .delete(&second.client.own_key("workgraph-owner"))
        .await
        .unwrap();
    assert!(first.list(0x4d).await.is_err());
    second.check().await.unwrap();
    assert_eq!(second.list(0x4d).await.unwrap(), [file]);
    assert!(first.list(0x4d).await.is_err());
}

/// S284. A server that does not answer leads to an error after a few attempts, and to no file.
#[tokio::test]
async fn a_bucket_that_does_not_answer_is_an_error() {
    let folder = Folder::new("gone");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let values = |key: &str| {
        vec![
            ("bucket.endpoint", address.clone()),
            ("bucket.name", "files".to_owned()),
            ("bucket.access_key", key.to_owned()),
            ("bucket.secret_key", "secret".to_owned()),
        ]
    };
    let gone = bucket(&folder, &values("key")).unwrap();
    let error = gone.open(Gid::new(1).unwrap(), 0).await.unwrap_err().0;
    assert!(
        error.starts_with("a file can't be opened: no connection to 127.0.0.1"),
        "{error}"
    );
    let unset = bucket(&folder, &values("")).err().unwrap().to_string();
    assert_eq!(
        unset,
        "bucket.access_key: must be set, since bucket.endpoint is"
    );
}
