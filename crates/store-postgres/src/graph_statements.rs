//! Statements of the graph. Each is prepared once per connection.

/// Columns selected for an edge.
macro_rules! edge_columns {
    () => {
        "SELECT e.src, e.rel, e.dst, e.rank, e.seq, e.aux"
    };
}
/// Columns selected for a node, by depth: `kind, home, head, version, body`.
macro_rules! node_columns {
    (edge) => {
        ""
    };
    (head) => {
        ", n.kind, n.home, n.head"
    };
    (full) => {
        ", n.kind, n.home, n.head, n.version, n.body"
    };
}
/// Statements for each depth: the edge alone, with the head of the node, and with the whole node.
macro_rules! by_depth {
    ($macro:ident) => {
        [$macro!(edge), $macro!(head), $macro!(full)]
    };
}
macro_rules! node {
    ($depth:ident) => {
        concat!(
            "SELECT 0::bigint",
            node_columns!($depth),
            " FROM node n WHERE n.gid = $1 AND n.gone IS NULL"
        )
    };
}
macro_rules! nodes {
    ($depth:ident) => {
        concat!(
            "SELECT n.gid",
            node_columns!($depth),
            " FROM node n WHERE n.gid = ANY ($1::bigint[]) AND n.gone IS NULL"
        )
    };
}
macro_rules! edges_out {
    ($depth:ident) => {
        concat!(
            edge_columns!(),
            node_columns!($depth),
            " FROM edge e JOIN node n ON n.gid = e.dst",
            " WHERE e.src = $1 AND e.rel BETWEEN $2 AND $3 AND n.gone IS NULL ORDER BY e.rel, e.dst"
        )
    };
}
macro_rules! edges_out_of_many {
    ($depth:ident) => {
        concat!(
            edge_columns!(),
            node_columns!($depth),
            " FROM edge e JOIN node n ON n.gid = e.dst WHERE e.src = ANY ($1::bigint[])",
            " AND e.rel BETWEEN $2 AND $3 AND n.gone IS NULL ORDER BY e.src, e.rel, e.dst"
        )
    };
}
macro_rules! scan_out {
    ($depth:ident) => {
        concat!(
            edge_columns!(), node_columns!($depth),
            " FROM edge e JOIN node n ON n.gid = e.dst",
            " WHERE e.src = $1 AND e.rel = $2 AND e.dst > $3 AND n.gone IS NULL ORDER BY e.dst LIMIT $4"
        )
    };
}
macro_rules! scan_in {
    ($depth:ident) => {
        concat!(
            edge_columns!(),
            node_columns!($depth),
            " FROM edge e JOIN node n ON n.gid = e.src",
            " WHERE e.dst = $1 AND e.rel = $2 AND (e.rank, e.src) > ($3, $4) AND n.gone IS NULL",
            " ORDER BY e.rank, e.src LIMIT $5"
        )
    };
}
macro_rules! scan_in_of_many {
    ($depth:ident) => {
        concat!(
            "SELECT x.*, r.place FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[])",
            " WITH ORDINALITY r (dst, rel, rank, src, most, place) CROSS JOIN LATERAL (",
            edge_columns!(),
            node_columns!($depth),
            " FROM edge e JOIN node n ON n.gid = e.src",
            " WHERE e.dst = r.dst AND e.rel = r.rel AND (e.rank, e.src) > (r.rank, r.src) AND n.gone IS NULL",
            " ORDER BY e.rank, e.src LIMIT r.most) x ORDER BY r.place, x.rank, x.src"
        )
    };
}
macro_rules! scan_workspace {
    ($depth:ident) => {
        concat!(
            "SELECT n.gid, n.seq",
            node_columns!($depth),
            " FROM node n WHERE n.home = $1 AND n.kind = $2 AND n.gid > $3",
            // The terms of the partial index, so that it is used.
            " AND n.gone IS NULL AND n.kind <> 9 AND n.kind <> 12 ORDER BY n.gid LIMIT $4"
        )
    };
}
// Most nodes are tasks, so tasks have no separate index for this: their index entries are already in this order.
macro_rules! scan_workspace_tasks {
    ($depth:ident) => {
        concat!(
            "SELECT n.gid, n.seq",
            node_columns!($depth),
            " FROM card c JOIN node n ON n.gid = c.gid",
            " WHERE c.home = $1 AND c.kind = $2 AND c.gid > $3 AND n.gone IS NULL",
            " ORDER BY c.gid LIMIT $4"
        )
    };
}

pub(crate) const LAST_SEQ: &str = "SELECT seq FROM store_state";
pub(crate) const ALIAS: &str =
    "SELECT n.gid FROM alias a JOIN node n ON n.gid = a.gid WHERE a.key = $1 AND n.gone IS NULL";
pub(crate) const NODE: [&str; 3] = by_depth!(node);
const NODES: [&str; 3] = by_depth!(nodes);
/// Edges only: their targets need not be live.
pub(crate) const EDGES_OUT_ALL: &str = concat!(
    edge_columns!(),
    " FROM edge e WHERE e.src = $1 AND e.rel BETWEEN $2 AND $3 ORDER BY e.rel, e.dst"
);
const EDGES_OUT_ALL_OF_MANY: &str = concat!(
    edge_columns!(),
    " FROM edge e WHERE e.src = ANY ($1::bigint[]) AND e.rel BETWEEN $2 AND $3 ORDER BY e.src, e.rel, e.dst"
);
pub(crate) const EDGES_OUT: [&str; 3] = by_depth!(edges_out);
const EDGES_OUT_OF_MANY: [&str; 3] = by_depth!(edges_out_of_many);
pub(crate) const SCAN_OUT: [&str; 3] = by_depth!(scan_out);
pub(crate) const SCAN_IN: [&str; 3] = by_depth!(scan_in);
const SCAN_IN_OF_MANY: [&str; 3] = by_depth!(scan_in_of_many);
pub(crate) const LIST_IN: &str = "SELECT src FROM edge WHERE dst = $1 AND rel = $2 LIMIT $3";
/// Edges from the rows of `SCAN_IN`, which is sent along with it, in the order of the rows.
pub(crate) const OUT_OF_IN: &str = concat!(
    "SELECT r.src, o.rel, o.dst, o.rank, o.seq, o.aux FROM (",
    "SELECT e.src, e.rank FROM edge e JOIN node n ON n.gid = e.src",
    " WHERE e.dst = $1 AND e.rel = $2 AND (e.rank, e.src) > ($3, $4) AND n.gone IS NULL",
    " ORDER BY e.rank, e.src LIMIT $5) r JOIN edge o ON o.src = r.src AND o.rel BETWEEN $6 AND $7",
    " ORDER BY r.rank, r.src, o.rel, o.dst"
);
pub(crate) const EDGE_BETWEEN: &str = concat!(
    edge_columns!(),
    " FROM edge e WHERE e.src = $1 AND e.rel = $2 AND e.dst = $3"
);
pub(crate) const LAST_EDGE_BEFORE: &str = concat!(
    edge_columns!(),
    " FROM edge e WHERE e.dst = $1 AND e.rel = $2 AND (e.rank, e.src) < ($3, $4)",
    " ORDER BY e.rank DESC, e.src DESC LIMIT 1"
);
pub(crate) const COUNT_IN: &str = "SELECT count(*) FROM edge e JOIN node n ON n.gid = e.src \
    WHERE e.dst = $1 AND e.rel = $2 AND n.gone IS NULL";
pub(crate) const SCAN_WORKSPACE: [&str; 3] = by_depth!(scan_workspace);
pub(crate) const SCAN_WORKSPACE_TASKS: [&str; 3] = by_depth!(scan_workspace_tasks);

/// Values by their keys. The few keys that are longer than an index allows are read and compared separately.
pub(crate) const SCAN_VALUES: &str = "SELECT u.key, u.tail, u.node FROM ((\
    SELECT v.key, v.tail, v.node FROM value v JOIN node n ON n.gid = v.node \
    WHERE v.field = $1 AND v.tail IS NULL AND (v.key, v.node) > ($2, $3) AND v.key <= $4 AND n.gone IS NULL \
    ORDER BY v.key, v.node LIMIT $5) UNION ALL (\
    SELECT v.key, v.tail, v.node FROM value v JOIN node n ON n.gid = v.node \
    WHERE v.field = $1 AND v.tail IS NOT NULL AND v.key >= $6 AND v.key <= $7 \
    AND (v.key || v.tail, v.node) > ($2, $3) AND v.key || v.tail <= $4 AND n.gone IS NULL \
    ORDER BY v.key || v.tail, v.node LIMIT $5)) u ORDER BY u.key || coalesce(u.tail, ''), u.node LIMIT $5";
pub(crate) const KEYS_OF: &str =
    "SELECT key, tail FROM value WHERE node = $1 AND field = $2 ORDER BY key, tail NULLS FIRST";
pub(crate) const DROP_VALUES: &str = "DELETE FROM value WHERE node = $1 AND field = $2";
pub(crate) const PUT_VALUES: &str = "INSERT INTO value (field, key, tail, node) \
    SELECT $1, unnest($3::bytea[]), unnest($4::bytea[]), $2";

// Arrays are unnested in the list of columns, which produces rows one by one; `FROM unnest(...)` first stores the values of each
// array. All arrays of a statement have the same length.
macro_rules! put_nodes {
    () => {
        "INSERT INTO node (gid, kind, home, version, seq, head, body) SELECT unnest($1::bigint[]), \
        unnest($2::smallint[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::text[]), \
        unnest($7::text[])"
    };
}
macro_rules! put_edges {
    () => {
        "INSERT INTO edge (src, rel, dst, rank, seq, aux) SELECT unnest($1::bigint[]), unnest($2::smallint[]), \
        unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[])"
    };
}
pub(crate) const PUT_NEW_NODES: &str = put_nodes!();
/// A trashed node stays trashed when it is written again; `seq` stays that of its creation.
pub(crate) const PUT_NODES: &str = concat!(
    put_nodes!(),
    " ON CONFLICT (gid) DO UPDATE SET kind = excluded.kind, home = excluded.home, version = excluded.version, \
    head = excluded.head, body = excluded.body"
);
/// Trashes a node, and removes its index entry and its words.
pub(crate) const TRASH_NODE: &str = "WITH gone AS (UPDATE node SET gone = $2 WHERE gid = $1 AND gone IS NULL RETURNING gid, kind, home), \
    entry AS (DELETE FROM card c USING gone g \
        WHERE c.home = coalesce(g.home, 0) AND c.kind = g.kind AND c.gid = g.gid) \
    DELETE FROM word w USING gone g WHERE w.home = coalesce(g.home, 0) AND w.kind = g.kind AND w.gid = g.gid";
pub(crate) const PUT_NEW_EDGES: &str = put_edges!();
pub(crate) const PUT_EDGES: &str = concat!(
    put_edges!(),
    " ON CONFLICT (src, rel, dst) DO UPDATE SET rank = excluded.rank, seq = excluded.seq, aux = excluded.aux"
);
pub(crate) const DROP_EDGE: &str = "DELETE FROM edge WHERE src = $1 AND rel = $2 AND dst = $3";
/// Changes no row if another live node has the alias; a trashed node loses its aliases.
pub(crate) const PUT_ALIAS: &str = "INSERT INTO alias (key, gid, text) VALUES ($1, $2, $3) \
    ON CONFLICT (key) DO UPDATE SET gid = excluded.gid WHERE alias.gid = excluded.gid \
    OR NOT EXISTS (SELECT 1 FROM node n WHERE n.gid = alias.gid AND n.gone IS NULL)";
/// Violates a constraint if another live node has the alias.
pub(crate) const PUT_FREE_ALIAS: &str = "INSERT INTO alias (key, gid, text) VALUES ($1, $2, $3) \
    ON CONFLICT (key) DO UPDATE SET gid = CASE WHEN alias.gid = excluded.gid \
    OR NOT EXISTS (SELECT 1 FROM node n WHERE n.gid = alias.gid AND n.gone IS NULL) THEN excluded.gid END";
pub(crate) const DROP_ALIAS: &str = "DELETE FROM alias WHERE key = $1 AND gid = $2";

/// Appends the entries of commits that are made together; the last entry gets the keys that all of them touch. An entry is
/// never dated before the previous commit, which may come from another node whose clock is ahead, unless the clock was set
/// back by more than a minute.
pub(crate) const APPEND: &str = "INSERT INTO journal (seq, at, actor, facts, nodes, touched) \
    SELECT j.seq, CASE WHEN j.at + 60000 < last.at THEN j.at ELSE greatest(j.at, last.at) END, j.actor, j.facts, j.nodes, CASE WHEN j.seq = $6 THEN $7::bigint[] ELSE '{}' END FROM (SELECT unnest($1::bigint[]) AS seq, \
    unnest($2::bigint[]) AS at, unnest($3::bigint[]) AS actor, unnest($4::text[]) AS facts, unnest($5::text[]) AS nodes) j \
    LEFT JOIN (SELECT at FROM journal ORDER BY seq DESC LIMIT 1) last ON true";
pub(crate) const LAST_COMMIT_TIME: &str =
    "SELECT coalesce((SELECT at FROM journal ORDER BY seq DESC LIMIT 1), 0)";
pub(crate) const EVENTS: &str =
    "SELECT seq, at, actor, facts, nodes FROM journal WHERE seq > $1 ORDER BY seq LIMIT $2";
pub(crate) const EVENT_BOUNDS: &str = "SELECT seq, pruned FROM store_state";
pub(crate) const EVENTS_ABOUT: &str = "SELECT seq, at, actor, facts, nodes FROM journal \
    WHERE seq > $1 AND seq <= $2 AND strpos(nodes, $3) > 0 ORDER BY seq LIMIT $4";
pub(crate) const OLDEST_COMMITS: &str =
    "SELECT seq, at FROM journal WHERE seq <= $1 ORDER BY seq LIMIT $2";
pub(crate) const PRUNE: &str = "DELETE FROM journal WHERE seq <= $1";
pub(crate) const SET_PRUNED: &str = "UPDATE store_state SET pruned = $1";
pub(crate) const MAX_GID: &str =
    "SELECT greatest((SELECT max(gid) FROM node), (SELECT floor FROM store_state))";
pub(crate) const APP_NAME: &str = "SELECT name FROM app WHERE id = $1";

/// Statement that makes several reads of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum OfMany {
    /// The first parameter is an array of gids, and the first column is the gid that a row belongs to.
    Gids(&'static str),
    /// Each parameter is an array, and the last column is the position in it, from 1, that a row belongs to.
    Places(&'static str),
}

/// Returns the statement that makes several reads of this kind, if there is one. The rows of each read are in the order of
/// that read.
pub(crate) fn of_many(sql: &str) -> Option<OfMany> {
    let pairs = |one: [&'static str; 3], many: [&'static str; 3]| one.into_iter().zip(many);
    let mut by_gid = pairs(NODE, NODES)
        .chain(pairs(EDGES_OUT, EDGES_OUT_OF_MANY))
        .chain([(EDGES_OUT_ALL, EDGES_OUT_ALL_OF_MANY)]);
    if let Some((_, many)) = by_gid.find(|(one, _)| *one == sql) {
        return Some(OfMany::Gids(many));
    }
    let (_, many) = pairs(SCAN_IN, SCAN_IN_OF_MANY).find(|(one, _)| *one == sql)?;
    Some(OfMany::Places(many))
}
