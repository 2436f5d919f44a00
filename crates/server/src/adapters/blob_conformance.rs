//! Test cases for every file store: the behaviour that all of them share.
use bytes::Bytes;
use std::time::Duration;
use tokio::time::timeout;
use workgraph_api::ports::blob_store::{BlobStore, BlobStoreError, BlobWriter, shard_of};
use workgraph_core::Gid;

/// Outcome of a case: the reason why the store does not conform.
type Outcome = Result<(), String>;

/// Store under test, with the maximum wait for its background work.
#[derive(Clone, Copy)]
struct Subject<'s>(&'s dyn BlobStore, Duration);

/// Returns a file of the suite; files with the same `shard` are listed together.
fn file(number: u64, shard: u8) -> Gid {
    Gid::new((number << 8) | u64::from(shard)).unwrap()
}

/// Returns bytes that differ at each position.
fn content(length: usize) -> Bytes {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Runs all cases on an empty store; a file of `large` bytes is written in more than one part, if the store has
/// parts. Background work of the store must be done within `patience`.
///
/// # Errors
/// Describes what the store does wrong.
pub(super) async fn conforms(store: &dyn BlobStore, large: usize, patience: Duration) -> Outcome {
    let subject = Subject(store, patience);
    whole_until_removed(subject).await?;
    same_bytes_from_any_offset(store, large).await?;
    nothing_of_what_is_given_up(subject, large).await?;
    unfinished_can_be_removed(subject, large).await?;
    shards_are_apart(subject).await?;
    writers_at_once(subject, large).await
}

fn must(holds: bool, reason: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(reason.into()) }
}

fn text(error: BlobStoreError) -> String {
    error.0
}

async fn write(
    store: &dyn BlobStore,
    file: Gid,
    content: &Bytes,
    piece: usize,
) -> Result<Box<dyn BlobWriter>, String> {
    let (mut left, mut writer) = (content.clone(), store.create(file).await.map_err(text)?);
    while !left.is_empty() {
        let piece = left.split_to(piece.min(left.len()));
        writer.write(piece).await.map_err(text)?;
    }
    Ok(writer)
}

async fn read(
    store: &dyn BlobStore,
    file: Gid,
    offset: u64,
) -> Result<Option<(Vec<u8>, u64)>, String> {
    let Some((mut reader, size)) = store.open(file, offset).await.map_err(text)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    while let Some(piece) = reader.read().await.map_err(text)? {
        must(!piece.is_empty(), "a piece is empty before the end")?;
        bytes.extend_from_slice(&piece);
    }
    Ok(Some((bytes, size)))
}

/// Waits until a shard lists these files: cleaning up after a dropped writer takes some time.
async fn await_list(Subject(store, patience): Subject<'_>, shard: u8, expected: &[Gid]) -> Outcome {
    let listed = async {
        loop {
            if store.list(shard).await.map_err(text)? == expected {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    };
    let listed = timeout(patience, listed).await;
    listed.unwrap_or_else(|_| Err(format!("shard {shard} does not come to list {expected:?}")))
}

async fn whole_until_removed(subject: Subject<'_>) -> Outcome {
    let store = subject.0;
    let (one, content) = (file(1, 1), Bytes::from_static(b"one two"));
    await_list(subject, 1, &[]).await?;
    must(
        read(store, one, 0).await?.is_none(),
        "it opens what is not there",
    )?;
    let writer = write(store, one, &content, 4).await?;
    must(
        read(store, one, 0).await?.is_none(),
        "it opens what is not whole",
    )?;
    writer.finish().await.map_err(text)?;
    for (offset, rest) in [(0, "one two"), (4, "two"), (7, ""), (9, "")] {
        let expected = Some((rest.as_bytes().to_vec(), 7));
        must(
            read(store, one, offset).await? == expected,
            format!("from {offset}"),
        )?;
    }
    must(
        store.list(1).await == Ok(vec![one]),
        "it does not list a file",
    )?;
    for _ in 0..2 {
        store.remove(one).await.map_err(text)?;
        must(
            read(store, one, 0).await?.is_none(),
            "it opens what was removed",
        )?;
        await_list(subject, 1, &[]).await?;
    }
    let empty = write(store, one, &Bytes::new(), 1).await?;
    empty.finish().await.map_err(text)?;
    must(
        read(store, one, 0).await? == Some((Vec::new(), 0)),
        "an empty file",
    )?;
    store.remove(one).await.map_err(text)
}

async fn same_bytes_from_any_offset(store: &dyn BlobStore, large: usize) -> Outcome {
    let one = file(2, 2);
    for length in [large, large / 2 + 1] {
        let content = content(length);
        let writer = write(store, one, &content, 70_001).await?;
        writer.finish().await.map_err(text)?;
        for offset in [0, 1, length / 3, length / 2, length - 1, length] {
            let found = read(store, one, offset as u64).await?;
            let expected = Some((content[offset..].to_vec(), length as u64));
            must(found == expected, format!("{length} bytes from {offset}"))?;
        }
        store.remove(one).await.map_err(text)?;
    }
    Ok(())
}

async fn nothing_of_what_is_given_up(subject: Subject<'_>, large: usize) -> Outcome {
    let store = subject.0;
    for (number, length) in [(1, 0), (2, 1), (3, large / 2), (4, large)] {
        let one = file(number, 3);
        let writer = write(store, one, &content(length), 70_001).await?;
        if length == large {
            // Wait until it has certainly begun: a list that is empty because nothing has begun yet proves nothing.
            await_list(subject, 3, &[one]).await?;
        }
        drop(writer);
        await_list(subject, 3, &[]).await?;
        must(
            read(store, one, 0).await?.is_none(),
            "it opens what was given up",
        )?;
    }
    Ok(())
}

async fn unfinished_can_be_removed(subject: Subject<'_>, large: usize) -> Outcome {
    let store = subject.0;
    let one = file(4, 4);
    let writer = write(store, one, &content(large), 70_001).await?;
    await_list(subject, 4, &[one]).await?;
    store.remove(one).await.map_err(text)?;
    await_list(subject, 4, &[]).await?;
    drop(writer);
    await_list(subject, 4, &[]).await
}

async fn shards_are_apart(subject: Subject<'_>) -> Outcome {
    let store = subject.0;
    let all = [file(5, 5), file(6, 5), file(5, 0x50), file(5, 0xff)];
    for one in all {
        let writer = write(store, one, &Bytes::from_static(b"x"), 1).await?;
        writer.finish().await.map_err(text)?;
    }
    let used = store.used_shards().await.map_err(text)?;
    if !used.is_sorted() || !all.iter().all(|one| used.contains(&shard_of(*one))) {
        return Err(format!("used shards: {used:?}"));
    }
    for shard in [5, 0x50, 0xff, 6, 0] {
        let mut expected = all.to_vec();
        expected.retain(|one| shard_of(*one) == shard);
        await_list(subject, shard, &expected).await?;
    }
    for one in all {
        store.remove(one).await.map_err(text)?;
    }
    Ok(())
}

async fn writers_at_once(subject: Subject<'_>, large: usize) -> Outcome {
    let store = subject.0;
    let files: Vec<Gid> = (1..=3).map(|number| file(number, 7)).collect();
    let mut writers = Vec::new();
    for one in &files {
        writers.push(write(store, *one, &content(large / 2 + 9), 70_001).await?);
    }
    for writer in writers {
        writer.finish().await.map_err(text)?;
    }
    await_list(subject, 7, &files).await?;
    for one in &files {
        let found = read(store, *one, 0).await?.map(|(bytes, _)| bytes);
        must(
            found == Some(content(large / 2 + 9).to_vec()),
            "files are mixed up",
        )?;
        store.remove(*one).await.map_err(text)?;
    }
    Ok(())
}
