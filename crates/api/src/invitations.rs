//! Invitations as the person they are for answers them.
use crate::pipeline::Api;
use workgraph_core::Gid;
use workgraph_core::audit::{Acting, Actor, tells};
use workgraph_core::graph::{Ref, StoreError, View, ViewerKey, Want};
use workgraph_core::registry::{Rel, rel};
use workgraph_core::rules::invitations::{
    Invitation, accept, answer_needs, close, decline, is_open, move_some, people, rest,
    rest_in_full,
};
use workgraph_core::time::Time;
use workgraph_core::work::Work;

/// The most invitations of one person that are listed.
const LISTED: usize = 100;
/// How often a conflict is decided again.
const ATTEMPTS: usize = 16;

/// An invitation that waits for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The invitation.
    pub invitation: Invitation,
    /// The name of the workspace.
    pub workspace_name: String,
}

impl Api {
    /// Returns the invitations that wait for a person's answer.
    ///
    /// # Errors
    /// When a store fails; the text is for the log.
    pub async fn invitations(&self, person: Gid) -> Result<Vec<Waiting>, String> {
        let mut waiting = Vec::new();
        for invitation in self.invited(person, rel::INVITED).await? {
            let view = self.read(&answer_needs(&invitation)).await?;
            let place = view.node(invitation.workspace);
            if let (true, Some(place)) = (is_open(&invitation, &view), place) {
                waiting.push(Waiting {
                    invitation,
                    workspace_name: place.title(),
                });
            }
        }
        Ok(waiting)
    }

    /// Answers an invitation of a person, named by the user who stands for them; says whether there was
    /// such an invitation. What was given to that user is the person's when this returns if they accept, and
    /// nobody's if they decline.
    ///
    /// # Errors
    /// When a store fails; the text is for the log. An answer that was given by then can be carried on
    /// with [`Api::finish_answers`].
    pub async fn answer_invitation(
        &self,
        (person, invited): (Gid, Gid),
        accepted: bool,
        acting: &Acting,
    ) -> Result<bool, String> {
        let all = self.invited(person, rel::INVITED).await?;
        let Some(it) = all.into_iter().find(|it| it.invited == invited) else {
            return Ok(false);
        };
        // Who declines stays unknown to the workspace.
        let unnamed = Acting::inside(Actor::User(invited));
        let (actor, acting) = match accepted {
            true => (person, acting),
            false => (invited, &unnamed),
        };
        for _ in 0..ATTEMPTS {
            let view = self.read(&answer_needs(&it)).await?;
            if !is_open(&it, &view) {
                return Ok(false);
            }
            let answer = if accepted { accept } else { decline };
            let done = self.decided(actor, acting, |work| answer(work, &it, &view));
            match done.await {
                Err(StoreError::Conflict | StoreError::Taken(_)) => {}
                Err(error) => return Err(error.to_string()),
                Ok(()) => {
                    if accepted {
                        self.refresh_account(person).await?;
                    }
                    self.finish_answers(person).await?;
                    return Ok(true);
                }
            }
        }
        Err(format!(
            "the answer to {invited} conflicted {ATTEMPTS} times"
        ))
    }

    /// Carries on what answers to invitations left to do, if that was cut short: moves what is left of
    /// accepted ones to the person, and takes back what is left of declined ones.
    ///
    /// # Errors
    /// When a store fails; the text is for the log.
    pub async fn finish_answers(&self, person: Gid) -> Result<(), String> {
        for it in self.invited(person, rel::ACCEPTED).await? {
            self.finish(&it, Some(person)).await?;
        }
        for it in self.invited(person, rel::DECLINED).await? {
            self.finish(&it, None).await?;
        }
        Ok(())
    }

    /// Moves what is the invited user's to its heir, or to nobody.
    async fn finish(&self, it: &Invitation, heir: Option<Gid>) -> Result<(), String> {
        let actor = heir.unwrap_or(it.invited);
        let mut conflicts = 0;
        loop {
            let found = self.read(&rest(it)).await?;
            let full = self.read(&rest_in_full(it, &found)).await?;
            let some = |work: &mut Work<'_>| move_some(work, it, heir, &found, &full);
            if !self.moved(actor, &mut conflicts, some).await? {
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
                let full = self.read(&full).await?;
                let views = (&found, &full);
                let some = |work: &mut Work<'_>| people::pass_on(work, it, heir, &fields, views);
                if !self.moved(actor, &mut conflicts, some).await? {
                    break;
                }
            }
            after = page.rows.next;
            if after.is_none() {
                break;
            }
        }
        let last = |work: &mut Work<'_>| {
            close(work, it, heir);
            false
        };
        while self.moved(actor, &mut conflicts, last).await? {
            // Perhaps another request came to the end before this one.
            let view = self.read(&answer_needs(it)).await?;
            if view.resolve(&Ref::Gid(it.invited)) != Some(it.invited) {
                break;
            }
        }
        Ok(())
    }

    /// Commits what a step moves; says whether there may be more.
    async fn moved(
        &self,
        actor: Gid,
        conflicts: &mut usize,
        step: impl FnOnce(&mut Work<'_>) -> bool,
    ) -> Result<bool, String> {
        let acting = Acting::inside(Actor::User(actor));
        let mut any = false;
        let done = self.decided(actor, &acting, |work| any = step(work));
        match done.await {
            Ok(()) => Ok(any),
            Err(StoreError::Conflict) if *conflicts < ATTEMPTS => {
                *conflicts += 1;
                Ok(true)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn invited(&self, person: Gid, rel: Rel) -> Result<Vec<Invitation>, String> {
        let key = ViewerKey {
            user: person,
            service: None,
        };
        let view = self.read(&Want::of(key).into(person, rel, LISTED)).await?;
        let edges = view.sources(person, rel).iter();
        Ok(edges.filter_map(Invitation::of).collect())
    }

    async fn read(&self, want: &Want) -> Result<View, String> {
        self.graph.load(want).await.map_err(|e| e.to_string())
    }

    async fn decided(
        &self,
        actor: Gid,
        acting: &Acting,
        decide: impl FnOnce(&mut Work<'_>),
    ) -> Result<(), StoreError> {
        let mint = || self.fresh();
        let now = Time::from_system(self.clock.now());
        let mut changes = {
            let mut work = Work::new(Some(actor), now, &mint);
            decide(&mut work);
            work.changes
        };
        if changes.is_empty() {
            return Ok(());
        }
        if tells(&changes) {
            changes.acting = Some(Box::new(acting.clone()));
        }
        self.graph.commit(changes).await.map(|_| ())
    }
}
