//! Conformance of graph stores, as cases that any store can run.
//!
//! Each case takes an empty store. A failure names the violated promise.
mod access_cases;
mod audit_cases;
mod audit_log_cases;
mod audited_act_cases;
mod decision_cases;
mod edge_cases;
mod interrupt_cases;
mod journal_cases;
mod lists;
mod node_cases;
mod page_cases;
mod position_cases;
mod race_cases;
mod search_cases;
mod value_cases;
mod walk_cases;
mod webhook_cases;

pub use audit_log_cases::audit_log;
pub use audited_act_cases::{AuditedActs, AuditedStore, act_without_actor, audited_acts};
pub use lists::lists;
pub use value_cases::index;

use crate::fixture::Fixture;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;
pub use webhook_cases::{webhooks, webhooks_of_apps};
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::{GraphStore, GraphStoreError, ReadQuery, ReadView, Seq, ViewerKey};

/// Boxed future.
pub type CaseFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Case that runs against an empty store.
pub type GraphStoreCase =
    for<'a> fn(&'a dyn GraphStore) -> CaseFuture<'a, Result<(), GraphStoreFailure>>;

/// Promise that a store broke.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct GraphStoreFailure(String);

impl From<GraphStoreError> for GraphStoreFailure {
    fn from(error: GraphStoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

macro_rules! cases {
    ($($rule:literal => $case:path,)*) => {
        /// All cases, each with the rule that it checks.
        pub static CASES: &[(&str, GraphStoreCase)] = &[$(($rule, |store| Box::pin($case(store)))),*];
    };
}

cases! {
    "a node comes back as it was put" => node_cases::comes_back,
    "a gid or name without a live node is absent" => node_cases::absent,
    "a node that moved on is a conflict" => node_cases::version_guard,
    "a name belongs to one live node" => node_cases::names,
    "a commit applies as a whole or not at all" => node_cases::all_or_nothing,
    "a trashed node is gone with its subtasks" => node_cases::trash,
    "a node that is made and trashed at once is gone" => node_cases::made_and_trashed,
    "edges are read from both ends, in order" => edge_cases::both_ends,
    "an edge is replaced, not doubled" => edge_cases::replaced,
    "a short list that was read follows each of its edges" => edge_cases::short_list,
    "edges to trashed nodes are not listed" => edge_cases::liveness,
    "a decision whose reads have changed is a conflict" => decision_cases::outdated,
    "a decision is not disturbed by what it did not read" => decision_cases::undisturbed,
    "of many decisions on the same reads one is made" => decision_cases::one_after_another,
    "guards count edges" => edge_cases::guards,
    "a link goes first, last, before or after" => position_cases::four_places,
    "a list is in the order of its moves" => position_cases::moves,
    "numbers are given without gaps, once each" => position_cases::numbers,
    "a total is the sum of what was added, within its guard" => position_cases::totals,
    "a list that was squeezed is spread" => position_cases::squeezed,
    "a place beside what is not there is a conflict" => position_cases::gone_anchor,
    "pages joined are the list" => page_cases::joined,
    "an alphabetical list is in the order of titles" => page_cases::alphabetical,
    "filters leave out rows" => page_cases::filters,
    "rows that the viewer may not see are left out" => page_cases::visibility,
    "a walk shows what was there when it began" => walk_cases::bounded,
    "rows that stay are seen once by a walk among changes" => walk_cases::among_changes,
    "a walk is cut at its cap" => walk_cases::cap,
    "the journal is without gaps, in commit order" => journal_cases::gapless,
    "what happened comes back as it was" => journal_cases::comes_back,
    "a feed is the journal as far as it is about a node" => journal_cases::feeds,
    "the journal knows task lists for what they are" => journal_cases::task_lists,
    "the oldest commits can be dropped, and nothing else" => journal_cases::pruned,
    "an act that counts is in the audit log, with the names of then" => audit_cases::acts_are_logged,
    "what is deleted is in the audit log with all below it" => audit_cases::deletions,
    "what is no concern of the audit log is not in it" => audit_cases::quiet,
    "a commit that fails leaves nothing in the audit log" => audit_cases::all_or_nothing,
    "the audit log is read by any conditions together, in its order" => audit_cases::filtered,
    "changed memberships count from the next load on" => access_cases::next_load,
    "a user who is gone is known to no guest from the next load on" => access_cases::gone_known_user,
    "only teams and projects have members" => access_cases::no_team,
    "only users and teams are members" => access_cases::no_user,
    "a service account has one workspace" => access_cases::service,
    "of two writers of one version one wins" => race_cases::one_version,
    "of many that need an empty place one gets it" => race_cases::empty_place,
    "commits of many writers all count" => race_cases::many_writers,
    "what is written is found at once, what is gone is not" => search_cases::at_once,
    "a search sees what was written to and around a node" => search_cases::follows_writes,
    "a page can be sifted" => search_cases::sifted,
    "no text is more than its words" => search_cases::hostile,
    "a search gives what the viewer may see" => search_cases::visible,
    "a page that is stopped, wherever it is, leaves nothing behind" => interrupt_cases::pages,
    "a search that is stopped, wherever it is, leaves nothing behind" => interrupt_cases::searches,
}

/// Fails with `promise` unless `kept` is true.
fn ensure(kept: bool, promise: &str) -> Result<(), GraphStoreFailure> {
    if kept {
        Ok(())
    } else {
        Err(GraphStoreFailure(promise.to_owned()))
    }
}

/// Fails with `promise` and both values unless they are equal.
fn same<T: PartialEq + fmt::Debug>(
    found: &T,
    expected: &T,
    promise: &str,
) -> Result<(), GraphStoreFailure> {
    if found == expected {
        Ok(())
    } else {
        Err(GraphStoreFailure(format!(
            "{promise}: found {found:?}, expected {expected:?}"
        )))
    }
}

/// Store with a workspace and an admin in it.
struct StoreScene<'a> {
    store: &'a dyn GraphStore,
    fixture: Fixture,
    acme: Gid,
    ann: Gid,
}

impl<'a> StoreScene<'a> {
    async fn new(store: &'a dyn GraphStore) -> Result<Self, GraphStoreFailure> {
        let mut fixture = Fixture::default();
        let acme = fixture.workspace("Acme");
        let ann = fixture.member(acme, "Ann", Role::Admin);
        let mut scene = Self {
            store,
            fixture,
            acme,
            ann,
        };
        scene.commit().await?;
        Ok(scene)
    }

    /// Commits the nodes and edges built so far.
    async fn commit(&mut self) -> Result<Seq, GraphStoreError> {
        Ok(self.store.commit(self.fixture.take()).await?.seq)
    }

    fn want(&self) -> ReadQuery {
        self.want_of(self.ann)
    }

    fn want_of(&self, user: Gid) -> ReadQuery {
        ReadQuery::of(ViewerKey {
            user,
            service: None,
        })
    }

    async fn load(&self, want: ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.store.load(&want).await
    }

    /// Returns the sources of edges into a node, in list order.
    async fn sources(&self, gid: Gid, rel: Relation) -> Result<Vec<Gid>, GraphStoreError> {
        let view = self
            .load(self.want().incoming_edges(gid, rel, 10_000))
            .await?;
        Ok(view.sources(gid, rel).iter().map(|e| e.src).collect())
    }

    /// Returns the targets of edges from a node.
    async fn targets(&self, gid: Gid, rel: Relation) -> Result<Vec<Gid>, GraphStoreError> {
        let view = self.load(self.want().edges(gid, rel)).await?;
        Ok(view.links(gid, rel).iter().map(|e| e.dst).collect())
    }

    /// Builds tasks that are not in any list.
    fn tasks(&mut self, count: usize) -> Vec<Gid> {
        (0..count)
            .map(|n| self.fixture.task(self.acme, &format!("task {n}"), self.ann))
            .collect()
    }
}
