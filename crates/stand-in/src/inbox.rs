//! Inboxes: receivers of webhooks in a world.
use crate::control_client::StandInError;
use crate::world_address::{WorldAddress, items};
use serde_json::{Value, json};

/// Receiver of webhooks in a world: [`World::inbox`](crate::World::inbox). It confirms handshakes and checks signatures.
#[derive(Clone, Copy, Debug)]
pub struct Inbox<'w> {
    pub(crate) world: &'w WorldAddress,
    pub(crate) name: &'w str,
}

impl Inbox<'_> {
    /// Returns the address, for the target of a webhook.
    #[must_use]
    pub fn url(self) -> String {
        format!("{}/-/inbox/{}", self.world.auth_url, self.name)
    }

    /// Makes the inbox answer with a status, `times` times or always.
    ///
    /// # Errors
    /// Fails if the status is not valid.
    pub async fn answer(self, status: u16, times: Option<u64>) -> Result<(), StandInError> {
        let sent = json!({ "answer": status, "times": times });
        let path = format!("inbox/{}", self.name);
        self.world.control("PUT", &path, Some(sent)).await?;
        Ok(())
    }

    /// Returns all deliveries, oldest first.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn deliveries(self) -> Result<Vec<Value>, StandInError> {
        let path = format!("inbox/{}", self.name);
        let shown = self.world.control("GET", &path, None).await?;
        Ok(member(shown, "deliveries"))
    }

    /// Returns the events of all accepted deliveries.
    ///
    /// # Errors
    /// Fails if the stand-in does not answer.
    pub async fn events(self) -> Result<Vec<Value>, StandInError> {
        let deliveries = self.deliveries().await?.into_iter();
        let taken = deliveries.filter(|one| {
            let status = one.get("answered").and_then(Value::as_u64);
            status.is_some_and(|status| status < 300)
        });
        Ok(taken.flat_map(|one| member(one, "events")).collect())
    }
}

/// Returns the items of the list in a member of an object.
fn member(mut object: Value, name: &str) -> Vec<Value> {
    object
        .get_mut(name)
        .map(Value::take)
        .map_or_else(Vec::new, items)
}
