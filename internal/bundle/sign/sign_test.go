package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const sums = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  manifest.json\n"

// noon is when the tests check.
func noon() time.Time { return time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC) }

// code of the fault in err; the error itself when it is none, "" for nil.
func code(err error) string {
	if err == nil {
		return ""
	}
	if f := (*event.Fault)(nil); errors.As(err, &f) {
		return f.Code
	}
	return err.Error()
}

func signerOf(t testing.TB, key crypto.Signer) *Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Signer{key: s}
}

func newKey(t testing.TB) *Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signerOf(t, key)
}

func curve(t testing.TB, c elliptic.Curve) *Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signerOf(t, key)
}

func rsaKey(t testing.TB, bits int) *Signer {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signerOf(t, key)
}

// fido is a security key that signs as PROTOCOL.u2f says.
type fido struct {
	ssh.PublicKey
	key   ed25519.PrivateKey
	flags byte
	rest  []byte // after the counter
}

func newFIDO(t testing.TB, flags byte) fido {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ssh.ParsePublicKey(ssh.Marshal(struct {
		Type string
		Key  []byte
		App  string
	}{ssh.KeyAlgoSKED25519, pub, "ssh:"}))
	if err != nil {
		t.Fatal(err)
	}
	return fido{p, key, flags, nil}
}

func (f fido) sign(data []byte) *ssh.Signature {
	app, sum := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data)
	tail := []byte{f.flags, 0, 0, 0, 42}
	text := append(append(app[:], tail...), sum[:]...)
	return &ssh.Signature{Format: f.Type(), Blob: ed25519.Sign(f.key, text), Rest: append(tail, f.rest...)}
}

// forge makes a signature file without the care that Sign takes.
func forge(t testing.TB, b blob, message string, sign func(data []byte) *ssh.Signature) []byte {
	t.Helper()
	data, err := b.signed(t.Context(), strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	b.Signature = ssh.Marshal(sign(data))
	return b.armor()
}

func allow(t testing.TB, lines ...string) *AllowedSigners {
	t.Helper()
	a, err := ParseAllowedSigners(strings.NewReader(strings.Join(lines, "\n")), time.UTC)
	if err != nil {
		t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
	return a
}

// line of an allowed_signers file: principals and options before the key.
func line(before string, key ssh.PublicKey) string {
	return before + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func signed(t testing.TB, s *Signer) []byte {
	t.Helper()
	sig, err := Sign(t.Context(), s, Namespace, strings.NewReader(sums))
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func TestEachKindOfKeySignsAndIsBelieved(t *testing.T) {
	for name, s := range map[string]*Signer{
		"ed25519":  newKey(t),
		"nistp256": curve(t, elliptic.P256()),
		"nistp384": curve(t, elliptic.P384()),
		"nistp521": curve(t, elliptic.P521()),
		"rsa":      rsaKey(t, 2048),
	} {
		t.Run(name, func(t *testing.T) {
			sig := signed(t, s)
			pub := s.key.PublicKey()
			check := Check{Namespace, "builder@example.com", allow(t, "# builders", line("builder@example.com", pub)),
				noon()}
			got, err := Verify(t.Context(), sig, strings.NewReader(sums), check)
			want := Signature{"builder@example.com", pub.Type(), s.Fingerprint(), 2, nil}
			if err != nil || got != want {
				t.Fatalf("%+v, %v", got, err)
			}
			if _, err := Verify(t.Context(), sig, strings.NewReader(sums+" "), check); code(err) != "sign.mismatch" {
				t.Errorf("another text: %v", err)
			}
			if got, _ := parseArmored(sig); got.Hash != "sha512" {
				t.Errorf("hash %s", got.Hash)
			}
			for i, l := range strings.Split(strings.TrimSpace(string(sig)), "\n") {
				if len(l) > lineWidth {
					t.Errorf("line %d has %d characters", i, len(l))
				}
			}
		})
	}
}

func TestWhoMaySignForWhatAndWhen(t *testing.T) {
	one, two := newKey(t), newKey(t)
	k1, k2 := one.key.PublicKey(), two.key.PublicKey()
	for _, c := range []struct {
		name, identity string
		lines          []string
		code           string
		line           int
	}{
		{"listed", "a@x", []string{line("a@x", k1)}, "", 1},
		{"anyone listed", "", []string{line("b@x", k2), line("a@x,ops@x", k1)}, "", 2},
		{"not listed", "a@x", []string{line("a@x", k2)}, "sign.untrusted", 0},
		{"another's key", "b@x", []string{line("a@x", k1), line("b@x", k2)}, "sign.identity", 0},
		{"pattern", "a@x", []string{line("*@x", k1)}, "", 1},
		{"pattern of another domain", "a@y", []string{line("*@x", k1)}, "sign.identity", 0},
		{"all but one", "a@x", []string{line("*@x,!a@x", k1)}, "sign.identity", 0},
		{"one letter", "a1@x", []string{line("a?@x", k1)}, "", 1},
		{"quoted", "a b", []string{line(`"a b"`, k1)}, "", 1},
		{"for bundles", "a@x", []string{line(`a@x namespaces="eggo-bundle"`, k1)}, "", 1},
		{"for several", "a@x", []string{line(`a@x namespaces="git,eggo-*"`, k1)}, "", 1},
		{"for commits", "a@x", []string{line(`a@x namespaces="git"`, k1)}, "sign.scope", 0},
		{"for all but bundles", "a@x", []string{line(`a@x namespaces="*,!eggo-bundle"`, k1)}, "sign.scope", 0},
		{"still valid", "a@x", []string{line(`a@x valid-before="20260615120000Z"`, k1)}, "", 1},
		{"expired", "a@x", []string{line(`a@x valid-before="20260615115959Z"`, k1)}, "sign.expired", 0},
		{"valid already", "a@x", []string{line(`a@x valid-after="202606151200Z"`, k1)}, "", 1},
		{"not yet valid", "a@x", []string{line(`a@x valid-after="20260616"`, k1)}, "sign.not-yet", 0},
		{"a second line helps", "a@x", []string{line(`a@x valid-before="20250101"`, k1),
			line(`a@x namespaces="eggo-bundle"`, k1)}, "", 2},
		{"the nearest miss is told", "a@x", []string{line(`a@x namespaces="git"`, k1), line("b@x", k1),
			line("a@x", k2)}, "sign.scope", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Verify(t.Context(), signed(t, one), strings.NewReader(sums),
				Check{Namespace, c.identity, allow(t, c.lines...), noon()})
			if code(err) != c.code || got.Line != c.line {
				t.Errorf("%+v, %v; want line %d, %q", got, err, c.line, c.code)
			}
		})
	}
}

func TestASignatureForSomethingElseIsRefused(t *testing.T) {
	s := newKey(t)
	sig, err := Sign(t.Context(), s, "git", strings.NewReader(sums))
	if err != nil {
		t.Fatal(err)
	}
	check := Check{Namespace, "", allow(t, line("a@x", s.key.PublicKey())), noon()}
	if _, err := Verify(t.Context(), sig, strings.NewReader(sums), check); code(err) != "sign.namespace" {
		t.Error(err)
	}
	check.Namespace = "git"
	if _, err := Verify(t.Context(), sig, strings.NewReader(sums), check); err != nil {
		t.Error(err)
	}
}

func TestASecurityKeyMustBeTouched(t *testing.T) {
	for _, c := range []struct {
		flags byte
		rest  []byte
		code  string
	}{
		{1, nil, ""},
		{5, nil, ""},
		{0, nil, "sign.no-touch"},
		{4, nil, "sign.no-touch"},
		{1, []byte{0}, "sign.malformed"},
	} {
		f := newFIDO(t, c.flags)
		f.rest = c.rest
		b := blob{Version: version, PublicKey: f.Marshal(), Namespace: Namespace, Hash: "sha512"}
		sig := forge(t, b, sums, f.sign)
		check := Check{Namespace, "a@x", allow(t, line("a@x", f)), noon()}
		got, err := Verify(t.Context(), sig, strings.NewReader(sums), check)
		if code(err) != c.code {
			t.Errorf("flags %d: %v, want %q", c.flags, err, c.code)
		} else if err == nil && (got.Token == nil || got.Token.Counter != 42 ||
			got.Token.UserVerified != (c.flags&4 != 0)) {
			t.Errorf("flags %d: %+v", c.flags, got.Token)
		}
		if _, err := Verify(t.Context(), sig, strings.NewReader("x"), check); c.code == "" &&
			code(err) != "sign.mismatch" {
			t.Error(err)
		}
	}
}

func TestForgeriesAreNamed(t *testing.T) {
	s := newKey(t)
	pub := s.key.PublicKey()
	good := blob{Version: version, PublicKey: pub.Marshal(), Namespace: Namespace, Hash: "sha512"}
	plain := func(data []byte) *ssh.Signature {
		sig, err := s.key.Sign(rand.Reader, data)
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	with := func(change func(b *blob)) []byte { b := good; change(&b); return forge(t, b, sums, plain) }
	weak := rsaKey(t, 1024)
	big := rsaKey(t, 2048)
	cert := &ssh.Certificate{Key: pub, CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, s.key); err != nil {
		t.Fatal(err)
	}
	raw := func(data []byte) []byte {
		return []byte(begin + "\n" + base64.StdEncoding.EncodeToString(data) + "\n" + end + "\n")
	}
	text := string(signed(t, s))
	for _, c := range []struct {
		name string
		sig  []byte
		code string
	}{
		{"sha256 of the message", with(func(b *blob) { b.Hash = "sha256" }), ""},
		{"a reserved field", with(func(b *blob) { b.Reserved = "later" }), ""},
		{"carriage returns", []byte(strings.ReplaceAll(text, "\n", "\r\n")), ""},
		{"empty", nil, "sign.malformed"},
		{"no armor", []byte("hello"), "sign.malformed"},
		{"no end", []byte(strings.Split(text, "-----END")[0]), "sign.malformed"},
		{"text after the end", []byte(text + "and more"), "sign.malformed"},
		{"no base64", []byte(begin + "\n!!\n" + end), "sign.malformed"},
		{"no magic", raw([]byte("SSHSIX")), "sign.malformed"},
		{"cut off", raw([]byte(magic + "\x00\x00\x00\x01\x00\x00\x00\xff")), "sign.malformed"},
		{"left over", raw(append(append([]byte(magic), ssh.Marshal(good)...), 0)), "sign.malformed"},
		{"too long", bytes.Repeat([]byte("A"), MaxSignature+1), "sign.malformed"},
		{"another version", with(func(b *blob) { b.Version = 2 }), "sign.malformed"},
		{"key that is none", with(func(b *blob) { b.PublicKey = []byte{1} }), "sign.malformed"},
		{"a certificate", with(func(b *blob) { b.PublicKey = cert.Marshal() }), "sign.certificate"},
		{"a key of an old type", with(func(b *blob) { b.PublicKey = dsaKey() }), "sign.key-type"},
		{"a weak key", with(func(b *blob) { b.PublicKey = weak.key.PublicKey().Marshal() }), "sign.key-weak"},
		{"another's key", with(func(b *blob) { b.PublicKey = newKey(t).key.PublicKey().Marshal() }), "sign.untrusted"},
		{"sha1 of the message", raw(append([]byte(magic),
			ssh.Marshal(blob{1, pub.Marshal(), Namespace, "", "sha1", []byte("x")})...)), "sign.hash"},
		{"no signature", raw(append([]byte(magic), ssh.Marshal(good)...)), "sign.malformed"},
		{"bytes after the signature", forge(t, good, sums, func(d []byte) *ssh.Signature {
			x := plain(d)
			x.Rest = []byte{0}
			return x
		}), "sign.malformed"},
		{"RSA with SHA-1", forge(t, blob{Version: 1, PublicKey: big.key.PublicKey().Marshal(), Namespace: Namespace,
			Hash: "sha512"}, sums, func(d []byte) *ssh.Signature {
			x, err := big.key.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, d, ssh.KeyAlgoRSA)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}), "sign.algorithm"},
		{"a signature of the text without its frame",
			forge(t, good, sums, func([]byte) *ssh.Signature { return plain([]byte(sums)) }), "sign.mismatch"},
		{"a signature of another name for the hash", func() []byte {
			b, err := parseArmored(signed(t, s))
			if err != nil {
				t.Fatal(err)
			}
			b.Hash = "sha256"
			return b.armor()
		}(), "sign.mismatch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := Check{Namespace, "a@x", allow(t, line("a@x", pub), line("a@x", big.key.PublicKey())), noon()}
			if _, err := Verify(t.Context(), c.sig, strings.NewReader(sums), check); code(err) != c.code {
				t.Errorf("%v, want %q", err, c.code)
			}
		})
	}
}

func TestAWeakKeyDoesNotSign(t *testing.T) {
	if _, err := Sign(t.Context(), rsaKey(t, 1024), Namespace, strings.NewReader(sums)); code(err) != "sign.key-weak" {
		t.Error(err)
	}
}

func TestReadingEndsWithItsContextAndNamesItsErrors(t *testing.T) {
	s := newKey(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sign(ctx, s, Namespace, strings.NewReader(sums)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	broken := iotest.ErrReader(errors.New("disk"))
	if _, err := Sign(t.Context(), s, Namespace, broken); code(err) != "sign.read" {
		t.Error(err)
	}
	check := Check{Namespace, "", allow(t, line("a@x", s.key.PublicKey())), noon()}
	if _, err := Verify(t.Context(), signed(t, s), broken, check); code(err) != "sign.read" {
		t.Error(err)
	}
	if _, err := Verify(ctx, signed(t, s), strings.NewReader(sums), check); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A liar answers with something that is no signature of what it was given.
type liar struct{ ssh.Signer }

func (l liar) Sign(r io.Reader, _ []byte) (*ssh.Signature, error) {
	return l.Signer.Sign(r, []byte("something else"))
}

func TestAKeyThatSignsSomethingElseIsCaught(t *testing.T) {
	s := newKey(t)
	s.key = liar{s.key}
	if _, err := Sign(t.Context(), s, Namespace, strings.NewReader(sums)); code(err) != "sign.refused" {
		t.Error(err)
	}
}

func TestTheSignedTextIsThatOfTheProtocol(t *testing.T) {
	b := blob{Namespace: "ns", Reserved: "r", Hash: "sha256"}
	got, err := b.signed(t.Context(), strings.NewReader("abc"))
	want := "SSHSIG\x00\x00\x00\x02ns\x00\x00\x00\x01r\x00\x00\x00\x06sha256\x00\x00\x00\x20" +
		"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func ExampleVerify() {
	pair, err := Generate("builder@example.com", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _ := ssh.ParsePrivateKey(pair.Private)
	sig, _ := Sign(context.Background(), &Signer{key: key}, Namespace, strings.NewReader(sums))
	line, _ := pair.AllowedLine("builder@example.com")
	allowed, _ := ParseAllowedSigners(strings.NewReader(line), time.UTC)
	got, err := Verify(context.Background(), sig, strings.NewReader(sums), Check{Namespace, "", allowed, time.Now()})
	fmt.Println(got.Identity, got.KeyType, err)
	// Output: builder@example.com ssh-ed25519 <nil>
}

// dsaKey is a public key, in the format of SSH, of a type that no longer counts.
func dsaKey() []byte {
	bit := func(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
	return ssh.Marshal(struct {
		Type       string
		P, Q, G, Y *big.Int
	}{"ssh-dss", bit(1023), bit(159), big.NewInt(2), big.NewInt(3)})
}
