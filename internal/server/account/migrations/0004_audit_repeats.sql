CREATE TABLE audit_repeats (
	audit  INTEGER PRIMARY KEY REFERENCES audit (id), -- a request that was refused
	count  INTEGER NOT NULL,                          -- later ones, refused in the same way: they have no entries
	last   INTEGER NOT NULL,                          -- when the last of them came
	others INTEGER NOT NULL                           -- 1: of another cluster, target, address or API token, too
) STRICT;

CREATE TRIGGER repeats_stay BEFORE DELETE ON audit_repeats
	WHEN (SELECT at FROM audit WHERE id = old.audit) >= (SELECT at FROM audit_ends)
	BEGIN SELECT raise(ABORT, 'append only'); END;
CREATE TRIGGER repeats_grow BEFORE UPDATE ON audit_repeats
	WHEN new.audit <> old.audit OR new.count <= old.count OR new.others < old.others
	BEGIN SELECT raise(ABORT, 'append only'); END;

CREATE TABLE audit_folding (
	audit INTEGER PRIMARY KEY                         -- an entry without a result that becomes a repetition
) STRICT;
CREATE TRIGGER folding_unanswered BEFORE INSERT ON audit_folding
	WHEN EXISTS (SELECT 1 FROM audit_results WHERE audit = new.audit)
	BEGIN SELECT raise(ABORT, 'append only'); END;

DROP TRIGGER audit_stays;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
	WHEN old.at >= (SELECT at FROM audit_ends) AND NOT EXISTS (SELECT 1 FROM audit_folding WHERE audit = old.id)
	BEGIN SELECT raise(ABORT, 'append only'); END;

CREATE INDEX audit_user ON audit (user_id, at);
