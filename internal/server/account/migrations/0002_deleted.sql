CREATE TABLE deleted (
	cluster TEXT    PRIMARY KEY,
	at      INTEGER NOT NULL                    -- when a cluster with this name was deleted, the last time
) STRICT;
