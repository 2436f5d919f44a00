//! Rules about the receivers of webhooks and the authorization requests of a client.
use crate::stand_in::client_history::ClientHistory;
use crate::stand_in::delivery_fault::DeliveryFault;
use crate::stand_in::rule_outcome::RuleOutcome;
use std::collections::BTreeSet;
use std::time::Duration;

/// Time within which a receiver must answer a delivery.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Scopes that only a sign-in needs, and no operation.
const OF_SIGN_IN: [&str; 3] = ["openid", "email", "profile"];
/// Scope of an app with full permissions.
const FULL: &str = "default";

const fn is_success(status: u16) -> bool {
    status >= 200 && status < 300
}

pub(super) fn answers_in_time(history: &ClientHistory) -> RuleOutcome {
    let slow = history
        .deliveries
        .iter()
        .find(|one| one.took >= ANSWER_WITHIN || one.status.is_none());
    match slow {
        None if history.deliveries.is_empty() => RuleOutcome::Skipped("nothing was delivered"),
        None => RuleOutcome::Holds,
        Some(one) => RuleOutcome::Broken(match one.status {
            Some(_) => format!("an answer took {:.1} s", one.took.as_secs_f64()),
            None => "a delivery was not answered".to_owned(),
        }),
    }
}

pub(super) fn verifies_signatures(history: &ClientHistory) -> RuleOutcome {
    let forged = history.deliveries.iter();
    let forged: Vec<_> = forged
        .filter(|one| one.fault == Some(DeliveryFault::BadSignature))
        .collect();
    let accepted = forged.iter().filter_map(|one| one.status);
    match accepted.into_iter().find(|status| is_success(*status)) {
        Some(status) => RuleOutcome::Broken(format!(
            "a delivery with a wrong signature was answered with {status}"
        )),
        None if forged.is_empty() => RuleOutcome::Skipped(
            "no signature was wrong: add a fault (`{\"webhook\": \"bad_signature\"}`)",
        ),
        None => RuleOutcome::Holds,
    }
}

pub(super) fn keeps_the_first_secret(history: &ClientHistory) -> RuleOutcome {
    let after = history.deliveries.iter();
    let after: Vec<_> = after
        .filter(|one| one.fault == Some(DeliveryFault::SecondHandshake))
        .collect();
    match after.iter().find(|one| !one.status.is_some_and(is_success)) {
        Some(_) => RuleOutcome::Broken(
            "after a second handshake, a delivery that the first secret signs was refused"
                .to_owned(),
        ),
        None if after.is_empty() => RuleOutcome::Skipped(
            "no second handshake was sent: add a fault (`{\"webhook\": \"second_handshake\"}`)",
        ),
        None => RuleOutcome::Holds,
    }
}

pub(super) fn pkce_and_state(history: &ClientHistory) -> RuleOutcome {
    let mut states = BTreeSet::new();
    for asked in &history.authorizations {
        let app = &asked.client_id;
        if !asked.has_challenge {
            return RuleOutcome::Broken(format!(
                "an authorization request of app {app} has no code_challenge with the method S256"
            ));
        }
        if !states.insert((app, &asked.state)) {
            let state = &asked.state;
            return RuleOutcome::Broken(format!(
                "two authorization requests have the state `{state}`"
            ));
        }
    }
    match history.authorizations.is_empty() {
        true => RuleOutcome::Skipped("no app asked for an authorization"),
        false => RuleOutcome::Holds,
    }
}

pub(super) fn no_more_scopes_than_used(history: &ClientHistory) -> RuleOutcome {
    let mut was_judged = false;
    for asked in &history.authorizations {
        let used = asked.client_id.parse().ok();
        let Some(used) = used.and_then(|app: u64| history.used.get(&app)) else {
            continue;
        };
        let scopes = asked.scope.split(' ').filter(|scope| !scope.is_empty());
        let scopes: Vec<&str> = scopes.filter(|scope| !OF_SIGN_IN.contains(scope)).collect();
        if scopes.is_empty() || scopes.contains(&FULL) {
            continue;
        }
        was_judged = true;
        let needed: BTreeSet<&str> = workgraph_operations::all()
            .filter(|operation| used.contains(operation.id))
            .filter_map(|operation| operation.scope)
            .collect();
        let more = scopes.into_iter().find(|scope| !needed.contains(scope));
        if let Some(scope) = more {
            let app = &asked.client_id;
            return RuleOutcome::Broken(format!("app {app} asks for {scope}, and does not use it"));
        }
    }
    match was_judged {
        true => RuleOutcome::Holds,
        false => RuleOutcome::Skipped("no app asked for scopes and then sent requests"),
    }
}
