//! Laws of webhook receivers, judged by playing the service that calls them.
//!
//! [`judge`] runs them on a [`ReceiverSubject`]: a Rust type, or a receiver behind HTTP (`HttpReceiver`, with the feature
//! `http`). A receiver is judged from its first handshake on, so it must not know a secret yet.

#[cfg(feature = "http")]
mod http;
mod memory_receiver;
mod subject;

#[cfg(feature = "http")]
pub use http::HttpReceiver;
pub use memory_receiver::MemoryReceiver;
pub use subject::{Delivery, ReceiverReply, ReceiverSubject, SECRET_HEADER, SIGNATURE_HEADER};

use std::time::Duration;

use fastrand::Rng;
use workgraph_webhooks::signature::{signature, signing_secret};

use crate::SubjectError;
use crate::report::{LawReport, Report, RunOptions};

/// Maximum time in which a receiver must answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

const LAWS: &[(&str, &str)] = &[
    ("R1", "the handshake is answered with 2xx and its secret"),
    ("R2", "a second handshake does not replace the secret"),
    ("R3", "a signed delivery is accepted"),
    ("R4", "a wrong signature is refused with 4xx"),
    ("R5", "a delivery without a signature is refused with 4xx"),
    ("R6", "a delivery that comes again is accepted"),
    ("R7", "a heartbeat without events is accepted"),
    (
        "R8",
        "the signature is checked over bytes: a body that is not ASCII is accepted",
    ),
    ("R9", "every answer comes within 10 s"),
];

/// Returns name and rule of every law.
pub fn laws() -> impl Iterator<Item = (&'static str, &'static str)> {
    LAWS.iter().copied()
}

/// State of the service played against one receiver.
struct Play<'a> {
    receiver: &'a mut dyn ReceiverSubject,
    secret: String,
    other_secret: String,
    steps: Vec<String>,
    /// The slowest answer, with its line.
    slowest: (Duration, String),
}

/// Returns the body of a delivery with one event with this name.
fn event(name: &str) -> Vec<u8> {
    let event = serde_json::json!({"events": [{
        "action": "changed",
        "resource": {"gid": "1201", "resource_type": "task", "name": name},
        "parent": null,
        "created_at": "2026-01-01T00:00:00.000Z",
    }]});
    event.to_string().into_bytes()
}

impl Play<'_> {
    fn post(
        &mut self,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> Result<ReceiverReply, SubjectError> {
        let delivery = Delivery { headers, body };
        let line = self.receiver.line(&delivery);
        let reply = self.receiver.post(&delivery)?;
        if reply.took > self.slowest.0 {
            self.slowest = (reply.took, line.clone());
        }
        self.steps.push(format!("{line}  # {}", reply.status));
        Ok(reply)
    }

    fn handshake(&mut self, secret: &str) -> Result<ReceiverReply, SubjectError> {
        self.post(
            vec![(SECRET_HEADER.to_owned(), secret.to_owned())],
            Vec::new(),
        )
    }

    fn deliver(&mut self, body: &[u8], secret: &str) -> Result<ReceiverReply, SubjectError> {
        let signed = signature(secret, body);
        self.post(vec![(SIGNATURE_HEADER.to_owned(), signed)], body.to_vec())
    }

    /// Returns the fault found by the law with this name.
    fn fault(&mut self, law: &str) -> Result<Option<String>, SubjectError> {
        let (secret, other) = (self.secret.clone(), self.other_secret.clone());
        let accepted = |what: &str, reply: &ReceiverReply| {
            (!reply.accepts()).then(|| format!("{what} is answered {}, not 2xx", reply.status))
        };
        let refused = |what: &str, reply: &ReceiverReply| {
            (!reply.refuses()).then(|| format!("{what} is answered {}, not 4xx", reply.status))
        };
        Ok(match law {
            "R1" => {
                let reply = self.handshake(&secret)?;
                let echoed = reply.secret.as_ref() == Some(&secret);
                accepted("the handshake", &reply).or_else(|| {
                    (!echoed).then(|| format!("the answer has no {SECRET_HEADER} with the secret"))
                })
            }
            "R2" => {
                self.handshake(&other)?;
                let by_first = self.deliver(&event("first secret"), &secret)?;
                let by_second = self.deliver(&event("second secret"), &other)?;
                accepted("a delivery signed with the first secret", &by_first)
                    .or_else(|| refused("a delivery signed with the second secret", &by_second))
            }
            "R3" => accepted(
                "a signed delivery",
                &self.deliver(&event("signed"), &secret)?,
            ),
            "R4" => {
                let signed = signature(&secret, &event("one body"));
                let reply = self.post(
                    vec![(SIGNATURE_HEADER.to_owned(), signed)],
                    event("another body"),
                )?;
                let garbled = self.post(
                    vec![(SIGNATURE_HEADER.to_owned(), "0".repeat(64))],
                    event("one body"),
                )?;
                refused("the signature of another body", &reply)
                    .or_else(|| refused("a made-up signature", &garbled))
            }
            "R5" => refused(
                "a delivery without a signature",
                &self.post(Vec::new(), event("unsigned"))?,
            ),
            "R6" => {
                let body = event("repeated");
                self.deliver(&body, &secret)?;
                accepted("the same delivery again", &self.deliver(&body, &secret)?)
            }
            "R7" => accepted("a heartbeat", &self.deliver(br#"{"events":[]}"#, &secret)?),
            "R8" => accepted(
                "a body that is not ASCII",
                &self.deliver(&event("Größe → 大 🎉"), &secret)?,
            ),
            _ => {
                let (took, line) = self.slowest.clone();
                self.steps = vec![line];
                (took > ANSWER_WITHIN)
                    .then(|| format!("an answer took {:.1} s", took.as_secs_f64()))
            }
        })
    }
}

/// Judges a receiver before its first handshake.
///
/// # Errors
/// Fails if the receiver can't be reached, or if an option names no law.
pub fn judge(
    receiver: &mut dyn ReceiverSubject,
    options: &RunOptions,
) -> Result<Report, SubjectError> {
    let names: Vec<_> = laws().map(|(name, _)| name).collect();
    options.check_names(&names)?;
    let subject = receiver.name();
    let mut random = Rng::with_seed(options.seed);
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    let secret = signing_secret(bytes);
    random.fill(&mut bytes);
    let other_secret = signing_secret(bytes);
    let (steps, slowest) = (Vec::new(), (Duration::ZERO, String::new()));
    let mut play = Play {
        receiver,
        secret,
        other_secret,
        steps,
        slowest,
    };
    let mut reports = Vec::new();
    for (law, rule) in laws() {
        play.steps.clear();
        // Without its handshake a receiver has no secret for checking signatures.
        let why = options.skipped(law);
        let fault = if why.is_none() || law == "R1" {
            play.fault(law)?
        } else {
            None
        };
        reports.push(match (why, fault) {
            (Some(why), _) => LawReport::skipped(law, rule, why),
            (None, Some(fault)) => LawReport::broken(law, rule, fault, play.steps.clone()),
            (None, None) => LawReport::holds(law, rule),
        });
    }
    Ok(Report {
        subject,
        seed: options.seed,
        laws: reports,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_in_memory_keeps_every_law() {
        let report = judge(&mut MemoryReceiver::new(), &RunOptions::default()).unwrap();
        assert_eq!(report.exit_status(&[]), 0, "{report}");
    }

    #[test]
    fn each_law_fails_on_its_mutant() {
        for (law, _) in laws() {
            let report = judge(&mut MemoryReceiver::breaking(law), &RunOptions::default()).unwrap();
            let broken: Vec<_> = report
                .with_verdict(crate::Verdict::Broken)
                .map(|law| law.law)
                .collect();
            assert!(broken.contains(&law), "the mutant of {law}: {report}");
        }
    }
}
