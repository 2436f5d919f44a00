//! Signed requests to a bucket, in its protocol.
use super::connection::{Connections, Content, Endpoint, Reply};
use super::xml_reply::XmlReply;
use crate::config::BucketConfig;
use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use quick_xml::escape::escape;
use rusty_s3::{Bucket, Credentials, Method, UrlStyle, signing};
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use workgraph_api::Clock;
use workgraph_api::ports::blob_store::shard_of;
use workgraph_core::Gid;

/// Validity of a signed request in seconds.
const VALID: u64 = 900;
/// Pauses before a request is retried.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];
/// Maximum size in bytes of a reply that is not a file.
const REPLY_MAX: usize = 8 << 20;

/// Client of one bucket, with its address, its keys and its connections.
pub(super) struct BucketClient {
    bucket: Bucket,
    credentials: Credentials,
    prefix: String,
    clock: Arc<dyn Clock>,
    connections: Arc<Connections>,
}

/// Page of a list of objects or unfinished uploads.
#[derive(Debug, Default)]
pub(super) struct ListPage {
    /// Keys, each with the id of its upload if it is unfinished.
    pub(super) found: Vec<(String, Option<String>)>,
    /// Query parameters of the next page, in alphabetical order.
    pub(super) next: Option<Vec<(&'static str, String)>>,
}

/// Part of an unfinished upload that the bucket already has: its number and tag.
pub(super) type SentPart = (u16, String);

impl BucketClient {
    /// Returns a client.
    ///
    /// # Errors
    /// Says which of the settings is wrong.
    pub(super) fn new(config: &BucketConfig, clock: Arc<dyn Clock>) -> Result<Self> {
        for (name, value) in [
            ("bucket.name", &config.name),
            ("bucket.region", &config.region),
            ("bucket.access_key", &config.access_key),
            ("bucket.secret_key", &config.secret_key),
        ] {
            if value.is_empty() {
                bail!("{name}: must be set, since bucket.endpoint is");
            }
        }
        let style = if config.path_style {
            UrlStyle::Path
        } else {
            UrlStyle::VirtualHost
        };
        let endpoint = &config.endpoint.0;
        let url = endpoint
            .parse()
            .map_err(|e| anyhow!("bucket.endpoint: {endpoint}: {e}"))?;
        let (name, region) = (config.name.clone(), config.region.clone());
        let bucket = Bucket::new(url, style, name, region)
            .map_err(|e| anyhow!("bucket.endpoint and bucket.name: {e}"))?;
        let base = bucket.base_url();
        let host = base.host_str().unwrap_or_default().to_owned();
        let port = base.port_or_known_default().unwrap_or(443);
        let authority = match base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        let connections = Arc::new(Connections::new(Endpoint {
            is_tls: base.scheme() == "https",
            host,
            port,
            authority,
        }));
        let (key, secret) = (config.access_key.as_str(), config.secret_key.as_str());
        Ok(Self {
            bucket,
            credentials: Credentials::new(key, secret),
            prefix: config.prefix.clone(),
            clock,
            connections,
        })
    }

    /// Returns the common prefix of the keys of a shard.
    pub(super) fn shard_prefix(&self, shard: u8) -> String {
        format!("{}{shard:02x}/", self.prefix)
    }

    /// Returns the key of the object with a file.
    pub(super) fn key(&self, file: Gid) -> String {
        format!("{}{file}", self.shard_prefix(shard_of(file)))
    }

    /// Returns the key of an object that is not a file.
    pub(super) fn own_key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the text of a small object; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub(super) async fn text(&self, key: &str) -> Result<Option<String>> {
        let none = Content::Bytes(Bytes::new());
        let reply = self.send(Method::Get, key, &[], &[], none).await?;
        if reply.status == 404 {
            return reply.all(REPLY_MAX).await.map(|_| None);
        }
        let text = String::from_utf8(done(reply).await?);
        text.context("the object is not text").map(Some)
    }

    /// Stores a small object, unless it exists. A server without support for that condition replaces it.
    ///
    /// # Errors
    /// Fails if the object still does not exist afterwards.
    pub(super) async fn put_new(&self, key: &str, text: &str) -> Result<()> {
        let put = async |headers: &[(&'static str, String)]| {
            let content = Content::Bytes(Bytes::copy_from_slice(text.as_bytes()));
            self.send(Method::Put, key, &[], headers, content).await
        };
        let reply = put(&[("if-none-match", "*".to_owned())]).await?;
        match reply.status {
            // Another request was faster.
            409 | 412 => reply.all(REPLY_MAX).await.map(drop),
            501 => {
                reply.all(REPLY_MAX).await?;
                done(put(&[]).await?).await.map(drop)
            }
            _ => done(reply).await.map(drop),
        }
    }

    /// Sends a request about an object, or about the bucket if the key is empty; `query` is in alphabetical order. Retries if
    /// the server cannot be reached or is busy.
    ///
    /// # Errors
    /// Fails if there is no reply.
    pub(super) async fn send(
        &self,
        method: Method,
        key: &str,
        query: &[(&'static str, &str)],
        headers: &[(&'static str, String)],
        content: Content,
    ) -> Result<Reply> {
        let mut pauses = PAUSES.iter();
        loop {
            let target = self.signed_target(method, key, query)?;
            let http_method = hyper::Method::from_bytes(method.to_str().as_bytes())?;
            let sent = self
                .connections
                .send(&http_method, &target, headers, &content);
            let outcome = sent.await;
            let is_final = match &outcome {
                Ok(reply) => reply.status < 500 && reply.status != 429,
                Err(_) => false,
            };
            match pauses.next() {
                Some(pause) if !is_final => {
                    let _over = timeout(*pause, pending::<()>()).await;
                }
                _ => return outcome,
            }
        }
    }

    /// Returns the path and query of a request, signed.
    fn signed_target(
        &self,
        method: Method,
        key: &str,
        query: &[(&'static str, &str)],
    ) -> Result<String> {
        let now = self.clock.now().try_into().context("the time of day")?;
        let url = if key.is_empty() {
            self.bucket.base_url().clone()
        } else {
            self.bucket.object_url(key)
        };
        let signed = signing::sign(
            &now,
            method,
            url,
            self.credentials.key(),
            self.credentials.secret(),
            None,
            self.bucket.region(),
            VALID,
            query.iter().copied(),
            std::iter::empty(),
        );
        Ok(format!(
            "{}?{}",
            signed.path(),
            signed.query().unwrap_or_default()
        ))
    }

    /// Stores an object.
    ///
    /// # Errors
    /// Fails if the bucket does not store it.
    pub(super) async fn put(&self, key: &str, content: Content) -> Result<()> {
        let reply = self.send(Method::Put, key, &[], &[], content).await?;
        done(reply).await.map(drop)
    }

    /// Starts an upload in parts. Returns its id.
    ///
    /// # Errors
    /// Fails if it was not started.
    pub(super) async fn begin_upload(&self, key: &str) -> Result<String> {
        let none = Content::Bytes(Bytes::new());
        let reply = self.send(Method::Post, key, &[("uploads", "")], &[], none);
        let reply = xml(done(reply.await?).await?)?;
        let id = reply.text("UploadId").filter(|id| !id.is_empty());
        Ok(id.context("the reply has no UploadId")?.to_owned())
    }

    /// Sends a part of an upload.
    ///
    /// # Errors
    /// Fails if the bucket does not store it.
    pub(super) async fn send_part(
        &self,
        key: &str,
        upload: &str,
        number: u16,
        content: Content,
    ) -> Result<SentPart> {
        let digits = number.to_string();
        let query = [("partNumber", digits.as_str()), ("uploadId", upload)];
        let reply = self.send(Method::Put, key, &query, &[], content).await?;
        let tag = header(&reply, "etag");
        done(reply).await?;
        Ok((number, tag.context("the reply has no ETag")?))
    }

    /// Assembles an object from the parts of an upload.
    ///
    /// # Errors
    /// Fails if the bucket does not store it.
    pub(super) async fn end_upload(
        &self,
        key: &str,
        upload: &str,
        parts: &[SentPart],
        size: u64,
    ) -> Result<()> {
        let mut body = "<CompleteMultipartUpload>".to_owned();
        for (number, tag) in parts {
            let tag = escape(tag.as_str());
            body += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        }
        body += "</CompleteMultipartUpload>";
        let content = Content::Bytes(body.into());
        let query = [("uploadId", upload)];
        let sent = self.send(Method::Post, key, &query, &[], content).await;
        let outcome = match sent {
            Ok(reply) => match done(reply).await.and_then(xml) {
                // An error can follow the head of a reply that reports success.
                Ok(reply) if reply.root == "Error" => Err(refusal(200, Some(&reply))),
                Ok(_) => return Ok(()),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        // A first attempt whose reply was lost may have completed the upload, which the second attempt then doesn't find.
        match self.size(key).await {
            Ok(Some(found)) if found == size => Ok(()),
            _ => outcome,
        }
    }

    /// Aborts an upload, if it still exists.
    ///
    /// # Errors
    /// Fails if parts of it may remain.
    pub(super) async fn abort_upload(&self, key: &str, upload: &str) -> Result<()> {
        let none = Content::Bytes(Bytes::new());
        let query = [("uploadId", upload)];
        self.deleted(self.send(Method::Delete, key, &query, &[], none).await?)
            .await
    }

    /// Deletes an object, if it exists.
    ///
    /// # Errors
    /// Fails if it still exists.
    pub(super) async fn delete(&self, key: &str) -> Result<()> {
        let none = Content::Bytes(Bytes::new());
        self.deleted(self.send(Method::Delete, key, &[], &[], none).await?)
            .await
    }

    async fn deleted(&self, reply: Reply) -> Result<()> {
        if reply.status == 404 {
            return reply.all(REPLY_MAX).await.map(drop);
        }
        done(reply).await.map(drop)
    }

    /// Returns the size of an object in bytes, or `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the size is unknown.
    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>> {
        let none = Content::Bytes(Bytes::new());
        let reply = self.send(Method::Head, key, &[], &[], none).await?;
        let (status, length) = (reply.status, header(&reply, "content-length"));
        reply.all(REPLY_MAX).await?;
        match status {
            404 => Ok(None),
            200 => {
                let size = length.and_then(|length| length.parse().ok());
                size.context("the reply has no Content-Length").map(Some)
            }
            _ => Err(refusal(status, None)),
        }
    }

    /// Opens an object at an offset that is within it.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub(super) async fn get(&self, key: &str, offset: u64) -> Result<Reply> {
        let range = [("range", format!("bytes={offset}-"))];
        let headers = if offset > 0 { &range[..] } else { &[] };
        let none = Content::Bytes(Bytes::new());
        let reply = self.send(Method::Get, key, &[], headers, none).await?;
        match (reply.status, offset) {
            (200, 0) | (206, 1..) => Ok(reply),
            (200 | 206, _) => bail!("the bucket did not send the range that it was asked for"),
            _ => Err(refused(reply).await),
        }
    }

    /// Returns a page of the objects whose keys start with a prefix.
    ///
    /// # Errors
    /// Fails if they can't be listed.
    pub(super) async fn list_objects(
        &self,
        prefix: &str,
        from: &[(&'static str, String)],
    ) -> Result<ListPage> {
        let mut query: Vec<_> = from.iter().map(|(n, v)| (*n, v.as_str())).collect();
        query.extend([("list-type", "2"), ("prefix", prefix)]);
        let reply = self.list(&query).await?;
        let contents = reply.named("Contents");
        let keys = contents.filter_map(|one| Some((one.field("Key")?.to_owned(), None)));
        let more = [("continuation-token", "NextContinuationToken")];
        let found = keys.collect();
        let next = next_page(&reply, &more)?;
        Ok(ListPage { found, next })
    }

    /// Returns a page of the unfinished uploads whose keys start with a prefix.
    ///
    /// # Errors
    /// Fails if they can't be listed.
    pub(super) async fn list_uploads(
        &self,
        prefix: &str,
        from: &[(&'static str, String)],
    ) -> Result<ListPage> {
        let mut query: Vec<_> = from.iter().map(|(n, v)| (*n, v.as_str())).collect();
        query.extend([("prefix", prefix), ("uploads", "")]);
        query.sort_unstable();
        let reply = self.list(&query).await?;
        let uploads = reply.named("Upload");
        let found = uploads.filter_map(|one| {
            let id = one.field("UploadId")?.to_owned();
            Some((one.field("Key")?.to_owned(), Some(id)))
        });
        let found = found.collect();
        let more = [
            ("key-marker", "NextKeyMarker"),
            ("upload-id-marker", "NextUploadIdMarker"),
        ];
        let next = next_page(&reply, &more)?;
        Ok(ListPage { found, next })
    }

    async fn list(&self, query: &[(&'static str, &str)]) -> Result<XmlReply> {
        let none = Content::Bytes(Bytes::new());
        let reply = self.send(Method::Get, "", query, &[], none).await?;
        xml(done(reply).await?)
    }
}

/// Returns the query parameters of the next page, from the elements that contain their values.
fn next_page(
    reply: &XmlReply,
    names: &[(&'static str, &str)],
) -> Result<Option<Vec<(&'static str, String)>>> {
    if reply.text("IsTruncated") != Some("true") {
        return Ok(None);
    }
    let value = |(name, element): &(&'static str, &str)| {
        let value = reply.text(element).filter(|value| !value.is_empty())?;
        Some((*name, value.to_owned()))
    };
    let next: Vec<_> = names.iter().filter_map(value).collect();
    if next.is_empty() {
        bail!("a list has another page, but the reply has no token for it");
    }
    Ok(Some(next))
}

pub(super) fn header(reply: &Reply, name: &str) -> Option<String> {
    let value = reply.headers.get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// Returns the body of a successful reply.
async fn done(reply: Reply) -> Result<Vec<u8>> {
    if (200..300).contains(&reply.status) {
        return reply.all(REPLY_MAX).await;
    }
    Err(refused(reply).await)
}

/// Returns the error that a reply reports.
async fn refused(reply: Reply) -> anyhow::Error {
    let status = reply.status;
    let body = reply.all(REPLY_MAX).await.and_then(xml);
    refusal(status, body.ok().as_ref())
}

fn refusal(status: u16, body: Option<&XmlReply>) -> anyhow::Error {
    let text = |name| body.and_then(|body| body.text(name)).unwrap_or_default();
    let (code, message) = (text("Code"), text("Message"));
    let text = format!("{code} {message}");
    Refused { status, text }.into()
}

/// Refusal of a request by a bucket.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: u16,
    text: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bucket answered {} {}", self.status, self.text)
    }
}

impl std::error::Error for Refused {}

fn xml(body: Vec<u8>) -> Result<XmlReply> {
    let text = String::from_utf8(body).context("the reply is not text")?;
    XmlReply::parse(&text).context("the reply is not XML")
}
