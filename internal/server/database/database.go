// Package database opens the SQLite database of a server: one file with mode 0600 in a directory with mode 0700. Each
// package keeps tables of its own in it, and brings their migrations. The package imports internal/run/event only.
package database

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// patience is how long a transaction waits for that of another process, such as a command beside the server.
const patience = 5 * time.Second

// readers is how many transactions may read at once. They do not wait for the one that writes.
const readers = 4

// DB is an open database. Its methods may be called at the same time.
type DB struct {
	path  string
	write *sql.DB // one connection: SQLite has one writer, and waiting here obeys the context
	read  *sql.DB
}

// Open opens the database, or creates it with its directory. It refuses a file that is damaged.
func Open(ctx context.Context, path string) (*DB, error) { return open(ctx, path, patience) }

func open(ctx context.Context, path string, wait time.Duration) (*DB, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = private(path)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "database.open", err, "path", path)
	}
	d := &DB{path: path}
	if d.write, err = sql.Open("sqlite", source(path, wait, "immediate")); err == nil {
		d.read, err = sql.Open("sqlite", source(path, wait, "deferred", "query_only(1)"))
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "database.open", err, "path", path)
	}
	d.write.SetMaxOpenConns(1)
	d.read.SetMaxOpenConns(readers)
	if err := d.check(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// private sees to it that nobody else can read the file, nor what SQLite creates beside it with the same mode.
func private(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// source is the name by which the driver opens the file. A transaction that writes takes the lock at its beginning: one
// that reads first and then writes would fail when another one wrote in between.
func source(path string, wait time.Duration, lock string, pragmas ...string) string {
	q := url.Values{"_txlock": {lock}, "_pragma": append([]string{
		"busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")", "journal_mode(WAL)", "synchronous(FULL)",
		"foreign_keys(1)", "trusted_schema(0)", "cell_size_check(1)", "secure_delete(1)"}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func (d *DB) check(ctx context.Context) error {
	var found string
	err := d.write.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		return event.NewFault(event.ClassFailed, "database.damaged", errors.New(found), "path", d.path)
	}
	return d.fault(err)
}

// Path is the file.
func (d *DB) Path() string { return d.path }

// Close writes what is in the log of the database to its file, and ends all connections.
func (d *DB) Close() error { return d.fault(errors.Join(d.read.Close(), d.write.Close())) }

// Update runs a transaction that may write; one at a time. It is committed when do returns nil, else nothing of it is
// kept. What do returns is returned; errors of SQLite become faults, except violated constraints (see Taken).
func (d *DB) Update(ctx context.Context, do func(*sql.Tx) error) error {
	return d.within(ctx, d.write, do)
}

// View runs a transaction that reads, and sees one state of the database from its beginning to its end.
func (d *DB) View(ctx context.Context, do func(*sql.Tx) error) error {
	return d.within(ctx, d.read, do)
}

func (d *DB) within(ctx context.Context, on *sql.DB, do func(*sql.Tx) error) error {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return d.outcome(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing; after a panic it frees the connection
	if err := do(tx); err != nil {
		return d.outcome(ctx, err)
	}
	return d.outcome(ctx, tx.Commit())
}

// outcome is the end of a transaction with an error: the caller's own end comes before what SQLite says of it.
func (d *DB) outcome(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return d.fault(err)
}

// Copy writes a copy of the database, as it is now, to a new file with mode 0600.
func (d *DB) Copy(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return event.NewFault(event.ClassUsage, "database.copy-exists", nil, "path", path)
		}
		return event.NewFault(event.ClassFailed, "database.copy", err, "path", path)
	}
	if err = f.Close(); err == nil {
		_, err = d.write.ExecContext(ctx, "VACUUM INTO ?", path)
	}
	if err != nil {
		return errors.Join(event.NewFault(event.ClassFailed, "database.copy", err, "path", path), os.Remove(path))
	}
	return nil
}
