CREATE TABLE audit_ends (
	at INTEGER NOT NULL                         -- entries before it may be deleted: 0 but while the server does that
) STRICT;
INSERT INTO audit_ends VALUES (0);

DROP TRIGGER audit_stays;
DROP TRIGGER results_stay;
CREATE TRIGGER audit_stays  BEFORE DELETE ON audit
	WHEN old.at >= (SELECT at FROM audit_ends)
	BEGIN SELECT raise(ABORT, 'append only'); END;
CREATE TRIGGER results_stay BEFORE DELETE ON audit_results
	WHEN (SELECT at FROM audit WHERE id = old.audit) >= (SELECT at FROM audit_ends)
	BEGIN SELECT raise(ABORT, 'append only'); END;

CREATE INDEX audit_at ON audit (at);
