//! Commands on a running stand-in, as entered on a command line. Each returns the text that it prints.
mod comparison;
mod fault_conditions;
mod flag_values;
mod world_commands;

pub use comparison::{CompareArgs, NOT_COMPARED, compare};
pub use world_commands::{
    ClockCommand, FaultCommand, GradeArgs, NewWorldArgs, StandInArgs, WorldArgs, WorldCommand,
    WorldOptions, clock, fault, grade, world,
};

use serde_json::Value;

/// Text that a command prints, and its exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Text for standard output; `None` if there is nothing to print.
    pub text: Option<String>,
    /// Exit status: 0 unless the command says otherwise.
    pub exit_status: u8,
}

impl CommandOutput {
    fn text(text: String) -> Self {
        Self {
            text: Some(text),
            exit_status: 0,
        }
    }

    /// Formats JSON for readers.
    fn json(value: &Value) -> Self {
        Self::text(format!("{value:#}"))
    }

    fn with_status(self, exit_status: u8) -> Self {
        Self {
            exit_status,
            ..self
        }
    }
}
