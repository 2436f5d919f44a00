//! Rules of apps.
use std::collections::BTreeSet;

use crate::authorization::registered_app::App;
use crate::ports::token_store::AuthStoreError;
use crate::rules::auth_decision::{AuditedAct, AuthDecision, AuthDecisionResult, AuthWrite};

/// Creates an app, or replaces it if it has not changed since it was read. `stored` is the app with the id of `app`.
///
/// # Errors
/// Fails with [`AuthStoreError::Conflict`] if the stored app is not `was`.
pub fn put_app(stored: Option<&App>, app: App, was: Option<&App>) -> AuthDecisionResult<()> {
    if stored != was {
        return Err(AuthStoreError::Conflict);
    }
    let acts = changed_uses(&app, was);
    let write = match was {
        Some(_) => AuthWrite::ReplaceApp(app),
        None => AuthWrite::InsertApp(app),
    };
    let mut decision = AuthDecision::new(()).write(write);
    decision.acts = acts;
    Ok(decision)
}

/// Returns the use of an app in a workspace.
fn use_in(app: &App, workspace: u64) -> &'static str {
    if !app.distribution.contains(&workspace) {
        "removed"
    } else if app.disabled_at.is_some() || app.disabled_in.contains(&workspace) {
        "disabled"
    } else {
        "enabled"
    }
}

/// Returns an act for each workspace in which the use of an app changes, in the order of workspaces.
fn changed_uses(app: &App, was: Option<&App>) -> Vec<AuditedAct> {
    let before = was.map_or(&[][..], |was| &was.distribution);
    let workspaces: BTreeSet<u64> = app.distribution.iter().chain(before).copied().collect();
    let act = |workspace: u64| {
        let before = was.map_or("removed", |was| use_in(was, workspace));
        let after = use_in(app, workspace);
        let act = AuditedAct::AppUseChanged {
            workspace,
            app: app.name.clone(),
            before,
            after,
        };
        (before != after).then_some(act)
    };
    workspaces.into_iter().filter_map(act).collect()
}
