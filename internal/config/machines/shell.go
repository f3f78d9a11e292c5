package machines

import "regexp"

var (
	arrayBegins = regexp.MustCompile(`\A\s*(?:(?:declare|typeset|local|export|readonly)\s+(?:-\w+\s+)*)?\w+\+?=\(`)
	arrayEnds   = regexp.MustCompile(`\)\s*;?\s*\z`)
	wideRange   = regexp.MustCompile(`\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\s+[-~–—]\s+((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b`)
)

// withoutShell is a text without what an array of a shell has around its words, as in the documentation of Kubespray:
// declare -a IPS=(10.0.0.1 10.0.0.2). A range that was written with blanks has none.
func withoutShell(text []string) []string {
	out := make([]string, len(text))
	open := false
	for i, l := range text {
		if at := arrayBegins.FindString(l); at != "" {
			l, open = l[len(at):], true
		}
		if at := arrayEnds.FindStringIndex(l); open && at != nil {
			l, open = l[:at[0]], false
		}
		out[i] = wideRange.ReplaceAllString(l, "$1-$2")
	}
	return out
}
