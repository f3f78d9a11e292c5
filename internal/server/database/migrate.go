package database

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Migrate brings the tables of a component to the state of its newest migration. Files holds NNNN_name.sql, numbered
// from 0001 without a gap; a file that a release has is never changed. All of them are applied, or none. Tables are
// STRICT. A component that refers to tables of another one is migrated after it.
func (d *DB) Migrate(ctx context.Context, component string, files fs.FS) error {
	list, err := migrations(files)
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", component, err)
	}
	return d.Update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (
			component TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, at TEXT NOT NULL,
			PRIMARY KEY (component, number)) STRICT`); err != nil {
			return err
		}
		var done int
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM migrations WHERE component = ?",
			component).Scan(&done); err != nil {
			return err
		}
		if done > len(list) {
			return event.NewFault(event.ClassFailed, "database.newer", nil, "path", d.path, "component", component,
				"number", strconv.Itoa(done), "ours", strconv.Itoa(len(list)))
		}
		for i := done; i < len(list); i++ {
			if _, err := tx.ExecContext(ctx, list[i].sql); err != nil {
				return fmt.Errorf("migration %s of %s: %w", list[i].name, component, err)
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO migrations VALUES (?, ?, ?, ?)", component, i+1,
				list[i].name, time.Now().UTC().Format(time.RFC3339)); err != nil {
				return err
			}
		}
		return nil
	})
}

type migration struct{ name, sql string }

func migrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fs.ErrNotExist
	}
	var out []migration
	for i, name := range names { // Glob sorts
		number, _, _ := strings.Cut(path.Base(name), "_")
		if want := fmt.Sprintf("%04d", i+1); number != want {
			return nil, fmt.Errorf("%s: its number is %s, expected %s", name, number, want)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{name, string(text)})
	}
	return out, nil
}
