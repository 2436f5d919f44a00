//! Start options that are not settings.
use clap::{Args, ValueEnum};
use std::net::SocketAddr;

/// Start options that are not settings.
#[derive(Clone, Debug, Default, Args)]
pub struct StartOptions {
    /// Start with sample data: two workspaces and a small graph.
    #[arg(long)]
    pub demo: bool,
    /// Accept jobs without running them; they wait for a start without this flag.
    #[arg(long)]
    pub no_jobs: bool,
    /// Begin with an empty database in a data folder that has lost its own; leftovers are moved aside.
    #[arg(long)]
    pub new: bool,
    /// Start with new keys after the old ones were lost: deliveries of existing webhooks then fail.
    #[arg(long)]
    pub new_keys: bool,
    /// Run a stand-in for tests, with the data of a demo, a clock that tests control, and separate worlds. Each start removes
    /// the data of the previous one.
    #[arg(long, conflicts_with_all = ["no_jobs", "new", "new_keys"])]
    pub stand_in: bool,
    /// Seed of the random bytes of a stand-in: equal seeds, times and requests give equal replies [default: a random one].
    #[arg(long, value_name = "NUMBER", requires = "stand_in")]
    pub seed: Option<u64>,
    /// Time at which the clock of a stand-in begins, such as 2026-03-01T09:30:00Z [default: now].
    #[arg(long, value_name = "TIME", requires = "stand_in")]
    pub now: Option<String>,
    /// Refuse requests to a stand-in with unknown fields, parameters or names in `opt_fields`; other servers ignore them.
    #[arg(long, requires = "stand_in")]
    pub strict: bool,
    /// Token with which other machines may control a stand-in, in the header `Workgraph-Control`. Without it, only programs
    /// on this machine may.
    #[arg(long, value_name = "TOKEN", requires = "stand_in")]
    pub control_token: Option<String>,
    /// Host whose https requests a stand-in answers, such as app.asana.com, through a proxy with its own certificate
    /// authority; may be repeated. The start prints the environment that clients need.
    #[arg(long, value_name = "HOST", requires = "stand_in")]
    pub intercept: Vec<String>,
    /// Address of that proxy, which also takes connections with TLS for those hosts [default: a free port of this machine].
    #[arg(long, value_name = "ADDRESS", requires = "intercept")]
    pub intercept_listen: Option<SocketAddr>,
    /// Mode of a stand-in's clock: frozen until a test moves it, or running.
    #[arg(
        long,
        value_name = "MODE",
        requires = "stand_in",
        default_value = "frozen"
    )]
    pub clock: ClockMode,
}

/// Mode of a stand-in's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ClockMode {
    /// The clock is frozen until a test moves it.
    #[default]
    Frozen,
    /// The clock runs.
    Running,
}
