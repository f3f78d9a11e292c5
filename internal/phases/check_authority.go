package phases

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
)

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
