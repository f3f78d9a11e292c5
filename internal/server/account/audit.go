package account

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// Audited is an entry of the audit log as it is read.
type Audited struct {
	ID     int64
	Entry  access.Entry
	Result string // ok, failed, or an HTTP status; "" when it is not known: the server was killed
	// Repeats of a request that was refused; nil: none.
	Repeats *Repeats
}

// row is an entry as it is written.
type row struct {
	user, id, token, address, action, cluster, target, result string
}

func insertAudit(ctx context.Context, tx *sql.Tx, at int64, r row) error {
	_, err := insertRow(ctx, tx, at, r)
	return err
}

func insertRow(ctx context.Context, tx *sql.Tx, at int64, r row) (int64, error) {
	done, err := tx.ExecContext(ctx, `INSERT INTO audit
		(at, user, user_id, token, address, action, cluster, target, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, r.user, r.id, r.token, r.address, r.action, clip(r.cluster), clip(r.target), r.result)
	if err != nil {
		return 0, err
	}
	return done.LastInsertId()
}

// clip bounds what a request can have written down, without what would change how the rest of the line is shown.
func clip(s string) string {
	text := []rune(event.Clean(s))
	return string(text[:min(len(text), 256)])
}

func (a *Accounts) audit(ctx context.Context, r row) error {
	return a.db.Update(ctx, func(tx *sql.Tx) error { return insertAudit(ctx, tx, millis(a.now()), r) })
}

// Record implements access.Control. The result of the request follows when it has been answered (see Identify).
func (a *Accounts) Record(ctx context.Context, e access.Entry) error {
	if e.At.IsZero() {
		e.At = a.now()
	}
	if e.Address == "" {
		e.Address = Address(ctx)
	}
	var id int64
	err := a.db.Update(ctx, func(tx *sql.Tx) (err error) {
		id, err = insertRow(ctx, tx, millis(e.At), row{user: e.Caller.Name, id: e.Caller.ID, token: e.Caller.Token,
			address: e.Address, action: e.Action, cluster: e.Cluster, target: e.Target})
		return err
	})
	if t, ok := ctx.Value(trailKey{}).(*trail); ok && err == nil {
		t.add(id)
	}
	return err
}

// answered writes down what became of what was recorded.
func (a *Accounts) answered(ctx context.Context, ids []int64, status int) error {
	if len(ids) == 0 {
		return nil
	}
	return a.db.Update(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if is, err := a.folded(ctx, tx, id, status); err != nil {
				return err
			} else if is {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO audit_results VALUES (?, ?)", id, status); err != nil {
				return err
			}
		}
		return nil
	})
}

// Filter selects entries of the audit log. Zero values select all.
type Filter struct {
	User, Cluster, Action string
	Since, Until          time.Time
	Before                int64 // ID: those that are older
}

// Audit reads the log, the newest entry first.
func (a *Accounts) Audit(ctx context.Context, f Filter, most int) (out []Audited, err error) {
	until := int64(1) << 62
	if !f.Until.IsZero() {
		until = millis(f.Until)
	}
	since := int64(0)
	if !f.Since.IsZero() {
		since = millis(f.Since)
	}
	if f.Before == 0 {
		f.Before = 1 << 62
	}
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT id, at, user, user_id, token, address, action, cluster, target,
			result, coalesce(status, 0), coalesce(count, 0), coalesce(last, 0), coalesce(others, 0) FROM audit
			LEFT JOIN audit_results ON audit_results.audit = id LEFT JOIN audit_repeats ON audit_repeats.audit = id
			WHERE id < ? AND at >= ? AND at <= ? AND (? = '' OR user = ?) AND (? = '' OR cluster = ?)
			AND (? = '' OR action = ?) ORDER BY id DESC LIMIT ?`, f.Before, since, until, f.User, canonical(f.User),
			f.Cluster, f.Cluster, f.Action, f.Action, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e Audited
			var at int64
			var status int
			var last int64
			var again Repeats
			x := &e.Entry
			if err := rows.Scan(&e.ID, &at, &x.Caller.Name, &x.Caller.ID, &x.Caller.Token, &x.Address, &x.Action,
				&x.Cluster, &x.Target, &e.Result, &status, &again.Count, &last, &again.Others); err != nil {
				return err
			}
			x.At = fromMillis(at)
			if e.Result == "" && status != 0 {
				e.Result = strconv.Itoa(status)
			}
			if again.Count > 0 {
				again.Last = fromMillis(last)
				e.Repeats = &again
			}
			out = append(out, e)
		}
		return rows.Err()
	})
	return out, err
}
