// Package redact takes secrets out of what is given away: texts, JSON and YAML. It imports nothing of this module.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Redactor takes secrets out of what is given away: the values that the cluster's files hold, wherever they occur, and
// what patterns like a secret. Values go and keys stay, so that what had a form keeps it.
type Redactor struct {
	secrets  []string
	values   *strings.Replacer
	patterns []*regexp.Regexp
	key      *regexp.Regexp // a key whose value is a secret
	line     *regexp.Regexp // such a key and its value, in a text without form
}

const redacted = "(redacted)"

// secretWords are what the names of secrets have in them.
const secretWords = `password|passwd|passphrase|token|secret|private-key-data|client-key-data`

// New learns the secrets of the cluster in dir: what stands behind a secret's key in its deploy.yaml files, its tokens,
// and every
// line of its private keys.
func New(dir string) (*Redactor, error) {
	r := &Redactor{
		key:  regexp.MustCompile(`(?i)` + secretWords),
		line: regexp.MustCompile(`(?im)((?:` + secretWords + `)[\w-]*["']?\s*[:=]\s*)(\S.*)$`),
		patterns: []*regexp.Regexp{
			// A block may stand in one line with its newlines escaped, or over several lines of a log, each with its
			// own beginning.
			regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`),
			regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),           // bootstrap token
			regexp.MustCompile(`\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}`), // service account token
			regexp.MustCompile(`(?i)(?:client-key-data|token|password)["\\]*\s*[:=]\s*["\\]*[^\s"\\,}]{6,}`),
			regexp.MustCompile(`(?i)authorization:\s*(?:bearer|basic)\s+\S+`),
		},
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "runs" || d.Name() == "snapshots"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		switch {
		case strings.Contains(d.Name(), "deploy.yaml"):
			r.secrets = append(r.secrets, r.secretsIn(data)...)
		case strings.HasSuffix(d.Name(), ".crt"), strings.HasSuffix(d.Name(), ".pub"),
			strings.Contains(d.Name(), "known_hosts"),
			strings.HasPrefix(d.Name(), "lock"), d.Name() == "format", d.Name() == "stages.json",
			d.Name() == "join.draft.json":
		default: // keys, tokens, encryption configuration, kubeconfigs
			r.secrets = append(r.secrets, regexp.MustCompile(`[A-Za-z0-9+/=_.-]{16,}`).FindAllString(string(data),
				-1)...)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	r.values = replacer(r.secrets)
	return r, err
}

// replacer replaces secrets that are long enough to be none by chance.
func replacer(secrets []string) *strings.Replacer {
	var all []string
	for _, s := range secrets {
		all = append(all, s)
		if lines := strings.Split(s, "\n"); len(lines) > 1 { // a log shows it line by line
			all = append(all, lines...)
		}
	}
	// the longest first: one may be part of another
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		if s = strings.TrimSpace(s); len(s) >= 4 && s != "root" && !strings.Contains(redacted, s) {
			pairs = append(pairs, s, redacted)
		}
	}
	return strings.NewReplacer(pairs...)
}

// isSecret says whether what stands behind a key is a secret, not the place where it can be found, and not etcd's,
// which is the cluster's name.
func (r *Redactor) isSecret(key string) bool {
	for _, place := range []string{"-from", "-path", "-file", "-dir", "etcd-token"} {
		if strings.HasSuffix(key, place) {
			return false
		}
	}
	return r.key.MatchString(key)
}

// Text takes the secrets out of a text.
func (r *Redactor) Text(data []byte) []byte { return []byte(r.clean(string(data), r.values)) }

func (r *Redactor) clean(s string, values *strings.Replacer) string {
	s = values.Replace(s)
	for i, look := range r.patterns {
		if i == 0 {
			s = look.ReplaceAllStringFunc(s, inLines)
			continue
		}
		s = look.ReplaceAllString(s, redacted)
	}
	return s
}

// inLines redacts a block that may go over several lines of a log: the lines stay, without what is in them, and so does
// the form of JSON.
func inLines(block string) string {
	lines := strings.Split(block, "\n")
	for i, l := range lines {
		switch {
		case len(lines) == 1:
			lines[i] = redacted
		case i == 0 || i == len(lines)-1:
		default:
			lines[i] = regexp.MustCompile(`[A-Za-z0-9+/=]{20,}`).ReplaceAllString(l, redacted)
		}
	}
	return strings.Join(lines, "\n")
}

// JSON takes the secrets out of the strings of JSON documents, keys aside. What is between the strings stays as it is.
func (r *Redactor) JSON(data []byte) []byte {
	data = r.patterns[0].ReplaceAllFunc(data, func(b []byte) []byte { return []byte(inLines(string(b))) })
	var out bytes.Buffer
	for len(data) > 0 {
		i := bytes.IndexByte(data, '"')
		if i < 0 {
			break
		}
		end := i + 1
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(data) { // cut off in the middle of a string
			out.Write(data[:i])
			out.Write(r.Text(data[i:]))
			return out.Bytes()
		}
		literal, rest := data[i:end+1], data[end+1:]
		out.Write(data[:i])
		out.Write(r.literal(literal, bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))))
		data = rest
	}
	out.Write(data)
	return out.Bytes()
}

// literal is a string of JSON without secrets.
func (r *Redactor) literal(literal []byte, key bool) []byte {
	var s string
	if key || json.Unmarshal(literal, &s) != nil {
		return literal
	}
	clean := r.clean(s, r.values)
	if clean == s {
		return literal
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(clean) != nil {
		return []byte(`"` + redacted + `"`)
	}
	return bytes.TrimSpace(out.Bytes())
}
