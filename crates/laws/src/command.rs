//! Command line of the laws, which judges a limiter, a paginated list or a webhook receiver that somebody else wrote.
use crate::limiter::{self, HttpLimiter, JsonLinesLimiter, LimiterSubject};
use crate::pagination::{self, HttpList};
use crate::receiver::{self, HttpReceiver};
use crate::{Report, RunOptions, SubjectError};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Exit status of a subject that could not be judged.
pub const NOT_JUDGED: u8 = 2;

/// Subject, and choice of laws.
#[derive(Debug, Args)]
pub struct LawsArgs {
    #[command(subcommand)]
    subject: LawsSubject,
    #[command(flatten)]
    choice: LawsChoice,
}

#[derive(Debug, Subcommand)]
enum LawsSubject {
    /// Judge a rate limiter: a program that speaks JSON lines (after `--`), or a limited endpoint.
    Limiter {
        /// File that describes the endpoint, in TOML.
        #[arg(long, value_name = "FILE", conflicts_with = "program")]
        config: Option<PathBuf>,
        /// The program and its arguments.
        #[arg(last = true, value_name = "PROGRAM")]
        program: Vec<String>,
    },
    /// Judge a paginated list.
    Pagination {
        /// File that describes the list, in TOML.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Judge a webhook receiver that has had no handshake.
    Receiver {
        /// Address of the receiver.
        #[arg(long)]
        url: String,
    },
}

#[derive(Debug, Args)]
struct LawsChoice {
    /// Seed of all random choices.
    #[arg(long, default_value_t = 1, global = true)]
    seed: u64,
    /// Operations for each law.
    #[arg(long, default_value_t = 2_000, global = true)]
    operations: u64,
    /// Names of the only laws to judge, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "LAWS", global = true)]
    run: Vec<String>,
    /// Names of laws to leave out, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "LAWS", global = true)]
    skip: Vec<String>,
    /// File with names of laws that are broken for now, one a line; each of them must still be broken.
    #[arg(long, value_name = "FILE", global = true)]
    known_failing: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Write the report as JUnit into this file.
    #[arg(long, value_name = "FILE", global = true)]
    junit: Option<PathBuf>,
}

/// Text that the command prints, with its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawsOutcome {
    /// The report, or the reason why the subject can't be judged.
    pub text: String,
    /// Exit status.
    pub exit_status: u8,
}

/// Judges a subject. The status is 0 if every judged law holds, 1 if one is broken, 2 if the subject can't be judged.
///
/// # Errors
/// Fails if a file can't be read or written, or no subject is named.
pub fn run(arguments: &LawsArgs) -> Result<LawsOutcome> {
    let choice = &arguments.choice;
    let known = match &choice.known_failing {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("read {}", file.display()))?;
            let names = text.lines().map(str::trim);
            names
                .filter(|name| !name.is_empty() && !name.starts_with('#'))
                .map(str::to_owned)
                .collect()
        }
        None => Vec::new(),
    };
    let options = RunOptions {
        seed: choice.seed,
        operations: choice.operations,
        run: choice.run.clone(),
        skip: choice.skip.clone(),
    };
    let report = match judge(&arguments.subject, &options)? {
        Ok(report) => report,
        Err(error) => {
            return Ok(LawsOutcome {
                text: format!("the subject can't be judged: {error}"),
                exit_status: NOT_JUDGED,
            });
        }
    };
    if let Some(file) = &choice.junit {
        std::fs::write(file, report.junit())
            .with_context(|| format!("write {}", file.display()))?;
    }
    Ok(LawsOutcome {
        text: if choice.json {
            report.json()
        } else {
            report.to_string()
        },
        exit_status: report.exit_status(&known),
    })
}

fn judge(subject: &LawsSubject, options: &RunOptions) -> Result<Result<Report, SubjectError>> {
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
    };
    Ok(match subject {
        LawsSubject::Limiter {
            config: Some(file), ..
        } => {
            let text = read(file)?;
            HttpLimiter::from_toml(&text)
                .and_then(|mut subject| limiter::judge(&mut subject, options))
        }
        LawsSubject::Limiter {
            config: None,
            program,
        } => {
            let Some((program, arguments)) = program.split_first() else {
                bail!(
                    "name the limiter: --config FILE for an endpoint, or -- PROGRAM for a program"
                );
            };
            JsonLinesLimiter::start_program(program, arguments).and_then(|mut subject| {
                limiter::judge(&mut subject as &mut dyn LimiterSubject, options)
            })
        }
        LawsSubject::Pagination { config } => {
            let text = read(config)?;
            HttpList::from_toml(&text)
                .and_then(|mut subject| pagination::judge(&mut subject, options))
        }
        LawsSubject::Receiver { url } => receiver::judge(&mut HttpReceiver::new(url), options),
    })
}
