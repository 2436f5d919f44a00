//! What every graph store must do, as cases that any of them can run.
//!
//! Each case takes an empty store. A failure says what was promised and not kept.
mod access;
mod audit;
mod edges;
mod hooks;
mod interrupts;
mod journal;
mod lists;
mod nodes;
mod pages;
mod places;
mod races;
mod search;
mod values;
mod walks;

pub use lists::lists;
pub use values::index;

use crate::fixture::Fixture;
pub use hooks::{webhooks, webhooks_of_apps};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use workgraph_core::access::Role;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{GraphStore, Seq, StoreError, View, ViewerKey, Want};
use workgraph_core::registry::Rel;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One case: runs against an empty store.
pub type Case = for<'a> fn(&'a dyn GraphStore) -> BoxFuture<'a, Result<(), Failure>>;

/// A promise that a store did not keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

macro_rules! cases {
    ($($rule:literal => $case:path,)*) => {
        /// Every case with the rule it holds a store to.
        pub static CASES: &[(&str, Case)] = &[$(($rule, |store| Box::pin($case(store)))),*];
    };
}

cases! {
    "a node comes back as it was put" => nodes::comes_back,
    "a gid or name without a live node is absent" => nodes::absent,
    "a node that moved on is a conflict" => nodes::version_guard,
    "a name belongs to one live node" => nodes::names,
    "a commit applies as a whole or not at all" => nodes::all_or_nothing,
    "a trashed node is gone with its subtasks" => nodes::trash,
    "edges are read from both ends, in order" => edges::both_ends,
    "an edge is replaced, not doubled" => edges::replaced,
    "edges to trashed nodes are not listed" => edges::liveness,
    "guards count edges" => edges::guards,
    "a link goes first, last, before or after" => places::four_places,
    "a list is in the order of its moves" => places::moves,
    "numbers are given without gaps, once each" => places::numbers,
    "a list that was squeezed is spread" => places::squeezed,
    "a place beside what is not there is a conflict" => places::gone_anchor,
    "pages joined are the list" => pages::joined,
    "an alphabetical list is in the order of titles" => pages::alphabetical,
    "filters leave out rows" => pages::filters,
    "rows that the viewer may not see are left out" => pages::visibility,
    "a walk shows what was there when it began" => walks::bounded,
    "rows that stay are seen once by a walk among changes" => walks::among_changes,
    "a walk is cut at its cap" => walks::cap,
    "the journal is without gaps, in commit order" => journal::gapless,
    "what happened comes back as it was" => journal::comes_back,
    "a feed is the journal as far as it is about a node" => journal::feeds,
    "the journal knows task lists for what they are" => journal::task_lists,
    "the oldest commits can be dropped, and nothing else" => journal::pruned,
    "an act that counts is in the audit log, with the names of then" => audit::told,
    "what is deleted is in the audit log with all below it" => audit::deletions,
    "what is no concern of the audit log is not in it" => audit::quiet,
    "a commit that fails leaves nothing in the audit log" => audit::all_or_nothing,
    "the audit log is read by any conditions together, in its order" => audit::filtered,
    "changed memberships count from the next load on" => access::next_load,
    "only teams and projects have members" => access::no_team,
    "a service account has one workspace" => access::service,
    "of two writers of one version one wins" => races::one_version,
    "of many that need an empty place one gets it" => races::empty_place,
    "commits of many writers all count" => races::many_writers,
    "what is written is found at once, what is gone is not" => search::at_once,
    "a page can be sifted" => search::sifted,
    "no text is more than its words" => search::hostile,
    "a search gives what the viewer may see" => search::visible,
    "a page that is stopped, wherever it is, leaves nothing behind" => interrupts::pages,
    "a search that is stopped, wherever it is, leaves nothing behind" => interrupts::searches,
}

/// Fails with `promise` unless it was kept.
fn ensure(kept: bool, promise: &str) -> Result<(), Failure> {
    if kept {
        Ok(())
    } else {
        Err(Failure(promise.to_owned()))
    }
}

/// Fails with `promise` and both values unless they are equal.
fn same<T: PartialEq + fmt::Debug>(found: &T, expected: &T, promise: &str) -> Result<(), Failure> {
    if found == expected {
        Ok(())
    } else {
        Err(Failure(format!(
            "{promise}: found {found:?}, expected {expected:?}"
        )))
    }
}

/// A store with a workspace and an admin in it.
struct Scene<'a> {
    store: &'a dyn GraphStore,
    fixture: Fixture,
    acme: Gid,
    ann: Gid,
}

impl<'a> Scene<'a> {
    async fn new(store: &'a dyn GraphStore) -> Result<Self, Failure> {
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

    /// Commits what was built.
    async fn commit(&mut self) -> Result<Seq, StoreError> {
        Ok(self.store.commit(self.fixture.take()).await?.seq)
    }

    fn want(&self) -> Want {
        self.want_of(self.ann)
    }

    fn want_of(&self, user: Gid) -> Want {
        Want::of(ViewerKey {
            user,
            service: None,
        })
    }

    async fn load(&self, want: Want) -> Result<View, StoreError> {
        self.store.load(&want).await
    }

    /// The sources of edges into a node, in list order.
    async fn sources(&self, gid: Gid, rel: Rel) -> Result<Vec<Gid>, StoreError> {
        let view = self.load(self.want().into(gid, rel, 10_000)).await?;
        Ok(view.sources(gid, rel).iter().map(|e| e.src).collect())
    }

    /// The targets of edges from a node.
    async fn targets(&self, gid: Gid, rel: Rel) -> Result<Vec<Gid>, StoreError> {
        let view = self.load(self.want().edges(gid, rel)).await?;
        Ok(view.links(gid, rel).iter().map(|e| e.dst).collect())
    }

    /// Tasks that are nowhere.
    fn tasks(&mut self, count: usize) -> Vec<Gid> {
        (0..count)
            .map(|n| self.fixture.task(self.acme, &format!("task {n}"), self.ann))
            .collect()
    }
}
