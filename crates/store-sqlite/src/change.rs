//! Writing: the primitives that committing uses.
use crate::error::failed;
use crate::facts;
use crate::rows;
use crate::session::{Session, column, maybe_gid};
use crate::sql::Sql;
use workgraph_core::audit::Row;
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Edge, Event, Seq, StoreError};
use workgraph_core::index::Key;
use workgraph_core::node::Node;
use workgraph_core::registry::{Rel, Type};
use workgraph_core::search::{Card, Text};
use workgraph_core::snapshot::{Snapshot, Transaction};

/// Where the highest gid of a third party is kept: some of them (likes) have no node.
pub(crate) const FLOOR: &str = "floor";

fn whole(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number)
        .map_err(|_| StoreError::Failed(format!("{number} is too large to be kept")))
}

impl Session<'_> {
    /// Notes what is remembered with an edge.
    fn touch(&mut self, src: Gid, rel: Rel, dst: Gid) {
        self.touched.insert(src);
        if rel.is_short() {
            self.touched.insert(dst);
        }
    }

    /// Keeps the record of the highest gid of a third party.
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
}

impl Transaction for Session<'_> {
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), StoreError> {
        let home = node.home.map(Gid::as_i64);
        let (version, seq) = (whole(node.version)?, whole(seq)?);
        let params = (
            node.gid.as_i64(),
            node.ty as u8,
            home,
            version,
            seq,
            &*node.head,
            &*node.body,
        );
        self.touched.insert(node.gid);
        self.run(Sql::PutNode, params).map(drop).map_err(failed)
    }

    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), StoreError> {
        self.touched.insert(gid);
        let params = (gid.as_i64(), whole(seq)?);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u8>(0)?, maybe_gid(row, 1)?));
        let trashed = self.one(Sql::TrashNode, params, read).map_err(failed)?;
        match trashed.map(|(kind, home)| (Type::from_code(kind), home)) {
            Some((Some(ty), home)) => self.drop_card(home, ty, gid).map_err(failed),
            _ => Ok(()),
        }
    }

    fn put_card(&mut self, card: &Card, text: &Text) -> Result<(), StoreError> {
        self.keep_card(card, text).map_err(failed)
    }

    fn put_edge(&mut self, edge: &Edge) -> Result<(), StoreError> {
        let seq = whole(edge.seq)?;
        let params = (
            edge.src.as_i64(),
            edge.rel.0,
            edge.dst.as_i64(),
            edge.rank,
            seq,
            edge.aux.map(Gid::as_i64),
        );
        self.touch(edge.src, edge.rel, edge.dst);
        self.run(Sql::PutEdge, params).map_err(failed)?;
        edge.aux
            .map_or(Ok(()), |aux| self.raise_floor(aux))
            .map_err(failed)
    }

    fn drop_edge(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError> {
        self.touch(src, rel, dst);
        let gone = self
            .run(Sql::DropEdge, (src.as_i64(), rel.0, dst.as_i64()))
            .map_err(failed)?;
        Ok(gone > 0)
    }

    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError> {
        // A trashed node does not hold its names any more.
        match self.alias(key)? {
            Some(holder) if holder != gid => Err(StoreError::Taken(key.to_owned())),
            Some(_) => Ok(()),
            None => self
                .run(Sql::PutAlias, (key, gid.as_i64()))
                .map(drop)
                .map_err(failed),
        }
    }

    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), StoreError> {
        self.run(Sql::DropAlias, (key, gid.as_i64()))
            .map(drop)
            .map_err(failed)
    }

    fn put_values(&mut self, node: Gid, field: Gid, keys: &[Key]) -> Result<(), StoreError> {
        let (node, field) = (node.as_i64(), field.as_i64());
        self.run(Sql::DropValues, (node, field)).map_err(failed)?;
        for key in keys {
            self.run(Sql::PutValue, (field, column(key), node))
                .map_err(failed)?;
        }
        Ok(())
    }

    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let facts = facts::write(&event.facts);
        let params = (
            whole(event.seq)?,
            event.at.millis(),
            event.actor.map(Gid::as_i64),
            facts,
            facts::write_nodes(&event.nodes),
        );
        self.run(Sql::Append, params).map(drop).map_err(failed)
    }

    fn record(&mut self, row: Row) -> Result<(), StoreError> {
        self.append_audit(row).map_err(failed)
    }

    fn app_name(&mut self, app: u64) -> Result<Option<String>, StoreError> {
        let found = self.one(Sql::App, [whole(app)?], |row| rows::app(row, 0));
        Ok(found.map_err(failed)?.map(|app| app.name))
    }

    fn viewers_changed(&mut self) -> Result<(), StoreError> {
        self.viewers = true;
        Ok(())
    }
}
