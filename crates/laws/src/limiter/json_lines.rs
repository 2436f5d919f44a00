//! Limiters behind JSON lines: a program in any language reads one operation per line and answers each with a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::scenario::START;
use super::subject::{LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject};
use crate::SubjectError;

/// Timeout for one line of the program.
const LINE_TIMEOUT: Duration = Duration::from_secs(10);

/// A program that speaks JSON lines on its standard input and output.
///
/// Its first line is a profile: `{"name": "mine", "has": ["quota", "weights"]}`. Then each line that it reads is an
/// operation, which it answers with one line: `{"admitted": true, "ticket": 0}` or `{"admitted": false, "wait_ms": 1200}`
/// (or `"retry_after"`, in seconds) for `admit`, `{}` for all others. `"wait": "none"` in the first line means that refusals
/// state no wait, `"s"` that they state whole seconds.
#[derive(Debug)]
pub struct JsonLinesLimiter {
    profile: LimiterProfile,
    child: Child,
    input: ChildStdin,
    lines: Receiver<std::io::Result<String>>,
}

#[derive(Deserialize)]
struct Hello {
    name: String,
    #[serde(default)]
    has: Vec<LimiterAbility>,
    #[serde(default)]
    wait: StatedWait,
    /// The figures, if the limiter has fixed ones.
    window_ms: Option<u64>,
    quota: Option<u32>,
}

/// Unit in which a refusal states the wait.
#[derive(Clone, Copy, Default, Deserialize)]
enum StatedWait {
    #[default]
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "s")]
    WholeSeconds,
    #[serde(rename = "none")]
    Nothing,
}

#[derive(Deserialize)]
struct Admission {
    admitted: bool,
    #[serde(default)]
    ticket: u64,
    wait_ms: Option<f64>,
    retry_after: Option<f64>,
}

impl JsonLinesLimiter {
    /// Starts a program and reads its profile.
    ///
    /// # Errors
    /// Fails if the program does not start, or if its first line is not a profile.
    pub fn start_program(program: &str, arguments: &[String]) -> Result<Self, SubjectError> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| SubjectError(format!("{program} does not start: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SubjectError::new(
                "the program has no standard input and output",
            ));
        };
        let (sender, lines) = sync_channel(16);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let profile = LimiterProfile::new(program, &[]);
        let mut limiter = Self {
            profile,
            child,
            input,
            lines,
        };
        let hello: Hello = limiter.read()?;
        limiter.profile = LimiterProfile::new(hello.name, &hello.has);
        limiter.profile.fixed = hello.window_ms.zip(hello.quota);
        match hello.wait {
            StatedWait::Milliseconds => {}
            StatedWait::WholeSeconds => limiter.profile.wait_unit_ms = 1_000,
            StatedWait::Nothing => limiter.profile.states_wait = false,
        }
        Ok(limiter)
    }

    fn read<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T, SubjectError> {
        let line = self.lines.recv_timeout(LINE_TIMEOUT);
        let line =
            line.map_err(|_| SubjectError::new("the program ended, or sent no line within 10 s"))?;
        let line = line.map_err(|error| SubjectError(format!("the program's output: {error}")))?;
        serde_json::from_str(&line).map_err(|error| {
            SubjectError(format!("the program's line {line:?} is no answer: {error}"))
        })
    }

    /// Sends an operation and reads its answer. The line is a single write, so that the program wakes up once for it.
    fn ask<T: for<'a> Deserialize<'a>>(&mut self, operation: &Value) -> Result<T, SubjectError> {
        let line = format!("{operation}\n");
        self.input.write_all(line.as_bytes()).map_err(|error| {
            SubjectError(format!("the program takes no more operations: {error}"))
        })?;
        self.read()
    }

    /// Sends an operation whose answer is ignored.
    fn tell(&mut self, operation: &Value) -> Result<(), SubjectError> {
        self.ask::<IgnoredAny>(operation).map(|_| ())
    }
}

impl Drop for JsonLinesLimiter {
    fn drop(&mut self) {
        // A program that ignores `stop` is killed; either way no process remains.
        let _ = writeln!(self.input, "{}", json!({"op": "stop"}));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl LimiterSubject for JsonLinesLimiter {
    fn profile(&self) -> &LimiterProfile {
        &self.profile
    }

    fn start(&mut self, setup: &LimiterSetup) -> Result<(), SubjectError> {
        let mut operation =
            json!({"op": "new", "window_ms": setup.window_ms, "quota": setup.quota, "now": START});
        if let Some(operation) = operation.as_object_mut() {
            operation.extend(
                setup
                    .permits
                    .map(|permits| ("permits".to_owned(), permits.into())),
            );
            operation.extend(setup.cost.map(|cost| ("cost".to_owned(), cost.into())));
        }
        self.tell(&operation)
    }

    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError> {
        let answer: Admission =
            self.ask(&json!({"op": "admit", "key": key, "weight": weight, "now": now}))?;
        if answer.admitted {
            return Ok(LimiterAnswer::Admitted {
                ticket: answer.ticket,
            });
        }
        if answer.wait_ms.is_none() && answer.retry_after.is_some() {
            self.profile.wait_unit_ms = 1_000;
        }
        let wait = answer
            .wait_ms
            .or(answer.retry_after.map(|seconds| seconds * 1_000.0))
            .or((!self.profile.states_wait).then_some(0.0));
        let wait = wait.ok_or_else(|| {
            SubjectError::new(
                "a refusal has neither wait_ms nor retry_after; a limiter that states no wait says \"wait\": \"none\" in \
                 its first line",
            )
        })?;
        Ok(LimiterAnswer::Refused {
            wait_ms: milliseconds(wait),
        })
    }

    fn finish(&mut self, ticket: u64) -> Result<(), SubjectError> {
        self.tell(&json!({"op": "finish", "ticket": ticket}))
    }

    fn settle(&mut self, ticket: u64, cost: u32, now: u64) -> Result<(), SubjectError> {
        self.tell(&json!({"op": "settle", "ticket": ticket, "cost": cost, "now": now}))
    }

    fn set_quota(&mut self, quota: u32) -> Result<(), SubjectError> {
        self.tell(&json!({"op": "set", "quota": quota}))
    }

    fn sweep(&mut self, now: u64) -> Result<(), SubjectError> {
        self.tell(&json!({"op": "sweep", "now": now}))
    }
}

/// Returns whole milliseconds, rounded up; negative and too large values are clamped.
fn milliseconds(wait: f64) -> u64 {
    let text = format!("{:.0}", wait.ceil().clamp(0.0, 1e15));
    text.parse().unwrap_or(u64::MAX)
}

/// Answers JSON lines for a limiter in Rust until `stop` or the end of the input: the counterpart of
/// [`JsonLinesLimiter`], and the model for an adapter.
///
/// # Errors
/// Fails if a line is not an operation, or if reading or writing fails.
pub fn answer_json_lines(
    limiter: &mut dyn LimiterSubject,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<(), SubjectError> {
    let failed = |error: std::io::Error| SubjectError(error.to_string());
    let profile = limiter.profile();
    let abilities = profile
        .abilities
        .iter()
        .map(|ability| format!("{ability:?}").to_lowercase());
    let wait = match profile.wait_unit_ms {
        _ if !profile.states_wait => "none",
        1_000 => "s",
        _ => "ms",
    };
    let hello = json!({"name": profile.name, "has": abilities.collect::<Vec<_>>(), "wait": wait});
    writeln!(output, "{hello}")
        .and_then(|()| output.flush())
        .map_err(failed)?;
    for line in input.lines() {
        let line = line.map_err(failed)?;
        let operation: Operation = serde_json::from_str(&line)
            .map_err(|error| SubjectError(format!("{line:?} is no operation: {error}")))?;
        let answer = match operation {
            Operation::New {
                window_ms,
                quota,
                permits,
                cost,
            } => {
                limiter.start(&LimiterSetup {
                    window_ms,
                    quota,
                    permits,
                    cost,
                })?;
                json!({})
            }
            Operation::Admit { key, weight, now } => match limiter.admit(&key, weight, now)? {
                LimiterAnswer::Admitted { ticket } => json!({"admitted": true, "ticket": ticket}),
                LimiterAnswer::Refused { wait_ms } => {
                    json!({"admitted": false, "wait_ms": wait_ms})
                }
            },
            Operation::Finish { ticket } => limiter.finish(ticket).map(|()| json!({}))?,
            Operation::Settle { ticket, cost, now } => {
                limiter.settle(ticket, cost, now).map(|()| json!({}))?
            }
            Operation::Set { quota } => limiter.set_quota(quota).map(|()| json!({}))?,
            Operation::Sweep { now } => limiter.sweep(now).map(|()| json!({}))?,
            Operation::Stop => return Ok(()),
        };
        writeln!(output, "{answer}")
            .and_then(|()| output.flush())
            .map_err(failed)?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    New {
        window_ms: u64,
        quota: u32,
        permits: Option<u32>,
        cost: Option<u32>,
    },
    Admit {
        key: String,
        weight: u32,
        now: u64,
    },
    Finish {
        ticket: u64,
    },
    Settle {
        ticket: u64,
        cost: u32,
        now: u64,
    },
    Set {
        quota: u32,
    },
    Sweep {
        now: u64,
    },
    Stop,
}
