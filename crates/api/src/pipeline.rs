//! The pipeline of a request: match the route, authenticate, admit, authorize, dispatch.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::record_response::CostedResponse;
use crate::gate::AdmissionState;
use crate::input::OperationInput;
use crate::request::{ApiRequest, ApiResponse, RequestOrigin};
use crate::router::RouteMatch;
use crate::state::Api;
use crate::{batch, query_token};
use workgraph_operations::operation::Handler;

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
        let mut admission = AdmissionState::default();
        let (operation, outcome) = match self.router.match_route(request.method, &request.path) {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let moved = query_token::into_header(request, &found);
                let request = moved.as_ref().unwrap_or(request);
                let stages =
                    self.authenticate_and_dispatch(request, &found, &mut admission, origin);
                (found.operation.id, stages.await)
            }
        };
        let explained = admission.terms.filter(|_| request.explain);
        let (reply, cost) = self.finish_request(operation, outcome, admission);
        match explained {
            Some(terms) => self.with_limit_headers(reply, &terms, cost),
            None => reply,
        }
    }

    /// Authenticates a request, admits it within its limits, authorizes its operation and dispatches it.
    async fn authenticate_and_dispatch(
        &self,
        request: &ApiRequest,
        found: &RouteMatch,
        admission: &mut AdmissionState,
        origin: RequestOrigin<'_>,
    ) -> Result<CostedResponse, ApiError> {
        let authentication = self
            .authenticate(&request.authorization, origin.token_cache)
            .await?;
        if matches!(found.operation.handler, Handler::Batch) {
            let by = (&authentication, origin.caller);
            return Box::pin(batch::run_batch(self, request, found, by, admission)).await;
        }
        let authorized = self.admit_and_authorize(&authentication, found.row(), admission)?;
        let budget = ResponseBudget::new(self.settings.reply_max);
        self.dispatch(
            OperationInput::Request(request),
            &found.parameters,
            authorized,
            origin.caller,
            &budget,
        )
        .await
    }
}
