//! Work: the changes of one request as rules put them together.
use crate::audit;
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Action, Changes, Fact, Guard, Link, Place, Put, View, fingerprint};
use crate::registry::{Rel, Source, Type, Write};
use crate::resources::resource;
use crate::time::Time;

/// The changed fields that are told: those that follow from others, such as `completed_at` from
/// `completed`, only if nothing else changed.
fn told<'f>(ty: Type, fields: &'f [&'static str]) -> impl Iterator<Item = &'static str> + 'f {
    let follows = move |name: &str| {
        resource(ty)
            .field(name)
            .is_some_and(|d| d.write == Write::Never)
    };
    let alone = fields.iter().all(|f| follows(f));
    // What an app keeps for itself is nobody else's news.
    let private = move |name: &str| {
        let def = resource(ty).field(name);
        def.is_some_and(|d| matches!(d.source, Source::PerApp(_)))
    };
    let rest = fields.iter().copied();
    let rest = rest.filter(move |f| *f != "modified_at" && !private(f));
    rest.filter(move |f| alone || !follows(f))
}

/// Collects changes, with the facts that follow from them.
pub struct Work<'a> {
    /// What was collected.
    pub changes: Changes,
    /// When the request is decided.
    pub now: Time,
    mint: &'a dyn Fn() -> Gid,
}

impl<'a> Work<'a> {
    /// Nothing yet. `mint` gives fresh gids.
    #[must_use]
    pub fn new(actor: Option<Gid>, now: Time, mint: &'a dyn Fn() -> Gid) -> Self {
        Self {
            changes: Changes {
                actor,
                at: now,
                ..Changes::default()
            },
            now,
            mint,
        }
    }

    /// A fresh gid.
    #[must_use]
    pub fn fresh(&self) -> Gid {
        (self.mint)()
    }

    /// A draft of a new node.
    #[must_use]
    pub fn draft(&self, ty: Type, home: Option<Gid>) -> Draft {
        Draft::new(ty, self.fresh(), home)
    }

    /// Creates a node inside `parent`.
    pub fn create(&mut self, draft: &Draft, parent: Option<Gid>) -> Gid {
        self.fact(draft.gid, draft.ty, Action::Added { parent });
        self.changes.puts.push(Put {
            node: draft.finish(),
        });
        draft.gid
    }

    /// Writes the next version of a node if anything about it changed; says whether it did.
    pub fn save(&mut self, draft: &Draft) -> bool {
        let fields: Vec<&'static str> = draft.changed_keys().collect();
        if fields.is_empty() {
            return false;
        }
        let node = draft.finish();
        self.changes
            .guards
            .push(Guard::Version(node.gid, node.version - 1));
        for field in told(draft.ty, &fields) {
            self.fact(
                node.gid,
                node.ty,
                Action::Changed {
                    field,
                    added: draft.linked(field),
                    removed: None,
                },
            );
        }
        self.changes.puts.push(Put { node });
        true
    }

    /// Trashes a node.
    pub fn trash(&mut self, gid: Gid, ty: Type) {
        self.fact(gid, ty, Action::Deleted);
        self.changes.guards.push(Guard::Live(gid));
        self.changes.trash.push(gid);
    }

    /// Makes or moves an edge.
    pub fn link(&mut self, src: Gid, rel: Rel, dst: Gid, place: Place, aux: Option<Gid>) {
        self.changes.links.push(Link {
            src,
            rel,
            dst,
            place,
            aux,
        });
    }

    /// Removes an edge.
    pub fn unlink(&mut self, src: Gid, rel: Rel, dst: Gid) {
        self.changes.unlinks.push((src, rel, dst));
    }

    /// Notes what happened.
    pub fn fact(&mut self, gid: Gid, ty: Type, action: Action) {
        self.changes.facts.push(Fact { gid, ty, action });
    }

    /// Notes something in the audit log that does not follow from facts.
    pub fn told(&mut self, kind: audit::Kind, home: Gid, resource: Gid) {
        self.changes
            .told
            .push(audit::Told::new(kind, home, resource));
    }

    /// Notes that a list of a node gained a member.
    pub fn gained(&mut self, gid: Gid, ty: Type, field: &'static str, added: Gid) {
        self.fact(
            gid,
            ty,
            Action::Changed {
                field,
                added: Some(added),
                removed: None,
            },
        );
    }

    /// Notes that a list of a node lost a member.
    pub fn lost(&mut self, gid: Gid, ty: Type, field: &'static str, removed: Gid) {
        self.fact(
            gid,
            ty,
            Action::Changed {
                field,
                added: None,
                removed: Some(removed),
            },
        );
    }

    /// Requires that a node's edges of a relation, which the view has, are still the same when the
    /// changes are applied.
    pub fn needs_links(&mut self, view: &View, gid: Gid, rel: Rel) {
        let seen = fingerprint(view.links(gid, rel).iter().map(|e| e.dst));
        self.changes.guards.push(Guard::Links(gid, rel, seen));
    }

    /// Requires that there is no such edge when the changes are applied.
    pub fn needs_unlinked(&mut self, src: Gid, rel: Rel, dst: Gid) {
        self.changes.guards.push(Guard::Unlinked(src, rel, dst));
    }

    /// Requires that a node is still there when the changes are applied, unless they create it.
    pub fn needs_live(&mut self, gid: Gid) {
        let mut puts = self.changes.puts.iter();
        if puts.any(|put| put.node.gid == gid && put.node.version == 1) {
            return;
        }
        if !self.changes.guards.contains(&Guard::Live(gid)) {
            self.changes.guards.push(Guard::Live(gid));
        }
    }
}
