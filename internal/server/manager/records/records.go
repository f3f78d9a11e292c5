// Package records keeps the records of a server's clusters in its database, and the changes of their states. It may
// import manager and database.
package records

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"io/fs"

	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// keepChanges is how many changes are kept, for who comes back.
const keepChanges = 10000

//go:embed sql/*.sql
var migrations embed.FS

// Forget removes what others keep of a cluster, in the transaction that deletes it.
type Forget func(ctx context.Context, tx *sql.Tx, cluster string) error

// Store implements manager.Store.
type Store struct {
	db     *database.DB
	forget Forget
}

// Open brings the tables to their newest state. forget is called when a cluster is deleted; nil: nothing is.
func Open(ctx context.Context, db *database.DB, forget Forget) (*Store, error) {
	files, err := fs.Sub(migrations, "sql")
	if err != nil {
		return nil, err
	}
	if forget == nil {
		forget = func(context.Context, *sql.Tx, string) error { return nil }
	}
	return &Store{db, forget}, db.Migrate(ctx, "manager", files)
}

// Load implements manager.Store.
func (s *Store) Load(ctx context.Context) ([]manager.Record, error) {
	return list[manager.Record](ctx, s.db, "SELECT record FROM clusters ORDER BY name")
}

// list reads rows of one column of JSON.
func list[T any](ctx context.Context, db *database.DB, query string, args ...any) (out []T, err error) {
	err = db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			var one T
			if err := rows.Scan(&text); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(text), &one); err != nil {
				return err
			}
			out = append(out, one)
		}
		return rows.Err()
	})
	return out, err
}

// Save implements manager.Store.
func (s *Store) Save(ctx context.Context, r manager.Record, was uint64, changes ...manager.Change) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.db.Update(ctx, func(tx *sql.Tx) error {
		query := "UPDATE clusters SET revision = ?, record = ? WHERE name = ? AND revision = ?"
		args := []any{r.Revision, string(text), r.Name, was}
		if was == 0 {
			query = "INSERT INTO clusters (revision, record, name) SELECT ?, ?, ? " +
				"WHERE NOT EXISTS (SELECT 1 FROM clusters WHERE name = ?)"
			args[3] = r.Name
		}
		if err := one(ctx, tx, query, args...); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM forgotten_clusters WHERE name = ?", r.Name); err != nil {
			return err
		}
		return add(ctx, tx, changes)
	})
}

// one changes just one row.
func one(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n != 1 {
		err = manager.ErrRevision
	}
	return err
}

func add(ctx context.Context, tx *sql.Tx, changes []manager.Change) error {
	for _, c := range changes {
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO cluster_changes (change) VALUES (?)", string(text))
		if err != nil {
			return err
		}
		seq, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM cluster_changes WHERE seq <= ?", seq-keepChanges); err != nil {
			return err
		}
		if err := addHealth(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements manager.Store.
func (s *Store) Delete(
	ctx context.Context, name string, was uint64, until string, changes ...manager.Change,
) error {
	return s.db.Update(ctx, func(tx *sql.Tx) error {
		if err := one(ctx, tx, "DELETE FROM clusters WHERE name = ? AND revision = ?", name, was); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO forgotten_clusters VALUES (?, ?) "+
			"ON CONFLICT (name) DO UPDATE SET until = excluded.until", name, until); err != nil {
			return err
		}
		if err := s.forget(ctx, tx, name); err != nil {
			return err
		}
		if err := add(ctx, tx, changes); err != nil {
			return err
		}
		return forgetHealth(ctx, tx, name)
	})
}

// Forgotten implements manager.Store.
func (s *Store) Forgotten(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	return out, s.db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT name, until FROM forgotten_clusters")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, until string
			if err := rows.Scan(&name, &until); err != nil {
				return err
			}
			out[name] = until
		}
		return rows.Err()
	})
}

// Changes implements manager.Store.
func (s *Store) Changes(ctx context.Context, after uint64, n int) ([]manager.Change, error) {
	return list[manager.Change](ctx, s.db, "SELECT json_set(change, '$.seq', seq) FROM cluster_changes "+
		"WHERE seq > ? ORDER BY seq LIMIT ?", after, n)
}
