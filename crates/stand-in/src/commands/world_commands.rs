//! Worlds, clocks, faults and grades, from a shell.
use super::CommandOutput;
use super::fault_conditions::parse_fault;
use super::flag_values::parse_pair;
use crate::{StandIn, StandInError, World, WorldBuilder};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::path::PathBuf;

/// Stand-in that a command speaks to.
#[derive(Clone, Debug, Args)]
pub struct StandInArgs {
    /// Address of the stand-in.
    #[arg(
        long,
        global = true,
        env = "WORKGRAPH_STAND_IN_URL",
        default_value = "http://127.0.0.1:8080",
        value_name = "URL"
    )]
    url: String,
    /// Token of a stand-in that runs on another machine.
    #[arg(
        long,
        global = true,
        env = "WORKGRAPH_CONTROL_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    control_token: Option<String>,
}

/// World that a command is about.
#[derive(Clone, Debug, Args)]
pub struct WorldArgs {
    #[command(flatten)]
    stand_in: StandInArgs,
    /// Id of the world.
    #[arg(long, global = true, default_value = "w0", value_name = "ID")]
    world: String,
}

/// Commands on worlds. Each prints JSON.
#[derive(Clone, Debug, Subcommand)]
pub enum WorldCommand {
    /// Make a world.
    Create(NewWorldArgs),
    /// List the worlds.
    List,
    /// Show a world.
    Show {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Make a world with the current content of another one.
    Copy {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
        /// Options of the new world.
        #[command(flatten)]
        options: WorldOptions,
    },
    /// Reset a world to its start, with the same time, data and tokens.
    Reset {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Print the requests to the API of a world with their replies, as an HTTP archive (HAR 1.2); `workgraph compare` reads it.
    Recording {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Print a fixture that makes an equal world.
    Export {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Delete a world, with its data.
    Delete {
        /// Id of the world.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Options of a new world.
#[derive(Clone, Debug, Args)]
pub struct NewWorldArgs {
    /// Content: demo, empty or the id of a world.
    #[arg(long, value_name = "CONTENT", default_value = "demo")]
    from: String,
    /// File with a fixture, in JSON; its schema is `/-/fixture-schema` of the stand-in.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    fixture: Option<PathBuf>,
    #[command(flatten)]
    options: WorldOptions,
}

/// Options of new worlds and of copies.
#[derive(Clone, Debug, Args)]
pub struct WorldOptions {
    /// Name that is shown in lists.
    #[arg(long)]
    name: Option<String>,
    /// Seed of its random bytes.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Time that its clock shows at the start, such as 2026-03-01T09:30:00Z.
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// Setting of the world, as in `--setting limits.search=120`; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    setting: Vec<(String, String)>,
}

/// Commands on the clock of a world. Each prints JSON.
#[derive(Clone, Debug, Subcommand)]
pub enum ClockCommand {
    /// Show the time, and the next due act.
    Show,
    /// Move the clock by a period such as 25h; prints what happened on the way.
    Advance {
        /// Period, such as 25h or 90s.
        #[arg(value_name = "PERIOD")]
        period: String,
    },
    /// Move the clock to a later time.
    Set {
        /// Time, such as 2026-03-01T09:30:00Z.
        #[arg(value_name = "TIME")]
        time: String,
    },
    /// Start the clock.
    Run,
    /// Freeze the clock.
    Freeze,
}

/// Commands on the faults of a world. Each prints JSON.
#[derive(Clone, Debug, Subcommand)]
pub enum FaultCommand {
    /// Add a fault: `fault add error=internal operation=createTask times=1`.
    Add {
        /// Action (error, respond, `delay_ms`, hold, cut or webhook), and conditions on the requests that meet it (operation, method, path, app,
        /// token, target, nth, every, probability, times).
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = parse_pair)]
        parts: Vec<(String, String)>,
    },
    /// List the faults, with the requests that met them.
    List,
    /// Release the requests that a fault holds.
    Release {
        /// Id of the fault.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a fault.
    Delete {
        /// Id of the fault.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End all faults.
    Clear,
}

/// Options of the grade of a client.
#[derive(Clone, Debug, Args)]
pub struct GradeArgs {
    #[command(flatten)]
    of: WorldArgs,
    /// Rules, separated by commas [default: all].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    rules: Vec<String>,
    /// Print JUnit XML, which continuous integration services read.
    #[arg(long)]
    junit: bool,
}

impl StandInArgs {
    fn stand_in(&self) -> StandIn {
        let stand_in = StandIn::at(&self.url);
        match &self.control_token {
            Some(token) => stand_in.control_token(token),
            None => stand_in,
        }
    }
}

impl WorldArgs {
    async fn world(&self) -> Result<World, StandInError> {
        self.stand_in.stand_in().find(&self.world).await
    }
}

impl WorldOptions {
    fn apply(&self, mut builder: WorldBuilder) -> WorldBuilder {
        if let Some(name) = &self.name {
            builder = builder.name(name);
        }
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        if let Some(now) = &self.now {
            builder = builder.now(now);
        }
        let settings = self.setting.iter();
        settings.fold(builder, |builder, (key, value)| {
            builder.setting(key, value.as_str())
        })
    }
}

/// Carries out a command on worlds.
///
/// # Errors
/// Fails if the stand-in refuses it, or does not answer.
pub async fn world(arguments: &StandInArgs, command: WorldCommand) -> Result<CommandOutput> {
    let stand_in = arguments.stand_in();
    Ok(match command {
        WorldCommand::Create(new) => {
            let builder = match &new.fixture {
                Some(file) => stand_in.world().fixture(read_json(file)?),
                None => stand_in.world().from(&new.from),
            };
            CommandOutput::json(new.options.apply(builder).await?.json())
        }
        WorldCommand::List => CommandOutput::json(&stand_in.worlds().await?),
        WorldCommand::Show { id } => CommandOutput::json(stand_in.find(&id).await?.json()),
        WorldCommand::Copy { id, options } => {
            let builder = stand_in.world().from(&id);
            CommandOutput::json(options.apply(builder).await?.json())
        }
        WorldCommand::Reset { id } => {
            stand_in.find(&id).await?.reset().await?;
            CommandOutput::default()
        }
        WorldCommand::Recording { id } => {
            CommandOutput::json(&stand_in.find(&id).await?.recording().await?)
        }
        WorldCommand::Export { id } => {
            CommandOutput::json(&stand_in.find(&id).await?.fixture().await?)
        }
        WorldCommand::Delete { id } => {
            stand_in.find(&id).await?.delete().await?;
            CommandOutput::default()
        }
    })
}

fn read_json(file: &PathBuf) -> Result<Value> {
    let text = std::fs::read(file).with_context(|| file.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| format!("{}: not JSON", file.display()))
}

/// Carries out a command on the clock of a world.
///
/// # Errors
/// Fails if the stand-in refuses it, or does not answer.
pub async fn clock(arguments: &WorldArgs, command: ClockCommand) -> Result<CommandOutput> {
    let world = arguments.world().await?;
    let clock = world.clock();
    let shown = match command {
        ClockCommand::Show => clock.show().await?,
        ClockCommand::Advance { period } => clock.advance(&period).await?,
        ClockCommand::Set { time } => clock.set(&time).await?,
        ClockCommand::Run => clock.run().await?,
        ClockCommand::Freeze => clock.freeze().await?,
    };
    Ok(CommandOutput::json(&shown))
}

/// Carries out a command on the faults of a world.
///
/// # Errors
/// Fails if the stand-in refuses it, or does not answer.
pub async fn fault(arguments: &WorldArgs, command: FaultCommand) -> Result<CommandOutput> {
    let world = arguments.world().await?;
    let faults = world.faults();
    match command {
        FaultCommand::Add { parts } => {
            let (action, condition) = parse_fault(parts)?;
            return Ok(CommandOutput::text(faults.add(action, condition).await?));
        }
        FaultCommand::List => return Ok(CommandOutput::json(&faults.all().await?.into())),
        FaultCommand::Release { id } => faults.release(&id).await?,
        FaultCommand::Delete { id } => faults.delete(&id).await?,
        FaultCommand::Clear => faults.clear().await?,
    }
    Ok(CommandOutput::default())
}

/// Returns the grade of the clients of a world. The exit status is 1 if a rule is broken.
///
/// # Errors
/// Fails if the stand-in refuses it, or does not answer.
pub async fn grade(arguments: &GradeArgs) -> Result<CommandOutput> {
    let world = arguments.of.world().await?;
    let rules: Vec<&str> = arguments.rules.iter().map(String::as_str).collect();
    let grade = world.show_grade(&rules).await?;
    let output = match arguments.junit {
        true => CommandOutput::text(world.junit(&rules).await?),
        false => CommandOutput::json(&grade),
    };
    let rules = grade.get("rules").and_then(Value::as_array);
    let is_broken = |rule: &Value| {
        rule.get("verdict")
            .is_some_and(|verdict| verdict == "broken")
    };
    let is_any_broken = rules.into_iter().flatten().any(is_broken);
    Ok(output.with_status(u8::from(is_any_broken)))
}
