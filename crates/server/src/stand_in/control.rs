//! Control routes of a stand-in, by which tests make worlds, move clocks and add faults.
use crate::admin::fixture::Fixture;
use crate::http::request_body::ClientBody;
use crate::http::routed_response::RoutedResponse;
use crate::stand_in::client_grade::ClientGrade;
use crate::stand_in::control_access::{self, ControlRefusal};
use crate::stand_in::oauth_grant::grant;
use crate::stand_in::request_log::RequestPattern;
use crate::stand_in::stand_in_page::{self, ShownWorld};
use crate::stand_in::test_world::TestWorld;
use crate::stand_in::test_worlds::TestWorlds;
use crate::stand_in::timeline::{Happened, NextDue, time_text};
use crate::stand_in::world_options::{WorldOptions, parse_period, parse_time};
use crate::stand_in::world_recording::archive;
use anyhow::{Context, Result, anyhow, bail};
use http_body_util::{BodyExt, Limited};
use hyper::http::request::Parts;
use hyper::{Method, Request};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_api::limits::exhaustion::EXHAUSTIBLE;
use workgraph_api::{ApiResponse, Clock, RequestRefusal};
use workgraph_webhooks::signature::{SECRET_HEADER, SIGNATURE_HEADER};
use workgraph_wire::messages;
use workgraph_wire::query_params::QueryParams;

/// First segments of the paths of control routes, after `/-/`.
const ROUTES: [&str; 13] = [
    "worlds",
    "clock",
    "faults",
    "limits",
    "requests",
    "inbox",
    "oauth",
    "reset",
    "fixture",
    "fixture-schema",
    "grade",
    "recording",
    "stand-in",
];
/// Maximum size of the body of a control request in bytes.
const BODY_MAX: usize = 1 << 20;
/// Maximum size in bytes of the body of a request that creates a world; its fixture may be an exported world.
const WORLD_BODY_MAX: usize = 16 << 20;
/// Maximum and default time after which a request that moves a clock is answered even if acts are still in progress.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Returns true if a request is for a control route. A GET of the limits is not: every server has that route.
pub(crate) fn is_control(request: &Request<ClientBody>) -> bool {
    let first = |rest: &str| {
        rest.split('/')
            .next()
            .is_some_and(|first| ROUTES.contains(&first))
    };
    let path = request.uri().path();
    path.strip_prefix("/-/").is_some_and(first)
        && !(path == "/-/limits" && request.method() == Method::GET)
}

/// Answers a request to a control route.
pub(crate) async fn respond(
    worlds: &TestWorlds,
    test_world: &Arc<TestWorld>,
    (client, head): (IpAddr, &Parts),
    body: ClientBody,
) -> RoutedResponse {
    let refuse = |refusal: ControlRefusal| {
        RoutedResponse::refuse(RequestRefusal::Forbidden, 403, refusal.message())
    };
    if let Err(refusal) = control_access::check_client(head, client, worlds.control_token) {
        return refuse(refusal);
    }
    let path = head.uri.path().trim_start_matches("/-/");
    let limit = match path {
        "worlds" => WORLD_BODY_MAX,
        _ => BODY_MAX,
    };
    let body = match Limited::new(body, limit).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => {
            let reason = RequestRefusal::BodyBroken;
            return RoutedResponse::refuse(reason, 400, "The request body is broken or too large");
        }
    };
    if let Err(refusal) = control_access::check_origin(head) {
        return refuse(refusal);
    }
    let segments: Vec<&str> = path.split('/').collect();
    if let (&Method::POST, ["inbox", name]) = (&head.method, &segments[..])
        && !name.is_empty()
    {
        // A delivery may come from any program, so its content type is not checked like that of a control request.
        let text = |name: &str| head.headers.get(name)?.to_str().ok();
        let (secret, signature) = (text(SECRET_HEADER), text(SIGNATURE_HEADER));
        let now = test_world.clock.now();
        let answer = test_world
            .inboxes
            .receive(name, secret, signature, &body, now);
        return RoutedResponse::of(answer);
    }
    if let Err(refusal) = control_access::check_content(head) {
        return refuse(refusal);
    }
    let routed = control(worlds, test_world, head, (&segments, &body)).await;
    let invalid = |error: anyhow::Error| {
        ApiResponse::refusal(RequestRefusal::InputInvalid, 400, &format!("{error:#}"))
    };
    RoutedResponse::of(routed.unwrap_or_else(invalid))
}

/// Carries out a control request.
///
/// # Errors
/// Says what is wrong with the request.
async fn control(
    worlds: &TestWorlds,
    test_world: &Arc<TestWorld>,
    head: &Parts,
    (segments, body): (&[&str], &[u8]),
) -> Result<ApiResponse> {
    let query = head.uri.query().unwrap_or_default();
    let done = |is_found: bool, what: &str| match is_found {
        true => shown(&json!({})),
        false => Ok(missing(what)),
    };
    Ok(match (head.method.as_str(), segments) {
        ("GET", ["clock"]) => show_clock(test_world).await?,
        ("POST", ["clock"]) => change_clock(test_world, body).await?,
        ("GET", ["worlds"]) => {
            let all = worlds.all();
            shown(&all.iter().map(|world| &**world).collect::<Vec<_>>())?
        }
        ("POST", ["worlds"]) => {
            let made = worlds.create(WorldOptions::parse(body)?).await?;
            created(&*made)?
        }
        ("GET", ["worlds", id]) => match worlds.find(id) {
            Some(world) => shown(&*world)?,
            None => missing("world"),
        },
        ("POST", ["reset"]) => match worlds.reset(&test_world.origin.id).await? {
            Some(world) => shown(&*world)?,
            None => missing("world"),
        },
        ("DELETE", ["worlds", id]) => done(worlds.delete(id).await?, "world that can be deleted")?,
        ("GET", ["faults"]) => shown(&test_world.faults.json())?,
        ("POST", ["faults"]) => created(&test_world.faults.add(body)?)?,
        ("DELETE", ["faults"]) => done(test_world.faults.delete(None), "fault")?,
        ("DELETE", ["faults", id]) => done(test_world.faults.delete(Some(id.parse()?)), "fault")?,
        ("POST", ["faults", id, "release"]) => {
            done(test_world.faults.release(id.parse()?), "fault")?
        }
        ("GET", ["fixture"]) => show_fixture(test_world).await?,
        ("GET", ["fixture-schema"]) => {
            ApiResponse::json(200, Fixture::schema().to_string().into_bytes())
        }
        ("GET", ["stand-in"]) => show_page(worlds, test_world).await?,
        ("GET", ["stand-in", name]) => match stand_in_page::file(name) {
            Some(file) => file,
            None => missing("file"),
        },
        ("GET", ["grade"]) => show_grade(test_world, query)?,
        ("GET", ["recording"]) => {
            let (requests, _) = test_world.requests.all();
            let archive = archive(&requests, &test_world.origin.root)?;
            ApiResponse::json(200, archive.to_string().into_bytes())
        }
        ("POST", ["oauth", "grant"]) => shown(&grant(test_world, body).await?)?,
        ("POST", ["limits"]) => shown(&exhaust(test_world, body).await?)?,
        ("GET", ["requests"]) => {
            shown(&test_world.requests.json(&RequestPattern::of_query(query)?))?
        }
        ("DELETE", ["requests"]) => {
            if !query.is_empty() {
                bail!("{query}: all requests are forgotten at once; leave the parameters out");
            }
            test_world.requests.clear();
            shown(&json!({}))?
        }
        ("POST", ["requests", "verify"]) => {
            shown(&test_world.requests.verify(&RequestPattern::of_body(body)?))?
        }
        ("GET", ["inbox", name]) => shown(&test_world.inboxes.json(name))?,
        ("PUT", ["inbox", name]) => {
            test_world.inboxes.set_answer(name, body)?;
            shown(&json!({}))?
        }
        _ => ApiResponse::refusal(RequestRefusal::NoRoute, 404, messages::NO_ROUTE),
    })
}

#[derive(Serialize)]
struct Enveloped<'a, T> {
    data: &'a T,
}

/// Returns a reply with data in the envelope of the API.
///
/// # Errors
/// Fails if the data has no JSON form.
fn reply(status: u16, data: &impl Serialize) -> Result<ApiResponse> {
    let body = serde_json::to_vec(&Enveloped { data })?;
    Ok(ApiResponse::json(status, body))
}

fn created(data: &impl Serialize) -> Result<ApiResponse> {
    reply(201, data)
}

fn shown(data: &impl Serialize) -> Result<ApiResponse> {
    reply(200, data)
}

fn missing(what: &str) -> ApiResponse {
    let message = format!("There is no {what} with this id");
    ApiResponse::refusal(RequestRefusal::NotFound, 404, &message)
}

/// Returns the content of a world as a fixture, with the numbers of objects and properties that the fixture lacks.
async fn show_fixture(test_world: &TestWorld) -> Result<ApiResponse> {
    let exported = test_world.export().await?;
    let body = json!({ "data": exported.fixture, "left_out": exported.left_out });
    Ok(ApiResponse::json(200, body.to_string().into_bytes()))
}

async fn show_page(worlds: &TestWorlds, test_world: &TestWorld) -> Result<ApiResponse> {
    let settled = match test_world.timeline.is_settled() {
        true => Some(test_world.timeline.settle().await?),
        false => None,
    };
    let page = ShownWorld {
        world: serde_json::to_value(test_world)?,
        worlds: worlds
            .all()
            .iter()
            .map(|world| serde_json::to_value(&**world))
            .collect::<Result<_, _>>()?,
        clock: clock_json(test_world, settled),
        faults: test_world.faults.json(),
        inboxes: test_world.inboxes.all(),
        requests: test_world.requests.json(&RequestPattern::default()),
        grade: ClientGrade::of(&test_world.history(), None)?.json(),
    };
    Ok(page.page())
}

/// Returns the grade of the clients of a world.
fn show_grade(test_world: &TestWorld, query: &str) -> Result<ApiResponse> {
    let (mut rules, mut is_junit) = (None, false);
    let sent = QueryParams::parse(query)?;
    for pair in sent.iter() {
        match pair {
            ("rules", names) => rules = Some(names),
            ("format", "junit") => is_junit = true,
            ("format", "json") => is_junit = false,
            (name, _) => bail!(
                "{name}: the parameters are rules (names, separated by commas) and format (json or junit)"
            ),
        }
    }
    let grade = ClientGrade::of(&test_world.history(), rules)?;
    Ok(match is_junit {
        true => ApiResponse::json(200, grade.junit().into_bytes())
            .with("Content-Type", "application/xml; charset=utf-8"),
        false => shown(&grade.json())?,
    })
}

/// Limit that a test uses up.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentExhaustion {
    token: String,
    exhaust: String,
}

async fn exhaust(test_world: &TestWorld, body: &[u8]) -> Result<Value> {
    let sent: SentExhaustion = serde_json::from_slice(body)?;
    let limit = EXHAUSTIBLE
        .into_iter()
        .find(|limit| limit.name() == sent.exhaust);
    let limit = limit.with_context(|| {
        let names = EXHAUSTIBLE.map(|limit| limit.name()).join(", ");
        format!(
            "exhaust: `{}` is none of {names}; `hold` keeps requests under way",
            sent.exhaust
        )
    })?;
    let authorization = [format!("Bearer {}", sent.token)];
    let exhausted = test_world
        .world
        .api
        .exhaust_limit(&authorization, limit)
        .await;
    exhausted.map_err(|_| anyhow!("token: it is not valid in this world"))
}

/// Change of a clock: exactly one of `advance`, `set` and `mode`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockChange {
    advance: Option<Value>,
    /// Time after which the request is answered even if acts are still in progress.
    max_wait: Option<Value>,
    set: Option<String>,
    mode: Option<String>,
}

async fn show_clock(test_world: &TestWorld) -> Result<ApiResponse> {
    if !test_world.timeline.is_settled() {
        return shown(&clock_json(test_world, None));
    }
    let settled = test_world.timeline.settle().await?;
    shown(&clock_json(test_world, Some(settled)))
}

/// Returns the last time that a clock may show: dates in headers of replies end with the year 9999.
fn last_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_214_400)
}

async fn change_clock(test_world: &Arc<TestWorld>, body: &[u8]) -> Result<ApiResponse> {
    let change: ClockChange = serde_json::from_slice(body)?;
    let now = test_world.clock.now();
    let max_wait = match &change.max_wait {
        Some(period) => parse_period("max_wait", period)?.min(WAIT_MAX),
        None => WAIT_MAX,
    };
    let target = match (change.advance, change.set, change.mode.as_deref()) {
        (Some(period), None, None) => {
            let target = now.checked_add(parse_period("advance", &period)?);
            target
                .filter(|target| *target <= last_time())
                .with_context(|| {
                    format!(
                        "advance: the time would be after {}",
                        time_text(last_time())
                    )
                })?
        }
        (None, Some(time), None) => {
            let target = parse_time("set", &time)?;
            if target > last_time() {
                bail!("set: the time would be after {}", time_text(last_time()));
            }
            if target < now {
                bail!(
                    "set: the clock shows {}, and time does not go back; a new world can begin earlier (`now`)",
                    time_text(now)
                );
            }
            target
        }
        (None, None, Some(mode)) => {
            test_world.timeline.set_running(match mode {
                "running" => true,
                "frozen" => false,
                _ => bail!("mode: `{mode}` is neither frozen nor running"),
            });
            now
        }
        _ => bail!("one of advance, set and mode is needed"),
    };
    let timeline = Arc::clone(&test_world.timeline);
    // The move continues even if nobody waits for it.
    let moving = tokio::spawn(async move { timeline.advance_to(target).await });
    match tokio::time::timeout(max_wait, moving).await {
        Ok(moved) => {
            let moved = moved.context("moving the clock broke off")??;
            shown(&clock_json(test_world, Some(moved)))
        }
        Err(_) => reply(202, &clock_json(test_world, None)),
    }
}

/// Returns the state of a clock, with the acts that have happened if the world has settled.
fn clock_json(test_world: &TestWorld, settled: Option<(Vec<Happened>, Option<NextDue>)>) -> Value {
    let mut shown = json!({
        "now": time_text(test_world.clock.now()),
        "mode": test_world.clock.mode(),
        "settled": settled.is_some(),
    });
    if let (Some(shown), Some((happened, next))) = (shown.as_object_mut(), settled) {
        let happened: Vec<Value> = happened.iter().map(Happened::json).collect();
        let next = next.map(|next| json!({ "at": time_text(next.at), "what": next.what }));
        shown.insert("next_due".to_owned(), next.unwrap_or_default());
        shown.insert("happened".to_owned(), happened.into());
    }
    shown
}
