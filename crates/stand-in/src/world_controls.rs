//! The limits and the faults of a world.
use crate::control_client::StandInError;
use crate::world_address::{WorldAddress, items, text};
use serde_json::{Value, json};

/// Limits of a world: [`World::limits`](crate::World::limits).
#[derive(Clone, Copy, Debug)]
pub struct WorldLimits<'w>(pub(crate) &'w WorldAddress);

impl WorldLimits<'_> {
    /// Uses up a limit of the world's token: `standard`, `search` or `cost`.
    ///
    /// # Errors
    /// Fails if the limit has another name.
    pub async fn exhaust(self, limit: &str) -> Result<Value, StandInError> {
        self.exhaust_of(&self.0.token, limit).await
    }

    /// Uses up a limit of a token.
    ///
    /// # Errors
    /// Fails if the token does not belong to this world.
    pub async fn exhaust_of(self, token: &str, limit: &str) -> Result<Value, StandInError> {
        let sent = json!({ "token": token, "exhaust": limit });
        self.0.control("POST", "limits", Some(sent)).await
    }
}

/// Faults of a world: [`World::faults`](crate::World::faults).
#[derive(Clone, Copy, Debug)]
pub struct WorldFaults<'w>(pub(crate) &'w WorldAddress);

impl WorldFaults<'_> {
    /// Adds a fault, such as `{"error": "internal"}`, for the requests that match a condition, such as `{"operation":
    /// "createTask", "times": 1}`. Returns its id.
    ///
    /// # Errors
    /// Fails if a field is wrong.
    pub async fn add(self, action: Value, condition: Value) -> Result<String, StandInError> {
        let sent = json!({ "match": condition, "do": action });
        let added = self.0.control("POST", "faults", Some(sent)).await?;
        Ok(text(&added, "id"))
    }

    /// Returns all faults, with the numbers of requests that matched and that met them.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn all(self) -> Result<Vec<Value>, StandInError> {
        Ok(items(self.0.control("GET", "faults", None).await?))
    }

    /// Releases the requests that a fault holds.
    ///
    /// # Errors
    /// Fails if no fault has this id.
    pub async fn release(self, id: &str) -> Result<(), StandInError> {
        let path = format!("faults/{id}/release");
        self.0.control("POST", &path, Some(json!({}))).await?;
        Ok(())
    }

    /// Ends a fault.
    ///
    /// # Errors
    /// Fails if no fault has this id.
    pub async fn delete(self, id: &str) -> Result<(), StandInError> {
        self.0
            .control("DELETE", &format!("faults/{id}"), None)
            .await?;
        Ok(())
    }

    /// Ends all faults.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn clear(self) -> Result<(), StandInError> {
        self.0.control("DELETE", "faults", None).await?;
        Ok(())
    }
}
