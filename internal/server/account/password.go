package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Cost is what one check of a password takes (argon2id). It is stored with each password; a password that was hashed
// with another cost is hashed again at its next login.
type Cost struct {
	Passes  uint32
	Memory  uint32 // KiB
	Threads uint8
}

// usualCost is the second recommendation of RFC 9106, with fewer threads.
func usualCost() Cost { return Cost{Passes: 3, Memory: 64 << 10, Threads: 2} }

// Bounds of what a hash in the database may ask for: it may come from a backup.
const (
	mostMemory = 1 << 20
	mostPasses = 100
	keyBytes   = 32
	saltBytes  = 16
)

// The rules of passwords.
const (
	leastPassword  = 12 // characters
	mostPassword   = 256
	leastDifferent = 5
)

// common are passwords that keep the other rules and are guessed first.
//
//go:embed common.txt
var common string

// hasher hashes passwords, few at once: each takes the memory of its cost.
type hasher struct {
	cost  Cost
	slots chan struct{}
	dummy string // what the password of an unknown user is compared with: both take the same time
}

func newHasher(c Cost) *hasher {
	if c == (Cost{}) {
		c = usualCost()
	}
	h := &hasher{cost: c, slots: make(chan struct{}, 2)}
	h.dummy = h.encode(make([]byte, saltBytes), make([]byte, keyBytes))
	return h
}

func (h *hasher) encode(salt, key []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.Memory, h.cost.Passes,
		h.cost.Threads, b.EncodeToString(salt), b.EncodeToString(key))
}

func (h *hasher) key(ctx context.Context, password string, salt []byte, c Cost) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return argon2.IDKey([]byte(norm.NFKC.String(password)), salt, c.Passes, c.Memory, c.Threads, keyBytes), nil
}

// hash gives what is stored of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	key, err := h.key(ctx, password, salt, h.cost)
	if err != nil {
		return "", err
	}
	return h.encode(salt, key), nil
}

// verify says whether a password is the stored one, and whether it is to be hashed again. It takes as long when
// nothing is stored.
func (h *hasher) verify(ctx context.Context, password, stored string) (right, again bool, err error) {
	known := stored != ""
	if !known {
		stored = h.dummy
	}
	c, salt, want, ok := parseHash(stored)
	if !ok {
		return false, false, event.NewFault(event.ClassFailed, "account.hash-damaged", nil)
	}
	if len(password) > 4*mostPassword {
		password = "" // wrong, and not worth the time
	}
	key, err := h.key(ctx, password, salt, c)
	if err != nil {
		return false, false, err
	}
	right = subtle.ConstantTimeCompare(key, want) == 1 && known
	return right, right && c != h.cost, nil
}

func parseHash(stored string) (c Cost, salt, key []byte, ok bool) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return c, nil, nil, false
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.Memory, &c.Passes, &c.Threads); n != 3 || err != nil ||
		c.Memory > mostMemory || c.Passes == 0 || c.Passes > mostPasses || c.Threads == 0 {
		return c, nil, nil, false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err == nil {
		key, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	return c, salt, key, err == nil && len(key) == keyBytes
}

// CheckPassword says what is wrong with a new password of a user.
func CheckPassword(name, password string) error {
	lower := strings.ToLower(password)
	different := map[rune]bool{}
	for _, r := range lower {
		different[r] = true
	}
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password) || strings.ContainsFunc(password, unicode.IsControl):
		return event.NewFault(event.ClassUsage, "account.password-characters", nil)
	case n < leastPassword:
		return event.NewFault(event.ClassUsage, "account.password-short", nil, "least", strconv.Itoa(leastPassword))
	case n > mostPassword:
		return event.NewFault(event.ClassUsage, "account.password-long", nil, "most", strconv.Itoa(mostPassword))
	case len(name) > 2 && strings.Contains(lower, strings.ToLower(name)):
		return event.NewFault(event.ClassUsage, "account.password-name", nil)
	case len(different) < leastDifferent || strings.Contains("\n"+common, "\n"+lower+"\n"):
		return event.NewFault(event.ClassUsage, "account.password-simple", nil)
	}
	return nil
}
