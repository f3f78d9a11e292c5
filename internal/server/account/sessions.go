package account

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// clockAhead is how much the clock may be set back before sessions end.
const clockAhead = 5 * time.Minute

// Session is that of a user who has logged in. Secret is what the browser keeps; the database has its hash.
type Session struct {
	Secret string
	User   User

	browser string // what a browser that was not known before keeps
}

// Login checks a password and begins a session. The one that the request came with, if any, ends: whoever planted it
// would share the new one.
func (a *Accounts) Login(ctx context.Context, address, name, password, before string) (Session, error) {
	keys, err := a.attempts(ctx, lookedUp(name), address)
	if err != nil {
		return Session{}, err
	}
	if err := a.verify(ctx, name, password, keys); err != nil {
		if event.AsFault(err).Code != "account.login" { // what is not even tried is not worth a write to the disk
			return Session{}, err
		}
		return Session{}, errors.Join(err, a.audit(ctx, row{user: loggable(name), address: address, action: "login",
			result: "failed"}))
	}
	u, err := a.ByName(ctx, name)
	if err != nil {
		return Session{}, err
	}
	s, err := a.begin(ctx, u, address, "login", before)
	return a.known(ctx, s, err)
}

// begin starts a session of a user.
func (a *Accounts) begin(ctx context.Context, u User, address, action, before string) (Session, error) {
	text, hash := secret()
	err := a.change(ctx, func(tx *sql.Tx) error {
		now := millis(a.now())
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE hash = ? OR created < ? OR seen < ?",
			digest(before), now-a.life.Milliseconds(), now-a.idle.Milliseconds()); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO sessions VALUES (?, ?, ?, ?)", hash, u.ID, now, now); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE users SET seen = ? WHERE id = ?", now, u.ID); err != nil {
			return err
		}
		return insertAudit(ctx, tx, now, row{user: u.Name, id: u.ID, address: address, action: action, result: "ok"})
	})
	return Session{Secret: text, User: u}, err
}

// lookedUp is a name as a login looks for it.
func lookedUp(name string) string {
	name = canonical(name)
	return name[:min(len(name), 4*mostName)]
}

// verify checks a password, for one who may be locked out. It says nothing of whether the user exists.
func (a *Accounts) verify(ctx context.Context, name, password string, counted []key) error {
	name = lookedUp(name)
	if err := a.logins.attempt(counted...); err != nil {
		return err
	}
	var id, stored string
	if err := a.db.View(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT id, password FROM users WHERE name = ? AND disabled = 0", name).
			Scan(&id, &stored)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}); err != nil {
		return err
	}
	right, again, err := a.hasher.verify(ctx, password, stored)
	if err != nil {
		return err
	}
	if !right {
		return event.NewFault(event.ClassAuth, "account.login", nil)
	}
	a.logins.succeeded(counted...)
	if !again {
		return nil
	}
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE users SET password = ? WHERE id = ? AND password = ?", hash, id, stored)
		return err
	})
}

// Logout ends a session.
func (a *Accounts) Logout(ctx context.Context, address string, s Session) error {
	return a.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE hash = ?", digest(s.Secret)); err != nil {
			return err
		}
		return insertAudit(ctx, tx, millis(a.now()), row{user: s.User.Name, id: s.User.ID, address: address,
			action: "logout", result: "ok"})
	})
}

// holder is whose a credential is.
type holder struct {
	user  User
	token Token // of an API token
	holds bool
	until time.Time // when it ends, unless it is used
}

// session is the one of a cookie, if it has not ended. It is in use when a request comes with it; a stream that asks
// again does not keep it.
func (a *Accounts) session(ctx context.Context, text string, used bool) (h holder, err error) {
	now := a.now()
	var created, seen int64
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(ctx, "SELECT user, created, seen FROM sessions WHERE hash = ?", digest(text)).
			Scan(&id, &created, &seen)
		if err == nil {
			h.user, err = userBy(ctx, tx, "id", id)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return holder{}, nil
	}
	begun := fromMillis(created) // later than now if the clock was ahead then: it would last until that time
	if err != nil || h.user.Disabled || begun.Sub(now) > clockAhead || now.Sub(begun) > a.life ||
		now.Sub(fromMillis(seen)) > a.idle {
		return holder{}, err
	}
	if used && now.Sub(fromMillis(seen)) > a.idle/20 { // not at every request: each is written to the disk
		// The next request tries again: with a full disk, who has a session can still read.
		_ = a.db.Update(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE sessions SET seen = ? WHERE hash = ?", millis(now), digest(text))
			return err
		})
	}
	h.holds, h.until = true, fromMillis(created).Add(a.life)
	if idle := fromMillis(seen).Add(a.idle); idle.Before(h.until) {
		h.until = idle
	}
	return h, nil
}

// loggable is the name that somebody gave as theirs, which may be a password in the wrong field.
func loggable(name string) string {
	if checkName(name) != nil {
		return "?"
	}
	return strings.ToValidUTF8(canonical(name), "?")
}
