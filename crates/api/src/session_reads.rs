//! Reads of a user who is signed in with a browser, for the pages that show records.
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::record_response::CostedResponse;
use crate::gate::{AdmissionState, authorize};
use crate::input::OperationInput;
use crate::limits::request_weight::RequestWeight;
use crate::request::{ApiRequest, ApiResponse};
use crate::request_inspector::InspectedLine;
use crate::router::RouteMatch;
use crate::state::Api;
use workgraph_auth::{Account, BrowserSession};
use workgraph_operations::{Caller, Method};

impl Api {
    /// Answers a GET as the user of a browser session: operation, limits, access rules and record are the same as for a
    /// request with a token of the user that has full permissions. `base_url` is the address of the API, if it is not the
    /// one in the settings. The request inspector does not record it.
    pub async fn read_in_session(
        &self,
        (session, account): (&BrowserSession, &Account),
        (path, query): (&str, &str),
        base_url: Option<&str>,
    ) -> ApiResponse {
        let request = ApiRequest {
            method: Some(Method::Get),
            path: path.to_owned(),
            query: query.to_owned(),
            ..ApiRequest::default()
        };
        let mut admission = AdmissionState::default();
        let (operation, outcome) = match self.router.match_route(request.method, path) {
            Err(none) => ("", Err(none)),
            Ok(found) => {
                let by = (session, account);
                let caller = Caller {
                    base_url,
                    ..Caller::default()
                };
                let read = self.admit_and_read((&request, caller), &found, by, &mut admission);
                (found.operation.id, Box::pin(read).await)
            }
        };
        let line = InspectedLine {
            method: Method::Get.name(),
            path,
            query,
            content_type: None,
            body: &[],
        };
        self.finish_request(operation, outcome, admission, line, base_url)
            .0
    }

    async fn admit_and_read(
        &self,
        (request, caller): (&ApiRequest, Caller<'_>),
        found: &RouteMatch,
        (session, account): (&BrowserSession, &Account),
        admission: &mut AdmissionState,
    ) -> Result<CostedResponse, ApiError> {
        let authentication = self.authenticate_session(session, account)?;
        let (operation, number) = found.row();
        let weight = RequestWeight::of(operation);
        let terms = &mut admission.terms;
        let admitted = self.admit_weight(&authentication, weight, number, terms);
        admission.permit = Some(admitted.await?);
        let authorized = authorize(found.row(), &authentication)?;
        let budget = ResponseBudget::new(self.settings.reply_max);
        let input = OperationInput::Request(request, &[]);
        self.dispatch(input, &found.parameters, authorized, caller, &budget)
            .await
    }
}
