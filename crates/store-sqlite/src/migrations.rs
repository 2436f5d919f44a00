//! Tables, and the migrations that bring a file to the newest version.
use crate::edge_list::pack_edges;
use crate::open_error::StoreOpenError;
use rusqlite::{Connection, ErrorCode};

/// Application id that marks a file of this program: "WkGr".
pub(crate) const APPLICATION_ID: i32 = 0x576b_4772;

/// Migrations, each to the next version; the version of a file is the number of migrations applied. Entries are never edited,
/// only added.
pub(crate) const MIGRATIONS: &[&str] = &[
    // The long columns of a node come last, so that reading the others never leaves the page. `seq` is the commit that
    // created the node, `gone` the commit that trashed it.
    "CREATE TABLE node (
         gid INTEGER PRIMARY KEY, kind INTEGER NOT NULL, home INTEGER, version INTEGER NOT NULL,
         seq INTEGER NOT NULL, gone INTEGER, head TEXT NOT NULL, body TEXT NOT NULL
     ) STRICT;
     CREATE INDEX node_home ON node (home, kind, gid)
         WHERE gone IS NULL AND home IS NOT NULL AND kind <> 9 AND kind <> 12;

     CREATE TABLE edge (
         src INTEGER NOT NULL, rel INTEGER NOT NULL, dst INTEGER NOT NULL, rank INTEGER NOT NULL,
         seq INTEGER NOT NULL, aux INTEGER, PRIMARY KEY (src, rel, dst)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX edge_in ON edge (dst, rel, rank, src, aux, seq);

     CREATE TABLE alias (key TEXT PRIMARY KEY, gid INTEGER NOT NULL) STRICT, WITHOUT ROWID;

     CREATE TABLE journal (
         seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor INTEGER, facts TEXT NOT NULL
     ) STRICT;

     CREATE TABLE account (
         user INTEGER PRIMARY KEY, tier INTEGER NOT NULL, disabled INTEGER NOT NULL
     ) STRICT;
     CREATE TABLE login (user INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, hash TEXT NOT NULL) STRICT;
     CREATE TABLE token (
         id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, user INTEGER NOT NULL,
         app INTEGER, authorization INTEGER, workspace INTEGER, scopes TEXT NOT NULL,
         description TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,
         revoked_at INTEGER, last_used_at INTEGER
     ) STRICT;
     CREATE INDEX token_user ON token (user, id);

     CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
    // `token.refresh` is the refresh token that an issued token depends on, its own for a refresh token; NULL for a token that
    // depends on none. Lists of numbers are separated by spaces, redirect URLs are one per line, scopes are stored as shown.
    "ALTER TABLE token ADD COLUMN refresh INTEGER;
     CREATE INDEX token_end ON token (expires_at) WHERE kind = 'access';

     CREATE TABLE app (
         id INTEGER PRIMARY KEY, name TEXT NOT NULL, secret BLOB, redirects TEXT NOT NULL,
         scopes TEXT NOT NULL, distribution TEXT NOT NULL, disabled_in TEXT NOT NULL,
         owner INTEGER NOT NULL, created_at INTEGER NOT NULL, disabled_at INTEGER
     ) STRICT;
     CREATE INDEX app_owner ON app (owner, id);

     CREATE TABLE authorization (
         id INTEGER PRIMARY KEY, user INTEGER NOT NULL, app INTEGER NOT NULL, scopes TEXT NOT NULL,
         created_at INTEGER NOT NULL, revoked_at INTEGER
     ) STRICT;
     CREATE UNIQUE INDEX authorization_standing ON authorization (user, app) WHERE revoked_at IS NULL;
     CREATE INDEX authorization_user ON authorization (user, id) WHERE revoked_at IS NULL;

     CREATE TABLE code (
         digest BLOB PRIMARY KEY, app INTEGER NOT NULL, user INTEGER NOT NULL, authorization INTEGER NOT NULL,
         redirect TEXT NOT NULL, challenge TEXT, scopes TEXT NOT NULL, nonce TEXT,
         auth_time INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
         used_at INTEGER, refresh INTEGER
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX code_end ON code (expires_at);

     CREATE TABLE ticket (digest BLOB PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
     CREATE INDEX ticket_at ON ticket (at);

     CREATE TABLE session (
         digest BLOB PRIMARY KEY, user INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX session_user ON session (user);
     CREATE INDEX session_end ON session (expires_at);

     CREATE TABLE strikes (
         key BLOB PRIMARY KEY, count INTEGER NOT NULL, last_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX strikes_last ON strikes (last_at);",
    // Relations that lists read together have neighbouring numbers: the numbers of followers, tags, parents and My Tasks
    // change. New: the values of custom fields as search finds them, a number or a text for each.
    "UPDATE edge SET rel = rel + 100 WHERE rel BETWEEN 2 AND 5;
     UPDATE edge SET rel = CASE rel WHEN 102 THEN 5 WHEN 103 THEN 4 WHEN 104 THEN 2 ELSE 3 END
         WHERE rel BETWEEN 102 AND 105;
     CREATE TABLE value (
         field INTEGER NOT NULL, key ANY NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (field, key, node)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX value_of ON value (node, field, key);",
    // Contexts of the nodes that a commit names; rows of older files have none.
    "ALTER TABLE journal ADD COLUMN nodes TEXT NOT NULL DEFAULT '[]';",
    // Index entries: the columns that search compares and sorts by, one row for each live node that can be found; 0 means
    // "in no workspace". The words come from names and descriptions, already split and folded; `home` and `kind` are part of
    // each word, so that a search never reads words of other workspaces or types.
    "CREATE TABLE card (
         home INTEGER NOT NULL, kind INTEGER NOT NULL, gid INTEGER NOT NULL, created INTEGER NOT NULL,
         modified INTEGER NOT NULL, completed INTEGER, due INTEGER, start INTEGER, who INTEGER,
         creator INTEGER, assigner INTEGER, subtype INTEGER NOT NULL, flags INTEGER NOT NULL,
         likes INTEGER NOT NULL, sub INTEGER, waits INTEGER, blocks INTEGER, sum INTEGER NOT NULL,
         PRIMARY KEY (home, kind, gid)
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX card_created ON card (home, kind, created, gid);
     CREATE INDEX card_modified ON card (home, kind, modified, gid);
     CREATE INDEX card_completed ON card (home, kind, completed, gid) WHERE completed IS NOT NULL;
     CREATE INDEX card_due ON card (home, kind, due, gid) WHERE due IS NOT NULL;
     CREATE INDEX card_likes ON card (home, kind, likes, gid) WHERE likes > 0;
     CREATE INDEX card_start ON card (home, kind, start, gid) WHERE start IS NOT NULL;
     CREATE INDEX card_who ON card (home, kind, who, gid) WHERE who IS NOT NULL;
     CREATE INDEX card_creator ON card (home, kind, creator, gid) WHERE creator IS NOT NULL;
     CREATE INDEX card_assigner ON card (home, kind, assigner, gid) WHERE assigner IS NOT NULL;
     CREATE INDEX card_subtype ON card (home, kind, subtype, gid) WHERE subtype > 0;
     CREATE INDEX card_sub ON card (home, kind, sub, gid) WHERE sub IS NOT NULL;
     CREATE INDEX card_waits ON card (home, kind, waits, gid) WHERE waits IS NOT NULL;
     CREATE INDEX card_blocks ON card (home, kind, blocks, gid) WHERE blocks IS NOT NULL;
     CREATE VIRTUAL TABLE words USING fts5(
         name, notes, content='', contentless_delete=1, detail=column, tokenize='ascii'
     );",
    // Webhooks: `seq` and `facts` are the journal position up to which they were delivered. Deliveries are the log of
    // attempts.
    "CREATE TABLE hook (
         id INTEGER PRIMARY KEY, user INTEGER NOT NULL, app INTEGER, service INTEGER,
         workspace INTEGER NOT NULL, resource INTEGER NOT NULL, kind INTEGER NOT NULL,
         target TEXT NOT NULL, secret TEXT NOT NULL, filters TEXT NOT NULL, created_at INTEGER NOT NULL,
         seq INTEGER NOT NULL, facts INTEGER NOT NULL DEFAULT 0, last_success_at INTEGER,
         last_failure_at INTEGER, last_failure TEXT NOT NULL DEFAULT '', retries INTEGER NOT NULL DEFAULT 0,
         next_attempt_at INTEGER, failing_since INTEGER
     ) STRICT;
     CREATE INDEX hook_owner ON hook (user, app, workspace, id);
     CREATE INDEX hook_resource ON hook (resource);
     CREATE TABLE delivery (
         id INTEGER PRIMARY KEY, hook INTEGER NOT NULL, at INTEGER NOT NULL,
         from_seq INTEGER NOT NULL, from_facts INTEGER NOT NULL, to_seq INTEGER NOT NULL,
         to_facts INTEGER NOT NULL, events INTEGER NOT NULL, attempt INTEGER NOT NULL, status INTEGER,
         error TEXT NOT NULL
     ) STRICT;
     CREATE INDEX delivery_hook ON delivery (hook, id);
     CREATE INDEX delivery_at ON delivery (at);",
    // The tasks of an assignee are listed by completion and due time.
    "ALTER TABLE card ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
     UPDATE card SET done = 1 WHERE flags & 1;
     DROP INDEX card_who;
     CREATE INDEX card_who ON card (home, kind, who, done, due, gid) WHERE who IS NOT NULL;",
    // The audit log: `gid` and `at` increase with `seq`, which has no gaps; `digest` chains the rows, and the lines of
    // `checkpoint` are signed. The columns are for filters, `body` is the text that is shown.
    "CREATE TABLE audit (
         gid INTEGER PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, at INTEGER NOT NULL, home INTEGER NOT NULL,
         kind INTEGER NOT NULL, actor_type INTEGER NOT NULL, actor INTEGER, resource INTEGER NOT NULL,
         body TEXT NOT NULL, digest BLOB NOT NULL
     ) STRICT;
     CREATE INDEX audit_home ON audit (home, gid);
     CREATE INDEX audit_at ON audit (home, at, gid);
     CREATE INDEX audit_kind ON audit (home, kind, gid);
     CREATE INDEX audit_actor_type ON audit (home, actor_type, gid);
     CREATE INDEX audit_actor ON audit (home, actor, gid) WHERE actor IS NOT NULL;
     CREATE INDEX audit_resource ON audit (home, resource, gid);
     CREATE TABLE checkpoint (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, line TEXT NOT NULL) STRICT;
     CREATE INDEX checkpoint_seq ON checkpoint (seq);",
    // Index entries by their column set (`shape`), which also shows missing columns; and the list of words, for reading the
    // words with a given prefix.
    "ALTER TABLE card ADD COLUMN shape INTEGER NOT NULL DEFAULT 0;
     UPDATE card SET shape = (completed IS NOT NULL) + 2 * (due IS NOT NULL) + 4 * (start IS NOT NULL)
         + 8 * (who IS NOT NULL) + 16 * (creator IS NOT NULL) + 32 * (assigner IS NOT NULL)
         + 64 * (sub IS NOT NULL) + 128 * (subtype > 0) + 256 * (done <> 0) + 512 * ((flags & 2) <> 0);
     DROP INDEX card_modified;
     CREATE INDEX card_shape ON card (home, kind, shape, modified, gid);
     CREATE VIRTUAL TABLE word USING fts5vocab(words, instance);",
    // Webhooks end with the last refresh token of their user and app; webhooks in older files may have outlived it.
    "DELETE FROM hook WHERE app IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM token t CROSS JOIN authorization g ON g.id = t.authorization
         WHERE t.user = hook.user AND t.app = hook.app AND t.kind = 'refresh'
             AND t.revoked_at IS NULL AND g.revoked_at IS NULL);",
    // Sessions record their last use; older sessions have no such time. Disabled users used to keep their sessions, tokens,
    // authorizations and webhooks, which end now.
    "ALTER TABLE session ADD COLUMN used_at INTEGER;
     ALTER TABLE session ADD COLUMN address TEXT;
     DELETE FROM session WHERE user IN (SELECT user FROM account WHERE disabled);
     UPDATE token SET revoked_at = 1000 * unixepoch()
         WHERE revoked_at IS NULL AND user IN (SELECT user FROM account WHERE disabled);
     UPDATE authorization SET revoked_at = 1000 * unixepoch()
         WHERE revoked_at IS NULL AND user IN (SELECT user FROM account WHERE disabled);
     DELETE FROM hook WHERE user IN (SELECT user FROM account WHERE disabled);",
    // Private custom fields (kind 13) reserve no name in their workspace. Otherwise a user could discover them by giving another
    // field the same name.
    "DELETE FROM alias WHERE key GLOB 'name:*' AND EXISTS (
         SELECT 1 FROM node n WHERE n.gid = alias.gid AND n.kind = 13
             AND json_extract(n.body, '$.privacy_setting') = 'private');",
    // The list of an assignee's tasks includes their modification times, because searches sort by these.
    "DROP INDEX card_who;
     CREATE INDEX card_who ON card (home, kind, who, done, due, modified, gid) WHERE who IS NOT NULL;",
    // Outgoing edges are stored in the row of their source ([`crate::edge_list`]), and as rows of `outgoing_edge` if there are
    // many. `edge` has all edges, as the lists of their targets.
    concat!(
        "ALTER TABLE node ADD COLUMN edges BLOB;
         CREATE TABLE outgoing_edge (
             src INTEGER NOT NULL, rel INTEGER NOT NULL, dst INTEGER NOT NULL, rank INTEGER NOT NULL,
             seq INTEGER NOT NULL, aux INTEGER, PRIMARY KEY (src, rel, dst)
         ) STRICT, WITHOUT ROWID;",
        pack_edges!(),
        "CREATE TABLE listed_edge (
             dst INTEGER NOT NULL, rel INTEGER NOT NULL, rank INTEGER NOT NULL, src INTEGER NOT NULL,
             seq INTEGER NOT NULL, aux INTEGER, PRIMARY KEY (dst, rel, rank, src)
         ) STRICT, WITHOUT ROWID;
         INSERT INTO listed_edge SELECT dst, rel, rank, src, seq, aux FROM edge ORDER BY dst, rel, rank, src;
         DROP TABLE edge;
         ALTER TABLE listed_edge RENAME TO edge;"
    ),
];

/// Checks that a file belongs to this program and is not newer than it. Returns true if it is new and empty.
pub(crate) fn inspect(conn: &Connection) -> Result<bool, StoreOpenError> {
    let id: i32 = conn.pragma_query_value(None, "application_id", |r| r.get(0))?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    if id == 0 && tables == 0 {
        return Ok(true);
    }
    if id != APPLICATION_ID {
        return Err(StoreOpenError::Foreign);
    }
    let (found, known) = (version(conn)?, MIGRATIONS.len());
    if found > known {
        return Err(StoreOpenError::Newer { found, known });
    }
    Ok(false)
}

/// Brings the file to the newest version, with a separate transaction for each migration.
pub(crate) fn migrate(conn: &Connection) -> Result<(), StoreOpenError> {
    inspect(conn)?;
    if is_newest(conn)? {
        return Ok(());
    }
    with_temporary_files(conn, steps)
}

/// Runs work that sorts many rows. They are sorted in temporary files, so that a large store takes no more memory than a small
/// one; if no file can be created, they are sorted in memory. No transaction may be open.
pub(crate) fn with_temporary_files(
    conn: &Connection,
    work: impl Fn(&Connection) -> Result<(), StoreOpenError>,
) -> Result<(), StoreOpenError> {
    conn.pragma_update(None, "temp_store", "FILE")?;
    let mut done = work(conn);
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    if matches!(&done, Err(StoreOpenError::Sqlite(error)) if has_no_file(error)) {
        done = work(conn);
    }
    done
}

/// Returns true if SQLite could not create or use a temporary file.
fn has_no_file(error: &rusqlite::Error) -> bool {
    let codes = [ErrorCode::CannotOpen, ErrorCode::SystemIoFailure];
    error
        .sqlite_error_code()
        .is_some_and(|code| codes.contains(&code))
}

/// Applies the remaining migrations.
fn steps(conn: &Connection) -> Result<(), StoreOpenError> {
    for (at, step) in MIGRATIONS.iter().enumerate().skip(version(conn)?) {
        let id = APPLICATION_ID;
        let script = format!(
            "BEGIN IMMEDIATE; {step} PRAGMA application_id = {id}; PRAGMA user_version = {}; COMMIT;",
            at + 1
        );
        if let Err(error) = conn.execute_batch(&script) {
            roll_back(conn)?;
            return Err(error.into());
        }
    }
    Ok(())
}

/// Rolls back a transaction, unless an error has already ended it.
pub(crate) fn roll_back(conn: &Connection) -> rusqlite::Result<()> {
    if conn.is_autocommit() {
        return Ok(());
    }
    conn.execute_batch("ROLLBACK")
}

/// Returns true if the file has the newest version.
pub(crate) fn is_newest(conn: &Connection) -> Result<bool, StoreOpenError> {
    Ok(version(conn)? == MIGRATIONS.len())
}

fn version(conn: &Connection) -> Result<usize, StoreOpenError> {
    let version: i64 = conn.pragma_query_value(None, "user_version", |r| r.get(0))?;
    usize::try_from(version).map_err(|_| StoreOpenError::Foreign)
}

#[cfg(test)]
mod tests;
