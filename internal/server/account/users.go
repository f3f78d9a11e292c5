package account

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/database"
)

// Grants are roles on single clusters, by cluster.
type Grants map[string]access.Role

// User is one who may log in.
type User struct {
	ID       string
	Name     string
	Role     access.Role // on all clusters
	Grants   Grants
	Provider bool // logs in with an identity provider, which decides about the roles
	Disabled bool
	Reset    bool // has to choose a password first
	Created  time.Time
	Seen     time.Time // last login
}

// On is the role on a cluster; for "" that on all clusters.
func (u User) On(cluster string) access.Role {
	if cluster == "" {
		return u.Role
	}
	return Higher(u.Role, u.Grants[cluster])
}

// roles are all of them, each may do what those before it may.
func roles() []access.Role {
	return []access.Role{access.None, access.Viewer, access.Operator, access.Admin}
}

// Higher is the role that may do more.
func Higher(a, b access.Role) access.Role {
	return roles()[max(slices.Index(roles(), a), slices.Index(roles(), b), 0)]
}

func lower(a, b access.Role) access.Role {
	return roles()[max(min(slices.Index(roles(), a), slices.Index(roles(), b)), 0)]
}

// userName has letters and digits of any language; it goes into certificates, logs and file names.
var userName = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}\p{M}._@-]*$`)

const mostName = 64

// canonical returns a name as it is stored.
func canonical(name string) string { return strings.ToLower(norm.NFKC.String(name)) }

func checkName(name string) error {
	if n := canonical(name); utf8.RuneCountInString(n) > mostName || !userName.MatchString(n) {
		return event.NewFault(event.ClassUsage, "account.name", nil, "name", name)
	}
	return nil
}

// mixed reports whether a name has letters of two alphabets that look alike, so that it can pass for another name:
// admin with a Cyrillic letter. Chinese, Japanese and Korean names may have Latin letters.
func mixed(name string) bool {
	seen := map[*unicode.RangeTable]bool{}
	for _, r := range name {
		for _, alphabet := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian,
			unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Deseret} {
			if unicode.Is(alphabet, r) {
				seen[alphabet] = true
			}
		}
	}
	return len(seen) > 1
}

// checkNew is checkName of a user who is not there yet.
func checkNew(name string) error {
	err := errors.Join(checkName(name), checkReserved(name))
	if err == nil && idForm.MatchString(canonical(name)) {
		err = event.NewFault(event.ClassUsage, "account.like-id", nil, "name", name)
	}
	if err == nil && mixed(canonical(name)) {
		err = event.NewFault(event.ClassUsage, "account.scripts", nil, "name", name)
	}
	return err
}

func checkReserved(name string) error {
	switch canonical(name) {
	case itself, schedule, Console:
		return event.NewFault(event.ClassUsage, "account.reserved", nil, "name", name)
	}
	return nil
}

// idForm is the form of the IDs of newID.
var idForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// LikeID reports whether the name of a user has the form of an ID, which earlier versions accepted.
func (u User) LikeID() bool { return idForm.MatchString(u.Name) }

// clusterName is what a cluster's directory may be called.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func checkRoles(role access.Role, grants Grants) error {
	if !slices.Contains(roles(), role) {
		return event.NewFault(event.ClassUsage, "account.role", nil, "role", string(role))
	}
	for cluster, r := range grants {
		if !clusterName.MatchString(cluster) {
			return event.NewFault(event.ClassUsage, "account.cluster", nil, "cluster", cluster)
		}
		if r == access.None || !slices.Contains(roles(), r) {
			return event.NewFault(event.ClassUsage, "account.role", nil, "role", string(r))
		}
	}
	return nil
}

// New is a user to create.
type New struct {
	Name     string
	Password string
	Role     access.Role
	Grants   Grants
	Reset    bool // the user has to choose another password
}

// Create adds a user.
func (a *Accounts) Create(ctx context.Context, n New) (User, error) {
	if err := errors.Join(checkNew(n.Name), checkRoles(n.Role, n.Grants),
		CheckPassword(n.Name, n.Password)); err != nil {
		return User{}, err
	}
	hash, err := a.hasher.hash(ctx, n.Password)
	if err != nil {
		return User{}, err
	}
	var out User
	err = a.db.Update(ctx, func(tx *sql.Tx) error {
		out, err = a.insert(ctx, tx, n, hash, sql.NullString{})
		return err
	})
	return out, err
}

func (a *Accounts) insert(ctx context.Context, tx *sql.Tx, n New, hash string, subject sql.NullString) (User, error) {
	id := newID()
	_, err := tx.ExecContext(ctx, `INSERT INTO users (id, name, password, role, subject, reset, created)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, id, canonical(n.Name), hash, string(n.Role), subject, n.Reset, millis(a.now()))
	if database.Taken(err) {
		return User{}, event.NewFault(event.ClassLocked, "account.taken", nil, "name", n.Name)
	}
	if err == nil {
		err = setGrants(ctx, tx, id, n.Grants)
	}
	if err != nil {
		return User{}, err
	}
	return userBy(ctx, tx, "id", id)
}

func setGrants(ctx context.Context, tx *sql.Tx, id string, grants Grants) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE user = ?", id); err != nil {
		return err
	}
	for cluster, role := range grants {
		if _, err := tx.ExecContext(ctx, "INSERT INTO grants VALUES (?, ?, ?)", id, cluster, string(role)); err != nil {
			return err
		}
	}
	return nil
}

const userColumns = `id, name, role, subject IS NOT NULL, disabled, reset, created, seen`

func scanUser(row interface{ Scan(...any) error }) (u User, err error) {
	var created, seen int64
	err = row.Scan(&u.ID, &u.Name, &u.Role, &u.Provider, &u.Disabled, &u.Reset, &created, &seen)
	u.Created, u.Seen, u.Grants = fromMillis(created), fromMillis(seen), Grants{}
	return u, err
}

// userBy is the user with a value in a column, which is none of a request.
func userBy(ctx context.Context, tx *sql.Tx, column, value string) (User, error) {
	u, err := scanUser(tx.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE "+column+" = ?", value))
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, event.NewFault(event.ClassUsage, "account.unknown", nil, "user", value)
	}
	if err != nil {
		return User{}, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT cluster, role FROM grants WHERE user = ?", u.ID)
	if err != nil {
		return User{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var cluster string
		var role access.Role
		if err := rows.Scan(&cluster, &role); err != nil {
			return User{}, err
		}
		u.Grants[cluster] = role
	}
	return u, rows.Err()
}

// ByID is the user with an ID.
func (a *Accounts) ByID(ctx context.Context, id string) (u User, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		u, err = userBy(ctx, tx, "id", id)
		return err
	})
	return u, err
}

// ByName is the user with a name.
func (a *Accounts) ByName(ctx context.Context, name string) (u User, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		u, err = userBy(ctx, tx, "name", canonical(name))
		return err
	})
	return u, err
}

// Find is the user that an administrator names by ID or name.
func (a *Accounts) Find(ctx context.Context, user string) (u User, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		u, err = find(ctx, tx, user)
		return err
	})
	return u, err
}

// find goes by the form: what may be an ID is one where a user has it, whatever the names of others are.
func find(ctx context.Context, tx *sql.Tx, user string) (User, error) {
	if idForm.MatchString(user) {
		u, err := userBy(ctx, tx, "id", user)
		if err == nil || event.AsFault(err).Code != "account.unknown" {
			return u, err
		}
	}
	return userBy(ctx, tx, "name", canonical(user))
}

// Users are those whose names follow after, sorted, at most that many.
func (a *Accounts) Users(ctx context.Context, after string, most int) (out []User, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		ids, err := column(ctx, tx, "SELECT id FROM users WHERE name > ? ORDER BY name LIMIT ?", canonical(after), most)
		for _, id := range ids {
			u, err := userBy(ctx, tx, "id", id)
			if err != nil {
				return err
			}
			out = append(out, u)
		}
		return err
	})
	return out, err
}

func column(ctx context.Context, tx *sql.Tx, query string, args ...any) (out []string, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// Change is what an administrator changes of a user. What is nil stays.
type Change struct {
	Role     *access.Role
	Grants   *Grants
	Disabled *bool
}

// Change changes a user. One who is disabled has no session and no token any more.
func (a *Accounts) Change(ctx context.Context, user string, c Change) (out User, err error) {
	err = a.keepingAnAdmin(ctx, func(tx *sql.Tx) error {
		u, err := find(ctx, tx, user)
		if err != nil {
			return err
		}
		if u.Provider && (c.Role != nil || c.Grants != nil) {
			return event.NewFault(event.ClassUsage, "account.provider", nil, "user", u.Name)
		}
		if c.Role != nil {
			u.Role = *c.Role
		}
		if c.Disabled != nil {
			u.Disabled = *c.Disabled
		}
		if c.Grants != nil {
			u.Grants = *c.Grants
		}
		if err := checkRoles(u.Role, u.Grants); err != nil {
			return err
		}
		if err := setGrants(ctx, tx, u.ID, u.Grants); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE users SET role = ?, disabled = ? WHERE id = ?", string(u.Role),
			u.Disabled, u.ID); err != nil {
			return err
		}
		if u.Disabled {
			if err := logOut(ctx, tx, u.ID); err != nil {
				return err
			}
		}
		out = u
		return nil
	})
	return out, err
}

// change is an update after which what is known of callers may not hold any more: each request asks again.
func (a *Accounts) change(ctx context.Context, do func(*sql.Tx) error) error {
	defer a.changes.Add(1)
	return a.db.Update(ctx, do)
}

// logOut ends all sessions and all API tokens of a user.
func logOut(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user = ?", id)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM tokens WHERE user = ?", id)
	}
	return err
}

// keepingAnAdmin refuses a change after which nobody could change anything.
func (a *Accounts) keepingAnAdmin(ctx context.Context, do func(*sql.Tx) error) error {
	return a.change(ctx, func(tx *sql.Tx) error {
		before, err := admins(ctx, tx)
		if err == nil {
			err = do(tx)
		}
		if err != nil {
			return err
		}
		after, err := admins(ctx, tx)
		if err == nil && before > 0 && after == 0 {
			return event.NewFault(event.ClassLocked, "account.last-admin", nil)
		}
		return err
	})
}

// admins counts the administrators with a password of this server: a provider may be out of reach.
func admins(ctx context.Context, tx *sql.Tx) (n int, err error) {
	err = tx.QueryRowContext(ctx,
		"SELECT count(*) FROM users WHERE role = 'admin' AND disabled = 0 AND subject IS NULL").Scan(&n)
	return n, err
}

// Delete removes a user with sessions, tokens and grants. The audit log keeps the name.
func (a *Accounts) Delete(ctx context.Context, user string) error {
	return a.keepingAnAdmin(ctx, func(tx *sql.Tx) error {
		u, err := find(ctx, tx, user)
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM users WHERE id = ?", u.ID)
		}
		return err
	})
}

// Reset gives a user another password, which has to be changed at the next login. All sessions and API tokens end.
func (a *Accounts) Reset(ctx context.Context, user, password string) error {
	u, err := a.Find(ctx, user)
	if err != nil {
		return err
	}
	return a.setPassword(ctx, u, password, newPassword{reset: true, tokens: true})
}

// ChangePassword is how users change their own password. All other sessions end, and all API tokens if that is wanted.
func (a *Accounts) ChangePassword(
	ctx context.Context, id, old, password string, keep Session, tokens bool,
) error {
	u, err := a.ByID(ctx, id)
	if err != nil {
		return err
	}
	// A user with a session is counted alone: wrong passwords that others send for the user do not lock this out.
	if err := a.verify(ctx, u.Name, old, []key{{"session of " + u.ID, freeOfUser}}); err != nil {
		return err
	}
	return a.setPassword(ctx, u, password, newPassword{keep: keep.Secret, tokens: tokens})
}

// RevokeTokens ends all API tokens of a user, and gives how many there were.
func (a *Accounts) RevokeTokens(ctx context.Context, user string) (n int64, err error) {
	err = a.change(ctx, func(tx *sql.Tx) error {
		u, err := find(ctx, tx, user)
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, "DELETE FROM tokens WHERE user = ?", u.ID)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	return n, err
}

// newPassword says what else happens when a user gets another password: all sessions end.
type newPassword struct {
	keep   string // but this one
	reset  bool   // the user has to change the password
	tokens bool   // all API tokens end, too
}

func (a *Accounts) setPassword(ctx context.Context, u User, password string, n newPassword) error {
	if u.Provider {
		return event.NewFault(event.ClassUsage, "account.provider", nil, "user", u.Name)
	}
	if err := CheckPassword(u.Name, password); err != nil {
		return err
	}
	hash, err := a.hasher.hash(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE users SET password = ?, reset = ? WHERE id = ?", hash, n.reset,
			u.ID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE user = ? AND hash <> ?", u.ID, digest(n.keep))
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM browsers WHERE user = ?", u.ID)
		}
		if err == nil && n.tokens {
			_, err = tx.ExecContext(ctx, "DELETE FROM tokens WHERE user = ?", u.ID)
		}
		return err
	})
}
