package phases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/nodes"
)

// judgeOurs looks at a node that carries this cluster's name. The name alone proves little, it has a default: what
// counts is that the authorities are ours, for to go on with others would end a cluster that works. They are written on
// the jump host before anything of theirs reaches a node, so that an installation that was cut off always finds them.
func (r *run) judgeOurs(n config.Node, f *facts.Facts) []event.Finding {
	if out := r.judgeAuthority(n, f, false); out != nil {
		return out
	}
	var out []event.Finding
	if f.NodeName != "" && f.NodeName != n.Name {
		out = append(out, finding(event.Error, n.Name, "renamed", "was", event.Clean(f.NodeName)))
	}
	if f.OwnRuntime != "" && nodes.IsKubelet(n) && f.OwnRuntime != r.runtimeName() {
		out = append(out, finding(event.Error, n.Name, "runtime-change", "is", f.OwnRuntime, "want", r.runtimeName()))
	}
	if b := r.BundleFor(n, f); b != nil && f.Kubelet != "" && b.Manifest().Kubernetes != "" &&
		f.Kubelet != b.Manifest().Kubernetes {
		out = append(out, finding(event.Error, n.Name, "version", "is", event.Clean(f.Kubelet), "bundle",
			b.Manifest().Kubernetes))
	}
	return out
}

// judgeAuthority compares the node's authorities with those of the state directory. One that the state directory has
// lost is no obstacle to a cleanup.
func (r *run) judgeAuthority(n config.Node, f *facts.Facts, cleanup bool) []event.Finding {
	for _, a := range []struct{ sum, file string }{{f.CA, "ca.crt"}, {f.EtcdCA, "etcd/ca.crt"}} {
		if a.sum == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.StateDir, "pki", a.file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			fault := event.NewFault(event.ClassPreflight, "state.read", err)
			return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *fault}}
		}
		if err != nil && cleanup {
			continue
		}
		have := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(have[:]) != a.sum {
			return []event.Finding{finding(event.Error, n.Name, "state-elsewhere", "cluster", r.Cluster.Name, "dir",
				r.StateDir)}
		}
	}
	return nil
}

// judgeAuthorities is judgeAuthority for a cleanup: whoever has another cluster of the same name does not take this one
// down.
func (r *run) judgeAuthorities() []event.Finding {
	var all []event.Finding
	for _, n := range r.Cluster.Nodes {
		if f := r.Fact(n.Name); f != nil && f.Cluster == r.Cluster.Name {
			all = append(all, r.judgeAuthority(n, f, true)...)
		}
	}
	return all
}

// ownUnits are the units that the node's roles get.
func ownUnits(n config.Node) []string {
	var out []string
	if n.Has(bundle.Etcd) {
		out = append(out, "etcd")
	}
	if n.Has(bundle.ControlPlane) {
		out = append(out, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	}
	if n.Has(bundle.LoadBalancer) {
		out = append(out, "eggo-lb")
	}
	if nodes.IsKubelet(n) {
		out = append(out, "kubelet", "kube-proxy")
	}
	for i, u := range out {
		out[i] = layout.UnitDir + u + ".service"
	}
	return out
}

// judgeFiles finds files of somebody else where ours will be, and places that are not safe for them, before the run
// comes to them; all nodes are asked at once.
func (r *run) judgeFiles(ctx context.Context) []event.Finding {
	found := make([][]event.Finding, len(r.Cluster.Nodes))
	var wg sync.WaitGroup
	for i, n := range r.Cluster.Nodes {
		nd, f, b := r.Node(n.Name), r.Fact(n.Name), r.BundleOf(n)
		if nd == nil || f == nil || b == nil || f.Cluster != "" && f.Cluster != r.Cluster.Name {
			continue // told already
		}
		wg.Go(func() { found[i] = append(r.foreignFiles(ctx, n, nd, b), r.judgeTargets(ctx, n, nd, b)...) })
	}
	wg.Wait()
	var all []event.Finding
	for _, list := range found {
		all = append(all, list...)
	}
	return all
}

func (r *run) foreignFiles(ctx context.Context, n config.Node, nd *node.Node, b Bundle) []event.Finding {
	paths := ownUnits(n)
	if nodes.IsKubelet(n) {
		paths = append(paths, r.runtime().paths(n)...)
	}
	for _, m := range r.Members(n, b.Manifest()) {
		paths = append(paths, m.File)
		if m.Executed {
			paths = append(paths, m.Binary().File)
		}
	}
	out, err := nd.Query(ctx, fmt.Sprintf(`for p in %s; do
  if [ -e "$p" ] || [ -L "$p" ]; then
    awk -F'\t' -v p="$p" '$1=="file" && $2==p {f=1} END {exit !f}' %s/record 2>/dev/null || printf '%%s\n' "$p"
  fi
done
`, node.QuoteAll(paths), node.Dir))
	if err != nil {
		return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *event.AsFault(err)}}
	}
	if files := strings.Fields(event.Clean(strings.ReplaceAll(out, "\n", " "))); len(files) > 0 {
		return []event.Finding{finding(event.Error, n.Name, "foreign-files", "files", strings.Join(files, ", "))}
	}
	return nil
}
