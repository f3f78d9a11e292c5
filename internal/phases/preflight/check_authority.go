package preflight

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkAuthority compares a node's authorities with those of the state directory. Whoever has another cluster of the
// same name neither takes this one down nor restores it. One that the state directory has lost is no obstacle to a
// cleanup.
func checkAuthority(mayBeLost bool) Check {
	return Check{
		Name: "authority", Codes: []string{"preflight.state-elsewhere", "state.read"}, Needs: Ours,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			return authorityFindings(in, n, f, mayBeLost)
		},
	}
}

func authorityFindings(in *Input, n config.Node, f *facts.Facts, mayBeLost bool) []event.Finding {
	for _, a := range []struct{ sum, file string }{{f.CA, "ca.crt"}, {f.EtcdCA, "etcd/ca.crt"}} {
		if a.sum == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(in.StateDir, "pki", a.file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return as(n.Name, event.NewFault(event.ClassPreflight, "state.read", err))
		}
		if err != nil && mayBeLost {
			continue
		}
		have := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(have[:]) != a.sum {
			return one(event.Error, n, "preflight.state-elsewhere", "cluster", in.Cluster.Name, "dir", in.StateDir)
		}
	}
	return nil
}
