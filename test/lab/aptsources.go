package lab

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// aptSource is one archive in the terms of sources.list(5).
type aptSource struct {
	URI, Suite string
	Components []string
	SignedBy   string
}

// line is the source as one line of a sources.list.
func (s aptSource) line() string {
	option := ""
	if s.SignedBy != "" {
		option = "[signed-by=" + s.SignedBy + "] "
	}
	return fmt.Sprintf("deb %s%s %s %s", option, s.URI, s.Suite, strings.Join(s.Components, " "))
}

// parseAptList reads the one-line format. Lines that it does not understand are left out: the caller
// only wants the distribution's own archives.
func parseAptList(text string) []aptSource {
	var out []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind != "deb" {
			continue
		}
		var s aptSource
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			options, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				continue
			}
			rest = after
			for option := range strings.FieldsSeq(options) {
				if v, ok := strings.CutPrefix(option, "signed-by="); ok {
					s.SignedBy = v
				}
			}
		}
		f := strings.Fields(rest)
		if len(f) < 3 {
			continue
		}
		s.URI, s.Suite, s.Components = f[0], f[1], f[2:]
		out = append(out, s)
	}
	return out
}

// parseDeb822 reads the stanzas of a .sources file. A key that is embedded in Signed-By is left out: the
// distribution's keyring vouches for the archives that the lab uses.
func parseDeb822(text string) []aptSource {
	var out []aptSource
	stanza := map[string]string{}
	key := ""
	flush := func() {
		enabled := strings.ToLower(strings.TrimSpace(stanza["enabled"]))
		if slices.Contains(strings.Fields(stanza["types"]), "deb") && enabled != "no" && enabled != "false" {
			signed := strings.TrimSpace(stanza["signed-by"])
			if !strings.HasPrefix(signed, "/") {
				signed = ""
			}
			for uri := range strings.FieldsSeq(stanza["uris"]) {
				for suite := range strings.FieldsSeq(stanza["suites"]) {
					out = append(out, aptSource{uri, suite, strings.Fields(stanza["components"]), signed})
				}
			}
		}
		stanza, key = map[string]string{}, ""
	}
	sc := bufio.NewScanner(strings.NewReader(text))
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if key != "" {
				stanza[key] += "\n" + line
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if ok {
				key = strings.ToLower(strings.TrimSpace(name))
				stanza[key] = value
			}
		}
	}
	flush()
	return out
}

// aptSources returns the archives of the suite and of its updates that the machine itself is configured to
// use; root is "/" but for tests. A suite that it does not use is taken from the archives of its own.
func aptSources(root, suite string) ([]aptSource, error) {
	var all []aptSource
	for _, pattern := range []string{"etc/apt/sources.list", "etc/apt/sources.list.d/*.list",
		"etc/apt/sources.list.d/*.sources"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			if strings.HasSuffix(f, ".sources") {
				all = append(all, parseDeb822(string(text))...)
			} else {
				all = append(all, parseAptList(string(text))...)
			}
		}
	}
	if own := nodeSuite; suite != own && !slices.ContainsFunc(all, func(s aptSource) bool { return s.Suite == suite }) {
		for i := range all {
			if rest, ok := strings.CutPrefix(all[i].Suite, own); ok {
				all[i].Suite = suite + rest
			}
		}
	}
	wanted := []string{suite, suite + "-updates", suite + "-security"}
	all = slices.DeleteFunc(all, func(s aptSource) bool {
		return !slices.Contains(wanted, s.Suite) || !slices.Contains(s.Components, "main")
	})
	for i := range all {
		all[i].Components = []string{"main"}
	}
	if !slices.ContainsFunc(all, func(s aptSource) bool { return s.Suite == suite }) {
		return nil, fmt.Errorf("this machine's apt sources have no archive of Debian %s, from which the nodes are made",
			suite)
	}
	return all, nil
}
