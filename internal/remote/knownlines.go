package remote

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknown "golang.org/x/crypto/ssh/knownhosts"

	"github.com/eggo-k8s/eggo/internal/run/scratch"
)

// knownDB is what known_hosts files say. A line that cannot be parsed (a key of SSH-1, a damaged hash, a marker or a
// type of key that only a later OpenSSH knows) is skipped, as OpenSSH does: one bad line must not lock out a cluster.
type knownDB struct {
	*knownhosts.HostKeyDB
	skipped []string          // FILE:LINE
	names   map[string]string // of the files, by the path that was parsed in their place
}

// retriesMost bounds how many lines are skipped that only the library finds fault with.
const retriesMost = 100

// parseKnown parses known_hosts files. The library gives up at the first bad line, so that files with bad lines are
// parsed from copies in which these are empty: numbers of lines stay right.
func parseKnown(files ...string) (*knownDB, error) {
	db, err := knownhosts.NewDB(files...)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &knownDB{HostKeyDB: db}, err
	}
	out := &knownDB{names: map[string]string{}}
	dir, remove, err := scratch.Dir(os.TempDir(), "eggo-known-", time.Now())
	if err != nil {
		return nil, err
	}
	defer func() { _ = remove() }() // else the next one does it
	texts, copies := map[string][][]byte{}, []string{}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines := bytes.Split(text, []byte("\n"))
		name := dir + "/" + strconv.Itoa(i)
		out.names[name], texts[name], copies = file, lines, append(copies, name)
		for n, line := range lines {
			if !parsable(line) {
				out.skip(name, lines, n)
			}
		}
	}
	for range retriesMost {
		for name, lines := range texts {
			if err := os.WriteFile(name, bytes.Join(lines, []byte("\n")), 0o600); err != nil {
				return nil, err
			}
		}
		if out.HostKeyDB, err = knownhosts.NewDB(copies...); err == nil {
			return out, nil
		}
		at := badLine.FindStringSubmatch(err.Error())
		if at == nil || texts[at[1]] == nil {
			break
		}
		n, _ := strconv.Atoi(at[2]) // digits
		if n < 1 || n > len(texts[at[1]]) {
			break
		}
		out.skip(at[1], texts[at[1]], n-1)
	}
	return nil, err
}

// badLine is the place that the library names in an error.
var badLine = regexp.MustCompile(`^knownhosts: (.*):(\d+): `)

// skip empties a line.
func (k *knownDB) skip(name string, lines [][]byte, n int) {
	lines[n] = nil
	k.skipped = append(k.skipped, k.names[name]+":"+strconv.Itoa(n+1))
}

// lineMost is the longest line that the library reads.
const lineMost = 64<<10 - 2

// parsable reports whether a line is empty, a comment, or one that the library can parse.
func parsable(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return true
	}
	if len(line) > lineMost {
		return false
	}
	marker, hosts, _, _, _, err := ssh.ParseKnownHosts(line)
	if err != nil || marker != "" && marker != "cert-authority" && marker != "revoked" {
		return false
	}
	for _, h := range hosts {
		if strings.HasPrefix(h, "|") && !hashed(h) {
			return false
		}
		if strings.HasPrefix(strings.TrimPrefix(h, "!"), "[") {
			if _, _, err := net.SplitHostPort(strings.TrimPrefix(h, "!")); err != nil {
				return false
			}
		}
	}
	return true
}

// hashed reports whether a name is hashed as ssh-keygen -H does.
func hashed(name string) bool {
	parts := strings.Split(name, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return false
	}
	for _, p := range parts[2:] {
		if raw, err := base64.StdEncoding.DecodeString(p); err != nil || len(raw) == 0 {
			return false
		}
	}
	return true
}

// check compares a key with the files. Errors name the files themselves.
func (k *knownDB) check(host string, remote net.Addr, key ssh.PublicKey) error {
	err := k.HostKeyCallback()(host, remote, key)
	var changed *xknown.KeyError
	if errors.As(err, &changed) {
		changed.Want = k.keysOnly(host, changed.Want)
		for i := range changed.Want {
			k.rename(&changed.Want[i])
		}
	}
	var revoked *xknown.RevokedError
	if errors.As(err, &revoked) {
		k.rename(&revoked.Revoked)
	}
	return err
}

// keysOnly are the keys of a host without those of certificate authorities: a host that such a one may vouch for, and
// that shows a key without a certificate, is one that has not been met, as with OpenSSH.
func (k *knownDB) keysOnly(host string, keys []xknown.KnownKey) []xknown.KnownKey {
	own := k.HostKeys(host)
	return slices.DeleteFunc(keys, func(known xknown.KnownKey) bool {
		is := func(cert bool) bool {
			return slices.ContainsFunc(own, func(o knownhosts.PublicKey) bool {
				return o.Cert == cert && bytes.Equal(o.Marshal(), known.Key.Marshal())
			})
		}
		return is(true) && !is(false)
	})
}

// algorithms are those to ask a host for; none: all. Where only certificate authorities are known for it, it may have
// no certificate.
func (k *knownDB) algorithms(addr string) []string {
	if !slices.ContainsFunc(k.HostKeys(addr), func(o knownhosts.PublicKey) bool { return !o.Cert }) {
		return nil
	}
	return k.HostKeyAlgorithms(addr)
}

func (k *knownDB) rename(key *xknown.KnownKey) {
	if name, is := k.names[key.Filename]; is {
		key.Filename = name
	}
}
