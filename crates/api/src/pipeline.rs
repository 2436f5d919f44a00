//! The pipeline of a request: match the route, authenticate, admit, authorize, dispatch.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::record_response::CostedResponse;
use crate::gate::{AdmissionState, AuthorizedOperation};
use crate::input::OperationInput;
use crate::ports::body_source::BodySource;
use crate::request::{ApiRequest, ApiResponse, RequestOrigin};
use crate::request_inspector::InspectedLine;
use crate::router::RouteMatch;
use crate::state::Api;
use crate::{batch, query_token};
use workgraph_operations::operation::Handler;
use workgraph_operations::{Caller, Method};

impl Api {
    /// Answers a request. Never fails: every error has a response.
    pub async fn handle(&self, request: &ApiRequest) -> ApiResponse {
        self.handle_from(request, RequestOrigin::default()).await
    }

    /// Answers a request of a known client. The audit log records the client.
    pub async fn handle_from(
        &self,
        request: &ApiRequest,
        origin: RequestOrigin<'_>,
    ) -> ApiResponse {
        self.handle_with(request, origin, None).await
    }

    /// Answers a request with a body that is read as it arrives: an [upload](Api::is_upload). The body is read once
    /// token, limits and scope allow it.
    pub async fn handle_upload(
        &self,
        request: &ApiRequest,
        origin: RequestOrigin<'_>,
        body: &mut dyn BodySource,
    ) -> ApiResponse {
        self.handle_with(request, origin, Some(body)).await
    }

    async fn handle_with(
        &self,
        request: &ApiRequest,
        origin: RequestOrigin<'_>,
        upload: Option<&mut dyn BodySource>,
    ) -> ApiResponse {
        let mut admission = AdmissionState::default();
        let found = self.router.match_route(request.method, &request.path);
        let moved = found
            .as_ref()
            .ok()
            .and_then(|found| query_token::into_header(request, found));
        let request = moved.as_ref().unwrap_or(request);
        let (operation, outcome) = match found {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let stages =
                    self.authenticate_and_dispatch(request, upload, &found, &mut admission, origin);
                (found.operation.id, stages.await)
            }
        };
        let explained = admission.terms.filter(|_| request.explain);
        let line = line_of(request);
        let terms = admission.terms;
        let (mut reply, cost) = self.finish_request(operation, outcome, admission, line);
        if reply.record.is_some() && self.shared_limiter.get().is_some() {
            Box::pin(self.complete_record(&mut reply, terms.as_ref())).await;
        }
        match explained {
            Some(terms) => Box::pin(self.with_limit_headers(reply, &terms, cost)).await,
            None => reply,
        }
    }

    /// Authenticates a request, admits it within its limits, authorizes its operation and dispatches it.
    async fn authenticate_and_dispatch(
        &self,
        request: &ApiRequest,
        upload: Option<&mut dyn BodySource>,
        found: &RouteMatch,
        admission: &mut AdmissionState,
        origin: RequestOrigin<'_>,
    ) -> Result<CostedResponse, ApiError> {
        let is_batch = matches!(found.operation.handler, Handler::Batch);
        // The weight of a batch stands in its body, which is read for a valid token alone.
        let shared = self.shared_limiter.get().filter(|_| !is_batch);
        let (headers, cache) = (&request.authorization, origin.token_cache);
        let authenticated = match shared {
            None => {
                let authenticated = self.authenticate_or_identify(headers, cache).await;
                authenticated.map(|authentication| (authentication, None))
            }
            Some(shared) => {
                let row = found.row();
                let both = self.authenticate_beside_limits(&**shared, headers, cache, row);
                Box::pin(both).await
            }
        };
        let (authentication, early) =
            authenticated.map_err(|refused| self.note_refused_token(refused, admission))?;
        self.note_token_identity(&authentication, admission);
        if let (Some(pending), Some(token)) = (origin.pending_record, admission.token) {
            let line = line_of(request);
            pending.set(self.inspector.unfinished(token, found.operation.id, &line));
        }
        if is_batch {
            let by = (&authentication, origin.caller);
            return Box::pin(batch::run_batch(self, request, found, by, admission)).await;
        }
        let authorized = match shared {
            None => self.admit_and_authorize(&authentication, found.row(), admission)?,
            Some(_) => {
                let row = found.row();
                let both = self.admit_shared_and_authorize(&authentication, row, early, admission);
                Box::pin(both).await?
            }
        };
        let budget = ResponseBudget::new(self.settings.reply_max);
        if let Some(body) = upload {
            let by = (authorized.without_known_commit(), origin.caller);
            return Box::pin(self.upload_and_dispatch(request, body, found, by, &budget)).await;
        }
        self.dispatch(
            OperationInput::Request(request),
            &found.parameters,
            authorized,
            origin.caller,
            &budget,
        )
        .await
    }

    /// Receives the body of an upload, and dispatches its operation. The file of one that fails is removed.
    async fn upload_and_dispatch(
        &self,
        request: &ApiRequest,
        body: &mut dyn BodySource,
        found: &RouteMatch,
        (authorized, caller): (AuthorizedOperation<'_>, Caller<'_>),
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let upload = self.receive_upload(request, body).await?;
        let sent = OperationInput::Upload(request, &upload);
        let dispatched = self.dispatch(sent, &found.parameters, authorized, caller, budget);
        let outcome = dispatched.await;
        if outcome.is_err() {
            self.discard_upload(&upload).await;
        }
        outcome
    }
}

/// Returns a request as it was sent, for its record.
fn line_of(request: &ApiRequest) -> InspectedLine<'_> {
    InspectedLine {
        method: request.method.map_or("", Method::name),
        path: &request.path,
        query: &request.query,
        content_type: request.content_type.as_deref(),
        body: &request.body,
    }
}
