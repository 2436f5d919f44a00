//! Controls of the stores of a world, and queries of their state.
use super::*;

impl World {
    /// Gives a user a token of a service account for a workspace.
    pub(crate) fn serve(&self, name: &str, workspace: &str) {
        let (workspace, now) = (self.gid(workspace).get(), self.clock.now());
        self.token(name, |id, digest, user| {
            TokenRecord::service(id, digest, user, workspace, now)
        });
    }

    /// Sets whether commits let other requests run first.
    pub(crate) fn hesitate(&self, on: bool) {
        self.hesitant.on.store(on, Ordering::Relaxed);
    }

    /// Makes the store commit without a look at some reads.
    pub(crate) fn ignore_reads(&self, ignores: IgnoredReads) {
        *self.hesitant.ignores.lock().unwrap() = ignores;
    }

    /// Sets whether the store can be reached.
    pub(crate) fn lose_store(&self, is_lost: bool) {
        self.hesitant.is_lost.store(is_lost, Ordering::Relaxed);
    }

    /// Sets whether the store cannot be reached any more from the next commit on; `false` brings it back.
    pub(crate) fn lose_store_after_commit(&self, is_lost: bool) {
        let after = &self.hesitant.is_lost_after_commit;
        after.store(is_lost, Ordering::Relaxed);
        self.lose_store(false);
    }

    /// Sets the effort of searches; `None` for the one that the API chooses.
    pub(crate) fn search_with(&self, effort: Option<SearchEffort>) {
        *self.hesitant.effort.lock().unwrap() = effort;
    }

    /// Returns the number of index entries and list entries that the last search read.
    pub(crate) fn read(&self) -> u64 {
        self.hesitant.read.load(Ordering::Relaxed)
    }

    /// Returns the number of commits that were a conflict.
    pub(crate) fn conflicts(&self) -> u64 {
        self.hesitant.conflicts.load(Ordering::Relaxed)
    }

    /// Returns nodes as a user sees them.
    pub(crate) fn view(&self, user: &str, gids: impl Iterator<Item = Gid>) -> ReadView {
        let viewer = ViewerKey {
            user: self.gid(user),
            service: None,
        };
        let query = gids.fold(ReadQuery::of(viewer), ReadQuery::node);
        self.run(self.graph.load(&query)).unwrap()
    }

    /// Returns everything in the memory store, in sorted pieces. The gid of a new node depends on the order of requests, so it
    /// is left out; so are milliseconds, because each attempt to commit has a time of its own.
    pub(crate) fn graph_pieces(&self) -> Vec<String> {
        let store = self.memory.as_ref().expect("the store is in memory");
        plain_pieces(format!("{store:?}").split(", "))
    }

    /// Returns the problems that the check of the store finds. Only the SQLite store has a check.
    pub(crate) fn problems(&self) -> Vec<String> {
        let store = self.sqlite.as_ref();
        store.map_or_else(Vec::new, |store| store.check().unwrap())
    }

    /// Returns the time when the token of this user was last used, after a flush of the buffered uses.
    pub(crate) fn last_used(&self, user: &str) -> Option<SystemTime> {
        self.run(self.api.flush_token_usage()).unwrap();
        let all = self.run(self.tokens.list(self.gid(user).get())).unwrap();
        all.first().unwrap().last_used_at
    }

    /// Returns all commits after this one.
    pub(crate) fn events(&self, after: u64) -> Vec<JournalEntry> {
        self.run(self.graph.journal_entries(after, usize::MAX >> 1))
            .unwrap()
    }

    /// Drops journal entries that are older than this number of seconds.
    pub(crate) fn prune(&self, seconds: u64) {
        let before = Time::from_system(self.clock.0.now() - Duration::from_secs(seconds));
        self.run(self.graph.prune_journal(before, u64::MAX, usize::MAX))
            .unwrap();
    }

    /// Returns the part of the store that counts waves.
    pub(crate) fn waves(&self) -> &WaveStore {
        self.waves
            .as_ref()
            .expect("only one kind of store has waves")
    }
}

/// Returns sorted pieces of texts, without what depends on the order of requests: gids of new nodes, and milliseconds.
pub(super) fn plain_pieces<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let plain = |piece: &str| {
        // The last piece of a list depends on the order of gids, too.
        let piece = piece.trim_matches(|c| "{[( )]}".contains(c));
        let words = piece.split_inclusive(|c: char| !c.is_ascii_digit());
        let is_millisecond = |word: &str| word.len() == 4 && word.ends_with('Z');
        let kept = words.filter(|word| word.len() < 10 && !is_millisecond(word));
        kept.collect()
    };
    // A token is used by a request that is decided again and refused, too.
    let is_use = |piece: &&str| piece.starts_with("workspaces: {");
    let pieces = texts.filter(|piece| !is_use(piece));
    let mut pieces: Vec<String> = pieces.map(plain).collect();
    pieces.sort_unstable();
    pieces
}
