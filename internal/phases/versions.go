package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// minor of the Kubernetes that the bundle has, 34 for v1.34.2; 0 when it does not say.
func minor(m *bundle.Manifest) int { return config.Minor(m.Kubernetes) }

// Since which minor the kubelet's configuration has failCgroupV1, and since which it refuses cgroup v1 unless that is
// false.
const (
	cgroup1Field   = 31
	cgroup1Refused = 35
)
