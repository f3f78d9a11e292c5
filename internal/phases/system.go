package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// systemName is an operating system in a bundle's words.
func systemName(os bundle.OS) string {
	s := strings.TrimSpace(os.ID + " " + os.Release)
	if os.Codename != "" {
		s += " (" + os.Codename + ")"
	}
	return s
}

// systemsOf names the operating systems that bundles are for.
func systemsOf(list []Bundle) string {
	var out []string
	for _, b := range list {
		if s := fmt.Sprintf("%s (%s)", systemName(b.Manifest().OS), b.Manifest().Name); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}
