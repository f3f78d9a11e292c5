// Package sign signs bundles and checks their signatures, in OpenSSH's own format: a signature is made here or by
// ssh-keygen -Y sign, and checked here or by ssh-keygen -Y verify, with the keys and the allowed_signers file that
// people have already. It knows nothing of bundles: what is signed is a text, and for a bundle that text is SHA256SUMS
// (docs/decisions/0006-signatures.md).
//
// The formats: PROTOCOL.sshsig and PROTOCOL.u2f of OpenSSH, and the section ALLOWED SIGNERS of ssh-keygen(1).
package sign

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Namespace of a bundle's signature. A signature made for anything else, such as a commit or a mail, does not pass for
// one.
const Namespace = "eggo-bundle"

// minRSA is the least length of an RSA key in bits.
const minRSA = 2048

// bad is a fault of what was signed: the signature does not hold.
func bad(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassBundle, code, err, kv...)
}

// usage is a fault of what the user named: a key, an allowed_signers file.
func usage(code string, err error, kv ...string) *event.Fault {
	return event.NewFault(event.ClassUsage, code, err, kv...)
}

// Sign signs message for the namespace with sha512 and returns the armored signature, as ssh-keygen -Y sign would write
// it. The signature is verified before it is returned. The faults: "sign.key-type", "sign.key-weak",
// "sign.certificate", "sign.read", "sign.refused" (the key or the agent that holds it did not sign).
func Sign(ctx context.Context, signer *Signer, namespace string, message io.Reader) ([]byte, error) {
	if namespace == "" {
		return nil, errors.New("no namespace")
	}
	key := signer.key.PublicKey()
	if err := usable(key); err != nil {
		return nil, usage(err.code, nil, err.kv...)
	}
	b := blob{Version: version, PublicKey: key.Marshal(), Namespace: namespace, Hash: "sha512"}
	data, err := b.signed(ctx, message)
	if err != nil {
		return nil, err
	}
	sig, err := signer.sign(ctx, data)
	if err == nil {
		err = key.Verify(data, sig)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "sign.refused", err, "key", ssh.FingerprintSHA256(key))
	}
	b.Signature = ssh.Marshal(sig)
	return b.armor(), nil
}

// signed is the text that the key signs: it binds namespace and hash to the message.
func (b blob) signed(ctx context.Context, message io.Reader) ([]byte, error) {
	h, ok := newHash(b.Hash)
	if !ok {
		return nil, bad("sign.hash", nil, "hash", b.Hash)
	}
	if _, err := io.Copy(h, reader{ctx, message}); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, event.NewFault(event.ClassFailed, "sign.read", err)
	}
	return append([]byte(magic), ssh.Marshal(struct {
		Namespace, Reserved, Hash string
		Sum                       []byte
	}{b.Namespace, b.Reserved, b.Hash, h.Sum(nil)})...), nil
}

// newHash knows the two hashes that PROTOCOL.sshsig allows.
func newHash(name string) (hash.Hash, bool) {
	switch name {
	case "sha256":
		return sha256.New(), true
	case "sha512":
		return sha512.New(), true
	}
	return nil, false
}

// unusable says why a key may not sign bundles; code and kv make the fault.
type unusable struct {
	code string
	kv   []string
}

// usable refuses certificates, DSA, RSA below 2048 bits, and types that ssh-keygen of the targets would not know.
func usable(key ssh.PublicKey) *unusable {
	if _, ok := key.(*ssh.Certificate); ok {
		return &unusable{"sign.certificate", []string{"key", ssh.FingerprintSHA256(key)}}
	}
	if !slices.Contains(keyTypes(), key.Type()) {
		return &unusable{"sign.key-type", []string{"type", key.Type()}}
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			return &unusable{"sign.key-weak", []string{"bits", fmt.Sprint(r.N.BitLen())}}
		}
	}
	return nil
}

func keyTypes() []string {
	return []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA,
		ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256,
	}
}

// algorithms that a signature by a key of that type may use. RSA with SHA-1 is not among them.
func algorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// onToken says whether the private half is on a security key (FIDO).
func onToken(keyType string) bool {
	return keyType == ssh.KeyAlgoSKED25519 || keyType == ssh.KeyAlgoSKECDSA256
}

// Signer holds a private key, or the way to the agent that holds it. Close it.
type Signer struct {
	key   ssh.Signer
	close func() error // of the agent's connection; nil for a key in memory
}

// Fingerprint of the key, as ssh-keygen -l shows it: SHA256:….
func (s *Signer) Fingerprint() string { return ssh.FingerprintSHA256(s.key.PublicKey()) }

// AllowedLine is the line of an allowed_signers file that trusts this key for bundles under the identity. The identity
// must be one name, not a pattern, else the fault is "sign.identity-name".
func (s *Signer) AllowedLine(identity string) (string, error) {
	return allowedLine(identity, s.key.PublicKey())
}

// Close ends the connection to the agent.
func (s *Signer) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// sign signs with sha512 where the key leaves a choice. An agent may ask a person, so the end of ctx breaks its
// connection.
func (s *Signer) sign(ctx context.Context, data []byte) (*ssh.Signature, error) {
	if s.close != nil {
		defer context.AfterFunc(ctx, func() { _ = s.close() })()
	}
	if s.key.PublicKey().Type() != ssh.KeyAlgoRSA {
		return s.key.Sign(rand.Reader, data)
	}
	k, ok := s.key.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("no RSA with SHA-512")
	}
	sig, err := k.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	if err == nil && sig.Format != ssh.KeyAlgoRSASHA512 { // old agents ignore the flag and answer with SHA-1
		return nil, fmt.Errorf("signed with %s", sig.Format)
	}
	return sig, err
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
