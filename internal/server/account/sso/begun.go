package sso

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// cookie has a login that was begun, in the browser in which it was. It is sent when the provider sends the browser
// back, which one with SameSite=Strict is not. With the prefix no other host of the domain can put one there, which
// wants "/" as its path.
const cookie = "__Host-eggo-login"

// login is one that was begun.
type login struct {
	Begun    time.Time
	State    string
	Nonce    string
	Verifier string
	Before   string // secret of the session that the browser had, which it does not send when it comes back
}

// begun are the logins that were begun. Browsers keep them, sealed with a key that ends with the server, so that nobody
// can begin so many that another one is lost. Only those that have come to a user are kept here, until they are too old
// anyway: each is good for one session.
type begun struct {
	seal cipher.AEAD
	now  func() time.Time

	mu    sync.Mutex
	ended map[string]time.Time // by state, when each was begun
}

func newBegun(now func() time.Time) (*begun, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return &begun{seal: seal, now: now, ended: map[string]time.Time{}}, err
}

// begin gives the cookie of a login.
func (b *begun) begin(l login) (*http.Cookie, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	sealed := b.seal.Seal(nil, nil, text, []byte(CallbackPath))
	return cookieOf(base64.RawURLEncoding.EncodeToString(sealed), int(patience.Seconds())), nil
}

// cookieOf is the cookie with a value, for so many seconds; -1: it is deleted.
func cookieOf(value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookie, Value: value, Path: "/", MaxAge: age, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
}

// back gives the login with which a browser comes back.
func (b *begun) back(r *http.Request) (l login, ok bool) {
	c, err := r.Cookie(cookie)
	if err != nil {
		return login{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return login{}, false
	}
	text, err := b.seal.Open(nil, nil, sealed, []byte(CallbackPath))
	if err != nil || json.Unmarshal(text, &l) != nil {
		return login{}, false
	}
	return l, b.fresh(l.Begun) && subtle.ConstantTimeCompare([]byte(l.State), []byte(r.FormValue("state"))) == 1
}

func (b *begun) fresh(at time.Time) bool {
	age := b.now().Sub(at)
	return age >= 0 && age <= patience
}

// end ends a login whose user is known by now: true once.
func (b *begun) end(l login) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for state, at := range b.ended {
		if b.now().Sub(at) > patience {
			delete(b.ended, state)
		}
	}
	if _, twice := b.ended[l.State]; twice || !b.fresh(l.Begun) {
		return false
	}
	b.ended[l.State] = l.Begun
	return true
}
