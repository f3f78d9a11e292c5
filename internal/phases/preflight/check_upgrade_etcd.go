package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeEtcd wants every member of etcd to be healthy and to vote, and a way from its version to the bundle's:
// each is restarted in its turn, and the others have to be enough meanwhile.
func checkUpgradeEtcd() Check {
	return Check{
		Name: "upgrade-etcd", Codes: []string{"upgrade.etcd-silent", "upgrade.etcd-ill", "upgrade.etcd-learner",
			"upgrade.etcd-older", "upgrade.etcd-skips", "upgrade.etcd-through"},
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			list, err := in.Upgrade.Members(ctx)
			if err != nil {
				return []event.Finding{Finding(in.ill(), "", "upgrade.etcd-silent", "cause",
					event.Clean(event.AsFault(err).Error()))}
			}
			var out []event.Finding
			for _, m := range list {
				kv := []string{"name", event.Clean(m.Name)}
				if m.Fault != nil {
					out = append(out, Finding(in.ill(), "", "upgrade.etcd-ill", append(kv, "cause",
						event.Clean(m.Fault.Error()))...))
				}
				if m.Learner {
					out = append(out, Finding(event.Error, "", "upgrade.etcd-learner", kv...))
				}
				out = append(out, in.etcdPath(m)...)
			}
			return out
		},
	}
}

// etcdPath follows a member from its version over those of all hops.
func (in *Input) etcdPath(m EtcdMember) []event.Finding {
	is := m.Version
	for _, to := range in.etcdTargets(m.Name) {
		_, a := etcdVersion(is)
		_, b := etcdVersion(to)
		if !a || !b {
			continue // it does not answer, or the bundle does not say
		}
		if out := etcdStep(m.Name, is, to); out != nil {
			return out
		}
		is = to
	}
	return nil
}

// etcdStep says why a member cannot be brought from one version to another.
func etcdStep(name, is, to string) []event.Finding {
	from, _ := etcdVersion(is)
	want, _ := etcdVersion(to)
	kv := []string{"name", event.Clean(name), "is", event.Clean(is), "bundle", to}
	switch {
	case slices.Compare(want, from) < 0:
		return []event.Finding{Finding(event.Error, "", "upgrade.etcd-older", kv...)}
	case want[0] != from[0] || want[1] > from[1]+1:
		return []event.Finding{Finding(event.Error, "", "upgrade.etcd-skips", append(kv, "next",
			fmt.Sprintf("%d.%d", from[0], from[1]+1))...)}
	// Members of 3.5 that were removed come back in 3.6, but for those of a 3.5 that knows of it.
	case want[1] == 6 && from[1] == 5 && from[2] < 26:
		return []event.Finding{Finding(event.Error, "", "upgrade.etcd-through", append(kv, "through",
			"3.5.26")...)}
	}
	return nil
}

// etcdTargets are the versions of etcd that a member is brought to, one of each hop.
func (in *Input) etcdTargets(name string) []string {
	var out []string
	for _, n := range in.Cluster.With(bundle.Etcd) {
		if n.Name != name {
			continue
		}
		if m := in.Target(n); m != nil {
			out = append(out, in.Cluster.EtcdVersion(n, m))
		}
		for _, h := range in.Upgrade.Later {
			if m := h.manifest(n); m != nil {
				out = append(out, in.Cluster.EtcdVersion(n, m))
			}
		}
	}
	return out
}

// manifest is that of a bundle of the hop for the node's architecture; nil when there is none.
func (h Hop) manifest(n config.Node) *bundle.Manifest {
	for _, b := range h.Bundles {
		if m := b.Manifest(); m.Arch == n.Arch {
			return m
		}
	}
	return nil
}

// etcdVersion reads 3.6.4 and v3.6.4-rc.0.
func etcdVersion(text string) ([]int, bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	parts := strings.Split(text, ".")
	out := make([]int, 0, 3)
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) == 3
}
