//! Options of a start that are no settings.
use clap::Args;

/// Options of a start that are no settings.
#[derive(Clone, Debug, Default, Args)]
pub struct StartOptions {
    /// Start with data to try things on: two workspaces and a small graph.
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
}
