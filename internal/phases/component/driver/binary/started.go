package binary

import (
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// StartedWith is what a component is started with: its flags, without dashes, of etcd its environment, and its
// configuration, "" for one that has none.
func (r *Binary) StartedWith(
	ctx context.Context, c driver.Component, n config.Node,
) (flags map[string]string, conf string, err error) {
	file := ""
	switch c {
	case driver.Etcd:
		return r.EtcdSettings(n), "", nil
	case driver.APIServer, driver.ControllerManager, driver.Scheduler:
		return r.Flags(c, n), "", nil
	case driver.Kubelet:
		flags, file = r.kubeletFlags(n), kubeletFile
	case driver.Proxy:
		_, flags = r.ProxyConfig(r.Fact(n.Name).Conntrack, nil)
		file = proxyFile
	default:
		return nil, "", nil
	}
	if err := r.OpenPKI(ctx); err != nil {
		return nil, "", err
	}
	s, err := r.service(c, n)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(s.Files, func(f node.File) bool { return f.Path == file })
	return flags, string(s.Files[at].Data), nil
}
