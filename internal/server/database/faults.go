package database

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// fault says what an error of SQLite means to an operator. Everything else is returned as it is.
func (d *DB) fault(err error) error {
	var e *sqlite.Error
	if f := (*event.Fault)(nil); err == nil || errors.As(err, &f) || !errors.As(err, &e) {
		return err
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // the file beside the database gets no room
		return event.NewFault(event.ClassFailed, "database.full", err, "path", d.path)
	}
	switch e.Code() & 0xff { // the rest of the bits says where in SQLite
	case sqlite3.SQLITE_CONSTRAINT:
		return err
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return event.NewFault(event.ClassFailed, "database.damaged", err, "path", d.path)
	case sqlite3.SQLITE_FULL:
		return event.NewFault(event.ClassFailed, "database.full", err, "path", d.path)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return event.NewFault(event.ClassFailed, "database.busy", err, "path", d.path)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY:
		return event.NewFault(event.ClassFailed, "database.open", err, "path", d.path)
	}
	return event.NewFault(event.ClassFailed, "database.failed", err, "path", d.path)
}

// Taken says whether an error means that a row with such a key exists.
func Taken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) &&
		(e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// Missing says whether an error means that a row refers to another one that does not exist.
func Missing(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}
