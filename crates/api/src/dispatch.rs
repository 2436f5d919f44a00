//! Dispatch of one authorized operation: answered from the cache, or parsed and executed. Requests and batch actions
//! share it.
use crate::budget::ResponseBudget;
use crate::cache::response_cache::ResponseCacheKey;
use crate::error::ApiError;
use crate::execute::load_view::viewer_key;
use crate::execute::record_response::CostedResponse;
use crate::gate::AuthorizedOperation;
use crate::input::OperationInput;
use crate::state::Api;
use crate::unknown_inputs::show_unknown;
use crate::{execute, external_ids, input};
use std::borrow::Cow;
use std::sync::atomic::Ordering::Relaxed;
use workgraph_auth::Grant;
use workgraph_core::model::time::Time;
use workgraph_core::storage::ViewerKey;
use workgraph_operations::Caller;
use workgraph_operations::operation::Handler;
use workgraph_operations::operation::inputs::RawInputs;
use workgraph_operations::request_context::{PathParameters, RequestContext};

impl Api {
    /// Answers an authorized operation from the response cache, or else parses and executes it.
    ///
    /// # Errors
    /// Fails when the operation refuses the request, or a store fails.
    pub(crate) async fn dispatch(
        &self,
        sent: OperationInput<'_>,
        parameters: &PathParameters,
        authorized: AuthorizedOperation<'_>,
        caller: Caller<'_>,
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let operation = authorized.operation();
        if let Some(watch) = self.request_watch.get() {
            show_unknown(&**watch, sent, (operation, parameters), &self.settings)?;
        }
        // The version is read before the load, so the loaded data has this version or a newer one.
        let cacheable_version = (matches!(operation.handler, Handler::Get(_))
            && !operation.time_dependent)
            .then(|| self.graph.version().or(authorized.last_commit()));
        let key = response_cache_key(
            authorized.grant(),
            (sent.path(), sent.query()),
            caller.base_url,
        )?;
        if let Some(Some(version)) = cacheable_version
            && let Some(again) = self.caches.responses.get(&key, version)
        {
            budget.consume(again.body.len());
            return Ok(again.into());
        }
        // The future is boxed, so that a cached response does not need the memory of the executed one.
        let by = (authorized, caller, key.viewer);
        let answered = Box::pin(self.execute_uncached(sent, parameters, by, budget)).await?;
        budget.consume(answered.reply.body.len());
        if let Some(Some(version)) = cacheable_version {
            let (row, body) = (authorized.row(), &answered.reply.body);
            self.caches
                .responses
                .put(&key, version, row, body, answered.cost);
        }
        Ok(answered)
    }

    /// Parses and executes (load, decide, commit, project) without the cache.
    async fn execute_uncached(
        &self,
        sent: OperationInput<'_>,
        parameters: &PathParameters,
        (authorized, caller, viewer): (AuthorizedOperation<'_>, Caller<'_>, ViewerKey),
        budget: &ResponseBudget,
    ) -> Result<CostedResponse, ApiError> {
        let (operation, grant) = (authorized.operation(), authorized.grant());
        let (mut query, mut data, options) =
            input::parse_inputs(sent, operation, parameters, &self.settings)?;
        let mut parameters = Cow::Borrowed(parameters);
        let inputs = external_ids::TaskReferenceInputs {
            parameters: &mut parameters,
            query: &mut query,
            data: &mut data,
        };
        if inputs.has_external_ids() {
            Box::pin(inputs.resolve(self, grant, viewer)).await?;
        }
        let generate_gid = || self.next_gid();
        let now = Time::from_system(self.clock.now());
        let call = RequestContext {
            operation,
            raw: RawInputs {
                parameters: &parameters,
                query,
                data,
                file: sent.file().cloned(),
                me: viewer.user,
                now,
            },
            viewer,
            grant,
            caller,
            min_seq: authorized.last_commit(),
            allowed_workspaces: grant.allowed_workspaces.clone(),
            options,
            now,
            generate_gid: &generate_gid,
            settings: &self.settings,
            jobs_per_user_max: self.jobs_per_user_max.load(Relaxed),
        };
        let answered = Box::pin(execute::execute(self, &call, sent.path(), budget)).await?;
        answered.pretty_printed(&call, budget)
    }
}

/// Returns the key of the response to a request in the response cache.
///
/// # Errors
/// Fails when the grant names no user.
pub(crate) fn response_cache_key<'r>(
    grant: &'r Grant,
    (path, query): (&'r str, &'r str),
    base_url: Option<&'r str>,
) -> Result<ResponseCacheKey<'r>, ApiError> {
    Ok(ResponseCacheKey {
        viewer: viewer_key(grant)?,
        app: grant.app,
        scopes: grant.scopes,
        allowed_workspaces: grant.allowed_workspaces.as_deref(),
        path,
        query,
        base_url,
    })
}
