//! Change builder: the changes of one request, collected by the rules.
use crate::audit;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::registry::{FieldSource, Relation, Type, Writability};
use crate::model::resources::resource;
use crate::model::time::Time;
use crate::storage::{
    ChangeAction, ChangeRecord, Changes, EdgeWrite, Guard, ListPosition, NodeWrite,
};

/// Returns the changed fields that get change records: fields that follow from others, such as `completed_at` from `completed`,
/// only if nothing else changed.
fn recorded_fields<'f>(
    ty: Type,
    fields: &'f [&'static str],
) -> impl Iterator<Item = &'static str> + 'f {
    let follows = move |name: &str| {
        resource(ty)
            .field(name)
            .is_some_and(|d| d.write == Writability::Never)
    };
    let alone = fields.iter().all(|f| follows(f));
    // An app's external data makes no events: other apps must not see it.
    let private = move |name: &str| {
        let def = resource(ty).field(name);
        def.is_some_and(|d| matches!(d.source, FieldSource::PerApp(_)))
    };
    let rest = fields.iter().copied();
    let rest = rest.filter(move |f| *f != "modified_at" && !private(f));
    rest.filter(move |f| alone || !follows(f))
}

/// Collects changes, with the change records that follow from them.
pub struct ChangeBuilder<'a> {
    /// Changes collected so far.
    pub changes: Changes,
    /// Time of the request.
    pub now: Time,
    mint: &'a dyn Fn() -> Gid,
}

impl<'a> ChangeBuilder<'a> {
    /// Returns a builder without changes. `mint` returns new gids.
    #[must_use]
    pub fn new(actor: Option<Gid>, now: Time, mint: &'a dyn Fn() -> Gid) -> Self {
        Self {
            changes: Changes {
                actor,
                time: now,
                ..Changes::default()
            },
            now,
            mint,
        }
    }

    /// Returns a new gid.
    #[must_use]
    pub fn next_gid(&self) -> Gid {
        (self.mint)()
    }

    /// Returns a draft of a new node.
    #[must_use]
    pub fn draft(&self, ty: Type, workspace: Option<Gid>) -> Draft {
        Draft::new(ty, self.next_gid(), workspace)
    }

    /// Creates a node inside `parent`.
    pub fn create(&mut self, draft: &Draft, parent: Option<Gid>) -> Gid {
        self.add_change_record(draft.gid, draft.ty, ChangeAction::Added { parent });
        self.write_listed_links(draft);
        self.changes.node_writes.push(NodeWrite {
            node: draft.finish(),
        });
        draft.gid
    }

    /// Returns true if the changes write an edge.
    #[must_use]
    pub fn writes_edge(&self, src: Gid, rel: Relation, dst: Gid) -> bool {
        let mut writes = self.changes.edge_writes.iter();
        writes.any(|edge| (edge.src, edge.rel, edge.dst) == (src, rel, dst))
    }
    /// Returns true if the changes create a node.
    #[must_use]
    pub fn is_new(&self, gid: Gid) -> bool {
        let mut writes = self.changes.node_writes.iter();
        writes.any(|write| write.node.gid == gid && write.node.version == 1)
    }
    /// Writes the next version of a node if it changed; returns true if it did.
    pub fn save(&mut self, draft: &Draft) -> bool {
        let fields: Vec<&'static str> = draft.changed_keys().collect();
        if fields.is_empty() {
            return false;
        }
        let node = draft.finish();
        self.changes
            .guards
            .push(Guard::Version(node.gid, node.version - 1));
        for field in recorded_fields(draft.ty, &fields) {
            self.add_change_record(
                node.gid,
                node.ty,
                ChangeAction::Changed {
                    field,
                    added: draft.linked(field),
                    removed: None,
                },
            );
        }
        self.changes.node_writes.push(NodeWrite { node });
        self.write_listed_links(draft);
        true
    }

    /// Writes the edges of changed links, for links that the linked nodes list.
    fn write_listed_links(&mut self, draft: &Draft) {
        for (rel, before, now) in draft.changed_links() {
            if let Some(gone) = before {
                self.unlink(draft.gid, rel, gone);
            }
            if let Some(target) = now {
                self.link(
                    draft.gid,
                    rel,
                    target,
                    ListPosition::Rank(draft.rank()),
                    None,
                );
            }
        }
    }

    /// Writes the next version of a node if it changed, but no change records: for fields that are not public.
    pub fn save_unrecorded(&mut self, draft: &Draft) {
        if draft.changed_keys().next().is_none() {
            return;
        }
        let node = draft.finish();
        let unchanged = Guard::Version(node.gid, node.version - 1);
        self.changes.guards.push(unchanged);
        self.changes.node_writes.push(NodeWrite { node });
    }

    /// Trashes a node.
    pub fn trash(&mut self, gid: Gid, ty: Type) {
        self.add_change_record(gid, ty, ChangeAction::Deleted);
        self.changes.guards.push(Guard::Live(gid));
        self.changes.trashed.push(gid);
    }

    /// Creates or moves an edge.
    pub fn link(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
        position: ListPosition,
        aux: Option<Gid>,
    ) {
        self.changes.edge_writes.push(EdgeWrite {
            src,
            rel,
            dst,
            position,
            aux,
        });
    }

    /// Removes an edge.
    pub fn unlink(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.changes.edge_removals.push((src, rel, dst));
    }

    /// Adds a change record of a node, whose type must [have events](Type::has_events).
    pub fn add_change_record(&mut self, gid: Gid, ty: Type, action: ChangeAction) {
        self.changes
            .change_records
            .push(ChangeRecord { gid, ty, action });
    }

    /// Adds an audit entry that does not follow from change records.
    pub fn add_audit_entry(&mut self, kind: audit::AuditEventKind, workspace: Gid, resource: Gid) {
        self.changes
            .audit_entries
            .push(audit::AuditEntry::new(kind, workspace, resource));
    }

    /// Adds the change record of a node that was added to a list of another node.
    pub fn record_added(&mut self, gid: Gid, ty: Type, field: &'static str, added: Gid) {
        self.add_change_record(
            gid,
            ty,
            ChangeAction::Changed {
                field,
                added: Some(added),
                removed: None,
            },
        );
    }

    /// Adds the change record of a node that was removed from a list of another node.
    pub fn record_removed(&mut self, gid: Gid, ty: Type, field: &'static str, removed: Gid) {
        self.add_change_record(
            gid,
            ty,
            ChangeAction::Changed {
                field,
                added: None,
                removed: Some(removed),
            },
        );
    }

    /// Requires that the edge does not exist when the changes are applied.
    pub fn require_unlinked(&mut self, src: Gid, rel: Relation, dst: Gid) {
        self.changes.guards.push(Guard::Unlinked(src, rel, dst));
    }

    /// Requires that a node is still live when the changes are applied, unless they create it.
    pub fn require_live(&mut self, gid: Gid) {
        let mut puts = self.changes.node_writes.iter();
        if puts.any(|put| put.node.gid == gid && put.node.version == 1) {
            return;
        }
        if !self.changes.guards.contains(&Guard::Live(gid)) {
            self.changes.guards.push(Guard::Live(gid));
        }
    }
}
