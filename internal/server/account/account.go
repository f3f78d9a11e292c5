// Package account knows the users of a server: passwords, sessions, API tokens, roles, and what they did. It implements
// access.Control. It imports access, database, event, and problem, in whose form it refuses requests.
package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/database"
)

//go:embed migrations
var migrations embed.FS

// Options are what an administrator of the server may choose, and what tests replace. A zero value has the default.
type Options struct {
	Now  func() time.Time
	Cost Cost          // of a password
	Idle time.Duration // a session that nobody uses ends after it
	Life time.Duration // every session ends after it
}

// Accounts are the users of a server. Their methods may be called by many at once.
type Accounts struct {
	db     *database.DB
	now    func() time.Time
	idle   time.Duration
	life   time.Duration
	hasher *hasher
	logins *limiter // by user and by address
	tokens *limiter // by address
	forged *http.CrossOriginProtection
	failed *refusals

	changes atomic.Int64 // of users, sessions and API tokens, made by this process

	setupFile atomic.Pointer[string] // has the setup token; nil: there was none
}

// Open gives the accounts in a database, and makes their tables.
func Open(ctx context.Context, db *database.DB, o Options) (*Accounts, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err == nil {
		err = db.Migrate(ctx, "account", files)
	}
	if err != nil {
		return nil, err
	}
	a := &Accounts{db: db, now: o.Now, idle: o.Idle, life: o.Life, forged: http.NewCrossOriginProtection()}
	if a.now == nil {
		a.now = time.Now
	}
	if a.idle == 0 {
		a.idle = time.Hour
	}
	if a.life == 0 {
		a.life = 12 * time.Hour
	}
	a.hasher = newHasher(o.Cost)
	a.failed = &refusals{now: a.now}
	a.logins = newLimiter(a.now, 10_000)
	a.tokens = newLimiter(a.now, 10_000)
	return a, nil
}

// secret is a random value of 256 bits that is given to a user, and its hash, which the database has.
func secret() (text string, hash []byte) {
	b := make([]byte, 32)
	rand.Read(b) // it never fails
	text = base64.RawURLEncoding.EncodeToString(b)
	return text, digest(text)
}

// digest is enough for secrets that nobody can guess; passwords are hashed by hasher.
func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// newID is a random name of a row.
func newID() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func millis(t time.Time) int64 { return t.UnixMilli() }

func fromMillis(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
