//! Silent answers, which are given without a page.
use proptest::prelude::*;
use workgraph_api::SCOPES;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{OAuthStore, ScopeSet};

use super::browser::{Browser, authorize, header, leads, text};
use super::fixtures::{ADA, APP, Town};

/// One step of a user's way with an app.
#[derive(Clone, Debug)]
enum Step {
    /// Allows these scopes on a form.
    Consent(String),
    /// Follows a link, of the app or of another site, that asks for these scopes without a page.
    Silent(String),
    /// Disconnects the app.
    Withdraw,
}

fn set(text: &str) -> ScopeSet {
    SCOPES.parse(text).unwrap()
}

fn scopes() -> impl Strategy<Value = String> {
    prop::sample::subsequence(vec!["tasks:read", "tasks:write", "openid"], 1..=3)
        .prop_map(|names| names.join(" "))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => scopes().prop_map(Step::Consent),
        4 => scopes().prop_map(Step::Silent),
        1 => Just(Step::Withdraw),
    ];
    prop::collection::vec(step, 1..12)
}

/// Function that makes a silent request. Returns the code, if there was an answer.
type Ask<'a> = &'a dyn Fn(&mut Browser<'_>, &str) -> Option<String>;

fn silent(browser: &mut Browser<'_>, scope: &str) -> Option<String> {
    let reply = browser.get(&format!("{}&prompt=none", authorize(scope)));
    let to = leads(&reply).to_owned();
    let code = to.split_once("?code=").map(|(_, rest)| rest);
    if code.is_none() {
        assert!(to.contains("?error=consent_required&"), "{to}");
    }
    Some(code?.split('&').next()?.to_owned())
}

/// Returns the scopes of a token by introspection, or `None` for a dead one.
fn scopes_of(town: &Town, token: &str) -> Option<ScopeSet> {
    let reply = text(&town.call([9, 9, 9, 9], "/-/token_info", &[("token", token)]));
    let (_, rest) = reply.split_once("\"scope\":\"")?;
    Some(set(rest.split('"').next()?))
}

/// Runs steps beside a model: the authorization has the scopes that were allowed last on a form, and each token has
/// those that its own request asked for, as far as they are still allowed.
fn runs(steps: &[Step], ask: Ask<'_>) -> Result<(), String> {
    let town = Town::with(|settings| settings.token_info_per_minute = None);
    let mut ada = Browser::of(&town, ADA);
    let mut stands: Option<ScopeSet> = None;
    let mut tokens: Vec<(String, ScopeSet, bool)> = Vec::new();
    for step in steps {
        let (code, asked) = match step {
            Step::Consent(scope) => {
                stands = Some(set(scope));
                (Some(ada.allow(scope)), scope)
            }
            Step::Silent(scope) => {
                let code = ask(&mut ada, scope);
                let may = stands.is_some_and(|stands| stands.covers(set(scope)));
                if code.is_some() != may {
                    return Err(format!("{step:?} answered: {}", code.is_some()));
                }
                (code, scope)
            }
            Step::Withdraw => {
                let standing = block_on(town.store.authorization(ADA, APP)).unwrap();
                if let Some(standing) = standing {
                    let now = standing.created_at;
                    block_on(town.store.deauthorize(standing.id, ADA, now)).unwrap();
                }
                stands = None;
                tokens.iter_mut().for_each(|token| token.2 = false);
                continue;
            }
        };
        if let Some(code) = code {
            let reply = town.redeem(&code);
            assert_eq!(reply.status, 200, "{}", text(&reply));
            let reply = text(&reply);
            let (_, rest) = reply.split_once("\"access_token\":\"").unwrap();
            let token = rest.split('"').next().unwrap().to_owned();
            tokens.push((token, set(asked), true));
        }
        let kept = block_on(town.store.authorization(ADA, APP)).unwrap();
        if kept.map(|kept| kept.scopes) != stands {
            return Err(format!("after {step:?} there stands not {stands:?}"));
        }
        for (token, own, lives) in &tokens {
            let expected = stands.filter(|_| *lives).map(|s| s.intersect(*own));
            if scopes_of(&town, token) != expected {
                return Err(format!("after {step:?} a token for {own} has changed"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// B17. B77. Silent requests between consents change neither the authorization nor the tokens under it.
    #[test]
    fn b77_a_silent_answer_takes_nothing_away(steps in steps()) {
        prop_assert_eq!(runs(&steps, &silent), Ok(()));
    }
}

/// B77. A server for which a silent answer is a consent is noticed by the model.
#[test]
fn b77_a_silent_answer_that_replaces_is_noticed() {
    let replaces: Ask<'_> = &|browser, scope| {
        silent(browser, scope)?;
        Some(browser.allow(scope))
    };
    let steps = [
        Step::Consent("tasks:read openid".to_owned()),
        Step::Silent("openid".to_owned()),
    ];
    assert_eq!(runs(&steps, &silent), Ok(()));
    assert!(runs(&steps, replaces).is_err());
}

/// B77. The link that a foreign page sends a browser along takes nothing from the app that it names.
#[test]
fn b77_a_link_cuts_nothing() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let code = ada.allow("tasks:read openid");
    let tokens = text(&town.redeem(&code));
    let (_, rest) = tokens.split_once("\"access_token\":\"").unwrap();
    let token = rest.split('"').next().unwrap();
    let link = format!("{}&prompt=none", authorize("openid"));
    let reply = ada.send(
        |r| r.fetch_site = Some("cross-site".to_owned()),
        "GET",
        &link,
        "",
    );
    assert!(
        leads(&reply).contains("?code="),
        "{:?}",
        header(&reply, "Location")
    );
    assert_eq!(scopes_of(&town, token), Some(set("tasks:read openid")));
}
