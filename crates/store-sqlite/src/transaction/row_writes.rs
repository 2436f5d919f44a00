//! Writes of rows: nodes with their edge lists, and the rows of nodes with many edges.
use super::SqliteTransaction;
use super::columns::{column_list, edge, limit, whole};
use super::pending_rows::{PendingRow, is_new, position};
use crate::cache::node_cache::OutEdges;
use crate::edge_list::{EDGES_MAX, EdgeList};
use crate::open_error::failed;
use crate::statements::Sql;
use rusqlite::Row;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Relation;
use workgraph_core::storage::snapshot::Depth;
use workgraph_core::storage::{Edge, GraphStoreError};

impl SqliteTransaction<'_> {
    /// Writes the pending rows to the table. It must happen before the table is read in any other way than node by node.
    pub(crate) fn write_rows(&mut self) -> Result<(), GraphStoreError> {
        for (gid, row) in self.rows.take() {
            self.write_row(gid, &row)?;
            self.rows.record_written(gid, row);
        }
        Ok(())
    }

    /// Writes the pending rows, if the table alone does not answer a read of this list.
    pub(super) fn write_rows_of_list(
        &mut self,
        list: (Gid, Relation),
        depth: Depth,
    ) -> Result<(), GraphStoreError> {
        if self.rows.are_in_list(list, depth) {
            self.write_rows()?;
        }
        Ok(())
    }

    fn write_row(&mut self, gid: Gid, row: &PendingRow) -> Result<(), GraphStoreError> {
        let edges = row.edges.as_ref().map(EdgeList::to_bytes);
        let Some((node, seq)) = &row.node else {
            let set = self.run(Sql::SetEdges, (gid.as_i64(), edges));
            return match set.map_err(failed)? {
                1 => Ok(()),
                _ => Err(no_source(gid)),
            };
        };
        let sql = if is_new(node) {
            Sql::NewNode
        } else {
            Sql::PutNode
        };
        let params = (
            gid.as_i64(),
            node.ty as u8,
            node.workspace.map(Gid::as_i64),
            whole(node.version)?,
            whole(*seq)?,
            &*node.head,
            &*node.body,
            edges,
        );
        self.run(sql, params).map(drop).map_err(failed)
    }

    /// Returns the edge list of a node, to change it.
    fn list_to_change(&mut self, src: Gid) -> Result<&mut EdgeList, GraphStoreError> {
        if self.rows.list_mut(src).is_none() {
            let list = match self.rows.new_node(src) {
                Some(_) => EdgeList::Row(Vec::new()),
                None => self.stored_list(src)?.ok_or_else(|| no_source(src))?,
            };
            self.rows.set_list(src, list);
        }
        self.rows.list_mut(src).ok_or_else(|| no_source(src))
    }

    /// Reads the edge list of a node's row; `None` if no row exists.
    pub(super) fn stored_list(&mut self, src: Gid) -> Result<Option<EdgeList>, GraphStoreError> {
        self.one(Sql::NodeEdges, [src.as_i64()], |row| {
            column_list(row, 0, src)
        })
        .map_err(failed)
    }

    /// Puts an edge into the list of its source; returns the edge that it replaces.
    pub(super) fn put_outgoing(&mut self, edge: &Edge) -> Result<Option<Edge>, GraphStoreError> {
        let EdgeList::Row(edges) = self.list_to_change(edge.src)? else {
            let old = self.row_between(edge.src, edge.rel, edge.dst)?;
            self.put_row(edge)?;
            return Ok(old);
        };
        match position(edges, edge.rel, edge.dst) {
            Ok(at) => Ok(edges.get_mut(at).map(|old| std::mem::replace(old, *edge))),
            Err(at) => {
                edges.insert(at, *edge);
                if edges.len() > EDGES_MAX {
                    let edges = std::mem::take(edges);
                    self.rows.set_list(edge.src, EdgeList::Table);
                    edges.iter().try_for_each(|edge| self.put_row(edge))?;
                }
                Ok(None)
            }
        }
    }

    /// Takes an edge out of the list of its source; returns the edge.
    pub(super) fn drop_outgoing(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        // A source without a row has no edge to drop.
        match self.out_edges(src)? {
            OutEdges::Few(edges) if position(&edges, rel, dst).is_err() => return Ok(None),
            _ => {}
        }
        let EdgeList::Row(edges) = self.list_to_change(src)? else {
            let old = self.row_between(src, rel, dst)?;
            self.run(Sql::DropOutgoing, (src.as_i64(), rel.0, dst.as_i64()))
                .map_err(failed)?;
            self.shorten(src)?;
            return Ok(old);
        };
        Ok(position(edges, rel, dst).ok().map(|at| edges.remove(at)))
    }

    /// Moves the edges of a node from the table into its row, if there are so few that this pays.
    fn shorten(&mut self, src: Gid) -> Result<(), GraphStoreError> {
        let few = EDGES_MAX / 2;
        let mut count = 0;
        let one_more = |_: &Row<'_>| {
            count += 1;
            Ok(())
        };
        let params = (src.as_i64(), limit(few + 1));
        self.each(Sql::ListOut, params, one_more).map_err(failed)?;
        if count > few {
            return Ok(());
        }
        let mut edges = Vec::with_capacity(few);
        let read = |row: &Row<'_>| {
            edges.push(edge(row)?);
            Ok(())
        };
        self.each(Sql::OutAll, [src.as_i64()], read)
            .map_err(failed)?;
        self.run(Sql::DropAllOutgoing, [src.as_i64()])
            .map_err(failed)?;
        self.rows.set_list(src, EdgeList::Row(edges));
        Ok(())
    }

    fn put_row(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let params = (
            edge.src.as_i64(),
            edge.rel.0,
            edge.dst.as_i64(),
            edge.rank,
            whole(edge.seq)?,
            edge.aux.map(Gid::as_i64),
        );
        self.run(Sql::PutOutgoing, params).map(drop).map_err(failed)
    }

    /// Returns an edge of a node with many edges.
    pub(super) fn row_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        self.one(Sql::Linked, (src.as_i64(), rel.0, dst.as_i64()), edge)
            .map_err(failed)
    }
}

fn no_source(src: Gid) -> GraphStoreError {
    GraphStoreError::Failed(format!("an edge begins at {src}, which is no node"))
}

#[cfg(test)]
mod tests;
