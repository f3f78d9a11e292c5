package deb

import (
	"bytes"
	"crypto"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

var releaseDay = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func signer(t testing.TB) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("archive", "", "archive@example.org",
		&packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, DefaultHash: crypto.SHA256,
			Time: func() time.Time { return releaseDay.Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func releaseText(fields ...string) string {
	sum := strings.Repeat("0a", 32)
	text := "Suite: stable\nCodename: bookworm\nArchitectures: all amd64\nDate: Fri, 01 May 2026 00:00:00 UTC\n" +
		"Valid-Until: Fri, 08 May 2026 00:00:00 UTC\nSHA256:\n" +
		" " + sum + " 100 main/binary-amd64/Packages\n " + sum + " 10 main/binary-amd64/Packages.xz\n " + sum +
		" 7 Packages.gz\n " + sum + " 70 Packages\n"
	for i := 0; i+1 < len(fields); i += 2 {
		text = strings.ReplaceAll(text, fields[i], fields[i+1])
	}
	return text
}

var atReleaseDay = &packet.Config{Time: func() time.Time { return releaseDay }}

func signDetached(t *testing.T, text string, armoured bool, by *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	sign := openpgp.DetachSign
	if armoured {
		sign = openpgp.ArmoredDetachSign
	}
	if err := sign(&b, by, strings.NewReader(text), atReleaseDay); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func signInline(t *testing.T, text string, by *openpgp.Entity) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := clearsign.Encode(&b, by.PrivateKey, atReleaseDay)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReleases(t *testing.T) {
	key, other := signer(t), signer(t)
	detached := func(text string, armoured bool, by *openpgp.Entity) []byte {
		return signDetached(t, text, armoured, by)
	}
	inline := func(text string, by *openpgp.Entity) []byte { return signInline(t, text, by) }
	check := Check{Suite: "bookworm", Arch: "amd64", Keys: openpgp.EntityList{key}, Now: releaseDay.Add(time.Hour)}
	trusted, flat, late, patient := check, check, check, check
	trusted.Trusted, flat.Flat, flat.Suite = true, true, "."
	late.Now = releaseDay.AddDate(0, 0, 30)
	slow, early := check, check
	slow.Now, early.Now = releaseDay.Add(-12*time.Hour), releaseDay.AddDate(0, 0, -2)
	patient.Now, patient.IgnoreExpiry = late.Now, true
	good := releaseText()
	weak := releaseText("SHA256:", "MD5Sum:")
	tests := []struct {
		name string
		do   func() (*Release, error)
		want string
	}{
		{"inside", func() (*Release, error) { return check.InRelease(inline(good, key)) }, ""},
		{"inside, another's", func() (*Release, error) { return check.InRelease(inline(good, other)) },
			"deb.signature"},
		{"inside, another's, trusted", func() (*Release, error) { return trusted.InRelease(inline(good, other)) }, ""},
		{"detached", func() (*Release, error) { return check.Detached([]byte(good), detached(good, false, key)) }, ""},
		{"detached, armoured", func() (*Release, error) {
			return check.Detached([]byte(good), detached(good, true, key))
		}, ""},
		{"detached, two signatures", func() (*Release, error) {
			return check.Detached([]byte(good), append(detached(good, false, other), detached(good, false, key)...))
		}, ""},
		{"detached, another's", func() (*Release, error) {
			return check.Detached([]byte(good), detached(good, false, other))
		}, "deb.signature"},
		{"detached, of another text", func() (*Release, error) {
			return check.Detached([]byte(good+"\n"), detached(good, false, key))
		}, "deb.signature"},
		{"detached, empty", func() (*Release, error) { return check.Detached([]byte(good), nil) }, "deb.signature"},
		{"unsigned", func() (*Release, error) { return check.Unsigned([]byte(good)) }, "deb.unsigned"},
		{"unsigned, trusted", func() (*Release, error) { return trusted.Unsigned([]byte(good)) }, ""},
		{"none, trusted", func() (*Release, error) { return trusted.Unsigned(nil) }, ""},
		{"weak", func() (*Release, error) { return trusted.Unsigned([]byte(weak)) }, "deb.release-weak"},
		{"expired", func() (*Release, error) { return late.InRelease(inline(good, key)) }, "deb.release-expired"},
		{"expired, ignored", func() (*Release, error) { return patient.InRelease(inline(good, key)) }, ""},
		{"a clock a little behind", func() (*Release, error) { return slow.InRelease(inline(good, key)) }, ""},
		{"a clock a little behind, another's", func() (*Release, error) { return slow.InRelease(inline(good, other)) },
			"deb.signature"},
		{"a clock far behind", func() (*Release, error) { return early.InRelease(inline(good, key)) },
			"deb.release-future"},
		{"a clock far behind, detached", func() (*Release, error) {
			return early.Detached([]byte(good), detached(good, true, key))
		}, "deb.release-future"},
		{"a clock far behind, another's", func() (*Release, error) { return early.InRelease(inline(good, other)) },
			"deb.signature"},
		{"a clock far behind, another's, detached", func() (*Release, error) {
			return early.Detached([]byte(good), detached(good, true, other))
		}, "deb.signature"},
		{"flat, names nothing", func() (*Release, error) {
			return flat.InRelease(inline(releaseText("Suite: stable\nCodename: bookworm\nArchitectures: all amd64\n",
				""), key))
		}, ""},
		{"names nothing", func() (*Release, error) {
			return check.InRelease(inline(releaseText("Suite: stable\nCodename: bookworm\n", ""), key))
		}, "deb.release-suite"},
		{"another architecture", func() (*Release, error) {
			return flat.InRelease(inline(releaseText("all amd64", "all arm64"), key))
		}, "deb.release-arch"},
		{"a path out of it", func() (*Release, error) {
			return trusted.Unsigned([]byte(releaseText("main/binary", "../binary")))
		}, "deb.release"},
		{"an absolute path", func() (*Release, error) {
			return trusted.Unsigned([]byte(releaseText("main/binary", "/binary")))
		}, "deb.release"},
		{"a short sum", func() (*Release, error) { return trusted.Unsigned([]byte(releaseText("0a0a0a", "0a"))) },
			"deb.release"},
		{"no sum", func() (*Release, error) { return trusted.Unsigned([]byte(releaseText("0a", "zz"))) },
			"deb.release"},
		{"two sums", func() (*Release, error) {
			return trusted.Unsigned([]byte(good + " " + strings.Repeat("0b", 32) + " 100 main/binary-amd64/Packages\n"))
		}, "deb.release"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.do()
			if code := faultCode(err); code != tt.want {
				t.Fatalf("%q (%v), want %q", code, err, tt.want)
			}
		})
	}
}

func TestPackagesFile(t *testing.T) {
	r, err := Check{Suite: "stable", Arch: "amd64", Trusted: true, Now: releaseDay}.Unsigned([]byte(releaseText()))
	if err != nil {
		t.Fatal(err)
	}
	for component, want := range map[string]string{"main": "main/binary-amd64/Packages.xz 100", "": "Packages.gz 70",
		"contrib": " 0"} {
		file, _, _, size, err := r.PackagesFile(component, "amd64")
		if got := fmt.Sprint(file, " ", size); got != want || (err != nil) != (file == "") {
			t.Errorf("%q: %s (%v), want %s", component, got, err, want)
		}
	}
}

func faultCode(err error) string {
	if err == nil {
		return ""
	}
	return event.AsFault(err).Code
}

func TestTooManySums(t *testing.T) {
	var b strings.Builder
	b.WriteString("Date: Fri, 01 May 2026 00:00:00 UTC\nSHA256:\n")
	sum := strings.Repeat("0", 64)
	for i := range maxSums + 1 {
		fmt.Fprintf(&b, " %s 1 f%d\n", sum, i)
	}
	if _, err := parseRelease([]byte(b.String())); err == nil {
		t.Error("taken")
	}
}

func FuzzRelease(f *testing.F) {
	f.Add(releaseText())
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Check{Suite: "bookworm", Arch: "amd64", Trusted: true, Now: releaseDay}.Unsigned([]byte(text))
		if err != nil || r == nil {
			return
		}
		for name := range r.Files {
			if badPath(name) {
				t.Fatalf("%q", name)
			}
		}
		_, _, _, _, _ = r.PackagesFile("main", "amd64")
	})
}
