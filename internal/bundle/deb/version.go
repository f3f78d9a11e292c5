package deb

import "strings"

// Compare orders two versions as dpkg does (Debian policy 5.6.12): epoch, upstream version, revision; each of the
// latter in runs of other characters and of digits, a tilde before the end. Digits may be of any number. It is defined
// for any two strings, so that versions that policy does not allow have their place too: an epoch that is no number
// belongs to the upstream version.
func Compare(a, b string) int {
	if a == b {
		return 0
	}
	ea, ua, ra := splitVersion(a)
	eb, ub, rb := splitVersion(b)
	if c := compareDigits(ea, eb); c != 0 {
		return c
	}
	if c := comparePart(ua, ub); c != 0 {
		return c
	}
	return comparePart(ra, rb)
}

func splitVersion(v string) (epoch, upstream, revision string) {
	if i := strings.IndexByte(v, ':'); i > 0 && digits(v) == i {
		epoch, v = v[:i], v[i+1:]
	}
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		return epoch, v[:i], v[i+1:]
	}
	return epoch, v, ""
}

func comparePart(a, b string) int {
	for a != "" || b != "" {
		for a != "" && !isDigit(a[0]) || b != "" && !isDigit(b[0]) {
			if c := order(a) - order(b); c != 0 {
				return sign(c)
			}
			a, b = a[1:], b[1:] // of equal order, so neither is at its end or at a digit
		}
		na, nb := digits(a), digits(b)
		if c := compareDigits(a[:na], b[:nb]); c != 0 {
			return c
		}
		a, b = a[na:], b[nb:]
	}
	return 0
}

// order is the weight of the first character: a tilde before the end and digits, then letters, then the rest.
func order(s string) int {
	switch {
	case s == "" || isDigit(s[0]):
		return 0
	case s[0] == '~':
		return -1
	case s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z':
		return int(s[0])
	}
	return int(s[0]) + 256
}

// compareDigits compares numbers of any length; the empty one is zero.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return sign(len(a) - len(b))
	}
	return strings.Compare(a, b)
}

// digits is the number of digits that s begins with.
func digits(s string) int {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
