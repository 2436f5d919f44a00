//! The pipeline of a request: match the route, authenticate, admit, authorize, dispatch.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::record_response::CostedResponse;
use crate::features::attachments::{ReceivedUpload, is_multipart};
use crate::gate::{AdmissionState, Authentication, authorize};
use crate::input::OperationInput;
use crate::ports::body_source::{BodyReadError, BodySource};
use crate::received_body::RequestBody;
use crate::request::{ApiRequest, ApiResponse, RequestOrigin};
use crate::request_inspector::InspectedLine;
use crate::request_watch::{AdmittedRequest, RequestFault, RequestWatch};
use crate::router::RouteMatch;
use crate::state::Api;
use crate::{batch, query_token};
use workgraph_operations::operation::Handler;
use workgraph_operations::{Caller, Method};

/// Applies the fault that a tester asked for to a request. Returns true if the sync token of the request counts as
/// forgotten.
async fn meet_fault(
    watch: &dyn RequestWatch,
    request: &ApiRequest,
    found: &RouteMatch,
    app: Option<u64>,
) -> Result<bool, ApiError> {
    let admitted = AdmittedRequest {
        operation: found.operation.id,
        method: found.operation.method.name(),
        path: &request.path,
        authorization: &request.authorization,
        app,
    };
    match watch.fault_of(&admitted).await {
        None => Ok(false),
        Some(RequestFault::Error(error)) => Err(error),
        Some(RequestFault::SyncTokenForgotten) => Ok(true),
    }
}

/// Parameter with the sync token of a request for events.
const SYNC_TOKEN: &str = "sync";

impl Api {
    /// Answers a request. Never fails: every error has a response.
    pub async fn handle(&self, request: &ApiRequest) -> ApiResponse {
        self.handle_from(request, RequestOrigin::default()).await
    }

    /// Answers a request from a known client, which the audit log records.
    pub async fn handle_from(
        &self,
        request: &ApiRequest,
        origin: RequestOrigin<'_>,
    ) -> ApiResponse {
        self.handle_with(request, origin, None).await
    }

    /// Answers a request whose body is read as it arrives, once token, limits and scope allow it. The body of a batch
    /// contains its weight against the limits, so it is read as soon as the token is valid.
    pub async fn handle_streamed(
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
        source: Option<&mut dyn BodySource>,
    ) -> ApiResponse {
        let mut admission = AdmissionState::default();
        let mut body = RequestBody::new(request, source);
        let found = self.router.match_route(request.method, &request.path);
        let moved = found
            .as_ref()
            .ok()
            .and_then(|found| query_token::into_header(request, found));
        let request = moved.as_ref().unwrap_or(request);
        let (operation, outcome) = match found {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let stages = self.authenticate_and_dispatch(
                    request,
                    &mut body,
                    &found,
                    &mut admission,
                    origin,
                );
                (found.operation.id, stages.await)
            }
        };
        let explained = admission.terms.filter(|_| request.explain);
        let line = line_of(request, body.bytes());
        if let Some(watch) = self.request_watch.get() {
            watch.request_ended(line.body);
        }
        let terms = admission.terms;
        let (mut reply, cost) =
            self.finish_request(operation, outcome, admission, line, origin.caller.base_url);
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
        body: &mut RequestBody<'_>,
        found: &RouteMatch,
        admission: &mut AdmissionState,
        origin: RequestOrigin<'_>,
    ) -> Result<CostedResponse, ApiError> {
        let is_batch = matches!(found.operation.handler, Handler::Batch);
        // The body of a batch contains its weight, and it is only read for a valid token.
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
        if let Some(interrupt) = origin.caller.interrupt {
            interrupt.note_user(authentication.grant.user);
        }
        let pend = |bytes: &[u8], admission: &AdmissionState| {
            if let (Some(pending), Some(token)) = (origin.pending_record, admission.token) {
                let line = line_of(request, bytes);
                pending.set(self.inspector.unfinished(token, found.operation.id, &line));
            }
        };
        pend(body.bytes(), admission);
        if is_batch {
            let again = self.receive_body(request, body, &authentication).await?;
            pend(body.bytes(), admission);
            let by = (again.as_ref().unwrap_or(&authentication), origin.caller);
            let sent = (request, body.bytes());
            return Box::pin(batch::run_batch(self, sent, found, by, admission)).await;
        }
        let authorized = match shared {
            None => self.admit_and_authorize(&authentication, found.row(), admission)?,
            Some(_) => {
                let row = found.row();
                let both = self.admit_shared_and_authorize(&authentication, row, early, admission);
                Box::pin(both).await?
            }
        };
        let is_unsynced = match self.request_watch.get() {
            None => false,
            Some(watch) => {
                let app = authorized.grant().app;
                Box::pin(meet_fault(&**watch, request, found, app)).await?
            }
        };
        let unsynced = is_unsynced.then(|| request.without_parameter(SYNC_TOKEN));
        let request = unsynced.as_ref().unwrap_or(request);
        // A response that memory has no room for is not computed.
        let user = authorized.grant().user;
        if origin.memory.is_some_and(|memory| !memory.has_room(user)) {
            return Err(ApiError::Body(BodyReadError::NoRoom));
        }
        let budget = ResponseBudget::new(self.settings.reply_max);
        let later;
        let authorized = if is_upload(request, found) && body.has_source() {
            let upload = self.receive_upload(request, body, authorized.grant(), found);
            let upload = Box::pin(upload).await?;
            let sent =
                Box::pin(self.dispatch_upload(request, &upload, found, origin.caller, &budget));
            let outcome = sent.await;
            if outcome.is_err() {
                self.discard_upload(&upload).await;
            }
            return outcome;
        } else if matches!(found.operation.method, Method::Post | Method::Put) && body.has_source()
        {
            match self.receive_body(request, body, &authentication).await? {
                None => authorized,
                Some(again) => {
                    later = again;
                    authorize(found.row(), &later)?.without_known_commit()
                }
            }
        } else {
            authorized
        };
        if body.has_source() {
            pend(body.bytes(), admission);
        }
        self.dispatch(
            OperationInput::Request(request, body.bytes()),
            &found.parameters,
            authorized,
            origin.caller,
            &budget,
        )
        .await
    }

    /// Receives the whole body of a request. If the client was slow, checks the token again and returns the result of that
    /// check: the token may have been revoked, or its user deactivated.
    async fn receive_body(
        &self,
        request: &ApiRequest,
        body: &mut RequestBody<'_>,
        authentication: &Authentication,
    ) -> Result<Option<Authentication>, ApiError> {
        let user = authentication.grant.user;
        if !body.receive(user, self.settings.body_max).await? {
            return Ok(None);
        }
        let again = self.authenticate(&request.authorization, None).await?;
        Ok(Some(again))
    }

    /// Dispatches the operation of an upload that has arrived. Checks its token again: it may have been revoked, or its user
    /// deactivated.
    async fn dispatch_upload(
        &self,
        request: &ApiRequest,
        upload: &ReceivedUpload,
        found: &RouteMatch,
        caller: Caller<'_>,
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let again = self.authenticate(&request.authorization, None).await?;
        let authorized = authorize(found.row(), &again)?.without_known_commit();
        let sent = OperationInput::Upload(request, upload);
        self.dispatch(sent, &found.parameters, authorized, caller, budget)
            .await
    }
}

/// Returns true if a request has a file in its body, and its operation accepts one.
fn is_upload(request: &ApiRequest, found: &RouteMatch) -> bool {
    found.operation.takes_file && is_multipart(request)
}

/// Returns a request as it was sent, for its record.
fn line_of<'r>(request: &'r ApiRequest, body: &'r [u8]) -> InspectedLine<'r> {
    InspectedLine {
        method: request.method.map_or("", Method::name),
        path: &request.path,
        query: &request.query,
        content_type: request.content_type.as_deref(),
        body,
    }
}
