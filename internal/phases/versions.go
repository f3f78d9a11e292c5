package phases

import (
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// minor of the Kubernetes that the bundle has, 34 for v1.34.2; 0 when it does not say.
func minor(m *bundle.Manifest) int { return config.Minor(m.Kubernetes) }

// cgroup1Refused is the minor since which a kubelet refuses cgroup v1 unless its configuration has failCgroupV1: false.
const cgroup1Refused = 35
