//! What a store offers to the rules of loading and committing: some thirty primitives.
//!
//! [`crate::load`] and [`crate::apply`] hold all that stores have in common: following plans,
//! access filtering, page bounds, places in lists, trashing subtrees. A store maps these
//! primitives to its own reads and writes and nothing else.
use crate::audit::Row;
use crate::gid::Gid;
use crate::graph::{Edge, Event, Seq, StoreError};
use crate::index::Key;
use crate::node::Node;
use crate::registry::{Rel, Type};
use crate::search::{Card, CardList, CardScan, Column, Shape, Text, Words};
use std::sync::Arc;

/// How much of a node is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Depth {
    /// Only that it is live.
    Edge,
    /// The head: version 0 and body `{}`.
    Head,
    /// All of it.
    Full,
}

/// What [`Snapshot::scan_in_out`] finds.
#[derive(Debug)]
pub enum Found {
    /// A row of the list: its edge, and its source in full.
    Row(Edge, Arc<Node>),
    /// An edge away from the source of the row before.
    Out(Edge),
}

/// Nodes of one type in one workspace that have some words, in the order of their gids.
#[derive(Clone, Copy, Debug)]
pub struct WordScan<'w> {
    /// The workspace, or none for what belongs to none.
    pub home: Option<Gid>,
    /// The type.
    pub ty: Type,
    /// The words.
    pub words: &'w Words,
    /// Only names count, whatever the words say.
    pub names: bool,
    /// From the greatest gid to the least.
    pub descending: bool,
    /// Only what comes after this gid in that order.
    pub after: Option<Gid>,
    /// How many at most.
    pub limit: usize,
}

/// Nodes of one type in one workspace that have a word with some beginning.
#[derive(Clone, Copy, Debug)]
pub struct StartList<'w> {
    /// The workspace, or none for what belongs to none.
    pub home: Option<Gid>,
    /// The type.
    pub ty: Type,
    /// How the word begins.
    pub start: &'w str,
    /// Only words of names count.
    pub names: bool,
    /// How many at most.
    pub limit: usize,
}

/// One consistent state of the graph. Nodes that were trashed are not seen, and neither are edges
/// to or from them where a method says "live".
pub trait Snapshot {
    /// The last commit this state shows.
    ///
    /// # Errors
    /// When the store fails; so for every method.
    fn seq(&mut self) -> Result<Seq, StoreError>;
    /// The live node with this name.
    ///
    /// # Errors
    /// When the store fails.
    fn alias(&mut self, key: &str) -> Result<Option<Gid>, StoreError>;
    /// A live node, at least as deep as asked.
    ///
    /// # Errors
    /// When the store fails.
    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, StoreError>;
    /// Edges from `src` with relations in `lo..=hi` to live nodes, in the order of (rel, dst),
    /// each with its target at least as deep as asked. At depth [`Depth::Edge`] the targets are not
    /// looked at: edges to nodes that are not live may be among them, and `seq` may be 0.
    ///
    /// # Errors
    /// When the store fails.
    fn out(
        &mut self,
        src: Gid,
        lo: Rel,
        hi: Rel,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError>;
    /// The edge between two nodes, live or not.
    ///
    /// # Errors
    /// When the store fails.
    fn linked(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<Option<Edge>, StoreError>;
    /// Edges from `src` to live nodes whose target's gid is above `after`, in that order.
    ///
    /// # Errors
    /// When the store fails.
    fn scan_out(
        &mut self,
        src: Gid,
        rel: Rel,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError>;
    /// Edges into `dst` from live nodes that come after (rank, source), in that order.
    ///
    /// # Errors
    /// When the store fails.
    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        after: (i64, i64),
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), StoreError>;
    /// Nodes with such an edge into `dst`, live or not, at most so many, in no order.
    ///
    /// # Errors
    /// When the store fails.
    fn list_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError>;
    /// What [`Snapshot::scan_in`] finds at [`Depth::Full`], each row followed by what
    /// [`Snapshot::out`] finds from its source at [`Depth::Edge`] for the relations of `band`.
    ///
    /// # Errors
    /// When the store fails.
    fn scan_in_out(
        &mut self,
        dst: Gid,
        rel: Rel,
        after: (i64, i64),
        limit: usize,
        band: (Rel, Rel),
        each: &mut dyn FnMut(Found),
    ) -> Result<(), StoreError> {
        let mut rows = Vec::new();
        self.scan_in(dst, rel, after, limit, Depth::Full, &mut |edge, node| {
            rows.extend(node.map(|node| (edge, node)));
        })?;
        for (edge, node) in rows {
            each(Found::Row(edge, node));
            self.out(edge.src, band.0, band.1, Depth::Edge, &mut |out, _| {
                each(Found::Out(out));
            })?;
        }
        Ok(())
    }
    /// The edge into `dst`, live or not, that comes last before (rank, source).
    ///
    /// # Errors
    /// When the store fails.
    fn before_in(
        &mut self,
        dst: Gid,
        rel: Rel,
        before: (i64, i64),
    ) -> Result<Option<Edge>, StoreError>;
    /// How many live nodes have such an edge into `dst`.
    ///
    /// # Errors
    /// When the store fails.
    fn count_in(&mut self, dst: Gid, rel: Rel) -> Result<u64, StoreError>;
    /// Live nodes of a type in a workspace with gids above `after`, in that order, each with the
    /// commit that created it. Tasks are found by their cards; stories are not kept in such lists.
    ///
    /// # Errors
    /// When the store fails.
    fn scan_home(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), StoreError>;
    /// Live nodes with a value of a custom field whose key is in `from..=to`, in the order of
    /// (key, node), after the given pair. [`crate::index`] says what the keys are. This is what
    /// search by custom field reads: a number above 3 is `from` its successor, "starts with" is
    /// [`Key::starting_with`], "contains" tests each key of the field. A node with several keys in
    /// the range comes once for each.
    ///
    /// # Errors
    /// When the store fails.
    fn scan_values(
        &mut self,
        field: Gid,
        range: (&Key, &Key),
        after: Option<(&Key, Gid)>,
        limit: usize,
        each: &mut dyn FnMut(Key, Gid),
    ) -> Result<(), StoreError>;
    /// The keys that a node has for a custom field, in order; none when it has no value. Whether the
    /// node is live is not looked at.
    ///
    /// # Errors
    /// When the store fails.
    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<Key>, StoreError>;
    /// The card of a node, if that is live, of this type and in this workspace.
    ///
    /// # Errors
    /// When the store fails.
    fn card(&mut self, home: Option<Gid>, ty: Type, gid: Gid) -> Result<Option<Card>, StoreError>;
    /// Nodes of a type in a workspace whose cards are in a list, at most so many, in no order; each
    /// with the value of its card in a column, if the list [gives](CardList::gives) that.
    ///
    /// # Errors
    /// When the store fails.
    fn list_cards(
        &mut self,
        home: Option<Gid>,
        ty: Type,
        list: CardList,
        column: Column,
        limit: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), StoreError>;
    /// The shapes of the cards of a type in a workspace, each once, in order.
    ///
    /// # Errors
    /// When the store fails.
    fn shapes(&mut self, home: Option<Gid>, ty: Type) -> Result<Vec<Shape>, StoreError>;
    /// Cards by the value of a column.
    ///
    /// # Errors
    /// When the store fails, or cards are not kept in the order of this column.
    fn scan_cards(&mut self, scan: &CardScan, each: &mut dyn FnMut(Card))
    -> Result<(), StoreError>;
    /// Nodes that have a word that begins so, as the last card that was put for each says, in no
    /// order. One with several such words comes for each of them.
    ///
    /// # Errors
    /// When the store fails.
    fn list_starts(
        &mut self,
        list: &StartList<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError>;
    /// Nodes that have all of some words, as the last card that was put for each says.
    ///
    /// # Errors
    /// When the store fails. A transaction may refuse: what it wrote itself need not be found.
    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError>;
}

/// A state being changed. Reads see the writes before them. Nothing is kept unless the whole
/// transaction succeeds.
pub trait Transaction: Snapshot {
    /// Writes a node, new or next version. `seq` is the commit.
    ///
    /// # Errors
    /// When the store fails; so for every method.
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), StoreError>;
    /// Marks a node trashed.
    ///
    /// # Errors
    /// When the store fails.
    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), StoreError>;
    /// Writes an edge; one with the same source, relation and target is replaced.
    ///
    /// # Errors
    /// When the store fails.
    fn put_edge(&mut self, edge: &Edge) -> Result<(), StoreError>;
    /// Removes an edge; false if it was not there.
    ///
    /// # Errors
    /// When the store fails.
    fn drop_edge(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError>;
    /// Gives a name to a node; [`StoreError::Taken`] if another node has it.
    ///
    /// # Errors
    /// When the name is taken, or the store fails.
    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError>;
    /// Takes a name from a node; nothing happens if it does not have it.
    ///
    /// # Errors
    /// When the store fails.
    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError>;
    /// Replaces the keys that a node has for a custom field in the index that
    /// [`Snapshot::scan_values`] reads; a key given twice counts once.
    ///
    /// # Errors
    /// When the store fails.
    fn put_values(&mut self, node: Gid, field: Gid, keys: &[Key]) -> Result<(), StoreError>;
    /// Replaces the card of a live node, and what its words are if [`Card::sum`] is another.
    /// Cards go with [`Transaction::trash_node`].
    ///
    /// # Errors
    /// When the store fails.
    fn put_card(&mut self, card: &Card, text: &Text) -> Result<(), StoreError>;
    /// Appends to the journal.
    ///
    /// # Errors
    /// When the store fails.
    fn append(&mut self, event: &Event) -> Result<(), StoreError>;
    /// Appends to the audit log, [after](Row::after) its last row.
    ///
    /// # Errors
    /// When the store fails.
    fn record(&mut self, row: Row) -> Result<(), StoreError>;
    /// What an app is called; `None` if there is no such app, or the store knows of none.
    ///
    /// # Errors
    /// When the store fails.
    fn app_name(&mut self, _app: u64) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
    /// Says that memberships changed, so viewers must be worked out anew.
    ///
    /// # Errors
    /// When the store fails.
    fn viewers_changed(&mut self) -> Result<(), StoreError>;
}
