package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
)

// tokenPrefix lets tools that search for secrets find those of this program.
const tokenPrefix = "eggo_"

// The bounds of an API token's life.
const (
	leastTokenLife = time.Minute
	mostTokenLife  = 366 * 24 * time.Hour
)

// Token is an API token. Its secret is known when it is made, and never again.
type Token struct {
	ID      string
	User    string // name
	UserID  string
	Name    string
	Role    access.Role // at most; the user's own counts too
	Cluster string      // "": all
	Created time.Time
	Ends    time.Time
}

// On is the role that a token leaves of its user's on a cluster.
func (t Token) On(u User, cluster string) access.Role {
	if t.Cluster != "" && t.Cluster != cluster {
		return access.None
	}
	return lower(t.Role, u.On(cluster))
}

// NewToken makes an API token of the user with an ID.
func (a *Accounts) NewToken(ctx context.Context, user string, t Token) (Token, string, error) {
	now := a.now()
	t.Created = fromMillis(millis(now))
	if err := checkRoles(t.Role, nil); err != nil {
		return Token{}, "", err
	}
	switch {
	case t.Role == access.None:
		return Token{}, "", event.NewFault(event.ClassUsage, "account.role", nil, "role", "")
	case t.Cluster != "" && !clusterName.MatchString(t.Cluster):
		return Token{}, "", event.NewFault(event.ClassUsage, "account.cluster", nil, "cluster", t.Cluster)
	case strings.TrimSpace(t.Name) == "" || utf8.RuneCountInString(t.Name) > mostName || !utf8.ValidString(t.Name) ||
		strings.ContainsFunc(t.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return Token{}, "", event.NewFault(event.ClassUsage, "account.token-name", nil)
	case t.Ends.Before(now.Add(leastTokenLife)) || t.Ends.After(now.Add(mostTokenLife)):
		return Token{}, "", event.NewFault(event.ClassUsage, "account.token-end", nil, "days",
			strconv.Itoa(int(mostTokenLife/(24*time.Hour))))
	}
	text, _ := secret()
	text = tokenPrefix + text
	t.ID = newID()
	err := a.db.Update(ctx, func(tx *sql.Tx) error {
		u, err := userBy(ctx, tx, "id", user)
		if err != nil {
			return err
		}
		t.User, t.UserID = u.Name, u.ID
		_, err = tx.ExecContext(ctx, "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?)", t.ID, digest(text), u.ID,
			t.Name, string(t.Role), t.Cluster, millis(t.Created), millis(t.Ends))
		return err
	})
	return t, text, err
}

const tokenColumns = `tokens.id, users.name, users.id, tokens.name, tokens.role, cluster, tokens.created, ends
	FROM tokens JOIN users ON users.id = tokens.user`

func scanToken(row interface{ Scan(...any) error }) (t Token, err error) {
	var created, ends int64
	err = row.Scan(&t.ID, &t.User, &t.UserID, &t.Name, &t.Role, &t.Cluster, &created, &ends)
	t.Created, t.Ends = fromMillis(created), fromMillis(ends)
	return t, err
}

// Tokens are those of a user, or all of them for "", whose IDs follow after; at most that many.
func (a *Accounts) Tokens(ctx context.Context, user, after string, most int) (out []Token, err error) {
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT "+tokenColumns+
			` WHERE tokens.id > ? AND (? = '' OR tokens.user = ?) ORDER BY tokens.id LIMIT ?`, after, user, user, most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			t, err := scanToken(rows)
			if err != nil {
				return err
			}
			out = append(out, t)
		}
		return rows.Err()
	})
	return out, err
}

// DeleteToken revokes an API token; owner is the ID of the user whose token it has to be, "" for any.
func (a *Accounts) DeleteToken(ctx context.Context, id, owner string) error {
	return a.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM tokens WHERE id = ? AND (? = '' OR user = ?)", id, owner, owner)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return event.NewFault(event.ClassUsage, "account.unknown-token", nil, "token", id)
	})
}

// token is the API token of a request, and its user, if it has not ended.
func (a *Accounts) token(ctx context.Context, text string) (h holder, err error) {
	if !strings.HasPrefix(text, tokenPrefix) {
		return holder{}, nil
	}
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		h.token, err = scanToken(tx.QueryRowContext(ctx, "SELECT "+tokenColumns+" WHERE hash = ?", digest(text)))
		if err == nil {
			h.user, err = userBy(ctx, tx, "id", h.token.UserID)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return holder{}, nil
	}
	if err == nil && a.stale(h.user) {
		err = event.NewFault(event.ClassAuth, "account.stale", nil, "name", h.user.Name, "days",
			strconv.Itoa(int(providerHolds/(24*time.Hour))))
	}
	if err != nil || h.user.Disabled || !a.now().Before(h.token.Ends) {
		return holder{}, err
	}
	h.holds, h.until = true, h.token.Ends
	return h, nil
}
