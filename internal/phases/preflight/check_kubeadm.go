package preflight

import (
	"fmt"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkKubeadm finds that the bundle's kubeadm does not read the configuration that is written for it.
func checkKubeadm() Check {
	return Check{
		Name: "kubeadm", Codes: []string{"bundle.kubeadm-old"}, Needs: Served,
		Bundle: func(in *Input, s Source) []event.Finding {
			m := s.Manifest()
			if !in.Cluster.ByKubeadm() || m.Kubernetes == "" || bundle.Minor(m.Kubernetes) >= config.OldestKubeadm {
				return nil
			}
			return bundleFault(event.Error, "bundle.kubeadm-old", "version", m.Kubernetes, "arch", m.Arch, "oldest",
				fmt.Sprintf("1.%d", config.OldestKubeadm))
		},
	}
}
