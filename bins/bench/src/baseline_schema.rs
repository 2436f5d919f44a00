//! The bare SQLite file: its settings, tables, inserts, relations and gids.

/// Settings of the store's connections. The store's writer runs no checkpoints, so they are off here.
pub(crate) const PRAGMAS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -8192;";

pub(crate) const SCHEMA: &str = "
    CREATE TABLE node (gid INTEGER PRIMARY KEY, kind INTEGER NOT NULL, home INTEGER, version INTEGER NOT NULL,
        deleted_at INTEGER, seq INTEGER NOT NULL, head TEXT NOT NULL, body BLOB NOT NULL);
    CREATE TABLE edge (src INTEGER NOT NULL, rel INTEGER NOT NULL, dst INTEGER NOT NULL, rank INTEGER NOT NULL,
        seq INTEGER NOT NULL, aux INTEGER, PRIMARY KEY (src, rel, dst)) WITHOUT ROWID;
    CREATE INDEX edge_in ON edge (dst, rel, rank, src);
    CREATE TABLE event (seq INTEGER PRIMARY KEY, node INTEGER NOT NULL, kind INTEGER NOT NULL, body TEXT NOT NULL);";

pub(crate) const INSERT_NODE: &str = "INSERT INTO node VALUES (?1, ?2, ?3, 1, NULL, ?1, ?4, ?5)";
pub(crate) const INSERT_EDGE: &str = "INSERT INTO edge VALUES (?1, ?2, ?3, ?4, ?1, ?5)";

pub(crate) const ASSIGNEE: i64 = 1;
pub(crate) const FOLLOWER: i64 = 2;
pub(crate) const PROJECT: i64 = 3;

pub(crate) const WORKSPACE_GID: i64 = 1000;
pub(crate) const PROJECT_GID: i64 = 1001;
pub(crate) const SECTION_GIDS: i64 = 2000;
pub(crate) const USER_GIDS: i64 = 3000;
pub(crate) const TASK_GIDS: i64 = 1_000_000;
