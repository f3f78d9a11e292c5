package preflight

import (
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkBundleArch: deploy.yaml says for which architecture a bundle is.
func checkBundleArch() Check {
	return Check{
		Name: "bundle-arch", Codes: []string{"bundle.wrong-arch"},
		Bundle: func(_ *Input, s Source) []event.Finding {
			m := s.Manifest()
			if s.Arch == "" || m.Arch == s.Arch {
				return nil
			}
			return bundleFault(event.Error, "bundle.wrong-arch", "bundle", m.Name, "got", m.Arch, "want", s.Arch,
				"arch", s.Arch)
		},
	}
}
