//! The inboxes of a world: receivers of webhooks, for tests without their own receivers.
use crate::stand_in::timeline::time_text;
use anyhow::{Result, bail};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;
use workgraph_api::ApiResponse;
use workgraph_webhooks::signature::{SECRET_HEADER, signature};

/// Maximum number of inboxes of a world, of secrets and deliveries that one keeps, and of bytes of their bodies.
const INBOXES_MAX: usize = 100;
const SECRETS_MAX: usize = 100;
const KEPT: usize = 1_000;
const BYTES_MAX: usize = 4 << 20;

/// Answer of an inbox to its next deliveries.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct InboxAnswer {
    /// Status of the answer.
    answer: u16,
    /// Number of deliveries that get it; all, if left out.
    times: Option<u64>,
}

#[derive(Default)]
struct Inbox {
    /// Secrets of its webhooks, from their handshakes.
    secrets: VecDeque<String>,
    answer: Option<InboxAnswer>,
    /// Deliveries, each with the size of its body.
    deliveries: VecDeque<(usize, Value)>,
    bytes: usize,
    /// Number of deliveries that were dropped because newer ones needed their room.
    dropped: u64,
}

/// The inboxes of one world, by name.
#[derive(Default)]
pub(crate) struct Inboxes(Mutex<BTreeMap<String, Inbox>>);

impl Inboxes {
    /// Receives a handshake or a delivery, and returns the answer.
    pub(crate) fn receive(
        &self,
        name: &str,
        secret: Option<&str>,
        sent_signature: Option<&str>,
        body: &[u8],
        now: SystemTime,
    ) -> ApiResponse {
        let mut inboxes = self.0.lock();
        if !inboxes.contains_key(name) && inboxes.len() >= INBOXES_MAX {
            return ApiResponse::json(507, Vec::new());
        }
        let inbox = inboxes.entry(name.to_owned()).or_default();
        if let Some(secret) = secret {
            inbox.keep_secret(secret);
            return ApiResponse::json(200, b"{}".to_vec()).with(SECRET_HEADER, secret.to_owned());
        }
        let status = inbox.next_status();
        let mut secrets = inbox.secrets.iter();
        let is_signed = secrets.any(|secret| sent_signature == Some(&signature(secret, body)));
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        inbox.keep(
            body.len(),
            json!({
                "at": time_text(now),
                "is_signed": is_signed,
                "answered": status,
                "events": sent.get("events").cloned().unwrap_or_default(),
            }),
        );
        ApiResponse::json(status, b"{}".to_vec())
    }

    /// Sets the answer of an inbox to its next deliveries.
    ///
    /// # Errors
    /// Names the field that is wrong.
    pub(crate) fn set_answer(&self, name: &str, body: &[u8]) -> Result<()> {
        let answer: InboxAnswer = serde_json::from_slice(body)?;
        if !(200..=599).contains(&answer.answer) {
            bail!("answer: must be a status from 200 to 599");
        }
        let mut inboxes = self.0.lock();
        if !inboxes.contains_key(name) && inboxes.len() >= INBOXES_MAX {
            bail!("there are {INBOXES_MAX} inboxes already");
        }
        inboxes.entry(name.to_owned()).or_default().answer = Some(answer);
        Ok(())
    }

    /// Returns the content of all inboxes, by name.
    pub(crate) fn all(&self) -> Value {
        let names: Vec<String> = self.0.lock().keys().cloned().collect();
        let all = names.into_iter().map(|name| {
            let shown = self.json(&name);
            (name, shown)
        });
        Value::Object(all.collect())
    }

    /// Returns the content of an inbox.
    pub(crate) fn json(&self, name: &str) -> Value {
        let inboxes = self.0.lock();
        match inboxes.get(name) {
            None => json!({ "has_secret": false, "deliveries": [], "dropped": 0 }),
            Some(inbox) => json!({
                "has_secret": !inbox.secrets.is_empty(),
                "deliveries": inbox.deliveries.iter().map(|(_, one)| one).collect::<Vec<_>>(),
                "dropped": inbox.dropped,
            }),
        }
    }
}

impl Inbox {
    /// Keeps the secret of another webhook; the oldest one makes room for it.
    fn keep_secret(&mut self, secret: &str) {
        self.secrets.retain(|known| known != secret);
        self.secrets.push_back(secret.to_owned());
        if self.secrets.len() > SECRETS_MAX {
            self.secrets.pop_front();
        }
    }

    /// Keeps a delivery; the oldest ones make room for it.
    fn keep(&mut self, size: usize, delivery: Value) {
        self.deliveries.push_back((size, delivery));
        self.bytes += size;
        while self.deliveries.len() > KEPT || (self.bytes > BYTES_MAX && self.deliveries.len() > 1)
        {
            let gone = self.deliveries.pop_front();
            self.bytes -= gone.map_or(0, |(size, _)| size);
            self.dropped += 1;
        }
    }

    fn next_status(&mut self) -> u16 {
        match &mut self.answer {
            None => 200,
            Some(InboxAnswer { times: Some(0), .. }) => {
                self.answer = None;
                200
            }
            Some(answer) => {
                answer.times = answer.times.map(|times| times - 1);
                answer.answer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_confirms_its_handshake_checks_signatures_and_answers_as_asked() {
        let inboxes = Inboxes::default();
        let now = SystemTime::UNIX_EPOCH;
        let confirmed = inboxes.receive("orders", Some("s3cret"), None, b"", now);
        assert!(
            confirmed
                .headers
                .contains(&(SECRET_HEADER, "s3cret".to_owned()))
        );
        inboxes
            .set_answer("orders", br#"{"answer": 500, "times": 2}"#)
            .unwrap();
        let body = br#"{"events": [{"action": "added"}]}"#;
        let right = signature("s3cret", body);
        let statuses: Vec<u16> = [Some(right.as_str()), Some("wrong"), None]
            .into_iter()
            .map(|sent| inboxes.receive("orders", None, sent, body, now).status)
            .collect();
        assert_eq!(statuses, [500, 500, 200]);
        let shown = inboxes.json("orders");
        let signed = |at: usize| shown["deliveries"][at]["is_signed"].as_bool();
        assert_eq!(
            (signed(0), signed(1), signed(2)),
            (Some(true), Some(false), Some(false))
        );
        assert_eq!(shown["deliveries"][0]["events"][0]["action"], "added");
        assert_eq!(inboxes.json("other")["deliveries"], json!([]));
        assert!(inboxes.set_answer("orders", br#"{"answer": 99}"#).is_err());
    }

    #[test]
    fn an_inbox_of_several_webhooks_checks_each_signature_with_the_secrets_of_all() {
        let inboxes = Inboxes::default();
        let now = SystemTime::UNIX_EPOCH;
        for secret in ["first", "second"] {
            inboxes.receive("orders", Some(secret), None, b"", now);
        }
        let body = br#"{"events": []}"#;
        for secret in ["first", "second", "third"] {
            let signed = signature(secret, body);
            inboxes.receive("orders", None, Some(&signed), body, now);
        }
        let shown = inboxes.json("orders");
        let deliveries = shown["deliveries"].as_array().unwrap().iter();
        let signed: Vec<bool> = deliveries.map(|one| one["is_signed"] == true).collect();
        assert_eq!(signed, [true, true, false]);
    }

    #[test]
    fn the_oldest_deliveries_make_room_for_new_ones() {
        let inboxes = Inboxes::default();
        let body = vec![b' '; BYTES_MAX / 4 + 1];
        for _ in 0..6 {
            inboxes.receive("orders", None, None, &body, SystemTime::UNIX_EPOCH);
        }
        let shown = inboxes.json("orders");
        assert_eq!(shown["deliveries"].as_array().unwrap().len(), 3);
        assert_eq!(shown["dropped"], 3);
    }
}
