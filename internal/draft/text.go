package draft

import (
	"maps"
	"regexp"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

var secretLine = regexp.MustCompile(`(?m)^(\s*(?:- )?(?:sudo-)?password:[ \t]*)\S.*$`)

// Masked is the text of a deploy.yaml without its passwords.
func Masked(text []byte) string { return secretLine.ReplaceAllString(string(text), "${1}********") }

// LoginText is all that a look depends on beside the machine.
func LoginText(d config.Draft) string {
	var b strings.Builder
	for _, k := range []string{
		"username", "private-key-path", "password", "eggo.sudo-password", "eggo.bastion", "eggo.machines",
		"eggo.known-hosts",
		"eggo.ssh-legacy-algorithms",
	} {
		b.WriteString(d.Values[k] + "\x00")
	}
	return b.String()
}

// Secrets are those that were typed, by the sentences with which a run asks for them.
func Secrets(d config.Draft) map[string]string {
	out := map[string]string{"ask.password": d.Values["password"], "ask.sudo": d.Values["eggo.sudo-password"]}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// Compare has the lines of two deploy.yaml; passwords are masked.
func Compare(a, b []byte) []Line {
	split := func(text []byte) []string { return strings.Split(strings.TrimRight(Masked(text), "\n"), "\n") }
	return lineDiff(split(a), split(b))
}

// Diff are the lines that two deploy.yaml do not share, with - for the first and + for the second.
func Diff(a, b []byte) []string {
	var out []string
	for _, d := range Compare(a, b) {
		if d.Kind != ' ' {
			out = append(out, string(d.Kind)+" "+event.Clean(d.Text))
		}
	}
	return out
}

// Line of two texts: of both, of the second or of the first.
type Line struct {
	Kind byte // ' ', '+', '-'
	Text string
}

const diffMost = 2000 // lines; of longer files all is other

// lineDiff compares by the longest common sequence of lines.
func lineDiff(a, b []string) []Line {
	var out []Line
	if len(a) > diffMost || len(b) > diffMost {
		for _, l := range a {
			out = append(out, Line{'-', l})
		}
		for _, l := range b {
			out = append(out, Line{'+', l})
		}
		return out
	}
	long := make([][]int32, len(a)+1)
	for i := range long {
		long[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Line{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[i+1][j] >= long[i][j+1]:
			out = append(out, Line{'-', a[i]})
			i++
		default:
			out = append(out, Line{'+', b[j]})
			j++
		}
	}
	return out
}
