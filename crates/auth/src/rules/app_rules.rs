//! Rules for registering, changing and disabling apps.
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

/// Returns the use of an app in a workspace: `removed`, `disabled` or `enabled`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_records::{app, at};

    #[test]
    fn an_app_is_replaced_only_if_it_is_still_what_was_read() {
        let changed = App {
            name: "Charts".to_owned(),
            ..app()
        };
        assert!(put_app(None, app(), None).is_ok());
        assert!(put_app(Some(&app()), changed.clone(), Some(&app())).is_ok());
        for (stored, was) in [
            (Some(&app()), None),
            (None, Some(&app())),
            (Some(&changed), Some(&app())),
        ] {
            let refused = put_app(stored, app(), was).unwrap_err();
            assert_eq!(refused, AuthStoreError::Conflict);
        }
    }

    #[test]
    fn each_workspace_in_which_the_use_of_an_app_changes_is_recorded() {
        let was = App {
            distribution: vec![100, 101],
            ..app()
        };
        let new = App {
            distribution: vec![101, 102],
            disabled_in: vec![102],
            ..app()
        };
        let uses = |acts: Vec<AuditedAct>| -> Vec<(u64, &str, &str)> {
            let of = |act| match act {
                AuditedAct::AppUseChanged {
                    workspace,
                    before,
                    after,
                    ..
                } => (workspace, before, after),
                other => panic!("{other:?}"),
            };
            acts.into_iter().map(of).collect()
        };
        let decision = put_app(Some(&was), new, Some(&was)).unwrap();
        assert_eq!(
            uses(decision.acts),
            [(100, "enabled", "removed"), (102, "removed", "disabled")]
        );
        let off = App {
            disabled_at: Some(at(1)),
            ..was.clone()
        };
        let decision = put_app(Some(&was), off, Some(&was)).unwrap();
        assert_eq!(
            uses(decision.acts),
            [(100, "enabled", "disabled"), (101, "enabled", "disabled")]
        );
    }
}
