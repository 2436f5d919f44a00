-- The graph, its journal, the index entries and words of search, and the audit log.
--
-- Times are milliseconds since 1970, gids and sequence numbers are bigint. Texts compare by their bytes.

-- One row. A transaction that writes locks it until its commit is durable, so that the order of sequence numbers is the
-- order of commits. `floor` is the highest gid of an auxiliary node, since some of them have no row of their own.
CREATE TABLE store_state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    seq bigint NOT NULL DEFAULT 0, pruned bigint NOT NULL DEFAULT 0, floor bigint NOT NULL DEFAULT 0,
    audit_seq bigint NOT NULL DEFAULT 0, audit_gid bigint NOT NULL DEFAULT 0, audit_at bigint NOT NULL DEFAULT 0,
    audit_digest bytea NOT NULL DEFAULT ''
) WITH (fillfactor = 50);
INSERT INTO store_state DEFAULT VALUES;

-- Transactions that write, by the random id of each: tells whether one was committed whose connection broke.
CREATE TABLE write_attempt (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX write_attempt_at ON write_attempt (at);

-- `seq` is the commit that created the node, `gone` the one that trashed it.
CREATE TABLE node (
    gid bigint PRIMARY KEY, kind smallint NOT NULL, home bigint, version bigint NOT NULL,
    seq bigint NOT NULL, gone bigint, head text COLLATE "C" NOT NULL, body text COLLATE "C" NOT NULL
);
-- Stories and tasks are not listed by it.
CREATE INDEX node_home ON node (home, kind, gid)
    WHERE gone IS NULL AND home IS NOT NULL AND kind <> 9 AND kind <> 12;

CREATE TABLE edge (
    src bigint NOT NULL, rel smallint NOT NULL, dst bigint NOT NULL, rank bigint NOT NULL,
    seq bigint NOT NULL, aux bigint, PRIMARY KEY (src, rel, dst)
);
CREATE INDEX edge_in ON edge (dst, rel, rank, src) INCLUDE (aux, seq);

-- A key that is too long for an index is stored by its digest, with the text beside it.
CREATE TABLE alias (key text COLLATE "C" PRIMARY KEY, gid bigint NOT NULL, text text COLLATE "C");

-- Values of custom fields, in the order of their bytes. The part of a key that is too long for an index is in `tail`.
CREATE TABLE value (field bigint NOT NULL, key bytea NOT NULL, node bigint NOT NULL, tail bytea);
CREATE INDEX value_short ON value (field, key, node) WHERE tail IS NULL;
CREATE INDEX value_long ON value (field, key) WHERE tail IS NOT NULL;
CREATE INDEX value_of ON value (node, field);

-- Index entries; `home` is 0 for nodes in no workspace.
CREATE TABLE card (
    home bigint NOT NULL, kind smallint NOT NULL, gid bigint NOT NULL, created bigint NOT NULL,
    modified bigint NOT NULL, completed bigint, due bigint, start bigint, who bigint, creator bigint,
    assigner bigint, subtype smallint NOT NULL, flags smallint NOT NULL, likes bigint NOT NULL,
    sub bigint, waits bigint, blocks bigint, sum bigint NOT NULL, done boolean NOT NULL, shape integer NOT NULL,
    PRIMARY KEY (home, kind, gid)
);
CREATE INDEX card_created ON card (home, kind, created, gid);
CREATE INDEX card_shape ON card (home, kind, shape, modified, gid);
CREATE INDEX card_completed ON card (home, kind, completed, gid) WHERE completed IS NOT NULL;
CREATE INDEX card_due ON card (home, kind, due, gid) WHERE due IS NOT NULL;
CREATE INDEX card_likes ON card (home, kind, likes, gid) WHERE likes > 0;
CREATE INDEX card_start ON card (home, kind, start, gid) WHERE start IS NOT NULL;
CREATE INDEX card_who ON card (home, kind, who, done, due, modified, gid) WHERE who IS NOT NULL;
CREATE INDEX card_creator ON card (home, kind, creator, gid) WHERE creator IS NOT NULL;
CREATE INDEX card_assigner ON card (home, kind, assigner, gid) WHERE assigner IS NOT NULL;
CREATE INDEX card_subtype ON card (home, kind, subtype, gid) WHERE subtype > 0;
CREATE INDEX card_sub ON card (home, kind, sub, gid) WHERE sub IS NOT NULL;
CREATE INDEX card_waits ON card (home, kind, waits, gid) WHERE waits IS NOT NULL;
CREATE INDEX card_blocks ON card (home, kind, blocks, gid) WHERE blocks IS NOT NULL;

-- Words of names (1) and descriptions (2), cut and folded already; `parts` is the sum.
CREATE TABLE word (
    home bigint NOT NULL, kind smallint NOT NULL, gid bigint NOT NULL, term text COLLATE "C" NOT NULL,
    parts smallint NOT NULL, PRIMARY KEY (home, kind, gid, term)
);
CREATE INDEX word_term ON word (home, kind, term, gid) INCLUDE (parts);

-- `touched` are the keys of what the commit touched, and those made durable together with it: the last of them has the
-- keys of all. It is null if they are not known.
CREATE TABLE journal (
    seq bigint PRIMARY KEY, at bigint NOT NULL, actor bigint, facts text COLLATE "C" NOT NULL,
    nodes text COLLATE "C" NOT NULL, touched bigint[]
);

-- `gid` and `at` grow with `seq`, which has no gaps; `digest` chains the rows.
CREATE TABLE audit (
    gid bigint PRIMARY KEY, seq bigint NOT NULL UNIQUE, at bigint NOT NULL, home bigint NOT NULL,
    kind smallint NOT NULL, actor_type smallint NOT NULL, actor bigint, resource bigint NOT NULL,
    body text COLLATE "C" NOT NULL, digest bytea NOT NULL
);
CREATE INDEX audit_home ON audit (home, gid);
CREATE INDEX audit_at ON audit (home, at, gid);
CREATE INDEX audit_kind ON audit (home, kind, gid);
CREATE INDEX audit_actor_type ON audit (home, actor_type, gid);
CREATE INDEX audit_actor ON audit (home, actor, gid) WHERE actor IS NOT NULL;
CREATE INDEX audit_resource ON audit (home, resource, gid);
