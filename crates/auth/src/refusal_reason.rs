//! Reasons for refusals by the authorization server, with their names.
//!
//! A client reads an error code of its protocol, which is deliberately vague. The reason gives the details to the
//! operator and to the owner of the client: in the log, in metrics, in the request inspector. Names are stable.

/// Declares an enum of reasons, each with its name and a sentence with its meaning.
#[macro_export]
macro_rules! refusal_reasons {
    ($(#[$about:meta])* $type:ident { $($variant:ident, $name:literal, $meaning:literal;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $(#[doc = $meaning] $variant,)+
        }

        impl $type {
            /// All reasons, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name, which never changes.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the meaning as a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

refusal_reasons! {
    /// Reason why the authorization server, or the check of a bearer token, refuses a request.
    AuthRefusal {
        // The form of requests.
        QueryGiven, "query_given", "The parameters are in the query and not in the body.";
        FormUnreadable, "form_unreadable", "The body is no form, or it can't be decoded.";
        QueryUnreadable, "query_unreadable", "The query can't be decoded.";
        ParameterRepeated, "parameter_repeated", "A parameter is given twice.";
        GrantTypeMissing, "grant_type_missing", "There is no grant_type.";
        GrantTypeUnsupported, "grant_type_unsupported", "The grant_type is neither authorization_code nor refresh_token.";
        CodeMissing, "code_missing", "There is no code.";
        RedirectUriMissing, "redirect_uri_missing", "There is no redirect_uri, or more than one.";
        RefreshTokenMissing, "refresh_token_missing", "There is no refresh_token.";
        TokenParameterMissing, "token_parameter_missing", "There is no token to revoke or to describe.";
        // Authentication of clients.
        ClientIdMissing, "client_id_missing", "There is no client_id, or no credentials of a client.";
        ClientIdMalformed, "client_id_malformed", "The client_id is given twice, or is no number.";
        ClientSecretMissing, "client_secret_missing", "There is no client_secret.";
        ClientAuthenticatesTwice, "client_authenticates_twice", "The client authenticates in the header and in the form.";
        ClientCredentialsUnreadable, "client_credentials_unreadable", "The Basic credentials can't be read.";
        ClientUnknown, "client_unknown", "No app has this client_id.";
        ClientDisabled, "client_disabled", "The app is switched off.";
        ClientWithoutSecret, "client_without_secret", "The app has no secret, so it gets no tokens.";
        ClientSecretWrong, "client_secret_wrong", "The client_secret is not the app's.";
        TooManyClientFailures, "too_many_client_failures", "Authentication of clients failed too often from this address.";
        TooManyIntrospections, "too_many_introspections", "This address asked for too many descriptions of tokens.";
        // Codes.
        CodeUnknown, "code_unknown", "No such code was issued, or it is long gone.";
        CodeOfOtherClient, "code_of_other_client", "The code was issued to another app.";
        CodeExpired, "code_expired", "The code has expired.";
        CodeRepeated, "code_repeated", "The code was redeemed a moment ago by the same client.";
        CodeReplayed, "code_replayed", "The code was redeemed before; its tokens are revoked.";
        CodeVerifierMissing, "code_verifier_missing", "The code has a challenge, and there is no code_verifier.";
        CodeVerifierUnexpected, "code_verifier_unexpected", "There is a code_verifier, and the code has no challenge.";
        CodeVerifierWrong, "code_verifier_wrong", "The code_verifier does not meet the challenge.";
        RedirectUriMismatch, "redirect_uri_mismatch", "The redirect_uri is not that of the authorization request.";
        GrantEnded, "grant_ended", "The authorization, the app or the account no longer stands.";
        // Refresh tokens.
        RefreshTokenUnknown, "refresh_token_unknown", "No such refresh token was issued.";
        RefreshTokenOfOtherKind, "refresh_token_of_other_kind", "The refresh_token is a token of another kind.";
        RefreshTokenOfOtherClient, "refresh_token_of_other_client", "The refresh token was issued to another app.";
        RefreshTokenRevoked, "refresh_token_revoked", "The refresh token was revoked.";
        ScopeUnknown, "scope_unknown", "The scope can't be read, or has an unknown name.";
        ScopeTooWide, "scope_too_wide", "The scope is empty or wider than what was granted.";
        TokenNotRevocable, "token_not_revocable", "The token to revoke is no refresh token.";
        TokenOfOtherClient, "token_of_other_client", "The token to revoke was issued to another app.";
        // Authorization requests.
        RedirectUriUnregistered, "redirect_uri_unregistered", "The redirect_uri is none of the app's.";
        StateMissing, "state_missing", "There is no state.";
        StateTooLong, "state_too_long", "The state is too long.";
        ResponseTypeMissing, "response_type_missing", "There is no response_type.";
        ResponseTypeUnsupported, "response_type_unsupported", "The response_type does not exist, or is not for this app.";
        ResponseModeUnsupported, "response_mode_unsupported", "The response_mode does not exist, or is not for this response_type.";
        RequestObject, "request_object", "Request objects and references to them are not supported.";
        CodeChallengeInvalid, "code_challenge_invalid", "The code_challenge or its method is missing or wrong.";
        CodeChallengeMissing, "code_challenge_missing", "A code that is shown on a page needs a code_challenge.";
        ScopeForbidden, "scope_forbidden", "The app may not ask for these scopes.";
        NonceMissing, "nonce_missing", "An id_token needs a nonce.";
        NonceTooLong, "nonce_too_long", "The nonce is too long.";
        OpenidMissing, "openid_missing", "An id_token needs the scope openid.";
        MaxAgeInvalid, "max_age_invalid", "The max_age is no number of seconds.";
        PromptInvalid, "prompt_invalid", "The prompt has none beside other values.";
        UserDenied, "user_denied", "The user denied the request.";
        AppNotAvailable, "app_not_available", "The app is in none of the user's workspaces.";
        LoginRequired, "login_required", "No page may be shown, and nobody is signed in.";
        ConsentRequired, "consent_required", "No page may be shown, and the user has not agreed yet.";
        AuthorizationFailed, "authorization_failed", "The server failed; another line of the log says why.";
        AuthorizationBusy, "authorization_busy", "The server is overloaded.";
        // Forms of browsers, and sign-ins.
        FormFromElsewhere, "form_from_elsewhere", "The form does not come from a page of this server.";
        FormForged, "form_forged", "The anti-forgery text of the form is missing or wrong.";
        FormTicketInvalid, "form_ticket_invalid", "The consent form is too old, was answered already, or is another one's.";
        DecisionUnknown, "decision_unknown", "The consent form has neither a yes nor a no.";
        SessionMissing, "session_missing", "The session is missing or over.";
        CredentialsTooLong, "credentials_too_long", "The e-mail address or the password is too long.";
        AccountUnknown, "account_unknown", "No account has this e-mail address, or it has no password.";
        PasswordWrong, "password_wrong", "The password is not the account's.";
        CredentialsChanged, "credentials_changed", "The password was changed, or the account was switched off, during the sign-in.";
        TooManySignInsOfAddress, "too_many_sign_ins_of_address", "Sign-ins failed too often from this address.";
        TooManySignInsOfAccount, "too_many_sign_ins_of_account", "Sign-ins of this account failed too often.";
        SignInTooSoon, "sign_in_too_soon", "The wait after a failed sign-in is not over.";
        PasswordQueueFull, "password_queue_full", "Too many passwords wait to be checked.";
        // Bearer tokens.
        TokenMissing, "token_missing", "There is no Authorization header.";
        AuthorizationHeaderRepeated, "authorization_header_repeated", "There is more than one Authorization header.";
        SchemeNotBearer, "scheme_not_bearer", "The Authorization header has another scheme than Bearer.";
        TokenMalformed, "token_malformed", "What follows Bearer has not the form of a token.";
        TokenUnknown, "token_unknown", "No such token was issued.";
        TokenRevoked, "token_revoked", "The token was revoked.";
        TokenExpired, "token_expired", "The token is expired.";
        AccountDisabled, "account_disabled", "The account is switched off.";
        NoWorkspace, "no_workspace", "The user belongs to no workspace any more.";
        AppDisabledInWorkspace, "app_disabled_in_workspace", "The app is switched off in the workspace.";
        RefreshTokenAsBearer, "refresh_token_as_bearer", "A refresh token is no bearer token.";
    }
}

impl From<crate::TokenRefusal> for AuthRefusal {
    fn from(refusal: crate::TokenRefusal) -> Self {
        use crate::TokenRefusal as Refusal;
        match refusal {
            Refusal::Unknown => Self::TokenUnknown,
            Refusal::Expired => Self::TokenExpired,
            Refusal::Revoked => Self::TokenRevoked,
            Refusal::Disabled => Self::AccountDisabled,
            Refusal::NotBearer => Self::RefreshTokenAsBearer,
        }
    }
}

impl From<crate::BearerError> for AuthRefusal {
    fn from(error: crate::BearerError) -> Self {
        use crate::BearerError as Error;
        match error {
            Error::Missing => Self::TokenMissing,
            Error::Scheme => Self::SchemeNotBearer,
            Error::Empty | Error::Spaced => Self::TokenMalformed,
            Error::Repeated => Self::AuthorizationHeaderRepeated,
        }
    }
}
