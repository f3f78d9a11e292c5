package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// providerHolds is how long API tokens work after their user has logged in with a provider.
const providerHolds = 30 * 24 * time.Hour

// Identity is what an identity provider says of someone who has logged in there.
type Identity struct {
	Subject string // issuer and subject: the only part that the provider gives to nobody else
	Name    string
	Role    access.Role // on all clusters
	Given   []Given
}

// LoginProvider begins a session of a user whom a provider has identified. Name and roles are the provider's, each
// time. A name of another user is refused: the provider does not say who that is.
func (a *Accounts) LoginProvider(ctx context.Context, address string, i Identity, before string) (Session, error) {
	if err := checkName(i.Name); err != nil {
		return Session{}, err
	}
	err := checkRoles(i.Role, nil)
	for _, g := range i.Given {
		err = errors.Join(err, checkRoles(i.Role, Grants{g.Cluster: g.Role}))
	}
	if err != nil {
		return Session{}, err
	}
	u, nothing := User{}, false
	if err := a.change(ctx, func(tx *sql.Tx) error {
		on, err := grants(ctx, tx, i.Given)
		if nothing = i.Role == access.None && len(on) == 0; err != nil || nothing {
			return err
		}
		u, err = a.upsert(ctx, tx, i, on)
		return err
	}); err != nil {
		return Session{}, err
	}
	if nothing {
		return Session{}, errors.Join(event.NewFault(event.ClassAuth, "account.no-role", nil, "name", i.Name),
			a.withdraw(ctx, i, address))
	}
	if u.Disabled {
		return Session{}, event.NewFault(event.ClassAuth, "account.disabled", nil, "name", u.Name)
	}
	return a.begin(ctx, u, address, "login-provider", before)
}

// withdraw takes all that a user has who has no role at the provider any more: roles, sessions and API tokens.
func (a *Accounts) withdraw(ctx context.Context, i Identity, address string) error {
	return a.change(ctx, func(tx *sql.Tx) error {
		u, err := userBy(ctx, tx, "subject", i.Subject)
		if err != nil && event.AsFault(err).Code == "account.unknown" {
			return nil
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE users SET role = '' WHERE id = ?", u.ID)
		}
		if err == nil {
			err = setGrants(ctx, tx, u.ID, nil)
		}
		if err == nil {
			err = logOut(ctx, tx, u.ID)
		}
		if err != nil {
			return err
		}
		return insertAudit(ctx, tx, millis(a.now()), row{user: u.Name, id: u.ID, address: address,
			action: "login-provider", result: "failed"})
	})
}

// stale says whether the provider has not been asked about a user for so long that what it said does not hold any more:
// one who was removed there never logs in again.
func (a *Accounts) stale(u User) bool { return u.Provider && a.now().Sub(u.Seen) > providerHolds }

func (a *Accounts) upsert(ctx context.Context, tx *sql.Tx, i Identity, on Grants) (User, error) {
	if err := checkReserved(i.Name); err != nil {
		return User{}, err
	}
	subject := sql.NullString{String: i.Subject, Valid: true}
	u, err := userBy(ctx, tx, "subject", i.Subject)
	unknown := err != nil && event.AsFault(err).Code == "account.unknown"
	if (unknown || err == nil) && u.Name != canonical(i.Name) { // a name that a user has already is not refused
		if err := checkNew(i.Name); err != nil {
			return User{}, err
		}
	}
	if unknown {
		return a.insert(ctx, tx, New{Name: i.Name, Role: i.Role, Grants: on}, "", subject)
	}
	if err != nil {
		return User{}, err
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE name = ? AND id <> ?", canonical(i.Name), u.ID).
		Scan(&n); err != nil {
		return User{}, err
	}
	if n > 0 {
		return User{}, event.NewFault(event.ClassLocked, "account.taken", nil, "name", i.Name)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE users SET name = ?, role = ? WHERE id = ?", canonical(i.Name),
		string(i.Role), u.ID); err != nil {
		return User{}, err
	}
	if err := setGrants(ctx, tx, u.ID, on); err != nil {
		return User{}, err
	}
	return userBy(ctx, tx, "id", u.ID)
}
