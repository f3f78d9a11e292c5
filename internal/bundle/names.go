package bundle

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// CheckPath says whether a member may have this path: relative, clean, slash-separated, within the bounds of a path on
// a node, no link to anywhere else, nothing that a shell, a terminal or another operating system would take for
// something else. The fault is "bundle.unsafe-path".
func CheckPath(p string) error {
	bad := func() error { return fault("bundle.unsafe-path", nil, "member", p) }
	if p == "" || len(p) > nodepath.MaxLength || strings.Count(p, "/") >= nodepath.MaxDepth || path.IsAbs(p) ||
		path.Clean(p) != p || p == "." || !plain(p) || strings.ContainsAny(p, `\:*?"<>|`) {
		return bad()
	}
	for _, s := range strings.Split(p, "/") {
		if s == ".." || len(s) > 255 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, " ") ||
			strings.HasSuffix(s, " ") {
			return bad()
		}
	}
	return nil
}

// plain says that s is UTF-8 without control, format or unassigned characters.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func isDigest(s string) bool {
	h, ok := strings.CutPrefix(s, "sha256:")
	return ok && isSum(h)
}

// fold gives the key by which names are compared: two names with the same key are one file on some system that a bundle
// may be unpacked on (case-insensitive or normalising file systems).
func fold(c cases.Caser, p string) string { return norm.NFC.String(c.String(norm.NFC.String(p))) }
