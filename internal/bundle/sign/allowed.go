package sign

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/ssh"
)

// What an allowed_signers file may have at most.
const (
	maxAllowed = 1 << 20 // bytes of the file
	maxLine    = 32 << 10
	maxSigners = 10000 // lines with a key
)

// AllowedSigners are the keys that may sign, from an allowed_signers file.
type AllowedSigners struct{ lines []allowed }

// allowed is one line: whom it names, for what and when.
type allowed struct {
	number        int
	principals    string // list of patterns
	namespaces    string // list of patterns, "" for all
	after, before time.Time
	key           string // wire format
}

// Listed is a line of an allowed_signers file.
type Listed struct {
	Line          int
	Principals    string
	Namespaces    string // "" for all
	After, Before time.Time
	KeyType       string
	Fingerprint   string
}

// List gives the lines that allow a key, in their order.
func (a *AllowedSigners) List() []Listed {
	var out []Listed
	for _, l := range a.lines {
		key, err := ssh.ParsePublicKey([]byte(l.key))
		if err != nil { // it was parsed from there
			continue
		}
		out = append(out, Listed{l.number, l.principals, l.namespaces, l.after, l.before, key.Type(),
			ssh.FingerprintSHA256(key)})
	}
	return out
}

// Len is the number of lines that allow a key.
func (a *AllowedSigners) Len() int { return len(a.lines) }

// ParseAllowedSigners reads a file as ssh-keygen(1) describes it under ALLOWED SIGNERS: principals, options
// (namespaces, valid-after, valid-before), key. local is the time zone of times without a Z. Where ssh-keygen would
// pass over a line until it needs it, a line that cannot be understood is refused here, and so is cert-authority:
// signatures by certificates are not supported, and a list that seems to trust what it does not must not stay. The
// faults: "sign.allowed-line" and "sign.allowed-certificate" with the line's number, "sign.allowed-read",
// "sign.allowed-empty".
func ParseAllowedSigners(r io.Reader, local *time.Location) (*AllowedSigners, error) {
	var a AllowedSigners
	limited := &io.LimitedReader{R: r, N: maxAllowed + 1}
	in := bufio.NewScanner(limited)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	n := 0
	for in.Scan() {
		n++
		line := strings.Trim(in.Text(), " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		l, err := parseLine(line, local)
		if err == nil && len(a.lines) >= maxSigners {
			err = fmt.Errorf("more than %d keys", maxSigners)
		}
		if errors.Is(err, errAuthority) {
			return nil, usage("sign.allowed-certificate", nil, "line", fmt.Sprint(n))
		}
		if err != nil {
			return nil, usage("sign.allowed-line", err, "line", fmt.Sprint(n))
		}
		l.number = n
		a.lines = append(a.lines, l)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, usage("sign.allowed-line", fmt.Errorf("longer than %d bytes", maxLine), "line", fmt.Sprint(n+1))
	case err != nil:
		return nil, usage("sign.allowed-read", err)
	case limited.N <= 0:
		return nil, usage("sign.allowed-read", fmt.Errorf("larger than %d bytes", maxAllowed))
	case len(a.lines) == 0:
		return nil, usage("sign.allowed-empty", nil)
	}
	return &a, nil
}

var errAuthority = errors.New("cert-authority")

// parseLine reads "principals [options] key-type base64 [comment]". line is not empty.
func parseLine(line string, local *time.Location) (l allowed, err error) {
	if !utf8.ValidString(line) || strings.ContainsFunc(line,
		func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
		return l, errors.New("control characters")
	}
	rest := ""
	if l.principals, rest, err = principals(line); err != nil {
		return l, err
	}
	key, err := publicKey(rest)
	if err != nil { // there are options before it
		var opts string
		if opts, rest, err = cutOptions(rest); err != nil {
			return l, err
		}
		if err := l.options(opts, local); err != nil {
			return l, err
		}
		if key, err = publicKey(rest); err != nil {
			return l, err
		}
	}
	if u := usable(key); u != nil {
		if u.code == "sign.certificate" {
			return l, errAuthority
		}
		return l, fmt.Errorf("%s: %s", key.Type(), strings.Join(u.kv, " "))
	}
	l.key = string(key.Marshal())
	return l, nil
}

// principals cuts the first field, which may stand in quotes.
func principals(line string) (list, rest string, err error) {
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		if list, rest, ok = strings.Cut(quoted, `"`); !ok {
			return "", "", errors.New("no closing quote")
		}
	} else if i := strings.IndexAny(line, " \t"); i >= 0 {
		list, rest = line[:i], line[i:]
	} else {
		list = line
	}
	if list == "" || strings.Contains(list, `"`) {
		return "", "", errors.New("bad principals")
	}
	for _, p := range strings.Split(list, ",") {
		if strings.TrimPrefix(p, "!") == "" {
			return "", "", errors.New("empty principal")
		}
	}
	return list, strings.TrimLeft(rest, " \t"), nil
}

// publicKey reads "type base64 [comment]".
func publicKey(s string) (ssh.PublicKey, error) {
	f := strings.Fields(s)
	if len(f) < 2 {
		return nil, errors.New("no public key")
	}
	raw, err := base64.StdEncoding.DecodeString(f[1])
	if err != nil {
		return nil, fmt.Errorf("public key: %w", err)
	}
	key, err := ssh.ParsePublicKey(raw)
	if err != nil {
		return nil, err
	}
	if key.Type() != f[0] {
		return nil, fmt.Errorf("the key is of type %s, not %s", key.Type(), f[0])
	}
	return key, nil
}

// cutOptions cuts at the first blank outside quotes.
func cutOptions(s string) (opts, rest string, err error) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted && i+1 < len(s) && s[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			return s[:i], strings.TrimLeft(s[i:], " \t"), nil
		}
	}
	return "", "", errors.New("no public key")
}

// options reads what restricts the key. Names are taken in either case, as ssh-keygen does.
func (l *allowed) options(s string, local *time.Location) error {
	seen := map[string]bool{}
	for more := true; more; {
		name, value, rest, err := option(s)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("option %s is there twice", name)
		}
		seen[name] = true
		switch name {
		case "cert-authority":
			return errAuthority
		case "namespaces":
			if l.namespaces = value; value == "" {
				err = errors.New("no namespaces")
			}
		case "valid-after":
			l.after, err = timestamp(value, local)
		case "valid-before":
			l.before, err = timestamp(value, local)
		default:
			err = fmt.Errorf("option %q is not known", name)
		}
		if err != nil {
			return err
		}
		s, more = strings.CutPrefix(rest, ",")
		if !more && s != "" {
			return fmt.Errorf("%q after the option %s", s, name)
		}
	}
	if !l.after.IsZero() && !l.before.IsZero() && !l.before.After(l.after) {
		return errors.New("valid-before is not after valid-after")
	}
	return nil
}

// option cuts one option: a name, or name="value" with \" for a quote.
func option(s string) (name, value, rest string, err error) {
	i := strings.IndexAny(s, "=,")
	if i < 0 || s[i] == ',' {
		if i < 0 {
			i = len(s)
		}
		name, rest = strings.ToLower(s[:i]), s[i:]
		if name != "cert-authority" {
			return "", "", "", fmt.Errorf("option %q is not known, or needs a value", name)
		}
		return name, "", rest, nil
	}
	name = strings.ToLower(s[:i])
	s, ok := strings.CutPrefix(s[i:], `="`)
	if !ok {
		return "", "", "", fmt.Errorf("the value of %s is not in quotes", name)
	}
	var v strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			return name, v.String(), s[i+1:], nil
		}
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == '"' {
			i++
		}
		v.WriteByte(s[i])
	}
	return "", "", "", fmt.Errorf("the value of %s has no closing quote", name)
}

// timestamp reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS; with a Z behind it in UTC, else in local.
func timestamp(s string, local *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(s, "Z")
	if utc {
		local = time.UTC
	}
	layout, ok := map[int]string{8: "20060102", 12: "200601021504", 14: "20060102150405"}[len(digits)]
	if !ok {
		return time.Time{}, fmt.Errorf("%q is not a time such as 20261231 or 202612312359Z", s)
	}
	t, err := time.ParseInLocation(layout, digits, local)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time such as 20261231 or 202612312359Z", s)
	}
	return t, nil
}

// matchList says whether s matches a comma-separated list of patterns with * and ?; a match of one with ! before it
// refuses s.
func matchList(s, list string) bool {
	found := false
	for _, p := range strings.Split(list, ",") {
		p, not := strings.CutPrefix(p, "!")
		if match(s, p) {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}

// match is linear in len(s)·len(p): after a mismatch only the last star is tried again.
func match(s, p string) bool {
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j] == '*':
			star, mark = j, i
			j++
		case j < len(p) && (p[j] == '?' || p[j] == s[i]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(p[j:], "*") == ""
}

// PublicLine is the line of an allowed_signers file that trusts a public key, given as the line of its .pub file, under
// the identity.
func PublicLine(public, identity string) (string, error) {
	key, err := publicKey(public)
	if err != nil {
		return "", err
	}
	if u := usable(key); u != nil {
		return "", usage(u.code, nil, u.kv...)
	}
	return allowedLine(identity, key)
}

// allowedLine trusts key for bundles under the identity, which must be one name. One with a blank in it stands in
// quotes.
func allowedLine(identity string, key ssh.PublicKey) (string, error) {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`*?,"`, r) }
	if identity == "" || strings.ContainsFunc(identity, odd) || strings.ContainsAny(identity[:1], "!# ") {
		return "", usage("sign.identity-name", nil, "identity", identity)
	}
	if strings.Contains(identity, " ") {
		identity = `"` + identity + `"`
	}
	return fmt.Sprintf("%s namespaces=%q %s", identity, Namespace, ssh.MarshalAuthorizedKey(key)), nil
}
