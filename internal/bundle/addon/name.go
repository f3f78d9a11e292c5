package addon

import (
	"regexp"
	"strings"
)

// The grammar of image references, as github.com/distribution/reference has it: host, path, tag, digest.
const (
	part   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	host   = `(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`
	digest = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}`
)

var nameRE = regexp.MustCompile(`\A(?:(` + host + `)/)?(` + part + `(?:/` + part + `)*)` +
	`(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(` + digest + `))?\z`)

// maxName is what distribution allows, with room for host, tag and digest.
const maxName = 512

type ref struct{ host, path, tag, digest string }

// parseRef reads a reference; host is "" when none is written.
func parseRef(s string) (ref, bool) {
	if len(s) > maxName {
		return ref{}, false
	}
	m := nameRE.FindStringSubmatch(s)
	if m == nil {
		return ref{}, false
	}
	r := ref{m[1], m[2], m[3], m[4]}
	if r.host != "" && !strings.ContainsAny(r.host, ".:") && r.host != "localhost" &&
		strings.ToLower(r.host) == r.host {
		r.host, r.path = "", r.host+"/"+r.path // library/name: no host
	}
	return r, len(r.path) <= 255
}

// repository is the normalised name without tag and digest.
func (r ref) repository() string {
	hub := r.host == "" || r.host == "docker.io" || r.host == "index.docker.io"
	switch {
	case hub && !strings.Contains(r.path, "/"):
		return "docker.io/library/" + r.path
	case hub:
		return "docker.io/" + r.path
	}
	return r.host + "/" + r.path
}

// names are the normalised names that mean the image: the one with its digest first.
func (r ref) names() []string {
	var out []string
	if r.digest != "" {
		out = append(out, r.repository()+"@"+r.digest)
	}
	if r.tag != "" || r.digest == "" {
		tag := r.tag
		if tag == "" {
			tag = "latest"
		}
		out = append(out, r.repository()+":"+tag)
	}
	return out
}

// normalize writes a name as containerd looks it up: docker.io/library/ and :latest filled in, a tag beside a digest
// dropped.
func normalize(s string) (string, bool) {
	r, ok := parseRef(s)
	if !ok {
		return "", false
	}
	return r.names()[0], true
}

// Floating says that a name has no digest and its tag is latest, written or not: what it means changes under one's
// hands.
func Floating(name string) bool {
	r, ok := parseRef(name)
	return ok && r.digest == "" && (r.tag == "" || r.tag == "latest")
}

// Missing are the images that none of the names in have means, in their order. Names are normalised on both sides. One
// that pins a digest needs that digest among the names (name@sha256:…); a name in have with tag and digest means both.
func Missing(found []Found, have []string) []Found {
	known := map[string]bool{}
	for _, h := range have {
		if r, ok := parseRef(h); ok {
			for _, n := range r.names() {
				known[n] = true
			}
		}
	}
	var out []Found
	for _, f := range found {
		if !known[f.Ref] {
			out = append(out, f)
		}
	}
	return out
}
