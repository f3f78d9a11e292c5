package sign

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestLinesThatSayTooLittleOrTooMuch(t *testing.T) {
	key := newKey(t).key.PublicKey()
	weak := rsaKey(t, 1024).key.PublicKey()
	k := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	b64 := strings.Fields(k)[1]
	for _, c := range []struct{ line, code string }{
		{"a@x " + k, ""},
		{"a@x\t" + k + " a comment, with \"quotes\"", ""},
		{"  a@x " + k + "\r", ""},
		{`a@x NAMESPACES="x",Valid-After="20260101",valid-before="20270101" ` + k, ""},
		{`a@x namespaces="a \" b" ` + k, ""},
		{"a@x", "sign.allowed-line"},
		{"a@x ssh-ed25519", "sign.allowed-line"},
		{"a@x ssh-ed25519 !!!!", "sign.allowed-line"},
		{"a@x ssh-rsa " + b64, "sign.allowed-line"},
		{"a@x ssh-ed25519 " + b64[:20], "sign.allowed-line"},
		{line("a@x", weak), "sign.allowed-line"},
		{"a@x,,b@x " + k, "sign.allowed-line"},
		{"! " + k, "sign.allowed-line"},
		{`"a@x ` + k, "sign.allowed-line"},
		{`a"@x ` + k, "sign.allowed-line"},
		{"a@x cert-authority " + k, "sign.allowed-certificate"},
		{`a@x namespaces="x",CERT-AUTHORITY ` + k, "sign.allowed-certificate"},
		{"a@x no-touch-required " + k, "sign.allowed-line"},
		{`a@x namespaces="x", ` + k, "sign.allowed-line"},
		{`a@x namespaces="x"y ` + k, "sign.allowed-line"},
		{`a@x namespaces="x ` + k, "sign.allowed-line"},
		{`a@x namespaces=x ` + k, "sign.allowed-line"},
		{`a@x namespaces="" ` + k, "sign.allowed-line"},
		{`a@x namespaces="x",namespaces="y" ` + k, "sign.allowed-line"},
		{`a@x valid-after="2026" ` + k, "sign.allowed-line"},
		{`a@x valid-after="20261301" ` + k, "sign.allowed-line"},
		{`a@x valid-after="-2026010" ` + k, "sign.allowed-line"},
		{`a@x valid-after="20270101",valid-before="20260101" ` + k, "sign.allowed-line"},
		{"a@x " + k + "\x1b[31m", "sign.allowed-line"},
		{"a\xff@x " + k, "sign.allowed-line"},
		{"a@x " + k + strings.Repeat(" ", maxLine), "sign.allowed-line"},
	} {
		text := "# first\n\n" + c.line + "\n"
		a, err := ParseAllowedSigners(strings.NewReader(text), time.UTC)
		if code(err) != c.code {
			t.Errorf("%.60q: %v (%v), want %q", c.line, err, errors.Unwrap(err), c.code)
		}
		if f := event.AsFault(err); f != nil && f.Args["line"] != "3" {
			t.Errorf("%.60q: line %s", c.line, f.Args["line"])
		}
		if err == nil && (a.Len() != 1 || a.lines[0].number != 3) {
			t.Errorf("%.60q: %+v", c.line, a)
		}
	}
}

func TestACertificateIsNoAllowedKey(t *testing.T) {
	s := newKey(t)
	cert := &ssh.Certificate{Key: s.key.PublicKey(), CertType: ssh.UserCert}
	if err := cert.SignCert(strings.NewReader(strings.Repeat("x", 99)), s.key); err != nil {
		t.Fatal(err)
	}
	_, err := ParseAllowedSigners(strings.NewReader(line("a@x", cert)), time.UTC)
	if code(err) != "sign.allowed-certificate" {
		t.Error(err)
	}
}

func TestAFileOfSignersHasBounds(t *testing.T) {
	k := line("a@x", newKey(t).key.PublicKey()) + "\n"
	for _, c := range []struct{ name, text, code string }{
		{"empty", "", "sign.allowed-empty"},
		{"comments alone", "# nobody\n\n", "sign.allowed-empty"},
		{"many", strings.Repeat(k, maxSigners), ""},
		{"too many", strings.Repeat(k, maxSigners+1), "sign.allowed-line"},
		{"too large", k + strings.Repeat(strings.Repeat("#", 1000)+"\n", maxAllowed/1000), "sign.allowed-read"},
	} {
		if _, err := ParseAllowedSigners(strings.NewReader(c.text), time.UTC); code(err) != c.code {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
		}
	}
	if _, err := ParseAllowedSigners(iotest.ErrReader(errors.New("disk")), time.UTC); code(err) != "sign.allowed-read" {
		t.Error(err)
	}
}

func TestTimesAreLocalUnlessTheyEndInZ(t *testing.T) {
	east := time.FixedZone("east", 8*3600)
	for s, want := range map[string]string{
		"20260102":        "2026-01-02T00:00:00+08:00",
		"202601020304":    "2026-01-02T03:04:00+08:00",
		"20260102030405":  "2026-01-02T03:04:05+08:00",
		"20260102Z":       "2026-01-02T00:00:00Z",
		"20260102030405Z": "2026-01-02T03:04:05Z",
	} {
		got, err := timestamp(s, east)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		s, p string
		want bool
	}{
		{"abc", "abc", true}, {"abc", "ab", false}, {"abc", "a*", true}, {"abc", "*c", true}, {"abc", "a*b", false},
		{"", "*", true}, {"", "", true},
		{"abc", "a?c", true}, {"abc", "????", false}, {"abc", "***", true}, {"aXbXc", "a*b*c", true},
		{"abab", "*ab", true}, {"abc", "", false},
		{strings.Repeat("a", 5000), strings.Repeat("a*", 2000) + "b", false},
	} {
		if match(c.s, c.p) != c.want {
			t.Errorf("%.20q against %.20q", c.s, c.p)
		}
	}
}

func TestAnIdentityIsOneName(t *testing.T) {
	s := newKey(t)
	for identity, want := range map[string]string{
		"builder@example.com": "", "Release Team": "", "构建": "",
		"": "sign.identity-name", "*": "sign.identity-name", "a,b": "sign.identity-name", "!a": "sign.identity-name",
		"#a":   "sign.identity-name",
		"a\nb": "sign.identity-name", `a"b`: "sign.identity-name", " a": "sign.identity-name",
	} {
		l, err := s.AllowedLine(identity)
		if code(err) != want {
			t.Errorf("%q: %v, want %q", identity, err, want)
		}
		if err != nil {
			continue
		}
		check := Check{Namespace: Namespace, Identity: identity, Allowed: allow(t, l), Now: noon()}
		if _, err := Verify(t.Context(), signed(t, s), strings.NewReader(sums), check); err != nil {
			t.Errorf("%q: %v", identity, err)
		}
	}
}

func FuzzAllowedSigners(f *testing.F) {
	k := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(newKey(f).key.PublicKey())))
	for _, s := range []string{"a@x " + k, `"a b",!c* namespaces="x,\"y",valid-before="20260102Z" ` + k + " c",
		"a@x cert-authority " + k, "#\n\n" + k} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAllowedSigners(strings.NewReader(text), time.UTC)
		if (err == nil) == (a == nil) {
			t.Fatal(a, err)
		}
		if err != nil {
			if !strings.HasPrefix(code(err), "sign.allowed-") {
				t.Fatal(err)
			}
			return
		}
		for _, l := range a.lines {
			if l.number < 1 || l.principals == "" || l.key == "" {
				t.Fatalf("%+v", l)
			}
			matchList("builder@example.com", l.principals)
		}
	})
}

func FuzzVerify(f *testing.F) {
	s := newKey(f)
	f.Add(string(signed(f, s)))
	f.Add(begin + "\nU1NIU0lH\n" + end)
	token := newFIDO(f, 1)
	f.Add(string(forge(f, blob{Version: version, PublicKey: token.Marshal(), Namespace: Namespace, Hash: "sha256"},
		sums, token.sign)))
	allowed := allow(f, line("a@x", s.key.PublicKey()), line("b@x", token))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Verify(t.Context(), []byte(text), strings.NewReader(sums+"changed"),
			Check{Namespace, "", allowed, noon()})
		if err == nil {
			t.Fatalf("%+v was believed", got)
		}
		if !strings.HasPrefix(code(err), "sign.") {
			t.Fatal(err)
		}
		if b, err := parseArmored([]byte(text)); err == nil {
			if again, err := parseArmored(b.armor()); err != nil || again.Namespace != b.Namespace ||
				string(again.Signature) != string(b.Signature) {
				t.Fatalf("%v: %+v became %+v", err, b, again)
			}
		}
	})
}
