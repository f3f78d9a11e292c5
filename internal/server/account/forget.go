package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/access"
)

// Names in the audit log that no user can have.
const (
	// itself is who does what the server does by itself.
	itself = "server"
	// Console is who uses the commands of the control host.
	Console = "root"
	// schedule is who begins what is due, as upkeep says.
	schedule = "schedule"
)

// ForgetCluster removes all roles on a cluster that is deleted, and the API tokens for it alone, in the transaction of
// the deletion: another cluster with its name has none of them, neither from groups of a provider. What went is in the
// audit log.
func (a *Accounts) ForgetCluster(ctx context.Context, tx *sql.Tx, cluster string) error {
	if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO deleted VALUES (?, ?)", cluster,
		millis(a.now())); err != nil {
		return err
	}
	gone, err := column(ctx, tx, "DELETE FROM grants WHERE cluster = ? RETURNING "+
		"(SELECT name FROM users WHERE id = user) || ' ' || role", cluster)
	if err != nil {
		return err
	}
	revoked, err := column(ctx, tx, "DELETE FROM tokens WHERE cluster = ? RETURNING "+
		"(SELECT name FROM users WHERE id = user) || ' ' || tokens.id", cluster)
	if err != nil {
		return err
	}
	for _, done := range []struct {
		action  string
		targets []string
	}{{"revoke-role", gone}, {"delete-token", revoked}} {
		for _, target := range done.targets {
			if err := insertAudit(ctx, tx, millis(a.now()), row{user: itself, action: done.action, cluster: cluster,
				target: target, result: "ok"}); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetAtOnce is how many entries of the audit log one transaction deletes: others wait for it.
const forgetAtOnce = 5000

// ForgetAudit deletes the entries of the audit log that are older than a time. That they went is an entry, too.
func (a *Accounts) ForgetAudit(ctx context.Context, before time.Time) error {
	for {
		n, err := a.forgetAudit(ctx, before)
		if err != nil || n < forgetAtOnce {
			return err
		}
	}
}

func (a *Accounts) forgetAudit(ctx context.Context, before time.Time) (n int64, err error) {
	const old = "(SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)"
	err = a.db.Update(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE audit_ends SET at = ?", millis(before)); err != nil {
			return err
		}
		for _, query := range []string{"DELETE FROM audit_results WHERE audit IN " + old,
			"DELETE FROM audit_repeats WHERE audit IN " + old, "DELETE FROM audit WHERE id IN " + old} {
			done, err := tx.ExecContext(ctx, query, millis(before), forgetAtOnce)
			if err == nil {
				n, err = done.RowsAffected()
			}
			if err != nil {
				return err
			}
		}
		if n > 0 {
			if err := insertAudit(ctx, tx, millis(a.now()), row{user: itself, action: "delete-audit", result: "ok",
				target: strconv.FormatInt(n, 10) + " before " + before.UTC().Format(time.RFC3339)}); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE audit_ends SET at = 0")
		return err
	})
	return n, err
}

// Given is a role on a cluster that a group of a provider gives.
type Given struct {
	Cluster string
	Role    access.Role
	// Since is when an administrator has last said so: it is not about a cluster that was made after one with its name
	// was deleted later than that.
	Since time.Time
}

// Lapsed are those of a list that are about a cluster that was deleted since, and when it was.
func (a *Accounts) Lapsed(ctx context.Context, list []Given) (out map[Given]time.Time, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		out, err = lapsed(ctx, tx, list)
		return err
	})
	return out, err
}

func lapsed(ctx context.Context, tx *sql.Tx, list []Given) (map[Given]time.Time, error) {
	out := map[Given]time.Time{}
	for _, g := range list {
		var at int64
		err := tx.QueryRowContext(ctx, "SELECT at FROM deleted WHERE cluster = ?", g.Cluster).Scan(&at)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return nil, err
		case millis(g.Since) <= at:
			out[g] = fromMillis(at)
		}
	}
	return out, nil
}

// grants are the roles of a list that count.
func grants(ctx context.Context, tx *sql.Tx, list []Given) (Grants, error) {
	gone, err := lapsed(ctx, tx, list)
	out := Grants{}
	for _, g := range list {
		if _, is := gone[g]; !is {
			out[g.Cluster] = Higher(out[g.Cluster], g.Role)
		}
	}
	return out, err
}
