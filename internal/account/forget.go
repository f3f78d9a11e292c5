package account

import (
	"context"
	"database/sql"
)

// itself is the user of what the server does by itself, in the audit log.
const itself = "server"

// ForgetCluster removes all roles on a cluster that is deleted, and the API tokens for it alone, in the transaction of
// the deletion: another cluster with its name has none of them. What went is in the audit log.
func (a *Accounts) ForgetCluster(ctx context.Context, tx *sql.Tx, cluster string) error {
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
