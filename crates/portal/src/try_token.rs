//! Tokens that let a signed-in user try operations on the reference pages.
use std::time::{Duration, SystemTime};

use serde_json::json;
use workgraph_api::ApiResponse;
use workgraph_auth::{AuthRefusal, OAuthStore, TokenKind, TokenRecord, mint_token};

use crate::common_responses::json as json_reply;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;

/// Description of these tokens in the list of tokens.
const DESCRIPTION: &str = "API reference, try it";
/// Lifetime of these tokens.
const LIFETIME: Duration = Duration::from_secs(3_600);

impl Portal {
    /// Answers with a token of the signed-in user, valid for an hour or until they sign out. The previous one is revoked, so
    /// that a user has at most one.
    pub(crate) async fn try_token(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some(visit) = self.authenticated_session(request, now).await? else {
            let body = json!({"error": "Sign in first"}).to_string();
            let reply = json_reply(401, body).with("Cache-Control", "no-store");
            return Ok(reply.refused_for(AuthRefusal::SessionMissing));
        };
        let user = visit.session.user;
        let acting = request.actor_context(Some(user));
        let store = self.audited_store.as_actor(acting, now);
        revoke_try_tokens(&*store, user, now).await?;
        let (secret, digest) = mint_token(TokenKind::Personal, &self.random()?);
        let record = TokenRecord {
            description: DESCRIPTION.to_owned(),
            expires_at: now.checked_add(LIFETIME),
            ..TokenRecord::personal(self.next_id()?, digest, user, now)
        };
        store.insert_token(record).await?;
        let body = json!({"token": secret.expose(), "expires_in": LIFETIME.as_secs()}).to_string();
        Ok(json_reply(200, body).with("Cache-Control", "no-store"))
    }
}

/// Returns true if a token is one of those that users try operations with. No form of the console gives a token this lifetime,
/// so a user's own token is not one of them, whatever its description says.
fn is_try_token(record: &TokenRecord) -> bool {
    let end = record.created_at.checked_add(LIFETIME);
    record.kind == TokenKind::Personal
        && record.expires_at.is_some_and(|expiry| Some(expiry) == end)
        && record.description == DESCRIPTION
}

/// Revokes the tokens that a user tries operations with.
pub(crate) async fn revoke_try_tokens(
    store: &dyn OAuthStore,
    user: u64,
    now: SystemTime,
) -> Result<(), PortalError> {
    for record in store.list(user).await? {
        if is_try_token(&record) && record.revoked_at.is_none() {
            store.revoke(record.id, now).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_auth::SecretDigest;

    #[test]
    fn a_token_of_the_user_is_no_try_token_whatever_its_description_says() {
        let created = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let own = |lifetime: Option<Duration>| TokenRecord {
            description: DESCRIPTION.to_owned(),
            expires_at: lifetime.map(|lifetime| created + lifetime),
            ..TokenRecord::personal(5, SecretDigest([5; 32]), 7, created)
        };
        assert!(is_try_token(&own(Some(LIFETIME))));
        assert!(!is_try_token(&own(None)));
        assert!(!is_try_token(&own(Some(Duration::from_secs(86_400)))));
    }
}
