//! What a start is to do, apart from the settings.
use clap::Args;

/// What a start is to do, apart from the settings.
#[derive(Clone, Debug, Default, Args)]
pub struct StartOptions {
    /// Start with two workspaces and a small graph to try things on.
    #[arg(long)]
    pub demo: bool,
    /// Take jobs in without carrying them out; they wait for a start without this.
    #[arg(long)]
    pub no_jobs: bool,
    /// Begin with an empty database in a data folder that was in use and has lost its own; what is left is moved aside.
    #[arg(long)]
    pub new: bool,
    /// Go on without the keys that the data was sealed with, when they are lost: deliveries of present webhooks then fail.
    #[arg(long)]
    pub new_keys: bool,
}
