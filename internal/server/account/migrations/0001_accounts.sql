CREATE TABLE users (
	id       TEXT    PRIMARY KEY,
	name     TEXT    NOT NULL UNIQUE,           -- lower case
	password TEXT    NOT NULL DEFAULT '',       -- argon2id with its parameters; empty: logs in with a provider only
	role     TEXT    NOT NULL DEFAULT '',       -- on all clusters
	subject  TEXT    UNIQUE,                    -- issuer and subject of a provider; NULL: a user of this server
	disabled INTEGER NOT NULL DEFAULT 0,
	reset    INTEGER NOT NULL DEFAULT 0,        -- the password was set by someone else
	created  INTEGER NOT NULL,                  -- times are milliseconds since 1970
	seen     INTEGER NOT NULL DEFAULT 0         -- last login
) STRICT;

CREATE TABLE grants (
	user    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	cluster TEXT NOT NULL,
	role    TEXT NOT NULL,
	PRIMARY KEY (user, cluster)
) STRICT;

CREATE TABLE sessions (
	hash    BLOB    PRIMARY KEY,                -- SHA-256 of what is in the cookie
	user    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	created INTEGER NOT NULL,
	seen    INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_user ON sessions (user);

CREATE TABLE tokens (
	id      TEXT    PRIMARY KEY,
	hash    BLOB    NOT NULL UNIQUE,            -- SHA-256 of the token
	user    TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	name    TEXT    NOT NULL,
	role    TEXT    NOT NULL,                   -- never more than the user's
	cluster TEXT    NOT NULL DEFAULT '',        -- empty: all clusters
	created INTEGER NOT NULL,
	ends    INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_user ON tokens (user);

CREATE TABLE setup (
	hash BLOB NOT NULL                          -- SHA-256 of the setup token; at most one row
) STRICT;

CREATE TABLE audit (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	at      INTEGER NOT NULL,
	user    TEXT    NOT NULL,                   -- the name: users may be deleted later
	user_id TEXT    NOT NULL,
	token   TEXT    NOT NULL,                   -- ID of the API token
	address TEXT    NOT NULL,
	action  TEXT    NOT NULL,
	cluster TEXT    NOT NULL,
	target  TEXT    NOT NULL,
	result  TEXT    NOT NULL                    -- empty: the HTTP status is in audit_results
) STRICT;
CREATE INDEX audit_cluster ON audit (cluster, id);

CREATE TABLE audit_results (
	audit  INTEGER PRIMARY KEY REFERENCES audit (id),
	status INTEGER NOT NULL
) STRICT;

CREATE TRIGGER audit_stays     BEFORE DELETE ON audit         BEGIN SELECT raise(ABORT, 'append only'); END;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit         BEGIN SELECT raise(ABORT, 'append only'); END;
CREATE TRIGGER results_stay    BEFORE DELETE ON audit_results BEGIN SELECT raise(ABORT, 'append only'); END;
CREATE TRIGGER results_same    BEFORE UPDATE ON audit_results BEGIN SELECT raise(ABORT, 'append only'); END;
