package deb

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Release is a suite's Release file that was checked.
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

// What a Release file may have at most. Debian's unstable has some 6,000 sums and 5 signatures.
const (
	maxSums       = 200_000
	maxSignature  = 1 << 20 // bytes
	maxSignatures = 64
)

// errWeak is a Release file with no sums but such as can be forged.
var errWeak = errors.New("no SHA256 sums")

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

// Check is what a suite's Release file is held against.
type Check struct {
	Suite        string // as it is asked for; of a flat repository it is not held against anything
	Arch         string
	Flat         bool // the Release file lies beside the packages and need not name suites and architectures
	Keys         openpgp.EntityList
	Trusted      bool // the caller answers for the repository: a signature is not needed
	Now          time.Time
	IgnoreExpiry bool
}

// InRelease reads an InRelease file, whose signature is inside: it checks that a key of the ring made it, and that the
// file is for the suite, for now and for the architecture. Faults: "deb.signature", "deb.release",
// "deb.release-weak" (no SHA256 sums), "deb.release-suite", "deb.release-expired" (never when IgnoreExpiry),
// "deb.release-future", "deb.release-arch".
func (c Check) InRelease(data []byte) (*Release, error) {
	text, err := c.clearsigned(data)
	if err == nil {
		return c.release(text)
	}
	if block, _ := clearsign.Decode(data); block != nil {
		if c.Trusted {
			return c.release(block.Plaintext)
		}
		if late, date := c.later(block.Plaintext); late != nil {
			if _, lerr := late.clearsigned(data); lerr == nil {
				return nil, c.future(date)
			}
		}
	}
	return nil, relFault("deb.signature", err, c.Suite)
}

// Detached reads a Release file and its Release.gpg. Faults as of InRelease.
func (c Check) Detached(release, signature []byte) (*Release, error) {
	err := c.detached(release, signature)
	if err == nil || c.Trusted {
		return c.release(release)
	}
	if late, date := c.later(release); late != nil && late.detached(release, signature) == nil {
		return nil, c.future(date)
	}
	return nil, relFault("deb.signature", err, c.Suite)
}

// later is the same check at the time of a file that is dated in the future, and that date; nil for any other file. A
// clock that is wrong makes good signatures look like bad ones, and is another reason than a mirror that is not to be
// trusted.
func (c Check) later(text []byte) (*Check, time.Time) {
	r, err := parseRelease(text)
	if err != nil || !r.Date.After(c.Now.Add(maxSkew)) {
		return nil, time.Time{}
	}
	c.Now = r.Date
	return &c, r.Date
}

func (c Check) future(date time.Time) error {
	return relFault("deb.release-future", nil, c.Suite, "date", date.UTC().Format(time.RFC3339))
}

// Unsigned reads a Release file that has no signature, which needs Trusted (fault "deb.unsigned"). A repository may
// have no Release file at all; then release is nil, the result is too, and the files to look for are those of
// PackagesFiles.
func (c Check) Unsigned(release []byte) (*Release, error) {
	if !c.Trusted {
		return nil, relFault("deb.unsigned", nil, c.Suite)
	}
	if release == nil {
		return nil, nil
	}
	return c.release(release)
}

func (c Check) release(text []byte) (*Release, error) {
	r, err := parseRelease(text)
	if errors.Is(err, errWeak) {
		return nil, relFault("deb.release-weak", nil, c.Suite)
	}
	if err != nil {
		return nil, relFault("deb.release", err, c.Suite)
	}
	// A mirror may not answer with another suite, however well it is signed.
	if base, _, _ := strings.Cut(c.Suite, "/"); !c.Flat && r.Suite != c.Suite && r.Codename != c.Suite &&
		r.Codename != base {
		return nil, relFault("deb.release-suite", nil, c.Suite, "got", r.Suite+"/"+r.Codename)
	}
	if r.Date.After(c.Now.Add(maxSkew)) {
		return nil, c.future(r.Date)
	}
	if !r.ValidUntil.IsZero() && c.Now.After(r.ValidUntil) && !c.IgnoreExpiry {
		return nil, relFault("deb.release-expired", nil, c.Suite, "until", r.ValidUntil.UTC().Format(time.RFC3339))
	}
	if !slices.Contains(r.Architectures, c.Arch) && !(c.Flat && len(r.Architectures) == 0) {
		return nil, relFault("deb.release-arch", nil, c.Suite, "arch", c.Arch)
	}
	return r, nil
}

// clearsigned returns the signed text if one of the signatures over it is good. Debian signs with several keys, of
// which a keyring may have some, and some of those may have expired: each signature is tried by itself.
func (c Check) clearsigned(data []byte) ([]byte, error) {
	block, rest := clearsign.Decode(data)
	if block == nil {
		return nil, errors.New("not a clear-signed file")
	}
	if len(bytes.TrimSpace(rest)) > 0 || !bytes.HasPrefix(bytes.TrimSpace(data),
		[]byte("-----BEGIN PGP SIGNED MESSAGE-----")) {
		return nil, errors.New("text outside the signature")
	}
	body, err := io.ReadAll(io.LimitReader(block.ArmoredSignature.Body, maxSignature))
	if err != nil {
		return nil, err
	}
	if err := c.anyGood(block.Bytes, body); err != nil {
		return nil, err
	}
	return block.Plaintext, nil
}

// detached checks a signature in a file of its own, binary or armoured.
func (c Check) detached(text, signature []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN")) {
		block, err := armor.Decode(bytes.NewReader(signature))
		if err != nil {
			return err
		}
		if signature, err = io.ReadAll(io.LimitReader(block.Body, maxSignature)); err != nil {
			return err
		}
	}
	if len(signature) > maxSignature {
		return fmt.Errorf("signature of more than %d bytes", maxSignature)
	}
	return c.anyGood(text, signature)
}

// anyGood says whether one of the signatures in body over text is good. Each is tried by itself, but no more than
// maxSignatures. As clocks differ, it may have been made a little after now.
func (c Check) anyGood(text, body []byte) error {
	good := func(signature []byte) (err error) {
		for _, now := range []time.Time{c.Now.Add(maxSkew), c.Now} {
			config := &packet.Config{Time: func() time.Time { return now }}
			if _, err = openpgp.CheckDetachedSignature(c.Keys, bytes.NewReader(text), bytes.NewReader(signature),
				config); err == nil {
				return nil
			}
		}
		return err
	}
	var problems []error
	for in := bytes.NewReader(body); in.Len() > 0 && len(problems) < maxSignatures; {
		start := len(body) - in.Len()
		if _, err := packet.Read(in); err != nil {
			return errors.Join(append(problems, err)...)
		}
		one := body[start : len(body)-in.Len()]
		if err := good(one); err != nil {
			problems = append(problems, err)
			continue
		}
		return nil
	}
	if len(problems) == 0 {
		problems = append(problems, errors.New("no signature"))
	}
	return errors.Join(problems...)
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
	r := &Release{Suite: s.Get("Suite"), Codename: s.Get("Codename"),
		Architectures: strings.Fields(s.Get("Architectures")),
		ByHash:        s.Get("Acquire-By-Hash") == "yes"}
	if r.Date, err = parseDate(s.Get("Date")); err != nil {
		return nil, err
	}
	if v := s.Get("Valid-Until"); v != "" {
		if r.ValidUntil, err = parseDate(v); err != nil {
			return nil, err
		}
	}
	if r.Files, err = parseSums(s.Get("SHA256")); err != nil {
		return nil, err
	}
	return r, nil
}

// parseSums reads the SHA256 field: a sum, a size and a path a line.
func parseSums(field string) (map[string]Entry, error) {
	files := map[string]Entry{}
	for line := range strings.SplitSeq(field, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("SHA256 line %.200q", line)
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if sum, bad := hex.DecodeString(f[0]); bad != nil || len(sum) != 32 || err != nil || n < 0 || badPath(f[2]) {
			return nil, fmt.Errorf("SHA256 line %.200q", line)
		}
		e := Entry{strings.ToLower(f[0]), n}
		if old, ok := files[f[2]]; ok && old != e {
			return nil, fmt.Errorf("two sums for %.200q", f[2])
		}
		if files[f[2]] = e; len(files) > maxSums {
			return nil, fmt.Errorf("more than %d sums", maxSums)
		}
	}
	if len(files) == 0 {
		return nil, errWeak
	}
	return files, nil
}

func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, "Mon, _2 Jan 2006 15:04:05 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("date %q", s)
}

// PackagesFiles are the paths that a component's Packages file may have below the suite's directory, the best first. A
// flat repository has the component "".
func PackagesFiles(component, arch string) []string {
	base := "Packages"
	if component != "" {
		base = component + "/binary-" + arch + "/Packages"
	}
	return []string{base + ".xz", base + ".gz", base}
}

// PackagesFile says which form of a component's Packages file to fetch ("" for a flat repository's): its path below the
// suite's directory, the path by hash to try before it ("" if the suite does not offer that), and its unpacked size in
// bytes, 0 if the suite does not say.
func (r *Release) PackagesFile(component, arch string) (file, byHash string, e Entry, unpacked int64, err error) {
	files := PackagesFiles(component, arch)
	plain := files[len(files)-1]
	for _, file := range files {
		e, ok := r.Files[file]
		if !ok {
			if e, ok = r.Files["./"+file]; !ok {
				continue
			}
		}
		if r.ByHash {
			byHash = path.Join(path.Dir(plain), "by-hash/SHA256", e.SHA256)
		}
		return file, byHash, e, max(r.Files[plain].Size, r.Files["./"+plain].Size), nil
	}
	return "", "", Entry{}, 0, relFault("deb.release-component", nil, cmp.Or(r.Codename, r.Suite), "component",
		cmp.Or(component, "./"), "arch", arch)
}
