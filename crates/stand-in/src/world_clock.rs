//! Controls of the clock of a world.
use crate::control_client::StandInError;
use crate::world_address::{WorldAddress, text};
use serde_json::{Value, json};
use std::time::Duration;

/// Clock of a world: [`World::clock`](crate::World::clock).
#[derive(Clone, Copy, Debug)]
pub struct WorldClock<'w>(pub(crate) &'w WorldAddress);

impl WorldClock<'_> {
    /// Returns the time of the world, in the format of replies.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn now(self) -> Result<String, StandInError> {
        Ok(text(&self.show().await?, "now"))
    }

    /// Returns the time of the clock, and the next due act. Acts that are due now happen first.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn show(self) -> Result<Value, StandInError> {
        self.0.control("GET", "clock", None).await
    }

    async fn change(self, change: Value) -> Result<Value, StandInError> {
        self.0.control("POST", "clock", Some(change)).await
    }

    /// Moves the clock by a period, such as `25h`. Returns its time, the next due act, and the acts that happened on the
    /// way.
    ///
    /// # Errors
    /// Fails if the period is not valid.
    pub async fn advance(self, period: &str) -> Result<Value, StandInError> {
        self.change(json!({ "advance": period })).await
    }

    /// Moves the clock by a duration. A client under test can use this instead of sleeping.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn sleep(self, duration: Duration) -> Result<(), StandInError> {
        self.change(json!({ "advance": duration.as_secs_f64() }))
            .await?;
        Ok(())
    }

    /// Moves the clock to a later time.
    ///
    /// # Errors
    /// Fails if the time is earlier, or not valid.
    pub async fn set(self, time: &str) -> Result<Value, StandInError> {
        self.change(json!({ "set": time })).await
    }

    /// Starts the clock.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn run(self) -> Result<Value, StandInError> {
        self.change(json!({ "mode": "running" })).await
    }

    /// Freezes the clock.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn freeze(self) -> Result<Value, StandInError> {
        self.change(json!({ "mode": "frozen" })).await
    }
}
