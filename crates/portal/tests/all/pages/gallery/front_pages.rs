//! The front page, the overview, the errors, and the page of a record.
use workgraph_core::model::permalink::page_html;
use workgraph_portal::pages::{
    HomePage, HtmlPage, OverviewPage, PageChrome, RecordLine, RecordList, RecordPage, RecordValue,
    SiteUser, errors_page,
};

const BASE: &str = "/-/api/1.0";

fn line(text: &str, is_comment: bool) -> RecordLine {
    let stored = format!(
        "<body><h1>{}</h1><ul><li>One</li></ul></body>",
        maud::html! { (text) }.into_string()
    );
    RecordLine {
        name: text.to_owned(),
        page: (!is_comment).then(|| "/0/0/12".to_owned()),
        is_done: !is_comment,
        details: text.to_owned(),
        at: is_comment.then(|| "2026-11-21T09:30:00.000Z".to_owned()),
        text: is_comment.then(|| page_html(&stored).unwrap_or_default()),
    }
}

pub(super) fn pages(
    frame: PageChrome<'_>,
    csrf: &str,
    text: &str,
) -> [(&'static str, HtmlPage); 5] {
    let user = || SiteUser {
        name: text.to_owned(),
        csrf: csrf.to_owned(),
    };
    let home = |user, projects: &[RecordLine]| {
        HomePage {
            user,
            projects,
            base_url: BASE,
        }
        .page()
    };
    let list = |heading, lines| RecordList {
        heading,
        empty: "No subtasks.",
        lines,
        has_more: true,
    };
    let record = RecordPage {
        user: user(),
        kind: "Task",
        title: text.to_owned(),
        facts: vec![
            (text.to_owned(), RecordValue::Text(text.to_owned())),
            (
                "Created".to_owned(),
                RecordValue::Instant("2026-11-21T09:30:00.000Z".to_owned()),
            ),
            (
                "Tags".to_owned(),
                RecordValue::Links(vec![line(text, false), line(text, false)]),
            ),
        ],
        text: line(text, true).text,
        lists: vec![
            list("Subtasks", vec![line(text, false)]),
            list("Attachments", Vec::new()),
            list("Comments and history", vec![line(text, true)]),
        ],
        api_address: format!("{BASE}/tasks/12"),
    };
    [
        ("home", home(None, &[])),
        ("home of a person", home(Some(user()), &[line(text, false)])),
        ("overview", OverviewPage { frame }.page()),
        ("errors", errors_page(BASE)),
        ("record", record.page()),
    ]
}
