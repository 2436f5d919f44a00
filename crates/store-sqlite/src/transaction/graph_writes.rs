//! Writes of the graph: the primitives that committing uses.
use crate::open_error::failed;
use crate::statements::Sql;
use crate::transaction::columns::whole;
use crate::transaction::{SqliteTransaction, column, maybe_gid};
use workgraph_core::audit::AuditRow;
use workgraph_core::journal::stored_form;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, Snapshot, Transaction};
use workgraph_core::storage::{DecisionReads, Edge, FactKey, GraphStoreError, JournalEntry, Seq};

/// Key in `meta` of the highest gid of an auxiliary node: likes have gids, but no stored nodes.
pub(crate) const FLOOR: &str = "floor";

impl SqliteTransaction<'_> {
    /// Raises the recorded highest gid of an auxiliary node to `aux`, if that is higher.
    pub(crate) fn raise_floor(&mut self, aux: Gid) -> rusqlite::Result<()> {
        let floor = match self.floor {
            Some(floor) => floor,
            None => self
                .one(Sql::GetMeta, [FLOOR], |row| row.get(0))?
                .unwrap_or(0),
        };
        let next = floor.max(aux.as_i64());
        if next > floor {
            self.run(Sql::PutMeta, (FLOOR, next))?;
        }
        self.floor = Some(next);
        Ok(())
    }

    /// Takes an edge out of the list of its target.
    fn drop_listed(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let params = (edge.dst.as_i64(), edge.rel.0, edge.rank, edge.src.as_i64());
        self.run(Sql::DropEdge, params).map(drop).map_err(failed)
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError> {
        self.invalidations.node_put(node.gid);
        self.touched
            .extend(FactKey::of_node(node, node.version == 1));
        // The row of a first version is inserted before the next version replaces it.
        if self.rows.new_node(node.gid).is_some() {
            self.write_rows()?;
        }
        self.rows.put_node(node, seq);
        Ok(())
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError> {
        self.invalidations.node_trashed(gid);
        let (mut lists, all) = (Vec::new(), (Relation(0), Relation(u8::MAX)));
        let each = &mut |edge: Edge, _| lists.push(FactKey::list(edge.dst, edge.rel));
        self.edges_out(gid, all.0, all.1, Depth::Edge, each)?;
        self.write_rows()?;
        self.rows.record_change(gid);
        let params = (gid.as_i64(), whole(seq)?);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u8>(0)?, maybe_gid(row, 1)?));
        let trashed = self.one(Sql::TrashNode, params, read).map_err(failed)?;
        match trashed.map(|(kind, workspace)| (Type::from_code(kind), workspace)) {
            Some((Some(ty), workspace)) => {
                self.touched.append(&mut lists);
                self.touched.extend(FactKey::of_trashed(gid, workspace, ty));
                self.delete_entry(workspace, ty, gid).map_err(failed)
            }
            _ => Ok(()),
        }
    }

    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError> {
        self.invalidations.node_put(entry.gid);
        self.touched.extend(FactKey::of_entry(entry));
        self.put_entry(entry, text).map_err(failed)
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError> {
        let old = self.put_outgoing(edge)?;
        self.invalidations.edge_put(edge.src, edge.rel, edge.dst);
        self.touched
            .extend(FactKey::of_edge(edge.src, edge.rel, edge.dst));
        let sql = match old {
            Some(old) if old.rank == edge.rank => Sql::SetEdge,
            Some(old) => {
                self.drop_listed(&old)?;
                Sql::NewEdge
            }
            None => Sql::NewEdge,
        };
        let params = (
            edge.dst.as_i64(),
            edge.rel.0,
            edge.rank,
            edge.src.as_i64(),
            whole(edge.seq)?,
            edge.aux.map(Gid::as_i64),
        );
        self.run(sql, params).map_err(failed)?;
        edge.aux
            .map_or(Ok(()), |aux| self.raise_floor(aux))
            .map_err(failed)
    }

    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError> {
        let old = self.drop_outgoing(src, rel, dst)?;
        self.invalidations.edge_dropped(src, rel, dst);
        if let Some(old) = &old {
            self.drop_listed(old)?;
            self.touched.extend(FactKey::of_edge(src, rel, dst));
        }
        Ok(old.is_some())
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        self.touched.push(FactKey::alias(key));
        // A trashed node loses its aliases.
        match self.alias(key)? {
            Some(holder) if holder != gid => Err(GraphStoreError::AliasTaken(key.to_owned())),
            Some(_) => Ok(()),
            None => self
                .run(Sql::PutAlias, (key, gid.as_i64()))
                .map(drop)
                .map_err(failed),
        }
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError> {
        self.touched.push(FactKey::alias(key));
        self.run(Sql::DropAlias, (key, gid.as_i64()))
            .map(drop)
            .map_err(failed)
    }

    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError> {
        self.touched.extend(FactKey::of_values(node, field));
        let (node, field) = (node.as_i64(), field.as_i64());
        self.run(Sql::DropValues, (node, field)).map_err(failed)?;
        for key in keys {
            self.run(Sql::PutValue, (field, column(key), node))
                .map_err(failed)?;
        }
        Ok(())
    }

    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError> {
        self.write_rows()?;
        let facts = stored_form::write(&event.change_records);
        let params = (
            whole(event.seq)?,
            event.time.millis(),
            event.actor.map(Gid::as_i64),
            facts,
            stored_form::write_nodes(&event.node_contexts),
        );
        self.run(Sql::Append, params).map_err(failed)?;
        self.last = Some(event.seq);
        let touched = self.touched.drain(..);
        if let Some(log) = self.touch_log.as_deref_mut() {
            log.record(event.seq, touched);
        }
        Ok(())
    }

    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError> {
        self.append_audit(row).map_err(failed)
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, GraphStoreError> {
        self.one(Sql::AppName, [whole(app)?], |row| row.get(0))
            .map_err(failed)
    }

    fn holds(&mut self, reads: &DecisionReads) -> Result<bool, GraphStoreError> {
        let log = self.touch_log.as_deref();
        Ok(log.is_some_and(|log| log.holds(reads)))
    }

    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError> {
        self.touched.push(FactKey::viewers());
        self.invalidations.viewers = true;
        Ok(())
    }
}
