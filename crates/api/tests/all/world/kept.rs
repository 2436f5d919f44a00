//! What tests tell the stores of a world, and ask them.
use super::*;

impl World {
    /// Gives a user a token of a service account for a workspace.
    pub(crate) fn serve(&self, name: &str, workspace: &str) {
        let (workspace, now) = (self.gid(workspace).get(), self.clock.now());
        self.token(name, |id, digest, user| {
            TokenRecord::service(id, digest, user, workspace, now)
        });
    }

    /// Whether commits let other requests run first.
    pub(crate) fn hesitate(&self, on: bool) {
        self.hesitant.on.store(on, Ordering::Relaxed);
    }

    /// Searches go about it in this way, or again as the API says.
    pub(crate) fn search_with(&self, effort: Option<Effort>) {
        *self.hesitant.effort.lock().unwrap() = effort;
    }

    /// How many cards and entries of lists the last search read.
    pub(crate) fn read(&self) -> u64 {
        self.hesitant.read.load(Ordering::Relaxed)
    }

    /// What the check of the store finds, if it is one that can be checked.
    pub(crate) fn problems(&self) -> Vec<String> {
        let store = self.sqlite.as_ref();
        store.map_or_else(Vec::new, |store| store.check().unwrap())
    }

    /// When the token of this person was last used, as it stands after a write of uses.
    pub(crate) fn last_used(&self, who: &str) -> Option<SystemTime> {
        self.run(self.api.write_uses()).unwrap();
        let all = self.run(self.tokens.list(self.gid(who).get())).unwrap();
        all.first().unwrap().last_used_at
    }

    /// All that was committed after this one.
    pub(crate) fn events(&self, after: u64) -> Vec<Event> {
        self.run(self.graph.events(after, usize::MAX >> 1)).unwrap()
    }

    /// Drops what the journal has of the time before so many seconds ago.
    pub(crate) fn prune(&self, seconds: u64) {
        let before = Time::from_system(self.clock.0.now() - Duration::from_secs(seconds));
        self.run(self.graph.prune(before, u64::MAX, usize::MAX))
            .unwrap();
    }
}
