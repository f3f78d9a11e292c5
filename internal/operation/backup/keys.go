package backup

import (
	"fmt"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Lock encrypts a backup: with a passphrase, or for the owners of keys.
type Lock struct{ to []age.Recipient }

// Key decrypts a backup.
type Key struct{ with []age.Identity }

// maxWork is how expensive the passphrase of a file may be made, as a power of two: one of somebody else's could keep
// this program busy for days.
const maxWork = 20

// PassphraseLock encrypts with a passphrase.
func PassphraseLock(passphrase string) (Lock, error) {
	r, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return Lock{}, event.NewFault(event.ClassUsage, "backup.no-passphrase", nil)
	}
	return Lock{[]age.Recipient{r}}, nil
}

// PassphraseKey decrypts with a passphrase.
func PassphraseKey(passphrase string) (Key, error) {
	i, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return Key{}, event.NewFault(event.ClassUsage, "backup.no-passphrase", nil)
	}
	i.SetMaxWorkFactor(maxWork)
	return Key{[]age.Identity{i}}, nil
}

// RecipientsLock encrypts for public keys of age (age1…). Who has the private key of one can decrypt.
func RecipientsLock(keys []string) (Lock, error) {
	var l Lock
	for _, k := range keys {
		if !strings.HasPrefix(k, "age1") { // it may be a private key: it is not repeated anywhere
			return Lock{}, event.NewFault(event.ClassUsage, "backup.no-recipient", nil)
		}
		r, err := age.ParseRecipients(strings.NewReader(k))
		if err != nil {
			return Lock{}, event.NewFault(event.ClassUsage, "backup.recipient", err, "key", event.Clean(k))
		}
		l.to = append(l.to, r...)
	}
	return l, nil
}

// KeyPair is a key pair of age.
type KeyPair struct {
	Public  string // age1…
	Private []byte // a file as age-keygen writes it
}

// NewKeyPair makes a key pair.
func NewKeyPair() (KeyPair, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return KeyPair{}, err
	}
	public := id.Recipient().String()
	return KeyPair{public, fmt.Appendf(nil, "# public key: %s\n%s\n", public, id)}, nil
}

// IdentityKey decrypts with the private keys of a file, as age-keygen writes it.
func IdentityKey(file string) (Key, error) {
	f, err := os.Open(file)
	if err != nil {
		return Key{}, event.NewFault(event.ClassUsage, "backup.identity", err, "path", file)
	}
	defer f.Close()
	ids, err := age.ParseIdentities(f)
	if err != nil { // whose text may have a part of the key
		return Key{}, event.NewFault(event.ClassUsage, "backup.identity", errNoIdentity, "path", file)
	}
	return Key{ids}, nil
}
