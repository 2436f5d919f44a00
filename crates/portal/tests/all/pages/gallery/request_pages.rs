//! Pages of recorded requests.
use std::time::Duration;

use workgraph_api::RequestRefusal;
use workgraph_api::request_inspector::{RecordedBodies, RecordedRequest};
use workgraph_portal::pages::{
    HtmlPage, PageChrome, RecordingState, RequestOwnerChoice, RequestPage, RequestRow,
    RequestSearch, RequestsPage,
};

use super::now;

/// Returns a request with this text wherever a client's text is.
fn recorded(text: &str, n: u16) -> RequestRow {
    RequestRow {
        owner: text.to_owned(),
        is_own: true,
        request: RecordedRequest {
            id: "0a1b2c3d4e5f-1f-10".into(),
            at: now(),
            duration: Duration::from_micros(1_234),
            token: 7,
            user: 1,
            method: "POST",
            path: format!("/tasks/{text}").into(),
            query: format!("opt_fields={text}").into(),
            operation: "createTask",
            status: 200 + 100 * n,
            cost: 3,
            limits: Some(workgraph_api::token_limits::RemainingLimits {
                standard: 149,
                standard_limit: 150,
                search: 60,
                search_limit: 60,
                credits: Some((-7, 600_000)),
            }),
            error: (n > 1).then(|| text.into()),
            reason: (n > 1).then_some(RequestRefusal::NotFound.into()),
            bodies: Some(RecordedBodies {
                request: format!("{{\"name\": \"{text}\"}}").into(),
                response: "".into(),
            }),
        },
    }
}

pub(super) fn requests(frame: PageChrome<'_>, text: &str) -> HtmlPage {
    let rows: Vec<RequestRow> = (0..50).map(|n| recorded(text, n % 4)).collect();
    RequestsPage {
        frame,
        is_on: true,
        owners: &[RequestOwnerChoice {
            key: "tokens".to_owned(),
            name: text.to_owned(),
        }],
        search: &RequestSearch {
            owner: "tokens".to_owned(),
            operation: text.to_owned(),
            ..RequestSearch::default()
        },
        recording: RecordingState::Until(now()),
        requests: &rows,
        most: 50,
    }
    .page()
}

pub(super) fn requests_off(frame: PageChrome<'_>) -> HtmlPage {
    RequestsPage {
        frame,
        is_on: false,
        owners: &[],
        search: &RequestSearch::default(),
        recording: RecordingState::NoOwner,
        requests: &[],
        most: 50,
    }
    .page()
}

pub(super) fn request(frame: PageChrome<'_>, text: &str) -> HtmlPage {
    RequestPage {
        frame,
        row: &recorded(text, 2),
        base_url: "https://work.example/api/1.0",
    }
    .page()
}
