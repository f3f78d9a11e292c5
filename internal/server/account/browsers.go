package account

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"time"
)

// BrowserCookie is the cookie of a browser in which a user has logged in with a password. It is no credential. Wrong
// passwords that others send for the user do not lock such a browser out: it has a count of its own.
const BrowserCookie = "__Host-eggo-browser"

const (
	browserLife   = 180 * 24 * time.Hour
	mostBrowsers  = 20 // of a user
	freeOfBrowser = freeOfUser
)

type browserText struct{}

// withBrowser keeps what a request says of its browser.
func withBrowser(ctx context.Context, r *http.Request) context.Context {
	if c, err := r.Cookie(BrowserCookie); err == nil && c.Value != "" {
		return context.WithValue(ctx, browserText{}, c.Value)
	}
	return ctx
}

// browser returns the hash of the browser of a request, if the user with a name has logged in there; nil: not so.
func (a *Accounts) browser(ctx context.Context, name string) (hash []byte, err error) {
	text, is := ctx.Value(browserText{}).(string)
	if !is {
		return nil, nil
	}
	err = a.db.View(ctx, func(tx *sql.Tx) error {
		n := 0
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM browsers JOIN users ON users.id = browsers.user
			WHERE hash = ? AND name = ? AND used > ?`, digest(text), name, millis(a.now().Add(-browserLife))).Scan(&n)
		if n > 0 {
			hash = digest(text)
		}
		return err
	})
	return hash, err
}

// attempts returns what wrong passwords of a user are counted for; a right one clears the first of them.
func (a *Accounts) attempts(ctx context.Context, name, address string) ([]key, error) {
	hash, err := a.browser(ctx, name)
	if hash != nil {
		return []key{{"browser " + hex.EncodeToString(hash), freeOfBrowser}}, err
	}
	return []key{userKey(name), addressKey(address)}, err
}

// remember has the browser of a request known after a login; the text for its cookie is "" if it was known before.
func (a *Accounts) remember(ctx context.Context, u User) (text string, err error) {
	sent, _ := ctx.Value(browserText{}).(string)
	hash := digest(sent)
	err = a.db.Update(ctx, func(tx *sql.Tx) error {
		n := 0 // a browser may be known for several users, and has one cookie
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM browsers WHERE hash = ?", hash).Scan(&n)
		if err != nil {
			return err
		}
		if n == 0 {
			text, hash = secret()
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO browsers VALUES (?, ?, ?) ON CONFLICT (hash, user) DO UPDATE
			SET used = excluded.used`, hash, u.ID, millis(a.now()))
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM browsers WHERE user = ? AND hash NOT IN
				(SELECT hash FROM browsers WHERE user = ? AND used > ? ORDER BY used DESC LIMIT ?)`, u.ID, u.ID,
				millis(a.now().Add(-browserLife)), mostBrowsers)
		}
		return err
	})
	return text, err
}

// Cookies returns those of a session, and of its browser where it was not known before.
func (a *Accounts) Cookies(s Session) (out []string) {
	out = append(out, a.CookieOf(s).String())
	if s.browser != "" {
		out = append(out, (&http.Cookie{Name: BrowserCookie, Value: s.browser, Path: "/", Secure: true, HttpOnly: true,
			MaxAge: int(browserLife.Seconds()), SameSite: http.SameSiteStrictMode}).String())
	}
	return out
}

// known gives a session the browser that it began in. A login does not fail because that cannot be kept.
func (a *Accounts) known(ctx context.Context, s Session, err error) (Session, error) {
	if err != nil {
		return s, err
	}
	text, failed := a.remember(ctx, s.User)
	if errors.Join(failed, ctx.Err()) == nil {
		s.browser = text
	}
	return s, nil
}
