use super::*;
use crate::adapters::blob_conformance::conforms;
use std::time::Duration;

struct Data(PathBuf);
impl Data {
    fn new(name: &str) -> (Self, BlobFolder) {
        let path =
            std::env::temp_dir().join(format!("workgraph-blobs-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = BlobFolder::new(&path);
        (Self(path), folder)
    }
}
impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// S280.
#[tokio::test]
async fn a_folder_conforms() {
    let (_data, folder) = Data::new("conforms");
    assert_eq!(
        conforms(&folder, 500_000, Duration::from_secs(5)).await,
        Ok(())
    );
}

/// Faults of an incorrect store.
#[derive(Clone, Copy, Debug)]
enum Fault {
    ForgetsOffset,
    TellsWrongSize,
    KeepsWhatIsRemoved,
    ListsEveryShard,
    ListsNothingUnfinished,
    KeepsWhatIsGivenUp,
}

struct Faulty(BlobFolder, Fault);

#[async_trait]
impl BlobStore for Faulty {
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError> {
        match self.1 {
            Fault::KeepsWhatIsGivenUp => {
                let writer = BlobStore::create(&self.0, file).await?;
                Ok(Box::new(Keeping(Some(writer))))
            }
            _ => BlobStore::create(&self.0, file).await,
        }
    }
    async fn open(
        &self,
        file: Gid,
        offset: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError> {
        let offset = match self.1 {
            Fault::ForgetsOffset => 0,
            _ => offset,
        };
        let opened = BlobStore::open(&self.0, file, offset).await?;
        Ok(opened.map(|(reader, size)| match self.1 {
            Fault::TellsWrongSize => (reader, size - offset),
            _ => (reader, size),
        }))
    }
    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError> {
        match self.1 {
            Fault::KeepsWhatIsRemoved => Ok(()),
            _ => BlobStore::remove(&self.0, file).await,
        }
    }
    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError> {
        let mut files = BlobStore::list(&self.0, shard).await?;
        match self.1 {
            Fault::ListsEveryShard => files.extend(BlobStore::list(&self.0, 0xff).await?),
            Fault::ListsNothingUnfinished => files.retain(|file| self.0.whole(*file).exists()),
            _ => {}
        }
        Ok(files)
    }
}

/// Writer that finishes a file that it should abandon.
struct Keeping(Option<Box<dyn BlobWriter>>);

#[async_trait]
impl BlobWriter for Keeping {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError> {
        self.0.as_mut().unwrap().write(bytes).await
    }
    async fn finish(mut self: Box<Self>) -> Result<(), BlobStoreError> {
        self.0.take().unwrap().finish().await
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        if let Some(writer) = self.0.take() {
            tokio::spawn(writer.finish());
        }
    }
}

#[tokio::test]
async fn the_cases_notice_every_fault() {
    for fault in [
        Fault::ForgetsOffset,
        Fault::TellsWrongSize,
        Fault::KeepsWhatIsRemoved,
        Fault::ListsEveryShard,
        Fault::ListsNothingUnfinished,
        Fault::KeepsWhatIsGivenUp,
    ] {
        let (_data, folder) = Data::new(&format!("{fault:?}"));
        let outcome = conforms(&Faulty(folder, fault), 500_000, Duration::from_millis(200)).await;
        assert!(outcome.is_err(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error() {
    let (data, folder) = Data::new("fail");
    std::fs::write(data.0.join(FOLDER), "in the way").unwrap();
    let mut writer = folder.create(Gid::new(0x14d).unwrap()).await.unwrap();
    let mut outcome = Ok(());
    for _ in 0..9 {
        outcome = outcome.and(writer.write(vec![0; GATHERED].into()).await);
    }
    let ended = writer.finish().await;
    assert!(outcome.is_err() && ended.is_err(), "{outcome:?} {ended:?}");
    assert!(
        outcome
            .unwrap_err()
            .to_string()
            .contains("can't be written")
    );
}
