//! Cases about late results of attempts, such as those of a node that has lost its lease without noticing.
use super::{at, ensure, hook, same};
use crate::conformance::GraphStoreFailure;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryState, DeliveryStateChange, InsertOutcome,
    JournalPosition, WebhookLimits, WebhookStore,
};

/// Checks that a result is only stored over the state that its attempt began with.
pub(super) async fn late_results(store: &dyn WebhookStore) -> Result<(), GraphStoreFailure> {
    let InsertOutcome::Done(webhook) = store
        .insert(hook(20, 70, None, 700), WebhookLimits::default())
        .await?
    else {
        return Err(GraphStoreFailure("there was room for it".into()));
    };
    let begin = webhook.state.clone();
    let line = DeliveryLogEntry {
        id: 0,
        webhook: 20,
        sent_at: at(1),
        from: begin.position,
        to: begin.position,
        events: 1,
        attempt: 1,
        status: None,
        error: "refused".into(),
    };
    let record = async |from: &DeliveryState, to: Option<&DeliveryState>| {
        let change = DeliveryStateChange {
            from: from.clone(),
            to: to.cloned(),
        };
        let line = to.map(|_| line.clone());
        store.record_attempt(20, Some(change), line).await
    };
    let failed = begin
        .after_failure(at(2), "refused", None, 0)
        .unwrap_or_default();
    same(
        &record(&begin, Some(&failed)).await?,
        &AttemptRecord::Stored,
        "the first failure counts",
    )?;
    same(
        &record(&begin, Some(&failed)).await?,
        &AttemptRecord::Changed,
        "a second result of the same beginning does not",
    )?;
    let to = |seq, facts| JournalPosition { seq, facts };
    let here = begin.position.seq;
    let good = failed.after_success(at(3), to(here + 4, 2));
    same(
        &record(&begin, Some(&begin.after_success(at(3), to(here + 9, 0)))).await?,
        &AttemptRecord::Changed,
        "not even a success",
    )?;
    same(
        &record(&failed, Some(&good)).await?,
        &AttemptRecord::Stored,
        "the attempt that saw the failure counts",
    )?;
    for position in [to(here + 3, 9), to(here + 4, 1)] {
        same(
            &record(&begin, Some(&begin.after_success(at(4), position))).await?,
            &AttemptRecord::Changed,
            "a position never moves back",
        )?;
    }
    same(
        &record(&begin, None).await?,
        &AttemptRecord::Changed,
        "one that works again is not deleted for failures of before",
    )?;
    same(
        &store.get(20).await?.map(|webhook| webhook.state),
        &Some(good.clone()),
        "what was refused left no trace",
    )?;
    same(&store.deliveries(20, 9).await?.len(), &2, "nor in the log")?;
    store.advance_positions(vec![20], here + 6).await?;
    let next = good.after_success(at(5), to(here + 8, 0));
    same(
        &record(&good, Some(&next)).await?,
        &AttemptRecord::Stored,
        "an idle webhook that was moved forward is no other result",
    )?;
    same(
        &record(&next, None).await?,
        &AttemptRecord::Stored,
        "a webhook that failed for too long is deleted",
    )?;
    ensure(store.get(20).await?.is_none(), "and is gone then")
}
