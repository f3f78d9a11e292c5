package guide

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// keyPath is the key with the path of the private key, whose file is checked, too.
const keyPath = "private-key-path"

// Check checks the whole draft and takes the result.
func (s *Session) Check() { s.Checked(s.Draft.Check("deploy.yaml")) }

// Checked takes the result of a check of the draft as it is now.
func (s *Session) Checked(c *config.Cluster, problems config.Problems) {
	s.Cluster, s.Problems = c, placed(problems)
	if f := s.keyFault; f != nil && s.keyFile == s.Draft.Value(keyPath) {
		s.Problems = append(s.Problems, config.Problem{Key: keyPath, Code: f.Code, Severity: event.Error,
			Args: map[string]string{"file": f.Args["file"], "cause": f.Cause}})
	}
}

// placed reports that machines are in a network of the cluster at the network, once: it is fixed there.
func placed(list config.Problems) config.Problems {
	var out config.Problems
	for _, x := range list {
		if x.Code == "config.cidr-node" {
			x.Key = x.Args["name"]
			if slices.ContainsFunc(out, func(o config.Problem) bool { return o.Code == x.Code && o.Key == x.Key }) {
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

// KeyToCheck returns the file of the private key if it was not checked yet.
func (s *Session) KeyToCheck() (file string, check bool) {
	if file = s.Draft.Value(keyPath); file == "" {
		s.keyFile, s.keyFault = "", nil
	}
	return file, file != s.keyFile
}

// KeyChecked takes what is wrong with the file of a private key, nil if nothing is, and reports whether the draft
// still has that file.
func (s *Session) KeyChecked(file string, fault *event.Fault) bool {
	if file != s.Draft.Value(keyPath) {
		return false
	}
	s.keyFile, s.keyFault = file, fault
	return true
}

// Under reports whether the key of a problem is a key or below it.
func Under(key, above string) bool {
	return key == above || strings.HasPrefix(key, above+"[") || strings.HasPrefix(key, above+".")
}

// Wrong returns the problems of a key, and of those below it.
func (s *Session) Wrong(key string) config.Problems {
	var out config.Problems
	for _, x := range s.Problems {
		if Under(x.Key, key) {
			out = append(out, x)
		}
	}
	return out
}

// Words returns the text of a fault and what to do about it in a form, where lines of a file mean nothing. Place is
// the kind of the form, "" for the screen; others have texts of their own where the screen's name its keys.
func Words(p *i18n.Printer, place string, f *event.Fault) (text, next string) {
	switch {
	case f.Code == "usage.secret" && f.Args["what"] != "prompt": // the fault itself names the file or the variable
		text, next = p.Fault(f)
	default:
		text, next = p.FaultIn("form", f)
		if place != "" {
			if own, advice := p.FaultIn(place, f); !same(p, f, own, advice) {
				text, next = own, advice
			}
		}
	}
	return event.Clean(text), event.Clean(next)
}

// same reports whether text and advice are those of the fault itself.
func same(p *i18n.Printer, f *event.Fault, text, next string) bool {
	t, n := p.Fault(f)
	return t == text && n == next
}
