-- Nodes that share the store: their numbers, leases on work that one of them does at a time, and values they share.
-- All times are of this server's clock.

-- A node that gives gids has a number, leased until `until`. Its gids are before the millisecond `mint_end`, where the
-- next holder of the number begins; `mint_start` is where this one began.
CREATE TABLE member (
    number smallint PRIMARY KEY CHECK (number BETWEEN 0 AND 30), incarnation text COLLATE "C" NOT NULL,
    until timestamptz NOT NULL, mint_start bigint NOT NULL, mint_end bigint NOT NULL,
    schema_min integer NOT NULL, schema_max integer NOT NULL, seen timestamptz NOT NULL
);

-- `epoch` grows whenever another node takes the lease.
CREATE TABLE work_lease (
    work text COLLATE "C" PRIMARY KEY, holder text COLLATE "C" NOT NULL, epoch bigint NOT NULL,
    until timestamptz NOT NULL
);

-- Keys and settings of all nodes. `content` is sealed with a key that is not in this database.
CREATE TABLE shared_value (
    name text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, content text COLLATE "C" NOT NULL
);
