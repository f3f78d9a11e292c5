// Package rpm resolves rpm packages with their dependency closure from signed repository metadata, without dnf: for
// another distribution, release or architecture than the machine's own. It reads and writes the repository format of
// createrepo_c (repomd.xml, primary.xml, filelists.xml, modules.yaml), reads rpm files (the format is in rpm's
// docs/manual/format_v4.md), and verifies the OpenPGP signatures of both. It fetches nothing: readers in, values out.
//
// The rules that decide between packages are those of libsolv, which dnf asks: the tests hold the answers against
// dnf's.
package rpm

import "strings"

// EVR is what orders the packages of one name: epoch, version and release. An absent epoch counts as 0.
type EVR struct{ Epoch, Version, Release string }

// ParseEVR splits [epoch:]version[-release].
func ParseEVR(s string) EVR {
	var e EVR
	if epoch, rest, ok := strings.Cut(s, ":"); ok && strings.Trim(epoch, "0123456789") == "" {
		e.Epoch, s = epoch, rest
	}
	e.Version = s
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		e.Version, e.Release = s[:i], s[i+1:]
	}
	return e
}

func (e EVR) String() string {
	s := e.Version
	if e.Epoch != "" && e.Epoch != "0" {
		s = e.Epoch + ":" + s
	}
	if e.Release != "" {
		s += "-" + e.Release
	}
	return s
}

// Compare orders two EVRs as rpm does: -1, 0 or 1.
func Compare(a, b EVR) int {
	c, _ := compare(a, b)
	return c
}

// compare says further whether only the presence of a release decided: one of the two does not name one.
func compare(a, b EVR) (c int, release bool) {
	ea, eb := a.Epoch, b.Epoch
	if ea == "" {
		ea = "0"
	}
	if eb == "" {
		eb = "0"
	}
	if c := Vercmp(ea, eb); c != 0 {
		return c, false
	}
	if c := Vercmp(a.Version, b.Version); c != 0 {
		return c, false
	}
	switch {
	case a.Release == b.Release:
		return 0, false
	case a.Release == "":
		return -1, true
	case b.Release == "":
		return 1, true
	}
	return Vercmp(a.Release, b.Release), false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func alpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// Vercmp orders two versions (or two releases) by rpm's rules: runs of digits by their value, runs of letters as
// strings, digits above letters, all else only separates; "~" sorts before the end of the version, "^" after it but
// before anything that goes on. go-rpmutils has a Vercmp too, which does not know "^".
func Vercmp(a, b string) int {
	if a == b {
		return 0
	}
	for a != "" || b != "" {
		a, b = skipSeparators(a), skipSeparators(b)
		if c, again := tilde(&a, &b); again {
			continue
		} else if c != 0 {
			return c
		}
		if c, again := caret(&a, &b); again {
			continue
		} else if c != 0 {
			return c
		}
		if a == "" || b == "" {
			break
		}
		class := alpha
		if digit(a[0]) {
			class = digit
		}
		var x, y string
		x, a = segment(a, class)
		y, b = segment(b, class)
		if y == "" {
			if digit(x[0]) {
				return 1
			}
			return -1
		}
		if digit(x[0]) {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if len(x) != len(y) {
				return sign(len(x) - len(y))
			}
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return sign(len(a) - len(b))
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func skipSeparators(s string) string {
	for s != "" && !digit(s[0]) && !alpha(s[0]) && s[0] != '~' && s[0] != '^' {
		s = s[1:]
	}
	return s
}

func segment(s string, class func(byte) bool) (head, rest string) {
	i := 0
	for i < len(s) && class(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// tilde decides when one of the two goes on with "~", or drops it from both.
func tilde(a, b *string) (c int, again bool) {
	ta, tb := strings.HasPrefix(*a, "~"), strings.HasPrefix(*b, "~")
	switch {
	case ta && tb:
		*a, *b = (*a)[1:], (*b)[1:]
		return 0, true
	case ta:
		return -1, false
	case tb:
		return 1, false
	}
	return 0, false
}

// caret decides when one of the two goes on with "^", or drops it from both.
func caret(a, b *string) (c int, again bool) {
	ca, cb := strings.HasPrefix(*a, "^"), strings.HasPrefix(*b, "^")
	switch {
	case ca && cb:
		*a, *b = (*a)[1:], (*b)[1:]
		return 0, true
	case ca && *b == "":
		return 1, false
	case cb && *a == "":
		return -1, false
	case ca:
		return -1, false
	case cb:
		return 1, false
	}
	return 0, false
}
