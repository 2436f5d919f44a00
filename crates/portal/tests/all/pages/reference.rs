//! Rules of the reference pages, for the document of the real operation table.
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use workgraph_api::operations::TABLES;
use workgraph_api::operations::openapi::{DocumentInfo, document};
use workgraph_portal::pages::paths;
use workgraph_portal::reference::{ReferenceRequest, ReferenceSite, Representation};

use super::markup::{Tag, tags};

/// Most bytes of a page, as it is and compressed.
const BUDGET: (usize, usize) = (192 << 10, 24 << 10);

fn whole() -> Value {
    let info = DocumentInfo {
        root_url: "https://work.example/below",
        version: "0",
    };
    document(TABLES, info)
}

/// Returns the pages of a document by their paths.
fn pages(document: &Value) -> BTreeMap<String, String> {
    let site = ReferenceSite::new(document);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    site.files()
        .filter(|(path, _)| *path != paths::REFERENCE_SCRIPT)
        .map(|(path, file)| (path.to_owned(), text(file.bytes(Representation::Plain))))
        .collect()
}

fn ask<'r>(path: &'r str) -> ReferenceRequest<'r> {
    ReferenceRequest {
        path,
        accept_encoding: None,
        if_none_match: None,
    }
}

/// S290. Every operation is on one page and in the overview, with its parameters, the fields of its body, its errors,
/// scope, quota and cost; every link leads to an element that is there.
#[test]
fn the_reference_has_every_operation_and_every_link_leads_somewhere() {
    let document = whole();
    let pages = pages(&document);
    let ids: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(path, html)| {
            let ids = tags(html)
                .iter()
                .filter_map(|t| t.get("id").map(str::to_owned))
                .collect();
            (path.as_str(), ids)
        })
        .collect();
    let overview = &pages[paths::REFERENCE];
    let mut operations = 0;
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            operations += 1;
            let id = operation["operationId"].as_str().unwrap();
            let on: Vec<&&str> = ids
                .iter()
                .filter(|(_, ids)| ids.contains(id))
                .map(|(p, _)| p)
                .collect();
            assert_eq!(on.len(), 1, "{id} is on {on:?}");
            assert!(
                overview.contains(&format!("{}#{id}\"", on[0])),
                "{id} is not in the overview"
            );
            let start = pages[*on[0]]
                .split(&format!("<details class=\"card operation\" id=\"{id}\""))
                .nth(1);
            let shown = start.unwrap().split("<details").next().unwrap();
            let code = |name: &str| shown.contains(&format!(">{name}</code>"));
            for parameter in operation["parameters"].as_array().unwrap() {
                let shared = parameter["$ref"]
                    .as_str()
                    .and_then(|r| r.rsplit('/').next());
                let name = shared.or(parameter["name"].as_str()).unwrap();
                assert!(code(name), "{id}: {name}");
            }
            let data = "/requestBody/content/application~1json/schema/properties/data";
            let data = operation.pointer(data).unwrap_or(&Value::Null);
            let included = data["allOf"].as_array().into_iter().flatten().map(|part| {
                let to = part["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
                document.pointer(to).unwrap()
            });
            for schema in included.chain([data]) {
                for name in schema["properties"]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(n, _)| n)
                {
                    assert!(code(name), "{id}: {name} of the body");
                }
            }
            for status in operation["responses"].as_object().unwrap().keys() {
                assert!(shown.contains(&format!(">{status}</")), "{id}: {status}");
            }
            for fact in ["x-cost", "x-quota"] {
                assert!(
                    shown.contains(operation[fact].as_str().unwrap()),
                    "{id}: {fact}"
                );
            }
            if let Some(scope) = operation["security"][1]["oauth2"][0].as_str() {
                assert!(code(scope), "{id}: {scope}");
            }
            assert_eq!(
                shown.contains(">Paid plan</span>"),
                operation["x-paid-plan"] == true,
                "{id}"
            );
        }
    }
    assert!(operations > 200);
    for (path, html) in &pages {
        for link in tags(html).iter().filter_map(|t| t.get("href")) {
            let (page, name) = link.split_once('#').unwrap_or((link, ""));
            let page = if page.is_empty() { path } else { page };
            if page.starts_with(paths::REFERENCE) {
                let there = ids
                    .get(page)
                    .unwrap_or_else(|| panic!("{path} links to {link}"));
                assert!(
                    name.is_empty() || there.contains(name),
                    "{path} links to {link}"
                );
            }
        }
    }
}

/// S290. Every field of a record that an operation answers with is on one page.
#[test]
fn every_record_is_on_one_page_with_its_fields() {
    let document = whole();
    let pages = pages(&document);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let start = format!("id=\"record-{name}\"");
        let on: Vec<&String> = pages
            .values()
            .filter(|html| html.contains(&start))
            .collect();
        let is_body = name.ends_with("Create")
            || name.ends_with("Update") && !name.starts_with("StatusUpdate");
        if is_body || name == "StatusUpdateCreate" {
            continue;
        }
        assert_eq!(on.len(), 1, "{name}");
        let shown = on[0]
            .split(&start)
            .nth(1)
            .unwrap()
            .split("<details")
            .next()
            .unwrap();
        for field in schema["properties"].as_object().unwrap().keys() {
            assert!(
                shown.contains(&format!("<code>{field}</code>")),
                "{name}: {field}"
            );
        }
    }
}

/// S291. Pages run one script, named by its hash, load nothing else, and lead to this server alone. Ids are unique and
/// fields have labels.
#[test]
fn reference_pages_run_one_script_and_load_nothing_else() {
    let site = ReferenceSite::new(&whole());
    let script = site.answer(ask(paths::REFERENCE_SCRIPT));
    assert_eq!(
        script.header("content-type"),
        Some("text/javascript; charset=utf-8")
    );
    let digest = ring::digest::digest(&ring::digest::SHA256, &script.body);
    let hash = format!("sha256-{}", STANDARD.encode(digest.as_ref()));
    let text = String::from_utf8(script.body.to_vec()).unwrap();
    for sink in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "eval(",
        "localStorage",
        "cookie",
        "http",
    ] {
        assert!(!text.contains(sink), "the script has {sink}");
    }
    for (path, html) in pages(&whole()) {
        let reply = site.answer(ask(&path));
        let policy = reply.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "style-src 'sha256-",
            "connect-src 'self'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(
            policy.contains(&format!("script-src '{hash}';")),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        let tags = tags(&html);
        let with = |name: &str| {
            tags.iter()
                .filter(|t| t.name == name)
                .collect::<Vec<&Tag>>()
        };
        let scripts = with("script");
        assert_eq!(scripts.len(), 1, "{path}");
        assert_eq!(scripts[0].get("src"), Some(paths::REFERENCE_SCRIPT));
        assert_eq!(scripts[0].get("integrity"), Some(hash.as_str()));
        let mut ids: Vec<&str> = tags.iter().filter_map(|t| t.get("id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{path} has an id twice");
        for tag in &tags {
            let name = tag.name.as_str();
            assert!(
                !["iframe", "object", "embed", "img", "link", "base"].contains(&name),
                "{path} has <{name}>"
            );
            assert!(
                tag.attributes
                    .iter()
                    .all(|(n, _)| !n.starts_with("on") && n != "style"),
                "{path}: {tag:?}"
            );
            let href = tag.get("href").unwrap_or("/");
            assert!(
                href.starts_with(['/', '#']) && !href.starts_with("//"),
                "{path} leads to {href}"
            );
        }
        for input in with("input") {
            let labelled = with("label")
                .iter()
                .any(|l| l.get("for") == input.get("id"));
            assert!(labelled, "{path}: {input:?}");
        }
        assert_eq!(
            (with("h1").len(), with("main").len(), with("title").len()),
            (1, 1, 1),
            "{path}"
        );
        assert!(html.contains("data-api=\"/below/api/1.0\""), "{path}");
    }
}

/// S292. Pages are small, sent compressed to those who take it, and not again to those who have them.
#[test]
fn reference_pages_are_small_compressed_and_sent_once() {
    let site = ReferenceSite::new(&whole());
    let mut most = (0, 0);
    for (path, file) in site.files() {
        let (plain, gzip) = (
            file.bytes(Representation::Plain),
            file.bytes(Representation::Gzip),
        );
        most = (most.0.max(plain.len()), most.1.max(gzip.len()));
        let mut unpacked = Vec::new();
        GzDecoder::new(&gzip[..])
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(&unpacked, plain, "{path}");
        assert!(
            plain.len() < BUDGET.0 && gzip.len() < BUDGET.1,
            "{path}: {} {}",
            plain.len(),
            gzip.len()
        );
        for (takes, packed) in [
            (None, false),
            (Some("identity"), false),
            (Some("gzip;q=0, br"), false),
            (Some("gzip, deflate, br"), true),
            (Some("br, gzip;q=0.5"), true),
        ] {
            let asked = ReferenceRequest {
                accept_encoding: takes,
                ..ask(path)
            };
            let reply = site.answer(asked);
            assert_eq!(reply.status, 200);
            assert_eq!(
                reply.header("content-encoding").is_some(),
                packed,
                "{takes:?}"
            );
            assert_eq!(reply.body, if packed { gzip } else { plain });
            let tag = reply.header("etag").unwrap().to_owned();
            for known in [
                tag.clone(),
                format!("W/{tag}"),
                format!("\"x\", {tag}"),
                "*".to_owned(),
            ] {
                let again = site.answer(ReferenceRequest {
                    if_none_match: Some(&known),
                    ..asked
                });
                assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
                assert_eq!(again.header("etag"), Some(tag.as_str()));
            }
            let other = site.answer(ReferenceRequest {
                if_none_match: Some("\"x\""),
                ..asked
            });
            assert_eq!(other.status, 200);
        }
    }
    println!(
        "the largest page has {} bytes, and {} compressed",
        most.0, most.1
    );
    let total: usize = site
        .files()
        .map(|(_, file)| file.bytes(Representation::Plain).len())
        .sum();
    println!("all have {total}");
    assert_eq!(site.answer(ask("/-/docs/nothing")).status, 404);
    assert!(ReferenceSite::is_below("/-/docs/tasks") && !ReferenceSite::is_below("/-/docsx"));
}

/// S291. Texts of the document stay texts.
#[test]
fn texts_of_the_document_are_escaped() {
    let hostile = "<script>alert(1)</script>\" onload=\"x";
    let mut document = whole();
    fn poison(value: &mut Value, hostile: &str) {
        match value {
            Value::Object(object) => {
                for (name, value) in object.iter_mut() {
                    if ["description", "summary", "x-cost"].contains(&name.as_str())
                        && value.is_string()
                    {
                        *value = json!(hostile);
                    } else {
                        poison(value, hostile);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| poison(item, hostile)),
            _ => {}
        }
    }
    poison(&mut document, hostile);
    for (path, html) in pages(&document) {
        assert!(!html.contains("<script>alert"), "{path}");
        assert!(
            tags(&html).iter().all(|t| t.get("onload").is_none()),
            "{path}"
        );
        assert!(html.contains("&lt;script&gt;"), "{path}");
    }
}
