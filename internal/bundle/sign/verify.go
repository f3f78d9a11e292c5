package sign

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Check says what a signature is held against.
type Check struct {
	Namespace string
	Identity  string // who must have signed; "" for anyone whom Allowed lists
	Allowed   *AllowedSigners
	Now       time.Time // for valid-after and valid-before
}

// Signature that holds.
type Signature struct {
	Identity    string // the one that Check asks for, else the principals of the line that allows the key
	KeyType     string // ssh-ed25519
	Fingerprint string // SHA256:…
	Line        int    // of the allowed_signers file
	// Token is what a security key (FIDO) vouches for besides, nil for others.
	Token *Token
}

// Unlisted is a signature that fits what it is said to sign. Whose it is, and whether that key is to be trusted, nobody
// has said.
type Unlisted struct {
	KeyType     string
	Fingerprint string
	key         ssh.PublicKey
}

// AllowedLine is the line of an allowed_signers file that trusts the key under the identity, which must be one name,
// else the fault is "sign.identity-name".
func (u Unlisted) AllowedLine(identity string) (string, error) { return allowedLine(identity, u.key) }

// Token is what a security key signs with the text. That it was touched is required, so it is not here.
type Token struct {
	UserVerified bool   // by PIN or fingerprint
	Counter      uint32 // of its signatures
}

// Verify checks that the armored signature is one of message for the namespace by a key that is allowed now. Whether
// the key may sign is decided before message is read. The faults: "sign.malformed", "sign.certificate",
// "sign.key-type", "sign.key-weak", "sign.namespace", "sign.hash", "sign.untrusted", "sign.identity", "sign.scope",
// "sign.not-yet", "sign.expired", "sign.algorithm", "sign.no-touch", "sign.mismatch", all of class bundle, and
// "sign.read".
func Verify(ctx context.Context, armored []byte, message io.Reader, check Check) (Signature, error) {
	if check.Namespace == "" || check.Allowed == nil {
		return Signature{}, errors.New("no namespace or nobody allowed")
	}
	b, key, sig, err := parse(armored, check.Namespace)
	if err != nil {
		return Signature{}, err
	}
	out := Signature{KeyType: key.Type(), Fingerprint: ssh.FingerprintSHA256(key)}
	line, err := check.Allowed.find(key, check)
	if err != nil {
		return Signature{}, err
	}
	if out.Line, out.Identity = line.number, check.Identity; out.Identity == "" {
		out.Identity = line.principals
	}
	out.Token, err = b.fits(ctx, key, sig, message)
	if err != nil {
		return Signature{}, err
	}
	return out, nil
}

// Fits is Verify for who knows no signers: the signature must be one of message, by whatever key. The faults are those
// of Verify but for the ones about a list.
func Fits(ctx context.Context, armored []byte, message io.Reader, namespace string) (Unlisted, error) {
	b, key, sig, err := parse(armored, namespace)
	if err != nil {
		return Unlisted{}, err
	}
	if _, err := b.fits(ctx, key, sig, message); err != nil {
		return Unlisted{}, err
	}
	return Unlisted{key.Type(), ssh.FingerprintSHA256(key), key}, nil
}

// parse reads a signature that was made for the namespace.
func parse(armored []byte, namespace string) (blob, ssh.PublicKey, *ssh.Signature, error) {
	b, err := parseArmored(armored)
	if err != nil {
		return b, nil, nil, bad("sign.malformed", err)
	}
	key, sig, err := b.parts()
	if err != nil {
		return b, nil, nil, err
	}
	if b.Namespace != namespace {
		return b, nil, nil, bad("sign.namespace", nil, "got", b.Namespace, "want", namespace)
	}
	return b, key, sig, nil
}

// fits checks that the key signed the message, and says what a security key vouches for besides.
func (b blob) fits(ctx context.Context, key ssh.PublicKey, sig *ssh.Signature, message io.Reader) (t *Token,
	err error) {
	if onToken(key.Type()) {
		if t, err = token(sig.Rest); err != nil {
			return nil, err
		}
	} else if len(sig.Rest) > 0 {
		return nil, bad("sign.malformed", errors.New("something follows the signature"))
	}
	data, err := b.signed(ctx, message)
	if err != nil {
		return nil, err
	}
	if err := key.Verify(data, sig); err != nil {
		return nil, bad("sign.mismatch", err, "key", ssh.FingerprintSHA256(key))
	}
	return t, nil
}

// parts are the key and its signature within the blob, of types that may sign.
func (b blob) parts() (ssh.PublicKey, *ssh.Signature, error) {
	key, err := ssh.ParsePublicKey(b.PublicKey)
	if err != nil {
		return nil, nil, bad("sign.malformed", err)
	}
	if u := usable(key); u != nil {
		return nil, nil, bad(u.code, nil, u.kv...)
	}
	if _, ok := newHash(b.Hash); !ok {
		return nil, nil, bad("sign.hash", nil, "hash", b.Hash)
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &sig); err != nil {
		return nil, nil, bad("sign.malformed", err)
	}
	if !slices.Contains(algorithms(key.Type()), sig.Format) {
		return nil, nil, bad("sign.algorithm", nil, "algorithm", sig.Format, "type", key.Type())
	}
	return key, &sig, nil
}

// token reads the flags and the counter that a security key adds to its signature (PROTOCOL.u2f).
func token(rest []byte) (*Token, error) {
	const present, verified = 1, 4
	if len(rest) != 5 {
		return nil, bad("sign.malformed", fmt.Errorf("%d bytes of flags and counter", len(rest)))
	}
	if rest[0]&present == 0 {
		return nil, bad("sign.no-touch", nil)
	}
	return &Token{UserVerified: rest[0]&verified != 0, Counter: binary.BigEndian.Uint32(rest[1:])}, nil
}

// find returns the first line that allows the key; when there is none, the fault of the line that came nearest to it.
func (a *AllowedSigners) find(key ssh.PublicKey, check Check) (*allowed, error) {
	const unknown, otherIdentity, otherScope, otherTime = 0, 1, 2, 3
	wire, id := string(key.Marshal()), ssh.FingerprintSHA256(key)
	nearest := unknown
	fault := bad("sign.untrusted", nil, "key", id)
	miss := func(how int, f *event.Fault) {
		if how > nearest {
			nearest, fault = how, f
		}
	}
	for i := range a.lines {
		l := &a.lines[i]
		at := fmt.Sprint(l.number)
		switch {
		case l.key != wire:
		case check.Identity != "" && !matchList(check.Identity, l.principals):
			miss(otherIdentity, bad("sign.identity", nil, "key", id, "want", check.Identity, "line", at))
		case l.namespaces != "" && !matchList(check.Namespace, l.namespaces):
			miss(otherScope, bad("sign.scope", nil, "key", id, "want", check.Namespace, "line", at))
		case !l.after.IsZero() && check.Now.Before(l.after):
			miss(otherTime, bad("sign.not-yet", nil, "key", id, "from", l.after.Format(time.RFC3339), "line", at))
		case !l.before.IsZero() && check.Now.After(l.before):
			miss(otherTime, bad("sign.expired", nil, "key", id, "until", l.before.Format(time.RFC3339), "line", at))
		default:
			return l, nil
		}
	}
	return nil, fault
}
