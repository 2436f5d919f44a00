//! Client of an app: it redeems codes, uses the tokens at all nodes, and gives them back.
use super::{Client, nothing, outcome};
use crate::common::{pause, request};
use crate::history::{Act, Found, Outcome};
use crate::scene::NODES;
use crate::web::{authorize, redemption, revocation};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

/// Redemptions of one code at the same time.
const AT_ONCE: usize = 64;

impl Client {
    /// Goes through the lives of authorizations until the history is over.
    pub(crate) fn use_tokens(&mut self) {
        for turn in 0.. {
            if self.shared.is_over() {
                return;
            }
            let shared = Arc::clone(&self.shared);
            let access = &shared.access;
            let port = shared.ports.of(self.any_node());
            let code = authorize(port, &access.origin, &access.session, &access.app);
            let Some(code) = code else {
                pause(50);
                continue;
            };
            let number =
                usize::try_from(shared.next_token.fetch_add(1, Ordering::Relaxed)).unwrap();
            if turn % 4 == 1 {
                self.redeem_at_once(number, &code);
            } else if let Some([bearer, refresh]) = self.redeem(number, &code) {
                self.live(number, &bearer, &refresh);
            }
            pause(self.random.below(200) as u64);
        }
    }

    /// Redeems a code at a node. Returns the tokens.
    fn redeem(&mut self, number: usize, code: &str) -> Option<[String; 2]> {
        let node = self.any_node();
        let bytes = redemption(&self.shared.access.app, code);
        let found = |json: &Value| {
            let text = |name: &str| json[name].as_str();
            let both = format!("{} {}", text("access_token")?, text("refresh_token")?);
            Some(Found::Text(both))
        };
        let done = self.record(node, Act::Redeem { code: number }, |client| {
            outcome(client.send(node, &bytes), found)
        });
        let Outcome::Done(Found::Text(both)) = done else {
            return None;
        };
        let (bearer, refresh) = both.split_once(' ')?;
        Some([bearer, refresh].map(str::to_owned))
    }

    /// Redeems one code many times over all nodes.
    fn redeem_at_once(&mut self, number: usize, code: &str) {
        let racers: Vec<_> = (0..AT_ONCE)
            .map(|racer| {
                let mut client = Self::new(&self.shared, self.random.next() ^ racer as u64);
                let code = code.to_owned();
                thread::spawn(move || client.redeem(number, &code))
            })
            .collect();
        for racer in racers {
            racer.join().unwrap();
        }
    }

    /// Uses a token, gives it back, and tries it at every node after that.
    fn live(&mut self, number: usize, bearer: &str, refresh: &str) {
        for _ in 0..self.random.below(6) {
            let node = self.any_node();
            self.probe(number, node, bearer);
        }
        let node = self.any_node();
        let bytes = revocation(&self.shared.access.app, refresh);
        let act = Act::Revoke { token: number };
        self.record(node, act, |client| {
            let reply = client.send(node, &bytes);
            let success = reply.as_ref().is_some_and(|reply| reply.status == 200);
            if success {
                Outcome::Done(Found::Nothing)
            } else {
                outcome(reply, nothing)
            }
        });
        for turn in 0..2 * NODES {
            self.probe(number, turn % NODES, bearer);
        }
    }

    fn probe(&mut self, token: usize, node: usize, bearer: &str) {
        let bytes = request("GET", "/users/me?opt_fields=gid", bearer, None);
        self.record(node, Act::Probe { token }, |client| {
            outcome(client.send(node, &bytes), nothing)
        });
    }
}
