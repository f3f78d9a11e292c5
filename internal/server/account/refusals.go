package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

const (
	// refusedTogether is how long after a refused request the same one again is only counted.
	refusedTogether = time.Hour
	// mostRefusals of one user in that time have entries of their own; of more, one for each operation and status.
	mostRefusals = 32
	// refusedPerMinute is how many recorded requests of one user may be refused within a minute: with sessions, and
	// with API tokens. Each is written to the disk; no person, and no script that reads the responses, sends as many.
	refusedPerMinute = 600
)

// Repeats are later requests of the same user that were refused in the same way. They have no entries of their own.
type Repeats struct {
	Count  int
	Last   time.Time
	Others bool // some were about another cluster or target, or came from another address or with another token
}

// folded counts an entry that has no result yet as a repetition of an earlier refusal, and removes it; false: it is to
// stay. What succeeded is never counted so, nor what failed here.
func (a *Accounts) folded(ctx context.Context, tx *sql.Tx, id int64, status int) (bool, error) {
	if status < 400 || status >= 500 {
		return false, nil
	}
	r := row{}
	if err := tx.QueryRowContext(ctx, "SELECT user_id, token, address, action, cluster, target FROM audit WHERE id = ?",
		id).Scan(&r.id, &r.token, &r.address, &r.action, &r.cluster, &r.target); err != nil {
		return false, err
	}
	if r.id == "" { // the server itself, and the commands of the control host
		return false, nil
	}
	into, others, err := earlier(ctx, tx, id, r, status, millis(a.now().Add(-refusedTogether)))
	if err != nil || into == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO audit_repeats VALUES (?, 1, ?, ?) ON CONFLICT (audit) DO UPDATE
		SET count = count + 1, last = excluded.last, others = max(others, excluded.others)`, into, millis(a.now()),
		others); err != nil {
		return false, err
	}
	for _, query := range []string{"INSERT INTO audit_folding VALUES (?)", "DELETE FROM audit WHERE id = ?",
		"DELETE FROM audit_folding WHERE audit = ?"} {
		if _, err := tx.ExecContext(ctx, query, id); err != nil {
			return false, err
		}
	}
	return true, nil
}

// earlier is the refusal that one repeats, since a time; 0: none. others says that they are not equal in all.
func earlier(
	ctx context.Context, tx *sql.Tx, id int64, r row, status int, since int64,
) (into int64, others bool, err error) {
	const refused = ` FROM audit JOIN audit_results ON audit = id WHERE user_id = ? AND at > ? AND id <> ?
		AND status BETWEEN 400 AND 499`
	one := func(query string, args ...any) (n int64, err error) {
		err = tx.QueryRowContext(ctx, query, append([]any{r.id, since, id}, args...)...).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, nil
		}
		return n, err
	}
	into, err = one("SELECT id"+refused+` AND action = ? AND status = ? AND token = ? AND address = ? AND cluster = ?
		AND target = ? LIMIT 1`, r.action, status, r.token, r.address, r.cluster, r.target)
	if err != nil || into != 0 {
		return into, false, err
	}
	if n, err := one("SELECT count(*)" + refused); err != nil || n < mostRefusals {
		return 0, false, err
	}
	into, err = one("SELECT id"+refused+" AND action = ? AND status = ? LIMIT 1", r.action, status)
	return into, true, err
}

// refusals count the recorded requests of each user that were refused in the current minute. Those with API tokens have
// a count of their own: a user can still log in and revoke a token that was stolen.
type refusals struct {
	now func() time.Time

	mu    sync.Mutex
	since time.Time
	of    map[sender]int
}

// sender is a user, with sessions or with API tokens.
type sender struct {
	user  string // the ID
	token bool
}

func senderOf(c access.Caller) sender { return sender{c.ID, c.Token != ""} }

// add counts some of a caller.
func (f *refusals) add(c access.Caller, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.roll()
	f.of[senderOf(c)] += n
}

// check refuses a caller of whom too many requests were refused.
func (f *refusals) check(c access.Caller) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.roll()
	if f.of[senderOf(c)] < refusedPerMinute {
		return nil
	}
	wait := int(f.since.Add(time.Minute).Sub(f.now()).Seconds()) + 1
	return event.NewFault(event.ClassAuth, "account.refused", nil, "seconds", strconv.Itoa(wait))
}

// roll begins a new minute if the one before is over, also if the clock was set back.
func (f *refusals) roll() {
	if now := f.now(); f.of == nil || now.Sub(f.since).Abs() >= time.Minute {
		f.since, f.of = now, map[sender]int{}
	}
}
