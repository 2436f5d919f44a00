//! The files of the reference: their headers, versions and compressed forms.
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, PreEscaped, html};
use workgraph_api::ApiResponse;

use super::view::DocumentView;
use crate::pages::{STYLE_SOURCE, brand, document, paths};

/// Style sheet of the reference, in addition to the common style sheet.
const STYLE: &str = include_str!("reference.css");

/// Title and content of a page, before the layout is added.
#[derive(Debug)]
pub(super) struct PageContent {
    pub(super) title: String,
    pub(super) body: Markup,
}

/// Form in which a file is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// The bytes as they are.
    Plain,
    /// The bytes compressed (RFC 1952).
    Gzip,
}

/// Request for a file of the reference.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceRequest<'r> {
    /// Path as it was sent.
    pub path: &'r str,
    /// Value of `Accept-Encoding`.
    pub accept_encoding: Option<&'r str>,
    /// Value of `If-None-Match`.
    pub if_none_match: Option<&'r str>,
}

impl ReferenceRequest<'_> {
    /// Returns the form that the client accepts: compressed, if the request allows it (RFC 9110 section 12.5.3).
    fn representation(&self) -> Representation {
        let takes = |part: &str| {
            let (coding, weight) = part.split_once(';').unwrap_or((part, ""));
            let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
            matches!(coding.trim(), "gzip" | "*") && weight.parse().is_ok_and(|q: f32| q > 0.0)
        };
        match self
            .accept_encoding
            .is_some_and(|all| all.split(',').any(takes))
        {
            true => Representation::Gzip,
            false => Representation::Plain,
        }
    }

    /// Returns true if the client already has the version with this tag (RFC 9110 section 13.1.2).
    fn has(&self, tag: &str) -> bool {
        let same = |known: &str| {
            let known = known.trim();
            known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
        };
        self.if_none_match
            .is_some_and(|all| all.split(',').any(same))
    }
}

/// File of the reference, ready to send.
#[derive(Debug)]
pub struct ReferenceFile {
    media_type: &'static str,
    policy: String,
    version: String,
    plain: Bytes,
    gzip: Bytes,
}

impl ReferenceFile {
    fn new(media_type: &'static str, policy: String, plain: Vec<u8>) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, &plain);
        let version = URL_SAFE_NO_PAD.encode(digest.as_ref().get(..12).unwrap_or_default());
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writes to memory do not fail; without a compressed form the plain one is sent.
        let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
        Self {
            media_type,
            policy,
            version,
            gzip: written.unwrap_or_default().into(),
            plain: plain.into(),
        }
    }

    /// Returns the bytes in a form.
    #[must_use]
    pub fn bytes(&self, form: Representation) -> &Bytes {
        match form {
            Representation::Gzip => &self.gzip,
            Representation::Plain => &self.plain,
        }
    }

    /// Returns a public JSON document, compressed once.
    #[must_use]
    pub fn json(document: Vec<u8>) -> Self {
        let policy = "default-src 'none'; frame-ancestors 'none'".to_owned();
        Self::new("application/json; charset=UTF-8", policy, document)
    }

    /// Answers a GET with the file, or with 304 if the client already has it.
    #[must_use]
    pub fn answer(&self, request: ReferenceRequest<'_>) -> ApiResponse {
        let mut form = request.representation();
        if self.gzip.is_empty() {
            form = Representation::Plain;
        }
        let suffix = match form {
            Representation::Gzip => "-gzip",
            Representation::Plain => "",
        };
        let tag = format!("\"{}{suffix}\"", self.version);
        let known = request.has(&tag);
        let reply = match known {
            true => ApiResponse::json(304, Vec::new()),
            false => ApiResponse::shared(200, self.bytes(form).clone()),
        };
        let reply = reply
            .with("Content-Type", self.media_type)
            .with("Content-Security-Policy", self.policy.clone())
            .with("X-Content-Type-Options", "nosniff")
            .with("X-Frame-Options", "DENY")
            .with("Referrer-Policy", "no-referrer")
            .with("Cross-Origin-Resource-Policy", "same-origin")
            .with("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
            // The file is the same for all users; clients check each time whether it changed.
            .with("Cache-Control", "no-cache")
            .with("Vary", "Accept-Encoding")
            .with("ETag", tag);
        match form {
            Representation::Gzip if !known => reply.with("Content-Encoding", "gzip"),
            _ => reply,
        }
    }
}

/// Layout and policy that all pages of the reference share.
pub(super) struct PageBuilder<'d> {
    view: &'d DocumentView<'d>,
    script: &'static str,
    /// Hash of the script, as a source expression and as integrity metadata.
    script_hash: String,
    policy: String,
}

impl<'d> PageBuilder<'d> {
    pub(super) fn new(view: &'d DocumentView<'d>, script: &'static str) -> Self {
        let hash = |text: &str| {
            let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
            format!("sha256-{}", STANDARD.encode(digest.as_ref()))
        };
        let script_hash = hash(script);
        let policy = format!(
            "default-src 'none'; style-src {} '{}'; script-src '{script_hash}'; connect-src 'self'; \
             form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'",
            *STYLE_SOURCE,
            hash(STYLE)
        );
        Self {
            view,
            script,
            script_hash,
            policy,
        }
    }

    pub(super) fn page(&self, content: PageContent) -> ReferenceFile {
        let PageContent { title, body } = content;
        let head = html! {
            style { (PreEscaped(STYLE)) }
            script src=(paths::REFERENCE_SCRIPT) integrity=(self.script_hash) defer {}
        };
        let navigation = html! {
            header.top {
                div {
                    (brand())
                    nav aria-label="Reference" {
                        ul {
                            li { a href=(paths::REFERENCE) { "API reference" } }
                            li { a href={ (self.view.api_path()) "/openapi.json" } { "OpenAPI document" } }
                            li { a href=(paths::ERRORS) { "Errors" } }
                            li { a href=(paths::CONSOLE) { "Console" } }
                        }
                    }
                }
            }
        };
        let main = html! {
            main #main .reference data-session=(paths::TRY_TOKEN) data-api=(self.view.api_path()) data-server=(self.view.server()) { (body) }
        };
        let page = document(&title, &head, &navigation, &main);
        ReferenceFile::new(
            "text/html; charset=utf-8",
            self.policy.clone(),
            page.html.into_bytes(),
        )
    }

    pub(super) fn script(&self) -> ReferenceFile {
        let policy = "default-src 'none'; frame-ancestors 'none'".to_owned();
        ReferenceFile::new(
            "text/javascript; charset=utf-8",
            policy,
            self.script.as_bytes().to_vec(),
        )
    }
}
