package redact

import (
	"regexp"
	"strings"
)

// Assigned takes out of a text what is assigned to the name of a secret, as in ansible_password=VALUE or
// "password": VALUE. The names stay, and so do the places where a secret is kept (password_file=PATH). It knows a
// secret by its name alone.
func Assigned(text string) string {
	const (
		name   = `(?i)([\w.-]*(?:pass|secret|token)[\w.-]*)(["']?[ \t]*`
		quoted = `"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?`
	)
	for _, form := range []string{
		name + `=[ \t]*)(?:` + quoted + `|[^\s"'])+`, // up to a blank
		name + `:[ \t]*)(?:` + quoted + `|[^\n]+)`,   // up to the end of the line
	} {
		assignment := regexp.MustCompile(form)
		text = assignment.ReplaceAllStringFunc(text, func(all string) string {
			m := assignment.FindStringSubmatch(all)
			for _, place := range []string{"from", "path", "file", "dir"} {
				if key := strings.ToLower(m[1]); strings.HasSuffix(key, "-"+place) || strings.HasSuffix(key, "_"+place) {
					return all
				}
			}
			return m[1] + m[2]
		})
	}
	return text
}
