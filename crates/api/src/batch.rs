//! Batches: each action walks the pipeline like a request, from authorization on.
//!
//! Actions run at the same time and their outcomes keep their order. The limits are charged once
//! with all of them, so a batch that does not fit runs none.
use crate::answer::Answered;
use crate::audit::Caller;
use crate::body::{self, Sent};
use crate::budget::Budget;
use crate::fault::{self, Failure};
use crate::limits::Load;
use crate::pipeline::{Api, Held};
use crate::request::{Method, Request};
use crate::route::Match;
use futures_util::future::join_all;
use workgraph_auth::Grant;
use workgraph_core::check::clip;
use workgraph_core::fault::Fault;
use workgraph_wire::batch::{self, Action, Outcome};
use workgraph_wire::envelope;

/// By which right, and from where.
type By<'a> = (&'a Grant, Caller<'a>);

/// Answers `POST /batch`.
pub(crate) async fn answer(
    api: &Api,
    request: &Request,
    found: &Match,
    by: By<'_>,
    held: &mut Held,
) -> Result<Answered, Failure> {
    // What is no batch at all counts as one request, like any other that is malformed.
    let read = body::read(Sent::Request(request), found.operation, &api.settings);
    let actions = read.and_then(|(_, data, options)| {
        let actions = batch::actions(&data).map_err(Fault::invalid)?;
        let actions: Vec<_> = actions.iter().map(Action::read).collect();
        Ok((actions, options))
    });
    let load = match &actions {
        Ok((actions, _)) => actions.iter().map(|action| load(api, action)).sum(),
        Err(_) => Load::of(found.operation),
    };
    let terms = held.terms.insert(api.terms(by.0));
    held.permit = Some(api.admit(terms, load, found.number, api.clock.now())?);
    let (actions, options) = actions?;

    let wanted = |part: &str| {
        let named = |name: &String| name == part || name.starts_with(&format!("{part}."));
        options.fields.as_ref().is_none_or(|f| f.iter().any(named))
    };
    // What they answer is sent together, so it is bounded together.
    let budget = Budget::new(api.settings.reply_max);
    let outcomes = join_all(actions.iter().map(|action| run(api, action, by, &budget))).await;
    let (mut list, mut cost) = (vec![b'['], 0u32);
    for answered in outcomes {
        if list.len() > 1 {
            list.push(b',');
        }
        cost = cost.saturating_add(answered.cost);
        let reply = answered.reply;
        let headers: Vec<_> = reply
            .headers
            .iter()
            .map(|(name, value)| {
                let below = value.strip_prefix(&api.settings.base_url).unwrap_or(value);
                (name.to_ascii_lowercase(), below.to_owned())
            })
            .collect();
        let outcome = Outcome {
            status: reply.status,
            headers: &headers,
            body: &reply.body,
        };
        batch::outcome(&mut list, outcome, wanted);
    }
    list.push(b']');
    let mut body = envelope::data(&list);
    if options.pretty {
        // What the actions did is done: it is told in any case.
        body = envelope::pretty_within(&body, api.settings.reply_max).unwrap_or(body);
    }
    Ok(Answered::new(200, body, cost))
}

/// Carries out one action. Never fails: whatever goes wrong is its outcome.
async fn run(api: &Api, action: &Result<Action, String>, by: By<'_>, budget: &Budget) -> Answered {
    let outcome = match action {
        Ok(action) => enter(api, action, by, budget).await,
        Err(wrong) => Err(Fault::invalid(wrong.clone()).into()),
    };
    outcome.unwrap_or_else(|failure| Answered {
        reply: fault::reply(&failure, &*api.entropy),
        cost: failure.cost(api.settings.reply_max),
    })
}

/// What an action adds to the limits. One that cannot be carried out counts like any failing request.
fn load(api: &Api, action: &Result<Action, String>) -> Load {
    let found = action
        .as_ref()
        .ok()
        .and_then(|a| api.find(Method::parse(a.method), &a.path).ok());
    found.map_or(Load::FAILING, |found| Load::of(found.operation))
}

async fn enter(
    api: &Api,
    action: &Action,
    by: By<'_>,
    budget: &Budget,
) -> Result<Answered, Failure> {
    let found = api.find(Method::parse(action.method), &action.path)?;
    if found.operation.alone {
        return Err(Fault::field(
            "relative_path",
            format_args!("not allowed in a batch: {}", clip(&action.path)),
        )
        .into());
    }
    api.enter(Sent::Action(action), &found, by, budget).await
}
