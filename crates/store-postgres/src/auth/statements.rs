//! Statements on tokens, accounts, apps, authorizations, codes and sessions.

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
macro_rules! app_cols {
    () => {
        "p.id, p.name, p.secret, p.redirects, p.scopes, p.distribution, p.disabled_in, p.owner, p.created_at, p.disabled_at"
    };
}
macro_rules! code_cols {
    () => {
        "digest, app, \"user\", \"authorization\", redirect, challenge, scopes, nonce, auth_time, created_at, expires_at, used_at, refresh"
    };
}
macro_rules! session_cols {
    () => {
        "s.digest, s.user, s.created_at, s.expires_at, s.used_at, s.address"
    };
}
// A token with its token context; `auth_rows` knows the positions of the columns.
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
            " LEFT JOIN \"authorization\" g ON t.refresh IS NOT NULL AND g.id = t.authorization",
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
            " JOIN account a ON a.user = t.user",
            $rest
        )
    };
}
// Webhooks of apps that no longer have access to their user: no live refresh token under a live authorization.
macro_rules! orphaned_hooks {
    () => {
        "h.app IS NOT NULL AND NOT EXISTS (SELECT 1 FROM token t JOIN \"authorization\" g ON g.id = t.authorization \
            WHERE t.user = h.user AND t.app = h.app AND t.kind = 'refresh' \
                AND t.revoked_at IS NULL AND g.revoked_at IS NULL)"
    };
}
// Deletes webhooks, and raises their revision if there were any.
macro_rules! drop_hooks {
    ($($condition:expr),*) => {
        concat!(
            "WITH gone AS (DELETE FROM hook h WHERE ", $($condition,)* " RETURNING 1) \
            UPDATE store_state SET hook_revision = hook_revision + 1 WHERE EXISTS (SELECT 1 FROM gone)"
        )
    };
}

pub(super) const TOKENS_BY_DIGESTS: &str = token_account!(" WHERE t.digest = ANY($1)");
pub(super) const TOKEN_BY_ID: &str = token_account!(" WHERE t.id = $1");
pub(super) const TOKENS_OF_USER: &str = token!("", "", " WHERE t.user = $1 ORDER BY t.id");
pub(super) const INSERT_TOKEN: &str = "INSERT INTO token (id, digest, kind, \"user\", app, \"authorization\", \
    workspace, scopes, description, created_at, expires_at, revoked_at, last_used_at, refresh) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
/// Token without its token context.
pub(super) const STORED_TOKEN: &str =
    concat!("SELECT ", token_cols!("t"), " FROM token t WHERE t.id = $1");
pub(super) const LIVE_TOKENS_OF: &str = concat!(
    "SELECT ",
    token_cols!("t"),
    " FROM token t WHERE t.user = $1 AND t.revoked_at IS NULL ORDER BY t.id"
);
pub(super) const REVOKE_TOKEN: &str =
    "UPDATE token t SET revoked_at = $2 WHERE t.id = $1 AND t.revoked_at IS NULL";
pub(super) const REVOKE_TOKENS_OF: &str = "WITH own AS MATERIALIZED (SELECT id FROM token o \
        WHERE o.user = $1 AND o.revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE) \
    UPDATE token t SET revoked_at = $2 FROM own WHERE t.id = own.id";
/// Stores the latest time given for each token, if it is later than the stored time. Tokens are locked in the order of their
/// ids.
pub(super) const RECORD_USES: &str = "WITH used AS (SELECT id, max(at) AS at \
        FROM unnest($1::bigint[], $2::bigint[]) AS u (id, at) GROUP BY id), \
    locked AS MATERIALIZED (SELECT o.id, used.at FROM token o JOIN used ON used.id = o.id \
        WHERE o.last_used_at IS NULL OR o.last_used_at < used.at ORDER BY o.id FOR NO KEY UPDATE OF o) \
    UPDATE token t SET last_used_at = locked.at FROM locked \
    WHERE t.id = locked.id AND (t.last_used_at IS NULL OR t.last_used_at < locked.at)";

pub(super) const ACCOUNT: &str = "SELECT tier, disabled FROM account WHERE \"user\" = $1";
pub(crate) const LOCK_ACCOUNT: &str =
    "SELECT tier, disabled FROM account WHERE \"user\" = $1 FOR NO KEY UPDATE";
pub(super) const LOCK_ACCOUNT_OF_TOKEN: &str = "SELECT tier, disabled FROM account \
    WHERE \"user\" = (SELECT t.user FROM token t WHERE t.id = $1) FOR NO KEY UPDATE";
/// Creates an account, so that it can be locked; returns a row if there was none.
pub(super) const CREATE_ACCOUNT: &str = "INSERT INTO account (\"user\", tier, disabled) VALUES ($1, $2, $3) \
    ON CONFLICT (\"user\") DO NOTHING RETURNING 1";
pub(super) const SET_TIER: &str = "INSERT INTO account (\"user\", tier, disabled) VALUES ($1, $2, FALSE) \
    ON CONFLICT (\"user\") DO UPDATE SET tier = excluded.tier WHERE account.tier <> excluded.tier";
pub(super) const PUT_ACCOUNT: &str =
    "UPDATE account SET tier = $2, disabled = $3 WHERE \"user\" = $1";
pub(super) const LOGIN: &str = "SELECT a.user, a.tier, a.disabled, l.hash FROM login l \
    JOIN account a ON a.user = l.user WHERE l.email = $1";
pub(super) const LOGIN_OF: &str = "SELECT email, hash FROM login WHERE \"user\" = $1";
pub(super) const PUT_LOGIN: &str = "INSERT INTO login (\"user\", email, hash) VALUES ($1, $2, $3) \
    ON CONFLICT (\"user\") DO UPDATE SET email = excluded.email, hash = excluded.hash";
pub(super) const PUT_PASSWORD_HASH: &str = "UPDATE login SET hash = $2 WHERE \"user\" = $1";

pub(super) const APP: &str = concat!("SELECT ", app_cols!(), " FROM app p WHERE p.id = $1");
pub(super) const APPS: &str = concat!("SELECT ", app_cols!(), " FROM app p ORDER BY p.id");
pub(super) const APPS_OF_OWNER: &str = concat!(
    "SELECT ",
    app_cols!(),
    " FROM app p WHERE p.owner = $1 ORDER BY p.id"
);
pub(super) const LOCK_APP: &str = concat!(
    "SELECT ",
    app_cols!(),
    " FROM app p WHERE p.id = $1 FOR NO KEY UPDATE"
);
pub(super) const INSERT_APP: &str = "INSERT INTO app (id, name, secret, redirects, scopes, distribution, disabled_in, \
    owner, created_at, disabled_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
pub(super) const REPLACE_APP: &str = "UPDATE app SET name = $2, secret = $3, redirects = $4, scopes = $5, \
    distribution = $6, disabled_in = $7, owner = $8, created_at = $9, disabled_at = $10 WHERE id = $1";

pub(super) const LIVE_AUTHORIZATION: &str = concat!(
    "SELECT ",
    grant_cols!(),
    " FROM \"authorization\" g WHERE g.user = $1 AND g.app = $2 AND g.revoked_at IS NULL"
);
/// Authorization with the name of its app.
pub(super) const AUTHORIZATION_BY_ID: &str = concat!(
    "SELECT ",
    grant_cols!(),
    ", p.name FROM \"authorization\" g LEFT JOIN app p ON p.id = g.app WHERE g.id = $1"
);
pub(super) const AUTHORIZATIONS_OF: &str = concat!(
    "SELECT ",
    grant_cols!(),
    " FROM \"authorization\" g WHERE g.user = $1 AND g.revoked_at IS NULL ORDER BY g.id"
);
pub(super) const AUTHORIZED_APPS_OF: &str = "SELECT p.name FROM \"authorization\" g LEFT JOIN app p ON p.id = g.app \
    WHERE g.user = $1 AND g.revoked_at IS NULL ORDER BY g.id";
pub(super) const SET_SCOPES: &str = "UPDATE \"authorization\" SET scopes = $2 WHERE id = $1";
pub(super) const INSERT_AUTHORIZATION: &str = "INSERT INTO \"authorization\" (id, \"user\", app, scopes, created_at) VALUES ($1, $2, $3, $4, $5)";
pub(super) const WITHDRAW_AUTHORIZATION: &str =
    "UPDATE \"authorization\" SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
pub(super) const WITHDRAW_AUTHORIZATIONS_OF: &str = "WITH own AS MATERIALIZED (SELECT id FROM \"authorization\" o \
        WHERE o.user = $1 AND o.revoked_at IS NULL ORDER BY id FOR NO KEY UPDATE) \
    UPDATE \"authorization\" g SET revoked_at = $2 FROM own WHERE g.id = own.id";

pub(super) const INSERT_TICKET: &str = "INSERT INTO ticket (digest, at) VALUES ($1, $2)";
pub(super) const CODE: &str = concat!("SELECT ", code_cols!(), " FROM code WHERE digest = $1");
pub(super) const INSERT_CODE: &str = concat!(
    "INSERT INTO code (",
    code_cols!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
);
pub(super) const LOCK_CODE: &str = "SELECT 1 FROM code WHERE digest = $1 FOR NO KEY UPDATE";
/// A code with its authorization, its app and the account of its user, live or not.
pub(super) const CODE_CONTEXT: &str = concat!(
    "SELECT c.*, ",
    grant_cols!(),
    ", ",
    app_cols!(),
    ", a.user, a.tier, a.disabled FROM (SELECT ",
    code_cols!(),
    " FROM code WHERE digest = $1) c \
    LEFT JOIN \"authorization\" g ON g.id = c.authorization \
    LEFT JOIN app p ON p.id = c.app LEFT JOIN account a ON a.user = c.user"
);
pub(super) const SPEND_CODE: &str = "UPDATE code SET used_at = $2, refresh = $3 WHERE digest = $1";

pub(super) const INSERT_SESSION: &str = "INSERT INTO session (digest, \"user\", created_at, expires_at, used_at, address) \
    VALUES ($1, $2, $3, $4, $5, $6)";
pub(super) const SESSION: &str = concat!(
    "SELECT ",
    session_cols!(),
    ", a.tier, a.disabled FROM session s JOIN account a ON a.user = s.user WHERE s.digest = $1"
);
pub(super) const SESSIONS_OF_USER: &str = concat!(
    "SELECT ",
    session_cols!(),
    " FROM session s WHERE s.user = $1"
);
pub(super) const TOUCH_SESSION: &str = "UPDATE session SET used_at = $2, address = $3 \
    WHERE digest = $1 AND coalesce(used_at, created_at) <= $2";
pub(super) const LOCK_SESSION: &str = concat!(
    "SELECT ",
    session_cols!(),
    " FROM session s WHERE s.digest = $1 FOR UPDATE"
);
pub(super) const LOCK_SESSIONS_OF: &str = concat!(
    "SELECT ",
    session_cols!(),
    " FROM session s WHERE s.user = $1 ORDER BY s.digest FOR UPDATE"
);
pub(super) const DELETE_SESSION: &str = "DELETE FROM session WHERE digest = $1";
pub(super) const DELETE_SESSIONS_OF: &str =
    "DELETE FROM session WHERE \"user\" = $1 AND digest IS DISTINCT FROM $2";

/// Locks the attempts under a key; a new row has no attempts.
pub(super) const LOCK_LOGIN_ATTEMPTS: &str = "INSERT INTO strikes (key, count, last_at) VALUES ($1, 0, 0) \
    ON CONFLICT (key) DO UPDATE SET count = strikes.count RETURNING count, last_at";
pub(super) const PUT_LOGIN_ATTEMPTS: &str =
    "UPDATE strikes SET count = $2, last_at = $3 WHERE key = $1";
pub(super) const DELETE_LOGIN_ATTEMPTS: &str = "DELETE FROM strikes WHERE key = $1";

// Deletes a limited number of rows at once, and skips rows that another transaction has locked.
macro_rules! sweep {
    ($table:literal, $key:literal, $condition:literal) => {
        concat!(
            "WITH gone AS (DELETE FROM ",
            $table,
            " WHERE ",
            $key,
            " IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE ",
            $condition,
            " LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone"
        )
    };
}
pub(super) const SWEEP_TOKENS: &str = sweep!("token", "id", "kind = 'access' AND expires_at < $1");
pub(super) const SWEEP_CODES: &str = sweep!("code", "digest", "expires_at < $1");
pub(super) const SWEEP_SESSIONS: &str = sweep!("session", "digest", "expires_at < $1");
pub(super) const SWEEP_TICKETS: &str = sweep!("ticket", "digest", "at < $1");
pub(super) const SWEEP_LOGIN_ATTEMPTS: &str = sweep!("strikes", "key", "last_at < $1");
/// After this time nobody asks for the outcome of a transaction any more.
pub(super) const SWEEP_ATTEMPTS: &str =
    "DELETE FROM write_attempt WHERE at < now() - interval '1 hour'";

/// User, app and workspace of a webhook, and the live authorization of the app, which decide whether it is sent to now.
pub(crate) const DELIVERY_PERMISSION: &str = concat!(
    "SELECT coalesce(a.disabled, TRUE), h.app, h.workspace, ",
    grant_cols!(),
    ", ",
    app_cols!(),
    " FROM hook h LEFT JOIN account a ON a.user = h.user LEFT JOIN app p ON p.id = h.app \
    LEFT JOIN \"authorization\" g ON g.user = h.user AND g.app = h.app AND g.revoked_at IS NULL WHERE h.id = $1"
);

/// Deletes the webhooks of a user whose apps no longer have access; the last statement before the audit log.
pub(super) const DROP_ORPHANED_HOOKS: &str = drop_hooks!("h.user = $1 AND ", orphaned_hooks!());
pub(super) const DROP_HOOKS_OF_USER: &str = drop_hooks!("h.user = $1");
