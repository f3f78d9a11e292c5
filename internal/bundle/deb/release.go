package deb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/eggo-k8s/eggo/internal/event"
)

// Release is a suite's InRelease file whose signature was checked.
type Release struct {
	Suite, Codename string
	Date            time.Time
	ValidUntil      time.Time // zero when the suite does not say
	Architectures   []string
	ByHash          bool
	Files           map[string]Entry // by path below the suite's directory
}

// Entry of a Release file.
type Entry struct {
	SHA256 string
	Size   int64
}

// maxSkew is how far in the future a Release may be dated: clocks differ.
const maxSkew = 24 * time.Hour

func relFault(code string, err error, suite string, kv ...string) *event.Fault {
	return event.NewFault(event.ClassFailed, code, err, append([]string{"suite", suite}, kv...)...)
}

// ReadKeyring reads OpenPGP keys, binary or armoured.
func ReadKeyring(data []byte) (openpgp.EntityList, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN")) {
		return openpgp.ReadArmoredKeyRing(bytes.NewReader(data))
	}
	return openpgp.ReadKeyRing(bytes.NewReader(data))
}

// ParseRelease checks the signature of an InRelease file with any key of the ring, and that it is for the suite, for now and for the
// architecture. Faults: "deb.signature", "deb.release", "deb.release-suite", "deb.release-expired" (never when ignoreExpiry),
// "deb.release-future", "deb.release-arch".
func ParseRelease(data []byte, keys openpgp.EntityList, suite, arch string, now time.Time, ignoreExpiry bool) (*Release, error) {
	text, err := verify(data, keys, now)
	if err != nil {
		return nil, relFault("deb.signature", err, suite)
	}
	r, err := parseRelease(text)
	if err != nil {
		return nil, relFault("deb.release", err, suite)
	}
	// A mirror may not answer with another suite, however well it is signed.
	if base, _, _ := strings.Cut(suite, "/"); r.Suite != suite && r.Codename != suite && r.Codename != base {
		return nil, relFault("deb.release-suite", nil, suite, "got", r.Suite+"/"+r.Codename)
	}
	if r.Date.After(now.Add(maxSkew)) {
		return nil, relFault("deb.release-future", nil, suite, "date", r.Date.UTC().Format(time.RFC3339))
	}
	if !r.ValidUntil.IsZero() && now.After(r.ValidUntil) && !ignoreExpiry {
		return nil, relFault("deb.release-expired", nil, suite, "until", r.ValidUntil.UTC().Format(time.RFC3339))
	}
	if !slices.Contains(r.Architectures, arch) {
		return nil, relFault("deb.release-arch", nil, suite, "arch", arch)
	}
	return r, nil
}

// verify returns the signed text if one of the signatures over it is good. Debian signs with several keys, of which a keyring may
// have some, and some of those may have expired: each signature is tried by itself.
func verify(data []byte, keys openpgp.EntityList, now time.Time) ([]byte, error) {
	block, rest := clearsign.Decode(data)
	if block == nil {
		return nil, errors.New("not a clear-signed file")
	}
	if len(bytes.TrimSpace(rest)) > 0 || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN PGP SIGNED MESSAGE-----")) {
		return nil, errors.New("text outside the signature")
	}
	body, err := io.ReadAll(io.LimitReader(block.ArmoredSignature.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	config := &packet.Config{Time: func() time.Time { return now }}
	var problems []error
	for in := bytes.NewReader(body); in.Len() > 0; {
		start := len(body) - in.Len()
		if _, err := packet.Read(in); err != nil {
			return nil, errors.Join(append(problems, err)...)
		}
		one := body[start : len(body)-in.Len()]
		if _, err := openpgp.CheckDetachedSignature(keys, bytes.NewReader(block.Bytes), bytes.NewReader(one), config); err != nil {
			problems = append(problems, err)
			continue
		}
		return block.Plaintext, nil
	}
	if len(problems) == 0 {
		problems = append(problems, errors.New("no signature"))
	}
	return nil, errors.Join(problems...)
}

func parseRelease(text []byte) (*Release, error) {
	var s Stanza
	err := ReadStanzas(bytes.NewReader(text), func(x Stanza) error {
		if s != nil {
			return errors.New("two paragraphs")
		}
		s = x
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Release{Suite: s.Get("Suite"), Codename: s.Get("Codename"), Architectures: strings.Fields(s.Get("Architectures")),
		ByHash: s.Get("Acquire-By-Hash") == "yes", Files: map[string]Entry{}}
	if r.Date, err = parseDate(s.Get("Date")); err != nil {
		return nil, err
	}
	if v := s.Get("Valid-Until"); v != "" {
		if r.ValidUntil, err = parseDate(v); err != nil {
			return nil, err
		}
	}
	for _, line := range strings.Split(s.Get("SHA256"), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 || len(f[0]) != 64 {
			return nil, fmt.Errorf("SHA256 line %q", line)
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("SHA256 line %q", line)
		}
		r.Files[f[2]] = Entry{f[0], n}
	}
	if len(r.Files) == 0 {
		return nil, errors.New("no SHA256 sums")
	}
	return r, nil
}

func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, "Mon, _2 Jan 2006 15:04:05 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("date %q", s)
}

// PackagesFile says which form of a component's Packages file to fetch: its path below the suite's directory, the path by hash to try
// before it ("" if the suite does not offer that), and its unpacked size in bytes, 0 if the suite does not say.
func (r *Release) PackagesFile(component, arch string) (file, byHash string, e Entry, unpacked int64, err error) {
	base := component + "/binary-" + arch + "/Packages"
	unpacked = r.Files[base].Size
	for _, ext := range []string{".xz", ".gz", ""} {
		e, ok := r.Files[base+ext]
		if !ok {
			continue
		}
		if r.ByHash {
			byHash = path.Dir(base) + "/by-hash/SHA256/" + e.SHA256
		}
		return base + ext, byHash, e, unpacked, nil
	}
	return "", "", Entry{}, 0, relFault("deb.release-component", nil, r.Codename, "component", component, "arch", arch)
}
