//! Invitations from the view of the invited person.
use crate::background_error::BackgroundError;
use crate::state::Api;
use workgraph_core::Gid;
use workgraph_core::audit::{ActorContext, AuditActor};
use workgraph_core::engine::has_audit_rows;
use workgraph_core::model::registry::{Relation, rel};
use workgraph_core::model::time::Time;
use workgraph_core::rules::invitation_rules::{
    Invitation, accept, close, decline, is_open, people, records, remaining_in_full,
    remaining_needs, reply_needs, transfer_some,
};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    DecisionReads, GraphStoreError, NodeRef, ReadQuery, ReadView, ViewerKey,
};

/// Maximum number of invitations listed for one person.
const LISTED: usize = 100;
/// Attempts to decide after a conflict.
const ATTEMPTS: usize = 16;

/// An unanswered invitation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingInvitation {
    /// The invited user, the person and the workspace of the invitation.
    pub invitation: Invitation,
    /// The name of the workspace.
    pub workspace_name: String,
}

impl Api {
    /// Returns the unanswered invitations of a person.
    ///
    /// # Errors
    /// Fails when a store fails; the text is for the log.
    pub async fn invitations(
        &self,
        person: Gid,
    ) -> Result<Vec<PendingInvitation>, BackgroundError> {
        let mut waiting = Vec::new();
        for invitation in self.invited(person, rel::INVITED).await? {
            let view = self.read(&reply_needs(&invitation)).await?;
            let workspace = view.node(invitation.workspace);
            if let (true, Some(workspace)) = (is_open(&invitation, &view), workspace) {
                waiting.push(PendingInvitation {
                    invitation,
                    workspace_name: workspace.title(),
                });
            }
        }
        Ok(waiting)
    }

    /// Answers an invitation of a person; `invited` is the placeholder user for them. Returns true if there was such an
    /// invitation. On return, the data of that user belongs to the person if they accepted, and to no user if
    /// they declined.
    ///
    /// # Errors
    /// Fails when a store fails; the text is for the log. An answer that was already stored can be completed with
    /// [`Api::finish_invitations`].
    pub async fn answer_invitation(
        &self,
        (person, invited): (Gid, Gid),
        accepted: bool,
        acting: &ActorContext,
    ) -> Result<bool, BackgroundError> {
        let all = self.invited(person, rel::INVITED).await?;
        let Some(it) = all.into_iter().find(|it| it.invited == invited) else {
            return Ok(false);
        };
        // The workspace does not learn who declined.
        let unnamed = ActorContext::internal(AuditActor::User(invited));
        let (actor, acting) = match accepted {
            true => (person, acting),
            false => (invited, &unnamed),
        };
        for _ in 0..ATTEMPTS {
            let (view, reads) = self.read_to_decide(reply_needs(&it)).await?;
            if !is_open(&it, &view) {
                return Ok(false);
            }
            let answer = if accepted { accept } else { decline };
            let done = self.decided(actor, acting, Some(reads), |work| answer(work, &it, &view));
            match done.await {
                Err(GraphStoreError::Conflict | GraphStoreError::AliasTaken(_)) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => {
                    if accepted {
                        self.refresh_account(person).await?;
                    }
                    self.finish_invitations(person).await?;
                    return Ok(true);
                }
            }
        }
        let answer = format!("the answer to {invited}");
        Err(BackgroundError::Conflicts(answer, ATTEMPTS))
    }

    /// Completes interrupted answers to invitations: moves the remaining data of accepted ones to the person, and
    /// removes the remaining data of declined ones.
    ///
    /// # Errors
    /// Fails when a store fails; the text is for the log.
    pub async fn finish_invitations(&self, person: Gid) -> Result<(), BackgroundError> {
        for it in self.invited(person, rel::ACCEPTED).await? {
            self.finish(&it, Some(person)).await?;
        }
        for it in self.invited(person, rel::DECLINED).await? {
            self.finish(&it, None).await?;
        }
        Ok(())
    }

    /// Moves the data of the invited user to its heir, or removes it if there is none.
    async fn finish(&self, it: &Invitation, heir: Option<Gid>) -> Result<(), BackgroundError> {
        let actor = heir.unwrap_or(it.invited);
        let mut conflicts = 0;
        loop {
            let found = self.read(&remaining_needs(it)).await?;
            let full = remaining_in_full(it, &found);
            let (full, reads) = self.read_to_decide(full).await?;
            let some = |work: &mut ChangeBuilder<'_>| transfer_some(work, it, heir, &found, &full);
            if !self.moved(actor, &mut conflicts, Some(reads), some).await? {
                break;
            }
        }
        loop {
            let found = self.read(&records::listed(it)).await?;
            let full = records::listed_in_full(it, &found);
            let (full, of_records) = self.read_to_decide(full).await?;
            let kept = records::kept_by_person(it, &full);
            let (kept, of_person) = self.read_to_decide(kept).await?;
            let reads = of_records.and(of_person);
            let views = (&full, &kept);
            let some = |work: &mut ChangeBuilder<'_>| records::pass_on(work, it, heir, views);
            if !self.moved(actor, &mut conflicts, Some(reads), some).await? {
                break;
            }
        }
        let mut after = None;
        loop {
            let page = self.read(&people::some_fields(it, after)).await?;
            let fields = people::people_fields(&page);
            while !fields.is_empty() {
                let found = self.read(&people::naming(it, &fields)).await?;
                let full = people::naming_in_full(it, &fields, &found);
                let (full, reads) = self.read_to_decide(full).await?;
                let views = (&found, &full);
                let some =
                    |work: &mut ChangeBuilder<'_>| people::pass_on(work, it, heir, &fields, views);
                if !self.moved(actor, &mut conflicts, Some(reads), some).await? {
                    break;
                }
            }
            after = page.rows.next;
            if after.is_none() {
                break;
            }
        }
        let last = |work: &mut ChangeBuilder<'_>| {
            close(work, it, heir);
            false
        };
        while self.moved(actor, &mut conflicts, None, last).await? {
            // Another request may have finished first.
            let view = self.read(&reply_needs(it)).await?;
            if view.resolve(&NodeRef::Gid(it.invited)) != Some(it.invited) {
                break;
            }
        }
        Ok(())
    }

    /// Commits the changes of a step; returns true if there may be more.
    async fn moved(
        &self,
        actor: Gid,
        conflicts: &mut usize,
        reads: Option<DecisionReads>,
        step: impl FnOnce(&mut ChangeBuilder<'_>) -> bool,
    ) -> Result<bool, BackgroundError> {
        let acting = ActorContext::internal(AuditActor::User(actor));
        let mut any = false;
        let done = self.decided(actor, &acting, reads, |work| any = step(work));
        match done.await {
            Ok(()) => Ok(any),
            Err(GraphStoreError::Conflict) if *conflicts < ATTEMPTS => {
                *conflicts += 1;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn invited(
        &self,
        person: Gid,
        rel: Relation,
    ) -> Result<Vec<Invitation>, BackgroundError> {
        let key = ViewerKey {
            user: person,
            service: None,
        };
        let view = self
            .read(&ReadQuery::of(key).incoming_edges(person, rel, LISTED))
            .await?;
        let edges = view.sources(person, rel).iter();
        Ok(edges.filter_map(Invitation::of).collect())
    }

    async fn read(&self, want: &ReadQuery) -> Result<ReadView, BackgroundError> {
        Ok(self.graph.load(want).await?)
    }

    /// Reads for a decision; returns the reads that its commit depends on.
    async fn read_to_decide(
        &self,
        query: ReadQuery,
    ) -> Result<(ReadView, DecisionReads), BackgroundError> {
        let mut view = self.read(&query.tracked()).await?;
        let reads = view.take_reads();
        Ok((view, reads))
    }

    async fn decided(
        &self,
        actor: Gid,
        acting: &ActorContext,
        reads: Option<DecisionReads>,
        decide: impl FnOnce(&mut ChangeBuilder<'_>),
    ) -> Result<(), GraphStoreError> {
        let generate_gid = || self.next_gid();
        let now = Time::from_system(self.clock.now());
        let mut changes = {
            let mut work = ChangeBuilder::new(Some(actor), now, &generate_gid);
            decide(&mut work);
            work.changes
        };
        if changes.is_empty() {
            return Ok(());
        }
        changes.reads = reads;
        if has_audit_rows(&changes) {
            changes.actor_context = Some(Box::new(acting.clone()));
        }
        self.graph.commit(changes).await.map(|_| ())
    }
}
