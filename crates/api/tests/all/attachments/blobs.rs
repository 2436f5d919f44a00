//! A store of files in memory, which fails when it is told to.
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use workgraph_api::ports::blob_store::{
    BlobReader, BlobStore, BlobStoreError, BlobWriter, shard_of,
};
use workgraph_core::Gid;

/// Files in memory.
#[derive(Debug, Default)]
pub(crate) struct Blobs(Arc<Mutex<BlobState>>);

#[derive(Clone, Debug, Default)]
struct BlobState {
    /// Whole files.
    files: BTreeMap<Gid, Vec<u8>>,
    /// Longest piece that was written at once.
    widest: usize,
    /// Number of the call that fails, counted down.
    fails_in: Option<u32>,
    /// Free bytes of the disk; a write uses them up.
    free: Option<u64>,
}

impl BlobState {
    fn fails(&mut self) -> Result<(), BlobStoreError> {
        self.fails_in = match self.fails_in {
            Some(0) => return Err(BlobStoreError("no space left".to_owned())),
            left => left.map(|left| left - 1),
        };
        Ok(())
    }
}

impl Blobs {
    pub(crate) fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }
    pub(crate) fn files(&self) -> Vec<Gid> {
        self.0.lock().unwrap().files.keys().copied().collect()
    }
    pub(super) fn text(&self, file: &str) -> String {
        let file = Gid::parse(file).unwrap();
        let state = self.0.lock().unwrap();
        String::from_utf8(state.files[&file].clone()).unwrap()
    }
    pub(super) fn fail_in(&self, calls: Option<u32>) {
        self.0.lock().unwrap().fails_in = calls;
    }
    pub(super) fn set_free(&self, bytes: Option<u64>) {
        self.0.lock().unwrap().free = bytes;
    }
    pub(super) fn widest(&self) -> usize {
        self.0.lock().unwrap().widest
    }
    pub(super) fn put_empty(&self, file: Gid) {
        self.0.lock().unwrap().files.insert(file, Vec::new());
    }
}

struct Writer {
    file: Gid,
    bytes: Vec<u8>,
    all: Arc<Mutex<BlobState>>,
}

#[async_trait]
impl BlobStore for Blobs {
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError> {
        self.0.lock().unwrap().fails()?;
        let (bytes, all) = (Vec::new(), Arc::clone(&self.0));
        Ok(Box::new(Writer { file, bytes, all }))
    }
    async fn open(
        &self,
        _: Gid,
        _: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError> {
        Ok(None)
    }
    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError> {
        let mut state = self.0.lock().unwrap();
        state.fails()?;
        state.files.remove(&file);
        Ok(())
    }
    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError> {
        let state = self.0.lock().unwrap();
        let files = state.files.keys().copied();
        Ok(files.filter(|file| shard_of(*file) == shard).collect())
    }
    async fn free_bytes(&self) -> Result<Option<u64>, BlobStoreError> {
        Ok(self.0.lock().unwrap().free)
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError> {
        let mut state = self.all.lock().unwrap();
        state.fails()?;
        state.widest = state.widest.max(bytes.len());
        state.free = state.free.map(|free| free - bytes.len() as u64);
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }
    async fn finish(self: Box<Self>) -> Result<(), BlobStoreError> {
        let mut state = self.all.lock().unwrap();
        // A file can be there although its end is not known.
        state.files.insert(self.file, self.bytes);
        state.fails()
    }
}
