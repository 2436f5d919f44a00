//! Reads that are answered at once: the same client asks for the same again, and nothing has changed.
use crate::answer::Answered;
use crate::last_token::LastToken;
use crate::limits::Load;
use crate::pipeline::{Api, authorize, viewer};
use crate::replies::{Again, Asked};
use crate::request::Reply;
use workgraph_auth::{bearer, check};

/// A `GET` without a body, as it came, borrowed from its transport.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'r> {
    /// The path below the API base, as it was sent (percent-encoded).
    pub path: &'r str,
    /// The query as it was sent, without the `?`.
    pub query: &'r str,
    /// The value of its only `Authorization` header.
    pub authorization: &'r str,
}

impl Api {
    /// Answers a read as [`handle_from`](Self::handle_from) would, if that takes nothing but memory: its token is
    /// the one that came last from this client, and the reply to the same request was kept and is still true.
    /// Token, scope and limits are checked as always.
    ///
    /// None: it has to be handled. Then nothing was counted.
    #[must_use]
    pub fn at_once(&self, glance: &Glance<'_>, last: &LastToken) -> Option<Reply> {
        let shown = [glance.authorization];
        let token = bearer(&shown).ok()?;
        // Both versions come before what is compared with them.
        let found = last.get(token, self.tokens.version()?)?;
        let version = self.graph.version()?;
        let (record, account) = &*found;
        let now = self.clock.now();
        let grant = check(record, account, now).ok()?;
        let asked = Asked {
            viewer: viewer(&grant).ok()?,
            app: grant.app,
            scopes: grant.scopes,
            reach: grant.reach.as_deref(),
            path: glance.path,
            query: glance.query,
        };
        let again = self.replies.get(&asked, version)?;
        let (operation, number) = again.row;
        authorize(operation, &grant).ok()?;
        self.uses.note(record, now);
        let terms = self.terms(&grant);
        let admitted = self.admit(&terms, Load::of(operation), number, now);
        let (outcome, permit) = match admitted {
            Ok(permit) => (Ok(again.into()), Some(permit)),
            Err(refused) => (Err(refused), None),
        };
        Some(self.end(operation.id, outcome, permit, Some(&terms)).0)
    }
}

impl From<Again> for Answered {
    fn from(again: Again) -> Self {
        Self {
            reply: Reply::json(200, again.body),
            cost: again.cost,
        }
    }
}
