-- Accounts, tokens, apps, authorizations, codes and sessions. Times are milliseconds since 1970, digests are 32 bytes.
-- `token.refresh` is the refresh token that an issued token depends on, its own for a refresh token; NULL for a token
-- that depends on none. Lists of numbers are kept with spaces between, redirect URLs one to a line, scopes as they are
-- shown. Rows that change often leave room on their page, so that a change of a column without index stays there.
CREATE TABLE account (
    "user" bigint PRIMARY KEY, tier smallint NOT NULL, disabled boolean NOT NULL
);
CREATE TABLE login (
    "user" bigint PRIMARY KEY, email text COLLATE "C" NOT NULL UNIQUE, hash text COLLATE "C" NOT NULL
);
CREATE TABLE token (
    id bigint PRIMARY KEY, digest bytea NOT NULL UNIQUE, kind text COLLATE "C" NOT NULL, "user" bigint NOT NULL,
    app bigint, "authorization" bigint, workspace bigint, scopes text COLLATE "C" NOT NULL,
    description text COLLATE "C" NOT NULL, created_at bigint NOT NULL, expires_at bigint,
    revoked_at bigint, last_used_at bigint, refresh bigint
) WITH (fillfactor = 80);
CREATE INDEX token_user ON token ("user", id);
CREATE INDEX token_hold ON token ("user", app) WHERE kind = 'refresh' AND revoked_at IS NULL;
CREATE INDEX token_end ON token (expires_at) WHERE kind = 'access';

CREATE TABLE app (
    id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, secret bytea, redirects text COLLATE "C" NOT NULL,
    scopes text COLLATE "C" NOT NULL, distribution text COLLATE "C" NOT NULL, disabled_in text COLLATE "C" NOT NULL,
    owner bigint NOT NULL, created_at bigint NOT NULL, disabled_at bigint
);
CREATE INDEX app_owner ON app (owner, id);

CREATE TABLE "authorization" (
    id bigint PRIMARY KEY, "user" bigint NOT NULL, app bigint NOT NULL, scopes text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL, revoked_at bigint
);
CREATE UNIQUE INDEX authorization_standing ON "authorization" ("user", app) WHERE revoked_at IS NULL;
CREATE INDEX authorization_user ON "authorization" ("user", id) WHERE revoked_at IS NULL;

CREATE TABLE code (
    digest bytea PRIMARY KEY, app bigint NOT NULL, "user" bigint NOT NULL, "authorization" bigint NOT NULL,
    redirect text COLLATE "C" NOT NULL, challenge text COLLATE "C", scopes text COLLATE "C" NOT NULL,
    nonce text COLLATE "C", auth_time bigint NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL,
    used_at bigint, refresh bigint
) WITH (fillfactor = 70);
CREATE INDEX code_end ON code (expires_at);

CREATE TABLE ticket (digest bytea PRIMARY KEY, at bigint NOT NULL);
CREATE INDEX ticket_at ON ticket (at);

CREATE TABLE session (
    digest bytea PRIMARY KEY, "user" bigint NOT NULL, created_at bigint NOT NULL, expires_at bigint NOT NULL,
    used_at bigint, address text COLLATE "C"
) WITH (fillfactor = 80);
CREATE INDEX session_of_user ON session ("user");
CREATE INDEX session_end ON session (expires_at);

CREATE TABLE strikes (
    key bytea PRIMARY KEY, count bigint NOT NULL, last_at bigint NOT NULL
);
CREATE INDEX strikes_last ON strikes (last_at);
