package trust_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// key makes a key and gives its line for allowed_signers.
func key(t *testing.T, identity string) (file, line string) {
	t.Helper()
	pair, err := sign.Generate(identity, nil)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key")
	line, lerr := pair.AllowedLine(identity)
	if err := errors.Join(lerr, pair.Save(file)); err != nil {
		t.Fatal(err)
	}
	return file, line
}

// signed is a signature of the text by the key in a file.
func signed(t *testing.T, file, text string) []byte {
	t.Helper()
	s, err := sign.Load(t.Context(), file, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data, err := sign.Sign(t.Context(), s, sign.Namespace, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func allowed(t *testing.T, lines string) *sign.AllowedSigners {
	t.Helper()
	a, err := sign.ParseAllowedSigners(strings.NewReader(lines), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What a person answers.
const (
	nobody = iota // is there to ask
	yes
	no
)

// Who may install what, by what the host knows, what lies beside the bundle, and what a person says.
func TestWhatIsInstalled(t *testing.T) {
	const sums = "text of SHA256SUMS\n"
	mine, line := key(t, "builder@example.com")
	other, _ := key(t, "other@example.com")
	good, foreign := signed(t, mine, sums), signed(t, other, sums)
	altered := signed(t, mine, "text of another SHA256SUMS\n")
	broken := bytes.Replace(good, []byte("U1NIU0lH"), []byte("U1NIU0lG"), 1)
	for _, tc := range []struct {
		name  string
		known bool
		sig   []byte // nil: there is none
		ask   int
		code  string      // of the refusal
		state trust.State // when it is let through
	}{
		{"nobody known, unsigned", false, nil, nobody, "", trust.Unsigned},
		{"nobody known, unsigned, a person", false, nil, yes, "", trust.Unsigned},
		{"nobody known, signed", false, good, nobody, "", trust.Stranger},
		{"nobody known, signed, trusted", false, good, yes, "", trust.Signed},
		{"nobody known, signed, not trusted", false, good, no, "trust.refused", ""},
		{"nobody known, altered", false, altered, yes, "trust.altered", ""},
		{"nobody known, no signature in it", false, []byte("signed by me"), yes, "sign.malformed", ""},
		{"nobody known, an empty file", false, []byte{}, yes, "sign.malformed", ""},
		{"nobody known, a broken one", false, broken, yes, "sign.malformed", ""},
		{"known, signed", true, good, no, "", trust.Signed},
		{"known, unsigned", true, nil, yes, "trust.unsigned", ""},
		{"known, altered", true, altered, yes, "trust.altered", ""},
		{"known, foreign", true, foreign, yes, "trust.foreign", ""},
		{"known, a broken one", true, broken, yes, "sign.malformed", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "b-amd64.tar.gz")
			if tc.sig != nil {
				if err := os.WriteFile(file+".sig", tc.sig, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			asked := 0
			j := trust.Checker{Now: time.Now, Ask: func(_ context.Context, q trust.Question) (bool, bool, error) {
				asked++
				if q.Signer.Fingerprint == "" || q.File != file {
					t.Errorf("%+v", q)
				}
				return tc.ask == yes, tc.ask != nobody, nil
			}}
			if tc.known {
				j.Allowed = allowed(t, line)
			}
			v, err := j.Check(t.Context(), file, &bundle.Manifest{}, []byte(sums))
			got := ""
			if err != nil {
				got = event.AsFault(err).Code
				if event.AsFault(err).Class != event.ClassBundle {
					t.Errorf("%v is of class %s", err, event.AsFault(err).Class)
				}
			}
			if got != tc.code || v.State != tc.state {
				t.Errorf("%q %q, want %q %q", got, v.State, tc.code, tc.state)
			}
			if mayAsk := !tc.known && bytes.Equal(tc.sig, good); (asked > 0) != mayAsk {
				t.Errorf("asked %d times", asked)
			}
			// Who insists gets it, and what it would have been refused for.
			j.AllowUnsigned = true
			v, err = j.Check(t.Context(), file, &bundle.Manifest{}, []byte(sums))
			if tc.code == "trust.refused" { // the flag does not say yes to what a person says no to
				if event.AsFault(err).Code != tc.code {
					t.Errorf("with --allow-unsigned: %+v %v", v, err)
				}
				return
			}
			refused := tc.code != ""
			if err != nil || refused && (v.State != trust.Overridden || v.Why.Code != tc.code) || !refused &&
				v.State != tc.state {
				t.Errorf("with --allow-unsigned: %+v %v", v, err)
			}
		})
	}
}

// Parts have one signature, that of the whole.
func TestTheSignatureOfParts(t *testing.T) {
	for path, want := range map[string]string{
		"a/b-amd64.tar.gz": "a/b-amd64.tar.gz.sig", "a/b-amd64.tar.gz.001": "a/b-amd64.tar.gz.sig",
		"b.tar.gz.1000": "b.tar.gz.sig", "a/b.tar.gz (1).001": "a/b.tar.gz.sig", "a/b (1).tar.gz": "a/b (1).tar.gz.sig",
	} {
		if got := bundle.SignatureOf(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestASignatureThatIsNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := os.Mkdir(file+".sig", 0o700); err != nil {
		t.Fatal(err)
	}
	j := trust.Checker{Now: time.Now}
	if _, err := j.Check(t.Context(), file, &bundle.Manifest{},
		nil); event.AsFault(err).Code != "trust.signature-read" {
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	s := trust.In(filepath.Join(t.TempDir(), "eggo"))
	if a, err := s.Load(); a != nil || err != nil {
		t.Fatal(a, err)
	}
	_, one := key(t, "one@example.com")
	_, two := key(t, "two@example.com")
	for _, add := range []struct {
		lines []string
		n     int
	}{{[]string{"# a comment", one}, 1}, {[]string{one, two}, 1}, {[]string{two}, 0}} {
		if n, err := s.Add(add.lines); n != add.n || err != nil {
			t.Errorf("%d %v, want %d", n, err, add.n)
		}
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := s.Add([]string{"what is this"}); event.AsFault(err) == nil || event.AsFault(err).Code != "trust.file" {
		t.Error(err)
	}
	a, err := s.Load()
	if err != nil || a.Len() != 2 {
		t.Fatal(a, err)
	}
	list := a.List()
	if gone, err := s.Remove(list[0].Fingerprint); len(gone) != 1 || err != nil ||
		gone[0].Principals != "one@example.com" {
		t.Error(gone, err)
	}
	if gone, err := s.Remove("nobody"); len(gone) != 0 || err != nil {
		t.Error(gone, err)
	}
	if gone, err := s.Remove("two@example.com"); len(gone) != 1 || err != nil {
		t.Error(gone, err)
	}
	if text, err := os.ReadFile(s.Path()); err != nil || string(text) != "# a comment\n" {
		t.Errorf("%q %v", text, err)
	}
	if a, err := s.Load(); a != nil || err != nil { // a file without a key is none
		t.Error(a, err)
	}
	// A file that cannot be understood is no reason to trust everybody.
	if err := os.WriteFile(s.Path(), []byte("what is this\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Load()
	f := event.AsFault(err)
	if f == nil || f.Code != "trust.file" || f.Args["file"] != s.Path() || !strings.Contains(f.Cause, "line 1") {
		t.Error(err)
	}
}

// A file of signers that cannot be read is no reason to trust everybody, and one that cannot be written keeps nobody.
func TestAStoreThatCannotBeUsed(t *testing.T) {
	want := func(err error, file string) {
		t.Helper()
		f := event.AsFault(err)
		if f == nil || f.Code != "trust.store" || f.Args["file"] != file || f.Cause == "" ||
			strings.Contains(f.Cause, file) {
			t.Errorf("%v", err)
		}
	}
	dir := t.TempDir()
	_, line := key(t, "one@example.com")
	s := trust.In(dir)
	if err := os.Mkdir(s.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := s.Load()
	want(err, s.Path())
	_, err = s.Add([]string{line})
	want(err, s.Path())
	_, err = s.Remove("one@example.com")
	want(err, s.Path())
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = trust.In(filepath.Join(file, "eggo"))
	_, err = s.Add([]string{line})
	want(err, s.Path())
}
