//! Batches: each action goes through the pipeline like a request, from authorization on.
//!
//! Actions run concurrently and their outcomes keep their order. The limits are charged once for all actions, so a
//! batch that exceeds them runs none.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::load_view::viewer_key;
use crate::execute::record_response::CostedResponse;
use crate::gate::{AdmissionState, Authentication, authorize};
use crate::input::OperationInput;
use crate::limits::request_weight::RequestWeight;
use crate::request::ApiRequest;
use crate::router::RouteMatch;
use crate::state::Api;
use crate::{error, input};
use futures_util::future::join_all;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate::clip;
use workgraph_operations::Caller;
use workgraph_operations::Method;
use workgraph_operations::operation::inputs::{InputReader, OperationInput as _, RawInputs};
use workgraph_operations::operation::requests::BatchActions;
use workgraph_wire::batch_actions::{ActionOutcome, BatchAction, BatchActionError};
use workgraph_wire::{batch_actions, envelope};

/// The token and the client of a batch.
type BatchActor<'a> = (&'a Authentication, Caller<'a>);

/// An action and the operation that it requests.
type RoutedAction = (BatchAction, RouteMatch);

/// Responds to `POST /batch`.
pub(crate) async fn run_batch(
    api: &Api,
    (request, body): (&ApiRequest, &[u8]),
    found: &RouteMatch,
    by: BatchActor<'_>,
    admission: &mut AdmissionState,
) -> Result<CostedResponse, ApiError> {
    // A body that is not a batch counts as one request, like any other malformed request.
    let read = input::parse_inputs(
        OperationInput::Request(request, body),
        found.operation,
        &found.parameters,
        &api.settings,
    );
    let actions = read.and_then(|(query, data, options)| {
        let raw = RawInputs {
            parameters: &found.parameters,
            query,
            data,
            file: None,
            me: viewer_key(&by.0.grant)?.user,
            now: Time::from_system(by.0.checked_at),
        };
        let BatchActions(actions) = BatchActions::read(&InputReader::new(&raw))?;
        let actions = actions.into_iter().map(|action| routed(api, action));
        let actions: Vec<_> = actions.collect();
        Ok((actions, options))
    });
    let weight = match &actions {
        Ok((actions, _)) => actions.iter().map(weight_of).sum(),
        Err(_) => RequestWeight::of(found.operation),
    };
    let terms = &mut admission.terms;
    let admitted = api.admit_weight(by.0, weight, found.number, terms).await;
    admission.permit = Some(admitted?);
    let (actions, options) = actions?;

    let wanted = |part: &str| {
        let named = |name: &String| name == part || name.starts_with(&format!("{part}."));
        options.fields.as_ref().is_none_or(|f| f.iter().any(named))
    };
    // The outcomes are sent together, so they have one budget.
    let budget = ResponseBudget::new(api.settings.reply_max);
    let outcomes = join_all(actions.iter().map(|action| run(api, action, by, &budget))).await;
    let base_url = api.settings.base_url_for(by.1.base_url);
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
                let below = value.strip_prefix(base_url).unwrap_or(value);
                (name.to_ascii_lowercase(), below.to_owned())
            })
            .collect();
        let outcome = ActionOutcome {
            status: reply.status,
            headers: &headers,
            body: &reply.body,
        };
        batch_actions::write_outcome(&mut list, outcome, wanted);
    }
    list.push(b']');
    let mut body = envelope::data_envelope(&list);
    if options.pretty {
        // The actions are done and cannot be undone, so their outcomes are always sent.
        body = envelope::indent_within(&body, api.settings.reply_max).unwrap_or(body);
    }
    Ok(CostedResponse::new(200, body, cost))
}

/// Finds the operation of an action.
fn routed(
    api: &Api,
    action: Result<BatchAction, BatchActionError>,
) -> Result<RoutedAction, ApiError> {
    let action = action.map_err(|e| DomainError::invalid(e.to_string()))?;
    let method = Method::parse(action.method);
    let found = api.router.match_route(method, &action.path)?;
    Ok((action, found))
}

/// Carries out one action. Never fails: an error is the outcome of the action.
async fn run(
    api: &Api,
    action: &Result<RoutedAction, ApiError>,
    by: BatchActor<'_>,
    budget: &ResponseBudget,
) -> CostedResponse {
    let refused;
    let failure = match action {
        Ok(action) => match run_action(api, action, by, budget).await {
            Ok(answered) => return answered,
            Err(failure) => {
                refused = failure;
                &refused
            }
        },
        Err(failure) => failure,
    };
    CostedResponse {
        reply: error::error_response(
            failure,
            &*api.entropy,
            &api.settings.error_help(by.1.base_url),
        ),
        cost: failure.cost(api.settings.reply_max),
    }
}

/// Returns the weight of an action against the limits. An action that cannot be carried out counts like any other
/// failing request.
fn weight_of(action: &Result<RoutedAction, ApiError>) -> RequestWeight {
    let found = action.as_ref().map(|(_, found)| found.operation);
    found.map_or(RequestWeight::FAILING, RequestWeight::of)
}

/// Authorizes and dispatches one action.
async fn run_action(
    api: &Api,
    (action, found): &RoutedAction,
    (authentication, caller): BatchActor<'_>,
    budget: &ResponseBudget,
) -> Result<CostedResponse, ApiError> {
    if found.operation.not_in_batch {
        return Err(DomainError::field(
            "relative_path",
            format_args!("not allowed in a batch: {}", clip(&action.path)),
        )
        .into());
    }
    // An action sees the writes of earlier actions.
    let authorized = authorize(found.row(), authentication)?.without_known_commit();
    let sent = OperationInput::Action(action);
    api.dispatch(sent, &found.parameters, authorized, caller, budget)
        .await
}
