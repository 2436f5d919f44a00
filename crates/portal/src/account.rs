//! A change of the password by its owner.
use std::time::SystemTime;

use workgraph_api::Reply;
use workgraph_auth::session::csrf_matches;
use workgraph_auth::{Pair, PasswordChange, Secret, check_password};

use crate::attempt::{Claim, Tried, retry_after};
use crate::console::{Answer, Done, PURPOSE};
use crate::desk::visitor;
use crate::form;
use crate::pages::{Problem, paths};
use crate::portal::{Broken, Portal};
use crate::request::{Request, page, see_other};
use crate::session::{Visit, not_ours};

impl Portal {
    /// Answers the form that changes the password of whoever is signed in.
    pub(crate) async fn change_password(
        &self,
        request: &Request,
        visit: &Visit,
        body: &[Pair],
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        if !csrf_matches(&visit.secret, PURPOSE, form::one(body, "csrf")) {
            return Ok(not_ours());
        }
        let field = |name| form::one(body, name);
        let (current, new) = (field("current"), field("new"));
        let mut problems = Vec::new();
        if current.is_empty() {
            problems.push(Problem::new("current", "Enter the password you have now."));
        }
        if let Err(why) = check_password(new) {
            problems.push(Problem::new("new", format!("Choose another one: {why}.")));
        } else if new == current {
            problems.push(Problem::new("new", "This is the password you have now."));
        } else if new != field("again") {
            problems.push(Problem::new("again", "This is not what you entered above."));
        }
        if !problems.is_empty() {
            return self.again(request, visit, 400, &problems, now).await;
        }
        let user = visit.session.user;
        let Some(login) = self.store.login_of(user).await? else {
            return Ok(not_ours());
        };
        // Whoever has the session is known; what they guess wrong counts as at the sign-in.
        let browser = visit.session.id();
        let claim = Claim {
            email: login.email(),
            password: current,
            browser: Some(&browser),
        };
        let tried = self.try_password(request, &claim, now).await?;
        if let Some((status, words, wait)) = tried.refusal() {
            let problems = [Problem::new("current", words)];
            let reply = self.again(request, visit, status, &problems, now).await?;
            return Ok(retry_after(reply, wait));
        }
        let Tried::Right(account, before) = tried else {
            let problems = [Problem::new("current", "This is not your password.")];
            return self.again(request, visit, 400, &problems, now).await;
        };
        let Ok(slot) = self.passwords.reserve(true) else {
            let (status, words) = (503, "The server is busy. Try again in a moment.");
            let problems = [Problem::new("current", words)];
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
            after: after.map_err(Broken)?,
            keep: Some(visit.session.digest),
            revoke: (field("revoke") == "yes").then_some(now),
        };
        let store = self.acts.by(request.acting(Some(user)), now);
        if account.user != user || !store.change_password(change).await? {
            let words = "Your password was changed meanwhile. Nothing else was.";
            let problems = [Problem::new("current", words)];
            return self.again(request, visit, 409, &problems, now).await;
        }
        self.places.password_changed(user);
        match Answer::done(paths::ACCOUNT, Done::Password) {
            Answer::SeeOther(path) => Ok(see_other(path)),
            Answer::Page(status, shown) => Ok(page(status, shown)),
        }
    }

    /// The form once more, with what is wrong with it.
    async fn again(
        &self,
        request: &Request,
        visit: &Visit,
        status: u16,
        problems: &[Problem],
        now: SystemTime,
    ) -> Result<Reply, Broken> {
        let acting = request.acting(Some(visit.session.user));
        let console = self.console(&*self.store, &acting);
        let shown = console
            .account_again(&visitor(visit), problems, now)
            .await?;
        Ok(page(status, shown))
    }
}
