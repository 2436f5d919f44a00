//! Password changes by the owner of an account.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, RequestRefusal};
use workgraph_auth::authorization::browser_session::csrf_matches;
use workgraph_auth::{AuthRefusal, Param, PasswordChange, Secret, check_password};

use crate::common_responses::{invalid_form, page, see_other};
use crate::console::console_router::visitor;
use crate::console::{ConsoleNotice, ConsoleResponse, PURPOSE};
use crate::form_decoding;
use crate::login::{LoginCredentials, PasswordCheck, retry_after};
use crate::pages::{FormProblem, paths};
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::session::AuthenticatedSession;

impl Portal {
    /// Handles the form that changes the password of the signed-in user.
    pub(crate) async fn change_password(
        &self,
        request: &PortalRequest,
        visit: &AuthenticatedSession,
        body: &[Param],
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        if !csrf_matches(&visit.secret, PURPOSE, form_decoding::one(body, "csrf")) {
            return Ok(invalid_form(AuthRefusal::FormForged));
        }
        let field = |name| form_decoding::one(body, name);
        let (current, new) = (field("current"), field("new"));
        let mut problems = Vec::new();
        if current.is_empty() {
            problems.push(FormProblem::new(
                "current",
                "Enter the password you have now.",
            ));
        }
        if let Err(reason) = check_password(new) {
            problems.push(FormProblem::new(
                "new",
                format!("Choose another one: {reason}."),
            ));
        } else if new == current {
            problems.push(FormProblem::new(
                "new",
                "This is the password you have now.",
            ));
        } else if new != field("again") {
            problems.push(FormProblem::new(
                "again",
                "This is not what you entered above.",
            ));
        }
        if !problems.is_empty() {
            return self.again(request, visit, 400, &problems, now).await;
        }
        let user = visit.session.user;
        let Some(login) = self.store.login_of(user).await? else {
            return Ok(invalid_form(AuthRefusal::AccountUnknown));
        };
        // The session identifies the browser; wrong guesses of the current password count as they do at sign-in.
        let browser = visit.session.id();
        let claim = LoginCredentials {
            email: login.email(),
            password: current,
            browser: Some(&browser),
        };
        let tried = self.try_password(request, &claim, now).await?;
        if let Some((refusal, status, words, wait)) = tried.refusal() {
            let problems = [FormProblem::new("current", words)];
            let reply = self.again(request, visit, status, &problems, now).await?;
            return Ok(retry_after(reply, wait).refused_for(refusal));
        }
        let PasswordCheck::Right(account, before) = tried else {
            let problems = [FormProblem::new("current", "This is not your password.")];
            let reply = self.again(request, visit, 400, &problems, now).await?;
            return Ok(reply.refused_for(tried.wrong()));
        };
        let Ok(slot) = self.passwords.reserve(true) else {
            let (status, words) = (503, "The server is busy. Try again in a moment.");
            let problems = [FormProblem::new("current", words)];
            let reply = self.again(request, visit, status, &problems, now).await?;
            return Ok(retry_after(reply, 5));
        };
        let random = self.random()?;
        let salt = random.first_chunk::<16>().copied().unwrap_or_default();
        let new = Secret::new(new.to_owned());
        let after = self.passwords.hash(slot, new, salt).await;
        let change = PasswordChange {
            user: account.user,
            before,
            after: after?,
            keep_session: Some(visit.session.digest),
            revoke_tokens_at: (field("revoke") == "yes").then_some(now),
        };
        let store = self
            .audited_store
            .as_actor(request.actor_context(Some(user)), now);
        if account.user != user || !store.change_password(change).await? {
            let words = "Your password was changed in the meantime, and nothing else.";
            let problems = [FormProblem::new("current", words)];
            return self.again(request, visit, 409, &problems, now).await;
        }
        self.workspaces.password_changed(user);
        match ConsoleResponse::done(paths::ACCOUNT, ConsoleNotice::Password) {
            ConsoleResponse::SeeOther(path) => Ok(see_other(path)),
            ConsoleResponse::Page(status, shown) => Ok(page(status, shown)),
        }
    }

    /// Returns the form again, with the problems marked.
    async fn again(
        &self,
        request: &PortalRequest,
        visit: &AuthenticatedSession,
        status: u16,
        problems: &[FormProblem],
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let acting = request.actor_context(Some(visit.session.user));
        let console = self.console(&*self.store, &acting, request);
        let shown = console
            .account_again(&visitor(visit), problems, now)
            .await?;
        Ok(page(status, shown).refused_for(RequestRefusal::FormInvalid))
    }
}
