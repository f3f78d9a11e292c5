package records

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

const (
	// keepHealth is how many entries are kept of a cluster, keepHealthFor how long.
	keepHealth    = 1000
	keepHealthFor = 90 * 24 * time.Hour
)

// addHealth notes what a cluster has become, unless it was that before: after each start of the server all are found
// again. What is old goes; the newest entry stays, however old it is.
func addHealth(ctx context.Context, tx *sql.Tx, c manager.Change) error {
	reason := ""
	if c.Reason != nil {
		text, err := json.Marshal(c.Reason)
		if err != nil {
			return err
		}
		reason = string(text)
	}
	if err := steady(ctx, tx, c); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO cluster_health (cluster, at, state, reason) SELECT ?1, ?2, ?3, ?4
		WHERE (SELECT state || reason FROM cluster_health WHERE cluster = ?1 ORDER BY seq DESC LIMIT 1) IS NOT ?3 || ?4`,
		c.Cluster, c.At.UnixMilli(), string(c.To), reason)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM cluster_health WHERE cluster = ?1
			AND seq < (SELECT max(seq) FROM cluster_health WHERE cluster = ?1) AND (at < ?2 OR seq <=
			(SELECT seq FROM cluster_health WHERE cluster = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?3))`, c.Cluster,
			c.At.Add(-keepHealthFor).UnixMilli(), keepHealth)
	}
	return err
}

// steady takes back that a Running cluster was Connecting for a moment, when the server started.
func steady(ctx context.Context, tx *sql.Tx, c manager.Change) error {
	if c.From != state.Connecting || c.To != state.Running {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM cluster_health WHERE cluster = ?1 AND state = ?2 AND at > ?3
		AND seq = (SELECT max(seq) FROM cluster_health WHERE cluster = ?1)
		AND (SELECT state FROM cluster_health WHERE cluster = ?1 ORDER BY seq DESC LIMIT 1 OFFSET 1) = ?4`,
		c.Cluster, string(state.Connecting), c.At.Add(-manager.SteadyFor).UnixMilli(), string(state.Running))
	return err
}

// forgetHealth removes the history of a cluster that is deleted.
func forgetHealth(ctx context.Context, tx *sql.Tx, cluster string) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM cluster_health WHERE cluster = ?", cluster)
	return err
}

// Health implements manager.Store.
func (s *Store) Health(ctx context.Context, cluster string, before uint64, n int) (out []manager.Health, err error) {
	if before == 0 || before > 1<<62 {
		before = 1 << 62
	}
	err = s.db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT seq, at, state, reason FROM cluster_health "+
			"WHERE cluster = ? AND seq < ? ORDER BY seq DESC LIMIT ?", cluster, before, n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var h manager.Health
			var at int64
			var reason string
			if err := rows.Scan(&h.Seq, &at, &h.State, &reason); err != nil {
				return err
			}
			h.At = time.UnixMilli(at).UTC()
			if reason != "" {
				if err := json.Unmarshal([]byte(reason), &h.Reason); err != nil {
					return err
				}
			}
			out = append(out, h)
		}
		return rows.Err()
	})
	return out, err
}
