//! Statements that the store runs while serving. Each is prepared once per connection.
#[macro_use]
mod parts;

macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        /// SQL statement, by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Sql { $($name),* }

        impl Sql {
            /// All statements.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name),*];
            /// Returns the text of the statement.
            pub(crate) const fn text(self) -> &'static str {
                match self { $(Self::$name => $sql),* }
            }
        }
    };
}

statements! {
    Begin = "BEGIN";
    BeginImmediate = "BEGIN IMMEDIATE";
    Commit = "COMMIT";
    Rollback = "ROLLBACK";
    Savepoint = "SAVEPOINT change";
    Release = "RELEASE change";
    RollbackTo = "ROLLBACK TO change";

    LastSeq = "SELECT max(seq) FROM journal";
    LastCommitAt = "SELECT at FROM journal WHERE seq = (SELECT max(seq) FROM journal)";
    Alias = "SELECT n.gid FROM alias a CROSS JOIN node n ON n.gid = a.gid WHERE a.key = ?1 AND n.gone IS NULL";
    NodeHead = concat!("SELECT 0", head_cols!(), " FROM node n WHERE n.gid = ?1 AND n.gone IS NULL");
    NodeFull = concat!("SELECT 0", full_cols!(), " FROM node n WHERE n.gid = ?1 AND n.gone IS NULL");
    // A node in any state, with its edge list.
    NodeRow = concat!("SELECT n.gone IS NULL", full_cols!(), ", n.edges FROM node n WHERE n.gid = ?1");
    NodeEdges = "SELECT edges FROM node WHERE gid = ?1";
    OutEdge = concat!(edge_cols!(), " FROM outgoing_edge e WHERE e.src = ?1 AND e.rel BETWEEN ?2 AND ?3 ORDER BY e.rel, e.dst");
    OutHead = out!(head_cols!());
    OutFull = out!(full_cols!());
    OutAll = concat!(edge_cols!(), " FROM outgoing_edge e WHERE e.src = ?1 ORDER BY e.rel, e.dst");
    ListOut = "SELECT dst FROM outgoing_edge WHERE src = ?1 LIMIT ?2";
    ScanOutEdge = scan_out!("");
    ScanOutHead = scan_out!(head_cols!());
    ScanOutFull = scan_out!(full_cols!());
    ScanInEdge = scan_in!("");
    ScanInHead = scan_in!(head_cols!());
    ScanInFull = scan_in!(full_cols!());
    // All sources, live or not: their nodes are cached, and the cache knows which are live. A comparison of rank and source
    // together would be made again for each row.
    ScanInAll = "SELECT e.src, e.rank, e.seq, e.aux FROM edge e WHERE e.dst = ?1 AND e.rel = ?2 \
        AND e.rank >= ?3 ORDER BY e.rank, e.src LIMIT ?4";
    ScanInRank = "SELECT e.src, e.rank, e.seq, e.aux FROM edge e WHERE e.dst = ?1 AND e.rel = ?2 \
        AND e.rank = ?3 AND e.src > ?4 ORDER BY e.src LIMIT ?5";
    ListIn = "SELECT src FROM edge WHERE dst = ?1 AND rel = ?2 LIMIT ?3";
    ScanInOut = scan_in!(full_cols!(), ", n.edges");
    ScanHomeEdge = scan_home!("");
    ScanHomeHead = scan_home!(head_cols!());
    ScanHomeFull = scan_home!(full_cols!());
    ScanHomeTasksEdge = scan_home_tasks!("");
    ScanHomeTasksHead = scan_home_tasks!(head_cols!());
    ScanHomeTasksFull = scan_home_tasks!(full_cols!());
    Linked = concat!(edge_cols!(), " FROM outgoing_edge e WHERE e.src = ?1 AND e.rel = ?2 AND e.dst = ?3");
    BeforeIn = concat!(
        edge_cols!(), " FROM edge e WHERE e.dst = ?1 AND e.rel = ?2 AND (e.rank, e.src) < (?3, ?4)",
        " ORDER BY e.rank DESC, e.src DESC LIMIT 1"
    );
    CountIn = "SELECT count(*) FROM edge e CROSS JOIN node n ON n.gid = e.src \
        WHERE e.dst = ?1 AND e.rel = ?2 AND n.gone IS NULL";
    Events = "SELECT seq, at, actor, facts, nodes FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    Feed = "SELECT seq, at, actor, facts, nodes FROM journal \
        WHERE seq > ?1 AND seq <= ?2 AND instr(nodes, ?3) > 0 ORDER BY seq LIMIT ?4";
    Hooks = concat!(hook_cols!(), " WHERE id >= 0 ORDER BY id");
    Hook = concat!(hook_cols!(), " WHERE id = ?1");
    HooksOf = concat!(
        hook_cols!(), " WHERE user = ?1 AND app IS ?2 AND workspace = ?3 AND id > ?4",
        " AND (?5 IS NULL OR resource = ?5) ORDER BY id LIMIT ?6"
    );
    HookPermission = "SELECT h.app, h.workspace, coalesce(a.disabled, TRUE), h.user FROM hook h \
        LEFT JOIN account a ON a.user = h.user WHERE h.id = ?1";
    CountHooksOn = "SELECT count(*) FROM hook WHERE resource = ?1";
    CountHooksOf = "SELECT count(*) FROM hook WHERE user = ?1 AND app IS ?2";
    InsertHook = "INSERT INTO hook (id, user, app, service, workspace, resource, kind, target, secret, filters, \
        created_at, seq, last_success_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    SetFilters = "UPDATE hook SET filters = ?2 WHERE id = ?1";
    DropHook = "DELETE FROM hook WHERE id = ?1";
    DropHooksOf = "DELETE FROM hook WHERE user = ?1 AND app = ?2";
    DropHooksOfUser = "DELETE FROM hook WHERE user = ?1";
    SettleHook = "UPDATE hook SET seq = ?2, facts = ?3, last_success_at = ?4, last_failure_at = ?5, \
        last_failure = ?6, retries = ?7, next_attempt_at = ?8, failing_since = ?9 \
        WHERE id = ?1 AND retries = ?10 AND (seq, facts) <= (?2, ?3)";
    DropFailingHook = "DELETE FROM hook WHERE id = ?1 AND retries = ?2 AND (seq, facts) <= (?3, ?4)";
    HookExists = "SELECT 1 FROM hook WHERE id = ?1";
    AdvanceHook = "UPDATE hook SET seq = ?2, facts = 0 WHERE id = ?1 AND seq < ?2";
    InsertDelivery = "INSERT INTO delivery (hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, \
        status, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    Deliveries = "SELECT id, hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, status, error \
        FROM delivery WHERE hook = ?1 AND EXISTS (SELECT 1 FROM hook h WHERE h.id = ?1) ORDER BY id DESC LIMIT ?2";
    SweepDeliveries = "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE at < ?1 LIMIT ?2)";
    FirstSeq = "SELECT min(seq) FROM journal";
    OldestCommits = "SELECT seq, at FROM journal WHERE seq <= ?1 ORDER BY seq LIMIT ?2";
    Prune = "DELETE FROM journal WHERE seq <= ?1";

    AuditHome = audit!("audit_home", "", "", "", "");
    AuditKind = audit!("audit_kind", " AND kind = ?4", " AND (?5 IS NULL OR actor_type = ?5)", "", "");
    AuditActorType = audit!("audit_actor_type", "", " AND actor_type = ?5", "", "");
    AuditActor = audit!("audit_actor", " AND (?4 IS NULL OR kind = ?4)", " AND (?5 IS NULL OR actor_type = ?5)",
        " AND actor = ?6", "");
    AuditResource = audit!("audit_resource", " AND (?4 IS NULL OR kind = ?4)",
        " AND (?5 IS NULL OR actor_type = ?5)", " AND (?6 IS NULL OR actor = ?6)", " AND resource = ?7");
    // The first row at or after an instant; rows are in order of time.
    AuditSince = "SELECT gid FROM audit WHERE home = ?1 AND at >= ?2 ORDER BY at, gid LIMIT 1";
    AuditLast = "SELECT gid, at, seq, digest FROM audit WHERE gid > 0 ORDER BY gid DESC LIMIT 1";
    AuditFirst = "SELECT min(seq) FROM audit";
    AuditBefore = "SELECT seq, digest FROM audit WHERE gid < ?1 ORDER BY gid DESC LIMIT 1";
    AuditAt = "SELECT seq, digest FROM audit WHERE seq = ?1";
    AuditRows = "SELECT gid, at, home, kind, actor_type, actor, resource, body, seq, digest FROM audit \
        WHERE seq > ?1 ORDER BY seq";
    InsertAudit = "INSERT INTO audit (gid, at, home, kind, actor_type, actor, resource, body, seq, digest) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    PruneAudit = "DELETE FROM audit WHERE seq <= ?1";
    Checkpoint = "SELECT line FROM checkpoint WHERE id > 0 ORDER BY id DESC LIMIT 1";
    Checkpoints = "SELECT line FROM checkpoint WHERE id > ?1 ORDER BY id";
    InsertCheckpoint = "INSERT INTO checkpoint (seq, line) VALUES (?1, ?2)";
    PruneCheckpoints = "DELETE FROM checkpoint WHERE seq <= ?1";

    // A plain insert is cheaper: a replacement could fail half way, so SQLite copies the pages that it changes.
    NewNode = "INSERT INTO node (gid, kind, home, version, seq, head, body, edges) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    // A trashed node stays trashed when it is written again; `seq` stays that of its creation.
    PutNode = "INSERT INTO node (gid, kind, home, version, seq, head, body, edges) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
        ON CONFLICT (gid) DO UPDATE SET kind = excluded.kind, home = excluded.home, version = excluded.version, \
        head = excluded.head, body = excluded.body, edges = coalesce(excluded.edges, edges)";
    SetEdges = "UPDATE node SET edges = ?2 WHERE gid = ?1";
    TrashNode = "UPDATE node SET gone = ?2 WHERE gid = ?1 AND gone IS NULL RETURNING kind, home";
    NewEdge = "INSERT INTO edge (dst, rel, rank, src, seq, aux) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    SetEdge = "UPDATE edge SET seq = ?5, aux = ?6 WHERE dst = ?1 AND rel = ?2 AND rank = ?3 AND src = ?4";
    DropEdge = "DELETE FROM edge WHERE dst = ?1 AND rel = ?2 AND rank = ?3 AND src = ?4";
    PutOutgoing = "INSERT INTO outgoing_edge (src, rel, dst, rank, seq, aux) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
        ON CONFLICT (src, rel, dst) DO UPDATE SET rank = excluded.rank, seq = excluded.seq, aux = excluded.aux";
    DropOutgoing = "DELETE FROM outgoing_edge WHERE src = ?1 AND rel = ?2 AND dst = ?3";
    DropAllOutgoing = "DELETE FROM outgoing_edge WHERE src = ?1";
    PutAlias = "INSERT INTO alias (key, gid) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET gid = excluded.gid";
    DropAlias = "DELETE FROM alias WHERE key = ?1 AND gid = ?2";
    ScanValues = "SELECT v.key, v.node FROM value v CROSS JOIN node n ON n.gid = v.node \
        WHERE v.field = ?1 AND (v.key, v.node) > (?2, ?3) AND v.key <= ?4 AND n.gone IS NULL \
        ORDER BY v.key, v.node LIMIT ?5";
    KeysOf = "SELECT key FROM value WHERE node = ?1 AND field = ?2 ORDER BY key";
    DropValues = "DELETE FROM value WHERE node = ?1 AND field = ?2";
    PutValue = "INSERT INTO value (field, key, node) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    Card = concat!("SELECT ", card_cols!(), " FROM card WHERE home = ?1 AND kind = ?2 AND gid = ?3");
    // The value of this column is the gid.
    UpGid = concat!("SELECT ", card_cols!(), " FROM card WHERE home = ?1 AND kind = ?2 \
        AND gid > max(?3, ?4) AND gid <= ?5 ORDER BY gid LIMIT ?6");
    DownGid = concat!("SELECT ", card_cols!(), " FROM card WHERE home = ?1 AND kind = ?2 \
        AND gid < min(?3, ?4) AND gid >= ?5 ORDER BY gid DESC LIMIT ?6");
    UpCreated = scan_cards!("created", "");
    DownCreated = scan_cards!("created", "", down);
    UpModified = scan_cards!("modified", " AND shape = ?7");
    DownModified = scan_cards!("modified", " AND shape = ?7", down);
    Shapes = "SELECT shape FROM card WHERE home = ?1 AND kind = ?2 AND shape > ?3 ORDER BY shape LIMIT 1";
    UpCompleted = scan_cards!("completed", " AND completed IS NOT NULL");
    DownCompleted = scan_cards!("completed", " AND completed IS NOT NULL", down);
    UpDue = scan_cards!("due", " AND due IS NOT NULL");
    DownDue = scan_cards!("due", " AND due IS NOT NULL", down);
    UpLikes = scan_cards!("likes", " AND likes > 0");
    DownLikes = scan_cards!("likes", " AND likes > 0", down);
    UpAssigner = scan_cards!("assigner", " AND assigner IS NOT NULL");
    DownAssigner = scan_cards!("assigner", " AND assigner IS NOT NULL", down);
    ListGid = list_cards!("gid");
    ListCreated = list_cards!("created");
    ListCompleted = list_cards!("completed");
    ListDue = list_cards!("due");
    ListLikes = list_cards!("likes", "(likes, gid) > (?3, -1) AND likes <= ?4 AND likes > 0");
    ListStart = list_cards!("start");
    ListWho = list_cards!("who");
    ListCreator = list_cards!("creator");
    ListAssigner = list_cards!("assigner");
    ListSubtype = list_cards!("subtype", "(subtype, gid) > (?3, -1) AND subtype <= ?4 AND subtype > 0");
    ListSub = list_cards!("sub");
    ListWaits = list_cards!("waits");
    ListBlocks = list_cards!("blocks");
    ListShape = "SELECT gid, modified FROM card WHERE home = ?1 AND kind = ?2 AND shape = ?3 \
        AND modified BETWEEN ?4 AND ?5 ORDER BY modified DESC LIMIT ?6";
    ListOf = "SELECT gid, due, modified FROM card WHERE home = ?1 AND kind = ?2 AND who = ?3 AND done = ?4 \
        LIMIT ?5";
    ListOfDue = "SELECT gid, due, modified FROM card WHERE home = ?1 AND kind = ?2 AND who = ?3 AND done = ?4 \
        AND due BETWEEN ?5 AND ?6 LIMIT ?7";
    UpWords = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid > ?2 ORDER BY rowid LIMIT ?3";
    DownWords = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3";
    // The words with a prefix form a range, which is read word by word.
    ListStarts = "SELECT doc, col = 'name' FROM word WHERE term >= ?1 AND term <= ?2 LIMIT ?3";
    CardModified = "SELECT modified FROM card WHERE home = ?1 AND kind = ?2 AND gid = ?3";
    CardShape = "SELECT shape FROM card WHERE home = ?1 AND kind = ?2 AND gid = ?3";
    CardSum = "SELECT sum FROM card WHERE home = ?1 AND kind = ?2 AND gid = ?3";
    // Most index entries are new, and a plain insert is cheaper: a replacement could fail half way, so SQLite copies the
    // pages that it changes.
    NewCard = concat!("INSERT", into_card!());
    PutCard = concat!("INSERT OR REPLACE", into_card!());
    DropCard = "DELETE FROM card WHERE home = ?1 AND kind = ?2 AND gid = ?3";
    PutWords = "INSERT INTO words (rowid, name, notes) VALUES (?1, ?2, ?3)";
    DropWords = "DELETE FROM words WHERE rowid = ?1";
    Append = "INSERT INTO journal (seq, at, actor, facts, nodes) VALUES (?1, ?2, ?3, ?4, ?5)";
    LastCommitTime = "SELECT at FROM journal WHERE seq = (SELECT max(seq) FROM journal)";
    MaxNode = "SELECT max(gid) FROM node";
    MaxToken = "SELECT max(id) FROM token";
    MaxApp = "SELECT max(id) FROM app";
    MaxGrant = "SELECT max(id) FROM authorization";
    MaxHook = "SELECT max(id) FROM hook";
    GetMeta = "SELECT value FROM meta WHERE key = ?1";
    PutMeta = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

    TokenByDigest = token_account!(" WHERE t.digest = ?1");
    TokenById = token_account!(" WHERE t.id = ?1");
    TokensOfUser = token!("", "", " WHERE t.user = ?1 ORDER BY t.id");
    InsertToken = "INSERT INTO token (id, digest, kind, user, app, authorization, workspace, scopes, description, \
        created_at, expires_at, revoked_at, last_used_at, refresh) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    // Without its token context.
    StoredToken = concat!("SELECT ", token_cols!("t"), " FROM token t WHERE t.id = ?1");
    LiveTokensOf = concat!("SELECT ", token_cols!("t"), " FROM token t WHERE t.user = ?1 AND t.revoked_at IS NULL ORDER BY t.id");
    RevokeTokensOf = "UPDATE token SET revoked_at = ?2 WHERE user = ?1 AND revoked_at IS NULL";
    RevokeToken = "UPDATE token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
    TouchToken = "UPDATE token SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at < ?2, TRUE)";
    Account = "SELECT tier, disabled FROM account WHERE user = ?1";
    PutAccount = "INSERT INTO account (user, tier, disabled) VALUES (?1, ?2, ?3) \
        ON CONFLICT (user) DO UPDATE SET tier = excluded.tier, disabled = excluded.disabled";
    SetTier = "INSERT INTO account (user, tier, disabled) VALUES (?1, ?2, FALSE) \
        ON CONFLICT (user) DO UPDATE SET tier = excluded.tier WHERE tier <> excluded.tier";
    LoginOwner = "SELECT user FROM login WHERE email = ?1";
    Login = "SELECT a.user, a.tier, a.disabled, l.hash FROM login l CROSS JOIN account a ON a.user = l.user WHERE l.email = ?1";
    LoginOf = "SELECT email, hash FROM login WHERE user = ?1";
    PutPasswordHash = "UPDATE login SET hash = ?2 WHERE user = ?1";
    PutLogin = "INSERT INTO login (user, email, hash) VALUES (?1, ?2, ?3) \
        ON CONFLICT (user) DO UPDATE SET email = excluded.email, hash = excluded.hash";

    App = concat!("SELECT ", app_cols!(), " FROM app p WHERE p.id = ?1");
    AppName = "SELECT name FROM app WHERE id = ?1";
    Apps = concat!("SELECT ", app_cols!(), " FROM app p WHERE p.id >= 0 ORDER BY p.id");
    AppsOfOwner = concat!("SELECT ", app_cols!(), " FROM app p WHERE p.owner = ?1 ORDER BY p.id");
    InsertApp = "INSERT INTO app (id, name, secret, redirects, scopes, distribution, disabled_in, owner, created_at, \
        disabled_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    ReplaceApp = "UPDATE app SET name = ?2, secret = ?3, redirects = ?4, scopes = ?5, distribution = ?6, \
        disabled_in = ?7, owner = ?8, created_at = ?9, disabled_at = ?10 WHERE id = ?1";
    LiveAuthorization = concat!("SELECT ", grant_cols!(), " FROM authorization g WHERE g.user = ?1 AND g.app = ?2 AND g.revoked_at IS NULL");
    // With the name of its app.
    AuthorizationById = concat!("SELECT ", grant_cols!(), ", p.name FROM authorization g LEFT JOIN app p ON p.id = g.app WHERE g.id = ?1");
    AuthorizationsOf = concat!("SELECT ", grant_cols!(), " FROM authorization g WHERE g.user = ?1 AND g.revoked_at IS NULL ORDER BY g.id");
    AuthorizedAppsOf = "SELECT p.name FROM authorization g LEFT JOIN app p ON p.id = g.app WHERE g.user = ?1 AND g.revoked_at IS NULL ORDER BY g.id";
    SetScopes = "UPDATE authorization SET scopes = ?2 WHERE id = ?1";
    InsertAuthorization = "INSERT INTO authorization (id, user, app, scopes, created_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    WithdrawAuthorization = "UPDATE authorization SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
    WithdrawAuthorizationsOf = "UPDATE authorization SET revoked_at = ?2 WHERE user = ?1 AND revoked_at IS NULL";
    // Finds a row if a refresh token of this user and app is live.
    LiveRefreshToken = "SELECT 1 FROM token t CROSS JOIN authorization g ON g.id = t.authorization WHERE t.user = ?1 \
        AND t.app = ?2 AND t.kind = 'refresh' AND t.revoked_at IS NULL AND g.revoked_at IS NULL LIMIT 1";
    InsertTicket = "INSERT INTO ticket (digest, at) VALUES (?1, ?2)";
    Code = concat!("SELECT ", code_cols!(), " FROM code WHERE digest = ?1");
    // A code with its authorization, its app and the account of its user, live or not.
    CodeContext = concat!("SELECT c.*, ", grant_cols!(), ", ", app_cols!(), ", a.tier, a.disabled \
        FROM (SELECT ", code_cols!(), " FROM code WHERE digest = ?1) c \
        LEFT JOIN authorization g ON g.id = c.authorization LEFT JOIN app p ON p.id = c.app LEFT JOIN account a ON a.user = c.user");
    InsertCode = concat!("INSERT INTO code (", code_cols!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)");
    SpendCode = "UPDATE code SET used_at = ?2, refresh = ?3 WHERE digest = ?1";
    InsertSession = "INSERT INTO session (digest, user, created_at, expires_at, used_at, address) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    SessionsOfUser = concat!("SELECT ", session_cols!(), " FROM session s WHERE s.user = ?1");
    TouchSession = "UPDATE session SET used_at = ?2, address = ?3 \
        WHERE digest = ?1 AND coalesce(used_at, created_at) <= ?2";
    BrowserSession = concat!("SELECT ", session_cols!(), ", a.tier, a.disabled \
        FROM session s CROSS JOIN account a ON a.user = s.user WHERE s.digest = ?1");
    DeleteSession = "DELETE FROM session WHERE digest = ?1";
    DeleteSessionsOf = "DELETE FROM session WHERE user = ?1 AND digest IS NOT ?2";
    LoginAttemptsOf = "SELECT count, last_at FROM strikes WHERE key = ?1";
    PutLoginAttempts = "INSERT INTO strikes (key, count, last_at) VALUES (?1, ?2, ?3) \
        ON CONFLICT (key) DO UPDATE SET count = excluded.count, last_at = excluded.last_at";
    DeleteLoginAttempts = "DELETE FROM strikes WHERE key = ?1";
    // Deletes a limited number of rows at once, so that other writes do not wait long for the writer.
    SweepTokens = "DELETE FROM token WHERE id IN \
        (SELECT id FROM token WHERE kind = 'access' AND expires_at < ?1 LIMIT ?2)";
    SweepCodes = "DELETE FROM code WHERE digest IN (SELECT digest FROM code WHERE expires_at < ?1 LIMIT ?2)";
    SweepSessions = "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE expires_at < ?1 LIMIT ?2)";
    SweepTickets = "DELETE FROM ticket WHERE digest IN (SELECT digest FROM ticket WHERE at < ?1 LIMIT ?2)";
    SweepLoginAttempts = "DELETE FROM strikes WHERE key IN (SELECT key FROM strikes WHERE last_at < ?1 LIMIT ?2)";
}

#[cfg(test)]
mod tests;
