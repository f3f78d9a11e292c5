CREATE TABLE browsers (
	hash BLOB    NOT NULL,                      -- SHA-256 of what is in the cookie
	user TEXT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	used INTEGER NOT NULL,                      -- the last login with it
	PRIMARY KEY (hash, user)
) STRICT;
CREATE INDEX browsers_user ON browsers (user, used);
