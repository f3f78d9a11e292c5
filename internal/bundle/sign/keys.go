package sign

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// maxKeyFile bounds a key's file in bytes; RSA of 16384 bits needs 13 KiB.
const maxKeyFile = 64 << 10

// KeyPair is a new key: an Ed25519 key in OpenSSH's own format, as ssh-keygen writes it.
type KeyPair struct {
	Private []byte // PEM, encrypted when a passphrase was given
	Public  string // the line of the .pub file
	key     ssh.PublicKey
}

// Generate makes a key pair. The comment (such as an address) ends the public line; an empty passphrase leaves the
// private key unencrypted. A comment with control characters is the fault "sign.comment".
func Generate(comment string, passphrase []byte) (KeyPair, error) {
	if strings.ContainsFunc(comment, unicode.IsControl) {
		return KeyPair{}, usage("sign.comment", nil, "comment", comment)
	}
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	var block *pem.Block
	if len(passphrase) == 0 {
		block, err = ssh.MarshalPrivateKey(key, comment)
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, comment, passphrase)
	}
	if err != nil {
		return KeyPair{}, err
	}
	public, err := ssh.NewPublicKey(pub)
	if err != nil {
		return KeyPair{}, err
	}
	line := strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(public)), "\n")
	return KeyPair{Private: pem.EncodeToMemory(block), Public: strings.TrimSpace(line+" "+comment) + "\n", key: public},
		nil
}

// Fingerprint of the key, as ssh-keygen -l shows it.
func (k KeyPair) Fingerprint() string { return ssh.FingerprintSHA256(k.key) }

// AllowedLine is the line of an allowed_signers file that trusts the key for bundles under the identity. The identity
// must be one name, not a pattern, else the fault is "sign.identity-name".
func (k KeyPair) AllowedLine(identity string) (string, error) { return allowedLine(identity, k.key) }

// Save writes the private key to path (mode 0600) and the public one to path.pub. It replaces nothing: a file that is
// there is the fault "sign.key-exists"; any other failure is "sign.key-write".
func (k KeyPair) Save(path string) error {
	public := path + ".pub"
	if _, err := os.Lstat(public); err == nil {
		return usage("sign.key-exists", nil, "file", public)
	}
	if err := create(path, k.Private, 0o600); err != nil {
		return err
	}
	return create(public, []byte(k.Public), 0o644)
}

func create(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return usage("sign.key-exists", nil, "file", path)
	}
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "sign.key-write", pathless(err), "file", path)
	}
	return nil
}

// Ask for the passphrase of the key in that file; again says that the last one was wrong. Its errors are returned as
// they are.
type Ask func(ctx context.Context, file string, again bool) ([]byte, error)

// Load makes a signer of the key in a file: a private key in OpenSSH's format or PEM, or a public key (its line) whose
// private half an agent holds, which SSH_AUTH_SOCK (agent) names. Like ssh, it refuses a private key of this user that
// others can read. ask (nil: nobody to ask) is called up to three times. The faults: "sign.key-read", "sign.key-mode",
// "sign.key-format", "sign.key-passphrase", "sign.key-type", "sign.key-weak", "sign.certificate", "sign.agent",
// "sign.agent-key".
func Load(ctx context.Context, file, agent string, ask Ask) (*Signer, error) {
	data, private, err := readKey(file)
	if err != nil {
		return nil, err
	}
	var s *Signer
	if private {
		s, err = decrypt(ctx, file, data, ask)
	} else {
		s, err = fromAgent(ctx, file, string(data), agent)
	}
	if err != nil {
		return nil, err
	}
	if u := usable(s.key.PublicKey()); u != nil {
		return nil, errors.Join(usage(u.code, nil, append(u.kv, "file", file)...), s.Close())
	}
	return s, nil
}

// readKey reads a key's file and says whether it is a private one.
func readKey(file string) (data []byte, private bool, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo must not hang
	if err != nil {
		return nil, false, usage("sign.key-read", pathless(err), "file", file)
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	}
	if err == nil && len(data) > maxKeyFile {
		err = fmt.Errorf("larger than %d bytes", maxKeyFile)
	}
	if err != nil {
		return nil, false, usage("sign.key-read", pathless(err), "file", file)
	}
	if block, _ := pem.Decode(data); block == nil {
		return data, false, nil
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if ok && int(sys.Uid) == os.Getuid() && st.Mode().Perm()&0o077 != 0 {
		return nil, false, usage("sign.key-mode", nil, "file", file, "mode", fmt.Sprintf("%04o", st.Mode().Perm()))
	}
	return data, true, nil
}

// decrypt reads a private key and asks for its passphrase when it has one.
func decrypt(ctx context.Context, file string, data []byte, ask Ask) (*Signer, error) {
	const tries = 3
	key, err := ssh.ParseRawPrivateKey(data)
	if missing := (*ssh.PassphraseMissingError)(nil); errors.As(err, &missing) {
		if ask == nil {
			return nil, usage("sign.key-passphrase", nil, "file", file)
		}
		for n := 0; n < tries; n++ {
			var phrase []byte
			if phrase, err = ask(ctx, file, n > 0); err != nil {
				return nil, err
			}
			if key, err = nil, x509.IncorrectPasswordError; len(phrase) > 0 {
				// an empty one would be no wrong passphrase but a damaged key
				key, err = ssh.ParseRawPrivateKeyWithPassphrase(data, phrase)
			}
			clear(phrase)
			if !errors.Is(err, x509.IncorrectPasswordError) {
				break
			}
		}
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, usage("sign.key-passphrase", nil, "file", file)
		}
	}
	if err != nil {
		return nil, usage("sign.key-format", err, "file", file)
	}
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, usage("sign.key-format", err, "file", file)
	}
	return &Signer{key: s}, nil
}

// pathless drops the path from err: the fault names the file itself.
func pathless(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
