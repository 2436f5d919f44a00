//! Parts shared by statements: columns to read, and conditions that an index answers.

/// Columns selected for an edge.
macro_rules! edge_cols {
    () => {
        "SELECT e.src, e.rel, e.dst, e.rank, e.seq, e.aux"
    };
}
/// Columns selected for a node, by depth: `kind, home, head, version, body`.
macro_rules! head_cols {
    () => {
        ", n.kind, n.home, n.head"
    };
}
macro_rules! full_cols {
    () => {
        ", n.kind, n.home, n.head, n.version, n.body"
    };
}

// Edges are read first and joined with the nodes at their other end, in that order.
macro_rules! out {
    ($($cols:expr),*) => {
        concat!(
            edge_cols!(), $($cols,)*
            " FROM outgoing_edge e CROSS JOIN node n ON n.gid = e.dst",
            " WHERE e.src = ?1 AND e.rel BETWEEN ?2 AND ?3 AND n.gone IS NULL ORDER BY e.rel, e.dst"
        )
    };
}
macro_rules! scan_out {
    ($($cols:expr),*) => {
        concat!(
            "SELECT e.dst, e.rank, e.seq, e.aux", $($cols,)*
            " FROM outgoing_edge e CROSS JOIN node n ON n.gid = e.dst",
            " WHERE e.src = ?1 AND e.rel = ?2 AND e.dst > ?3 AND n.gone IS NULL ORDER BY e.dst LIMIT ?4"
        )
    };
}
macro_rules! scan_in {
    ($($cols:expr),*) => {
        concat!(
            "SELECT e.src, e.rank, e.seq, e.aux", $($cols,)*
            " FROM edge e CROSS JOIN node n ON n.gid = e.src",
            " WHERE e.dst = ?1 AND e.rel = ?2 AND (e.rank, e.src) > (?3, ?4) AND n.gone IS NULL",
            " ORDER BY e.rank, e.src LIMIT ?5"
        )
    };
}
macro_rules! scan_home {
    ($($cols:expr),*) => {
        concat!(
            "SELECT n.gid, n.seq", $($cols,)*
            " FROM node n WHERE n.home = ?1 AND n.kind = ?2 AND n.gid > ?3",
            // The terms of the partial index, so that SQLite uses it.
            " AND n.gone IS NULL AND n.kind <> 9 AND n.kind <> 12 ORDER BY n.gid LIMIT ?4"
        )
    };
}
// Most nodes are tasks, so tasks have no separate index for this: their index entries are already in this order.
macro_rules! scan_home_tasks {
    ($($cols:expr),*) => {
        concat!(
            "SELECT n.gid, n.seq", $($cols,)*
            " FROM card c CROSS JOIN node n ON n.gid = c.gid",
            " WHERE c.home = ?1 AND c.kind = ?2 AND c.gid > ?3 AND n.gone IS NULL",
            " ORDER BY c.gid LIMIT ?4"
        )
    };
}
/// Columns selected for a browser session.
macro_rules! session_cols {
    () => {
        "s.digest, s.user, s.created_at, s.expires_at, s.used_at, s.address"
    };
}
macro_rules! card_cols {
    () => {
        "gid, created, modified, completed, due, start, who, creator, assigner, subtype, flags, likes, sub, waits, blocks, sum, done"
    };
}
macro_rules! into_card {
    () => {
        concat!(
            " INTO card (home, kind, ",
            card_cols!(),
            ", shape) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"
        )
    };
}
// Index entries by a column; the term of its partial index is part of the text, so that SQLite uses it.
macro_rules! scan_cards {
    ($column:literal, $indexed:literal) => {
        concat!(
            "SELECT ",
            card_cols!(),
            " FROM card WHERE home = ?1 AND kind = ?2",
            " AND (",
            $column,
            ", gid) > (?3, ?4) AND ",
            $column,
            " <= ?5",
            $indexed,
            " ORDER BY ",
            $column,
            ", gid LIMIT ?6"
        )
    };
    ($column:literal, $indexed:literal, down) => {
        concat!(
            "SELECT ",
            card_cols!(),
            " FROM card WHERE home = ?1 AND kind = ?2",
            " AND (",
            $column,
            ", gid) < (?3, ?4) AND ",
            $column,
            " >= ?5",
            $indexed,
            " ORDER BY ",
            $column,
            " DESC, gid DESC LIMIT ?6"
        )
    };
}
// Gids with their values of a column, greatest value first, read from the column's index alone. The term of a partial index
// must not look like the bound at which SQLite begins: "the column is not null" is left out, since the bound implies it, and
// other terms are written beside a bound of two columns.
macro_rules! list_cards {
    ($column:literal) => {
        list_cards!($column, "", $column, " BETWEEN ?3 AND ?4")
    };
    ($column:literal, $($condition:literal),*) => {
        concat!(
            "SELECT gid, ",
            $column,
            " FROM card WHERE home = ?1 AND kind = ?2 AND ",
            $($condition,)*
            " ORDER BY ",
            $column,
            " DESC LIMIT ?5"
        )
    };
}
// Rows of the audit log by the index of one column, with conditions on the others.
macro_rules! audit {
    ($index:literal, $kind:literal, $actor_type:literal, $actor:literal, $resource:literal) => {
        concat!(
            "SELECT gid, at, home, kind, actor_type, actor, resource, body FROM audit INDEXED BY ",
            $index,
            " WHERE home = ?1 AND gid > ?2 AND gid < ?3",
            $kind,
            $actor_type,
            $actor,
            $resource,
            " ORDER BY gid LIMIT ?8"
        )
    };
}
macro_rules! token_cols {
    ($t:literal) => {
        concat!(
            $t,
            ".id, ",
            $t,
            ".digest, ",
            $t,
            ".kind, ",
            $t,
            ".user, ",
            $t,
            ".app, ",
            $t,
            ".authorization, ",
            $t,
            ".workspace, ",
            $t,
            ".scopes, ",
            $t,
            ".description, ",
            $t,
            ".created_at, ",
            $t,
            ".expires_at, ",
            $t,
            ".revoked_at, ",
            $t,
            ".last_used_at"
        )
    };
}
macro_rules! grant_cols {
    () => {
        "g.id, g.user, g.app, g.scopes, g.created_at, g.revoked_at"
    };
}
macro_rules! hook_cols {
    () => {
        concat!(
            "SELECT id, user, app, service, workspace, resource, kind, target, secret, filters, created_at,",
            " seq, facts, last_success_at, last_failure_at, last_failure, retries, next_attempt_at, failing_since",
            " FROM hook"
        )
    };
}
macro_rules! app_cols {
    () => {
        "p.id, p.name, p.secret, p.redirects, p.scopes, p.distribution, p.disabled_in, p.owner, p.created_at, p.disabled_at"
    };
}
macro_rules! code_cols {
    () => {
        "digest, app, user, authorization, redirect, challenge, scopes, nonce, auth_time, created_at, expires_at, used_at, refresh"
    };
}

// A token with its token context; `auth_rows::effective_token` knows the positions of the columns.
macro_rules! token {
    ($cols:expr, $join:expr, $rest:expr) => {
        concat!(
            "SELECT ",
            token_cols!("t"),
            ", t.refresh, ",
            grant_cols!(),
            ", ",
            app_cols!(),
            ", ",
            token_cols!("r"),
            $cols,
            " FROM token t",
            $join,
            " LEFT JOIN authorization g ON t.refresh IS NOT NULL AND g.id = t.authorization",
            " LEFT JOIN app p ON t.refresh IS NOT NULL AND p.id = t.app",
            " LEFT JOIN token r ON r.id = t.refresh",
            $rest
        )
    };
}
macro_rules! token_account {
    ($rest:expr) => {
        token!(
            ", a.tier, a.disabled",
            " CROSS JOIN account a ON a.user = t.user",
            $rest
        )
    };
}
