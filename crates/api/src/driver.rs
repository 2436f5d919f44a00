//! The driver: load → decide → commit → project. Operations never call the store; this does.
use crate::allowance;
use crate::answer::{Answered, cost, record, records, show, show_stub};
use crate::call::{Call, allowed, is_known};
use crate::fault::Failure;
use crate::operation::{Answer, Listed, Lists, Run, Sought, parameter_type};
use crate::paging::{self, Paging};
use crate::pipeline::Api;
use std::sync::Arc;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::audit::tells;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Filter, Listing, Page, Ref, StoreError, View, Want};
use workgraph_core::plan::{self, Names, Plan};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::resource;
use workgraph_core::{Gid, tasks_of_container};
use workgraph_wire::{Next, envelope, message};

/// How often a conflict is decided again before it is the server's fault.
const ATTEMPTS: usize = 64;

pub(crate) async fn run(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    path: &str,
) -> Result<Answered, Failure> {
    let asked = ask(call, grant)?;
    match call.operation.run {
        Run::Get => {
            let Some((name, _)) = call.parameters.last() else {
                return Err(Fault::missing("gid").into());
            };
            let target = call.path(name)?;
            let view = load(api, &call.want().follow(target, Arc::clone(&asked.plan))).await?;
            let gid = call.target(&view, name, Level::Viewer)?.gid;
            record(api, call, &view, gid, &asked, None).await
        }
        Run::Read(needs, choose) => {
            let mut want = needs(call)?;
            // The record is whatever the function chooses among what was wanted.
            let all: Vec<usize> = (0..want.refs.len()).collect();
            want.plans
                .extend(all.into_iter().map(|at| (at, Arc::clone(&asked.plan))));
            let view = load(api, &want).await?;
            let gid = choose(call, &view)?;
            if call.operation.answer == Answer::Counts {
                return Box::pin(crate::counts::answer(api, call, gid)).await;
            }
            record(api, call, &view, gid, &asked, None).await
        }
        // Each way is on the heap by itself, so that the usual one does not carry the room of all.
        Run::Page(lists) => {
            let listed = listed(call, lists)?;
            Box::pin(list(api, call, grant, path, listed, &asked)).await
        }
        Run::PageOf(describe) => {
            let listed = describe(call)?;
            Box::pin(list(api, call, grant, path, listed, &asked)).await
        }
        Run::Search(describe) => Box::pin(find(api, call, grant, describe(call)?)).await,
        Run::Delete(least) => {
            let Some((name, _)) = call.parameters.last() else {
                return Err(Fault::missing("gid").into());
            };
            let want = call.want().node(call.path(name)?);
            let needs = |_: &Call<'_>| Ok(want.clone());
            let decide = |call: &Call<'_>, view: &View| {
                let node = call.target(view, name, least)?;
                let mut work = call.work();
                work.trash(node.gid, node.ty);
                Ok(crate::operation::Decision::of(work.changes))
            };
            Box::pin(commit(api, call, &needs, &decide)).await?;
            Ok(Answered::new(200, envelope::empty(), 1))
        }
        // The walk of a batch goes through its actions instead.
        Run::Batch => Err(Failure::NoRoute),
        Run::Hooks(act) => Box::pin(crate::hooks::run(api, call, grant, path, act, &asked)).await,
        Run::Audit => Box::pin(crate::audit::list(api, call, grant, path)).await,
        Run::Events(span) => Box::pin(crate::events::poll(api, call, grant, span, &asked)).await,
        Run::Act(needs, decide) => {
            let subject = Box::pin(commit(api, call, &needs, &decide)).await?;
            Box::pin(written(api, call, subject, &asked)).await
        }
    }
}

/// What a request asks to see.
pub(crate) struct Asked {
    pub(crate) plan: Arc<Plan>,
    pub(crate) named: u32,
    /// Whether the token may fetch files: only one with full permissions, as for making them.
    pub(crate) files: bool,
}

/// The plan of the reply, and whether the token may have it.
fn ask(call: &Call<'_>, grant: &Grant) -> Result<Asked, Failure> {
    ask_for(call, grant, call.operation.record().unwrap_or(Type::Task))
}

/// The plan of a reply with records of a type, and whether the token may have it.
fn ask_for(call: &Call<'_>, grant: &Grant, ty: Type) -> Result<Asked, Failure> {
    let by_name = call.operation.answer == Answer::Names;
    let files = grant.scopes.is_full();
    if let Some(fields) = &call.options.fields {
        let names = Names::parse(&fields.join(","))?;
        let asked = if by_name {
            plan::asked_by_name(ty, &names)
        } else {
            plan::asked(ty, &names)
        };
        if let Some((scope, field)) = asked
            .scopes
            .iter()
            .find(|(scope, _)| !grant.scopes.allows(scope))
        {
            return Err(Failure::Scope(workgraph_wire::message::missing_scope(
                field, scope,
            )));
        }
        return Ok(Asked {
            plan: asked.plan,
            named: asked.cost,
            files,
        });
    }
    let plan = match call.operation.answer {
        Answer::List(_) => plan::compact(ty),
        Answer::Names => plan::asked(ty, &Names::parse("name,resource_type")?).plan,
        _ => plan::full(ty),
    };
    Ok(Asked {
        plan,
        named: 0,
        files,
    })
}

pub(crate) async fn load(api: &Api, want: &Want) -> Result<View, Failure> {
    let view = allowance::load(&*api.graph, want).await?;
    if view.viewer.seats.is_empty() && view.viewer.service.is_none() {
        // Who was removed everywhere has no use for a token.
        let why = if view.viewer.barred.is_empty() {
            message::NOT_AUTHORIZED
        } else {
            message::APP_DISABLED
        };
        return Err(Failure::Unauthorized(why, Some("invalid_token")));
    }
    if !view.viewer.barred.is_empty() {
        let gids = view.found.iter().filter_map(|(_, gid)| *gid);
        let mut homes = gids.filter_map(|gid| match view.node(gid) {
            Some(node) if node.ty == Type::Workspace => Some(gid),
            node => node?.home,
        });
        if homes.any(|home| view.viewer.barred.contains(&home)) {
            return Err(Failure::Unauthorized(
                message::APP_DISABLED,
                Some("invalid_token"),
            ));
        }
    }
    Ok(view)
}

type NeedsFn<'f> = &'f (dyn Fn(&Call<'_>) -> Result<Want, Fault> + Sync);
type DecideFn<'f> =
    &'f (dyn Fn(&Call<'_>, &View) -> Result<crate::operation::Decision, Fault> + Sync);

/// Decides and commits, again after each conflict; gives the node to answer with.
async fn commit(
    api: &Api,
    call: &Call<'_>,
    needs: NeedsFn<'_>,
    decide: DecideFn<'_>,
) -> Result<Option<Gid>, Failure> {
    for attempt in 0..ATTEMPTS {
        let want = needs(call)?;
        let view = load(api, &want).await?;
        let decision = decide(call, &view)?;
        if decision.changes.is_empty() {
            return Ok(decision.subject);
        }
        let mut changes = decision.changes;
        if tells(&changes) {
            changes.acting = Some(Box::new(call.acting()));
        }
        // A job that was started stands in the queue.
        let starts = changes.links.iter().any(|l| l.rel == rel::QUEUE);
        match api.graph.commit(changes).await {
            Ok(_) => {
                for user in decision.accounts {
                    api.refresh_account(user).await.map_err(Failure::Server)?;
                }
                if let (true, Some(ring)) = (starts, api.bell.get()) {
                    ring();
                }
                return Ok(decision.subject);
            }
            Err(StoreError::Conflict) => {}
            // Taken a moment ago, perhaps: whoever has the name now is seen when deciding again.
            Err(StoreError::Taken(_)) if attempt == 0 => {}
            Err(StoreError::Taken(name)) => {
                let (kind, value) = name.split_once(':').unwrap_or(("name", &name));
                return Err(Fault::field(kind, format_args!("Already taken: {value}")).into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::Server(format!(
        "{} conflicted {ATTEMPTS} times",
        call.operation.id
    )))
}

/// The reply of a write: the record as it now is.
async fn written(
    api: &Api,
    call: &Call<'_>,
    subject: Option<Gid>,
    asked: &Asked,
) -> Result<Answered, Failure> {
    let (Answer::Record(_) | Answer::Created(_), Some(gid)) = (call.operation.answer, subject)
    else {
        return Ok(Answered::new(200, envelope::empty(), 1));
    };
    let shown = match show(api, call, gid, asked).await {
        Err(failure) if failure.is_of_showing() => show_stub(api, call, gid, asked).await,
        shown => shown,
    };
    let Some(mut answered) = shown? else {
        // The write took the caller's own access away; there is nothing left to show.
        return Ok(Answered::new(200, envelope::empty(), 1));
    };
    answered.reply.headers.extend(announced(call));
    if let Answer::Created(ty) = call.operation.answer {
        answered.reply.status = 201;
        let location = format!("{}/{}/{gid}", call.settings.base_url, resource(ty).path);
        answered.reply.headers.push(("Location", location));
    }
    Ok(answered)
}

/// The header that tells of the changes of the contract that the inputs of a write are affected by.
fn announced(call: &Call<'_>) -> Option<(&'static str, String)> {
    let mut told: Vec<String> = Vec::new();
    for def in resource(call.operation.record()?).fields {
        // Few fields have one; the body is looked into for these alone.
        let Some(change) = def.deprecated else {
            continue;
        };
        let Some(given) = call.field(def.name) else {
            continue;
        };
        let (name, base, instead) = (change.name, &call.settings.base_url, change.instead);
        let line = format!("name={name};info={base}{instead};affected=true");
        if change.affects(given.as_str()) && !told.contains(&line) {
            told.push(line);
        }
    }
    (!told.is_empty()).then(|| ("Asana-Change", told.join(",")))
}

/// The list that a row of the table describes.
fn listed(call: &Call<'_>, lists: Lists) -> Result<Listed, Fault> {
    let Some((name, _)) = call.parameters.first() else {
        return Err(Fault::missing("gid"));
    };
    let mut want = call.want();
    let anchor = want.add(call.path(name)?);
    let anchor_type = parameter_type(name).unwrap_or(Type::Task);
    let (from, open) = match lists {
        Lists::Edges {
            rel,
            dir,
            give,
            open,
        } => (
            Listing::Edges {
                anchor,
                rel,
                dir,
                give,
            },
            open,
        ),
        Lists::Alphabetical(rel, dir) => (Listing::Alphabetical { anchor, rel, dir }, true),
        Lists::Home(ty) => (Listing::Home { anchor, ty }, false),
        Lists::Tasks if anchor_type == Type::Section => {
            let rel = rel::SECTION;
            (
                Listing::Edges {
                    anchor,
                    rel,
                    dir: workgraph_core::registry::Dir::In,
                    give: workgraph_core::graph::Give::Far,
                },
                true,
            )
        }
        Lists::Tasks => (
            tasks_of_container(anchor, anchor_type == Type::UserTaskList),
            anchor_type == Type::Project,
        ),
    };
    Ok(Listed {
        want,
        page: page(from, open),
        computed: false,
        anchor: name,
        // A node of the path is looked at for itself.
        anchor_types: &[],
    })
}

/// A page of a list, without its bounds.
pub(crate) fn page(from: Listing, open: bool) -> Page {
    Page::of(from, open, 0)
}

/// The filters that a row of the table names, from the query.
fn filters(call: &Call<'_>, page: &mut Page) -> Result<(), Fault> {
    for name in call.operation.filters {
        match *name {
            "completed_since" => page
                .filters
                .extend(call.query_time(name)?.map(Filter::CompletedSince)),
            "modified_since" => page
                .filters
                .extend(call.query_time(name)?.map(Filter::ModifiedSince)),
            "archived" => {
                let wanted = call
                    .query
                    .flag(name)
                    .map_err(|e| Fault::invalid(e.to_string()))?;
                page.filters
                    .extend(wanted.map(|on| Filter::Flag("archived", on)));
            }
            _ => {}
        }
    }
    Ok(())
}

async fn list(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    path: &str,
    mut listed: Listed,
    asked: &Asked,
) -> Result<Answered, Failure> {
    filters(call, &mut listed.page)?;
    let bounds = Paging::of(call, grant, path)?;
    let position = bounds.open(api, call)?;
    let silent = matches!(listed.page.from, Listing::Alphabetical { .. });
    position.bound(&mut listed.page, call.settings, listed.computed, silent);
    let mut want = listed.want;
    want.page = Some(listed.page);
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    let anchor = want.page.as_ref().and_then(|page| page.from.anchor());
    let anchor = anchor.and_then(|at| want.refs.get(at));
    anchored(call, &view, anchor, listed.anchor, listed.anchor_types)?;
    // A field with its name takes about so much.
    let room = 64 + view.rows.gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = records(api, call, &view, &view.rows.gids, &asked.plan, room).await?;
    let body = paging::finish(
        api,
        call,
        &bounds,
        &position,
        &view.rows,
        json,
        listed.computed,
        silent,
    )?;
    Ok(Answered::new(200, body, cost(tally, asked.named)))
}

/// Answers with what a search finds.
async fn find(
    api: &Api,
    call: &Call<'_>,
    grant: &Grant,
    sought: Sought,
) -> Result<Answered, Failure> {
    let asked = ask_for(call, grant, sought.ty)?;
    let mut want = sought.want;
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    if let Some((place, _)) = call.parameters.first() {
        call.target(&view, place, Level::Viewer)?;
    }
    for (field, name, types) in &sought.named {
        call.named(&view, field, name, types, Level::Viewer)?;
    }
    let gids = &view.rows.gids;
    let room = 64 + gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = records(api, call, &view, gids, &asked.plan, room).await?;
    let body = envelope::close(json, Next::Absent);
    Ok(Answered::new(200, body, cost(tally, asked.named)))
}

/// Whether the thing whose list is asked for exists and may be seen.
fn anchored(
    call: &Call<'_>,
    view: &View,
    anchor: Option<&Ref>,
    name: &str,
    types: &[Type],
) -> Result<(), Fault> {
    if let Some((first, _)) = call.parameters.first() {
        if *first == name {
            return call.target(view, name, Level::Viewer).map(|_| ());
        }
        call.target(view, first, Level::Viewer)?;
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let node = view
        .resolve(anchor)
        .and_then(|g| view.node(g))
        .filter(|n| types.contains(&n.ty) && call.shows(view, n) && is_known(view, n));
    let node = node.ok_or_else(|| Fault::unknown_ref(name, crate::call::show(anchor)))?;
    allowed(view, node, Level::Viewer)
}
