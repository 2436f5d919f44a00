//! The read of a request: one trip to the store, for a user with at least one workspace.
use crate::error::ApiError;
use crate::execute::allowance_retry;
use crate::state::Api;
use workgraph_auth::{AuthRefusal, Grant};
use workgraph_core::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::{ReadQuery, ReadView, ViewerKey};
use workgraph_wire::messages;

/// Reads everything that a request needs.
///
/// # Errors
/// Fails when the store fails, when the user no longer belongs to any workspace, and when a workspace has disabled the
/// app of the token.
pub(crate) async fn load(api: &Api, want: &ReadQuery) -> Result<ReadView, ApiError> {
    let view = allowance_retry::load(&*api.graph, want).await?;
    if !view.viewer.has_workspace() {
        // The token of a user who was removed from every workspace is useless.
        let (reason, text) = if view.viewer.excluded_workspaces.is_empty() {
            (AuthRefusal::NoWorkspace, messages::NOT_AUTHORIZED)
        } else {
            (AuthRefusal::AppDisabledInWorkspace, messages::APP_DISABLED)
        };
        return Err(ApiError::Unauthorized(reason, text, Some("invalid_token")));
    }
    if !view.viewer.excluded_workspaces.is_empty() {
        let gids = view.resolved_refs.iter().filter_map(|(_, gid)| *gid);
        let mut workspaces = gids.filter_map(|gid| match view.node(gid) {
            Some(node) if node.ty == Type::Workspace => Some(gid),
            node => node?.workspace,
        });
        if workspaces.any(|workspace| view.viewer.excluded_workspaces.contains(&workspace)) {
            return Err(ApiError::Unauthorized(
                AuthRefusal::AppDisabledInWorkspace,
                messages::APP_DISABLED,
                Some("invalid_token"),
            ));
        }
    }
    Ok(view)
}

/// Returns a read query of the server itself, with a gid that belongs to no user. Its results are not shown to anyone.
pub(crate) fn system_query() -> ReadQuery {
    const NOBODY: Gid = match Gid::new(1) {
        Some(gid) => gid,
        None => unreachable!(),
    };
    ReadQuery::of(ViewerKey {
        user: NOBODY,
        service: None,
    })
}

/// Returns the viewer of requests with a grant.
///
/// # Errors
/// Fails when the grant names no user.
pub(crate) fn viewer_key(grant: &Grant) -> Result<ViewerKey, ApiError> {
    let user =
        Gid::new(grant.user).ok_or_else(|| ApiError::Server("a token names no user".to_owned()))?;
    Ok(ViewerKey {
        user,
        service: grant.workspace.and_then(Gid::new),
    })
}
