//! Clients of a small limit: one waits as it is told, one does not.
use super::{Client, nothing, outcome};
use crate::common::{pause, request};
use crate::history::{Act, Outcome};

impl Client {
    /// Sends requests that count towards a quota, and waits after a refusal as it says.
    pub(crate) fn obey_quota(&mut self) {
        self.obey(0);
    }

    /// Sends requests that cost credits, which come back evenly, and waits after a refusal as it says.
    pub(crate) fn obey_cost(&mut self) {
        self.obey(2);
    }

    fn obey(&mut self, key: usize) {
        let mut waited = false;
        while !self.shared.is_over() {
            let wait = self.limited(key, waited);
            waited = false;
            if let Some(seconds) = wait {
                for _ in 0..seconds * 20 {
                    if self.shared.is_over() {
                        return;
                    }
                    pause(50);
                }
                waited = true;
            }
            pause(20);
        }
    }

    /// Sends requests that count towards a limit, refused or not.
    pub(crate) fn push_limit(&mut self) {
        while !self.shared.is_over() {
            self.limited(1, false);
            pause(20 + self.random.below(30) as u64);
        }
    }

    /// Sends a request. Returns the seconds to wait, if it is refused.
    fn limited(&mut self, key: usize, waited: bool) -> Option<u64> {
        let node = self.any_node();
        let token = &self.shared.access.limited[key];
        let bytes = request("GET", "/users/me?opt_fields=gid", token, None);
        let mut wait = None;
        self.record(node, Act::Limited { key, waited }, |client| {
            let reply = client.send(node, &bytes);
            let after = reply.as_ref().and_then(|reply| reply.header("retry-after"));
            wait = after.and_then(|text| text.parse().ok());
            let is_limit = reply.as_ref().is_some_and(|reply| reply.status == 429);
            wait = wait.filter(|_| is_limit);
            match reply {
                // Whatever else went wrong, it was admitted.
                Some(reply) if reply.status == 404 => Outcome::Lost,
                reply => outcome(reply, nothing),
            }
        });
        wait
    }
}
