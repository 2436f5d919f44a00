//! The rows that are alike, each by a function of the table.
use super::{Answer, Decide, HookAct, Listed, Lists, Needs, Operation, Run, Sought, Span};
use crate::call::Call;
use crate::request::Method;
use workgraph_core::fault::Fault;
use workgraph_core::graph::View;
use workgraph_core::registry::Type;
use workgraph_core::{Gid, Level};

const fn row(
    id: &'static str,
    method: Method,
    path: &'static str,
    answer: Answer,
    run: Run,
) -> Operation {
    Operation {
        id,
        method,
        path,
        also: &[],
        scope: None,
        query: &[],
        filters: &[],
        body: &[],
        answer,
        premium: None,
        alone: false,
        timed: false,
        search: false,
        query_token: false,
        no_guests: false,
        run,
    }
}

/// Answers with the record of the last path parameter.
#[must_use]
pub const fn get(id: &'static str, path: &'static str, ty: Type) -> Operation {
    row(id, Method::Get, path, Answer::Record(ty), Run::Get)
}
/// Answers with the record a function chooses.
#[must_use]
pub const fn read(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: Needs,
    choose: fn(&Call<'_>, &View) -> Result<Gid, Fault>,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        Answer::Record(ty),
        Run::Read(needs, choose),
    )
}
/// Lists something at the first path parameter.
#[must_use]
pub const fn page(id: &'static str, path: &'static str, ty: Type, lists: Lists) -> Operation {
    row(id, Method::Get, path, Answer::List(ty), Run::Page(lists))
}
/// Lists what a function describes.
#[must_use]
pub const fn page_of(
    id: &'static str,
    path: &'static str,
    ty: Type,
    list: fn(&Call<'_>) -> Result<Listed, Fault>,
) -> Operation {
    row(id, Method::Get, path, Answer::List(ty), Run::PageOf(list))
}
/// Tells what happened.
#[must_use]
pub const fn events(id: &'static str, path: &'static str, span: Span) -> Operation {
    row(id, Method::Get, path, Answer::Events, Run::Events(span))
}
/// Lists the audit log of a workspace.
#[must_use]
pub const fn audit_log(id: &'static str, path: &'static str) -> Operation {
    row(id, Method::Get, path, Answer::Audited, Run::Audit)
}
/// Lists what a search finds.
#[must_use]
pub const fn search(
    id: &'static str,
    path: &'static str,
    ty: Type,
    describe: fn(&Call<'_>) -> Result<Sought, Fault>,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        Answer::List(ty),
        Run::Search(describe),
    )
}
/// Lists the names that a search finds.
#[must_use]
pub const fn typeahead(
    id: &'static str,
    path: &'static str,
    describe: fn(&Call<'_>) -> Result<Sought, Fault>,
) -> Operation {
    row(id, Method::Get, path, Answer::Names, Run::Search(describe))
}
/// Does something with webhooks.
#[must_use]
pub const fn hooks(
    id: &'static str,
    method: Method,
    path: &'static str,
    answer: Answer,
    act: HookAct,
) -> Operation {
    row(id, method, path, answer, Run::Hooks(act))
}
/// Creates a node.
#[must_use]
pub const fn create(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: Needs,
    decide: Decide,
) -> Operation {
    row(
        id,
        Method::Post,
        path,
        Answer::Created(ty),
        Run::Act(needs, decide),
    )
}
/// Updates the node of the last path parameter.
#[must_use]
pub const fn update(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: Needs,
    decide: Decide,
) -> Operation {
    row(
        id,
        Method::Put,
        path,
        Answer::Record(ty),
        Run::Act(needs, decide),
    )
}
/// Trashes the node of the last path parameter.
#[must_use]
pub const fn delete(id: &'static str, path: &'static str, level: Level) -> Operation {
    row(id, Method::Delete, path, Answer::Empty, Run::Delete(level))
}
/// Does what the path names.
#[must_use]
pub const fn act(id: &'static str, path: &'static str, needs: Needs, decide: Decide) -> Operation {
    row(
        id,
        Method::Post,
        path,
        Answer::Empty,
        Run::Act(needs, decide),
    )
}

/// Carries out the actions of its body.
#[must_use]
pub const fn batch(id: &'static str, path: &'static str) -> Operation {
    row(id, Method::Post, path, Answer::Outcomes, Run::Batch).alone()
}
