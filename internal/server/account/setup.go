package account

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// BeginSetup writes a token to a file with mode 0600 with which the first administrator can be made, once, if there is
// none. It says whether it did. Each start of a server makes another token.
func (a *Accounts) BeginSetup(ctx context.Context, file string) (bool, error) {
	text, hash := secret()
	needed := false
	err := a.db.Update(ctx, func(tx *sql.Tx) error {
		n, err := admins(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM setup"); err != nil {
			return err
		}
		needed = n == 0
		if needed {
			_, err = tx.ExecContext(ctx, "INSERT INTO setup VALUES (?)", hash)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if !needed {
		err = os.Remove(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	} else {
		err = renameio.WriteFile(file, []byte(text+"\n"), 0o600, renameio.IgnoreUmask())
	}
	if err != nil {
		return false, event.NewFault(event.ClassFailed, "account.setup-file", err, "file", file)
	}
	a.setupFile.Store(&file)
	return needed, nil
}

// endSetup removes the file of the token that was used. What cannot be removed is of no use, and goes with the next
// start.
func (a *Accounts) endSetup() {
	if file := a.setupFile.Load(); file != nil {
		_ = os.Remove(*file)
	}
}

// SetupNeeded says whether there is no administrator.
func (a *Accounts) SetupNeeded(ctx context.Context) (bool, error) {
	n := 0
	err := a.db.View(ctx, func(tx *sql.Tx) (err error) {
		n, err = admins(ctx, tx)
		return err
	})
	return n == 0, err
}

// Setup makes the first administrator with the token of BeginSetup, which is of no use any more then.
func (a *Accounts) Setup(ctx context.Context, address, token, name, password string) (Session, error) {
	if err := errors.Join(checkNew(name), CheckPassword(name, password)); err != nil {
		return Session{}, err
	}
	from := addressKey(address)
	if err := a.tokens.attempt(from); err != nil {
		return Session{}, err
	}
	right := func(tx *sql.Tx) error {
		var want []byte
		err := tx.QueryRowContext(ctx, "SELECT hash FROM setup").Scan(&want)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if n, err := admins(ctx, tx); err != nil || n > 0 {
			return errors.Join(err, event.NewFault(event.ClassLocked, "account.setup-done", nil))
		}
		if err != nil || subtle.ConstantTimeCompare(digest(token), want) != 1 {
			return event.NewFault(event.ClassAuth, "account.setup-token", nil)
		}
		return nil
	}
	if err := a.db.View(ctx, right); err != nil { // a password is hashed for nobody else
		return Session{}, err
	}
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return Session{}, err
	}
	var u User
	if err := a.db.Update(ctx, func(tx *sql.Tx) error {
		if err := right(tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM setup"); err != nil {
			return err
		}
		u, err = a.insert(ctx, tx, New{Name: name, Role: access.Admin}, hash, sql.NullString{})
		return err
	}); err != nil {
		return Session{}, err
	}
	a.endSetup()
	a.tokens.succeeded(key{}, from)
	return a.begin(ctx, u, address, "setup", "")
}
