package draft

import (
	"bytes"
	"maps"
	"regexp"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// mask is in place of a password.
const mask = "********"

// Masked is the text of a deploy.yaml without its passwords: those on a line of their own with all lines that belong to
// them, and those in maps of one line, {password: x}.
func Masked(text []byte) string {
	const passwordKey = `["']?(?:sudo-)?password["']?[ \t]*:`
	own := regexp.MustCompile(`^((?:[ \t]*- +)*[ \t]*)(` + passwordKey + `[ \t]*)(.*)$`)
	within := regexp.MustCompile(`([{\[,]\s*` + passwordKey +
		`\s*)(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,{}\[\]]*[^,{}\[\]\s])`)
	lines := strings.Split(within.ReplaceAllString(string(text), "${1}"+mask), "\n")
	under := -1 // the column of the key whose value may go on
	for i, line := range lines {
		said := strings.TrimLeft(line, " \t")
		if column := len(line) - len(said); under >= 0 && said != "" {
			if column > under {
				lines[i] = line[:column] + mask
				continue
			}
			under = -1
		}
		if m := own.FindStringSubmatch(line); m != nil {
			under = len(m[1])
			if m[3] != "" {
				lines[i] = m[1] + m[2] + mask
			}
		}
	}
	return strings.Join(lines, "\n")
}

// LoginText is all that a look depends on beside the machine.
func LoginText(d config.Draft) string {
	var b strings.Builder
	for _, k := range []string{
		"username", "private-key-path", "password", "eggo.sudo-password", "eggo.bastion", "eggo.machines",
		"eggo.known-hosts",
		"eggo.ssh-legacy-algorithms",
	} {
		b.WriteString(d.Value(k) + "\x00")
	}
	return b.String()
}

// Secrets returns those that were typed, by the IDs of the questions with which a run asks for them.
func Secrets(d config.Draft) map[string]string {
	out := map[string]string{"password": d.Value("password"), "sudo": d.Value("eggo.sudo-password")}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}

// Text is the deploy.yaml of the draft as it is written, in the language of the person. A run that lets machines join
// changes the cluster's own file in its place, with the comments that it has: the text is its content alone.
func Text(d config.Draft, joins bool, p *i18n.Printer) []byte {
	if joins {
		return d.YAML()
	}
	return d.Commented(p)
}

// NormalizeForDiff returns the text to compare with Text; nil stays nil. A file that Eggo generated in any language is
// generated again, so that comments in another language are no difference. A file with the user's own comments is
// returned unchanged, because they are lost when it is written.
func NormalizeForDiff(data []byte, file string, joins bool, p *i18n.Printer) []byte {
	if data == nil {
		return nil
	}
	d, _ := config.ReadDraft(data, file)
	if joins {
		return d.YAML()
	}
	data = config.WithoutModeline(data)
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		if bytes.Equal(d.Commented(i18n.NewPrinter(lang)), data) {
			return d.Commented(p)
		}
	}
	return data
}

// Compare has the lines of two deploy.yaml; passwords are masked.
func Compare(a, b []byte) []Line {
	split := func(text []byte) []string { return strings.Split(strings.TrimRight(Masked(text), "\n"), "\n") }
	return lineDiff(split(a), split(b))
}

// Changed returns the lines that only one of two texts has, with - for the first and + for the second.
func Changed(list []Line) []string {
	var out []string
	for _, d := range list {
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
