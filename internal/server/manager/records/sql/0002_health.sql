CREATE TABLE cluster_health (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	cluster TEXT    NOT NULL,
	at      INTEGER NOT NULL,           -- milliseconds since 1970
	state   TEXT    NOT NULL,
	reason  TEXT    NOT NULL DEFAULT '' -- a fault in JSON; empty: the cluster is well
) STRICT;
CREATE INDEX cluster_health_cluster ON cluster_health (cluster, seq);
