package redact

import (
	"net/netip"
	"regexp"
	"strings"
)

// Assigned takes out of a text what is assigned to the name of a secret, as in ansible_password=VALUE or
// "password": VALUE, with the lines that belong to it. The names stay, and so do the places where a secret is kept
// (password_file=PATH), and addresses and maps: behind token-1 they are a machine. It knows a secret by its name alone.
func Assigned(text string) string {
	r := newAssignments()
	var out strings.Builder
	for at := 0; ; {
		m := r.begin.FindStringSubmatchIndex(text[at:])
		if m == nil {
			out.WriteString(text[at:])
			return out.String()
		}
		start, value := at+m[2], at+m[1]
		end := value
		switch name, sign := text[start:at+m[3]], text[at+m[3]:value]; {
		case !r.secret(name) || r.machine(text[value:]):
		case strings.Contains(sign, "="):
			end += len(r.words.FindString(text[value:]))
		default:
			end = r.yamlEnd(text, start, value)
		}
		out.WriteString(text[at:value])
		at = end
	}
}

// assignments are the forms of what is assigned.
type assignments struct {
	begin  *regexp.Regexp // a name, and the sign
	letter *regexp.Regexp // a word of a name
	words  *regexp.Regexp // up to a blank
	quoted *regexp.Regexp // with all its quotes
	closed *regexp.Regexp // what may stand behind such a value on its line
	block  *regexp.Regexp // the value is on the next lines
	key    *regexp.Regexp // a line that is one of a map
	ranges *regexp.Regexp // 10.0.0.[1-9]
}

func newAssignments() *assignments {
	const quoted = `"(?:[^"\\\n]|\\.)*"|'[^'\n]*'`
	return &assignments{
		begin:  regexp.MustCompile(`([\w.-]+)["']?[ \t]*[=:][ \t]*`),
		letter: regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`),
		words:  regexp.MustCompile(`^(?:` + quoted + `|["'][^\n]*|[^\s"'])+`),
		quoted: regexp.MustCompile(`^(?:` + quoted + `)+`),
		closed: regexp.MustCompile(`^[ \t\r]*(?:[,}\]#]|\n|$)`),
		block:  regexp.MustCompile(`(?:^|\s)[|>][-+\d]*\s*(?:#.*)?$`),
		key:    regexp.MustCompile(`^(?:- +)*\{?[ \t]*(?:[\w.-]+|"[^"]*"|'[^']*')[ \t]*:(?:\s|$)`),
		ranges: regexp.MustCompile(`^(?:\d{1,3}\.){3}(?:\d{1,3}|[\d.]+-[\d.]+|\[[\d,-]+\])(?::\d+)?$`),
	}
}

// secret says whether a name is one of a secret, and none of a place where it is kept.
func (r *assignments) secret(name string) bool {
	lower := strings.ToLower(name)
	for _, place := range []string{"from", "path", "file", "dir"} {
		if strings.HasSuffix(lower, "-"+place) || strings.HasSuffix(lower, "_"+place) {
			return false
		}
	}
	for _, word := range r.letter.FindAllString(name, -1) {
		word = strings.ToLower(word)
		if word == "pass" || word == "sshpass" || strings.Contains(word, "passw") {
			return true
		}
		for _, end := range []string{"passphrase", "passcode", "secret", "token"} {
			if strings.HasSuffix(strings.TrimSuffix(word, "s"), end) {
				return true
			}
		}
	}
	return false
}

// machine says whether a value is an address, or a map.
func (r *assignments) machine(value string) bool {
	line, _, _ := strings.Cut(value, "\n")
	if strings.HasPrefix(line, "{") && r.key.MatchString(line) {
		return true
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return false
	}
	word := strings.Trim(words[0], `"',}`)
	_, err := netip.ParseAddr(strings.Trim(word, "[]"))
	_, errPort := netip.ParseAddrPort(word)
	return err == nil || errPort == nil || r.ranges.MatchString(word)
}

// yamlEnd is where a value in YAML or JSON ends: with its quotes, with its line, or with the lines behind it that are
// indented more than its name is.
func (r *assignments) yamlEnd(text string, name, value int) int {
	end := value + len(r.quoted.FindString(text[value:]))
	if end > value && r.closed.MatchString(text[end:]) {
		return end
	}
	line, rest, _ := strings.Cut(text[value:], "\n")
	end = value + len(line)
	before := text[strings.LastIndexByte(text[:name], '\n')+1 : name]
	if strings.Trim(before, " \t-\"'") != "" { // the name is not the first on its line
		return end
	}
	column := len(strings.TrimRight(before, `"'`))
	all := r.block.MatchString(line) || strings.HasPrefix(line, `"`) || strings.HasPrefix(line, `'`)
	for at := end; rest != ""; {
		line, rest, _ = strings.Cut(rest, "\n")
		at += 1 + len(line)
		said := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(said) == "" {
			continue
		}
		if len(line)-len(said) <= column || !all && (r.key.MatchString(said) ||
			r.machine(strings.TrimPrefix(said, "- "))) {
			break
		}
		end = at
	}
	return end
}
