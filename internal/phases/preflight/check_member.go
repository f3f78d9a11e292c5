package preflight

import (
	"context"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkMember: a member of etcd makes its new data itself, from the snapshot, beside the old.
func checkMember() Check {
	return Check{
		Name: "member", Codes: []string{"preflight.restore-no-etcdutl", "preflight.restore-space"}, Needs: Ours,
		When: func(_ *Input, n config.Node) bool { return n.Has(bundle.Etcd) },
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			var out []event.Finding
			if has, err := in.Nodes.Node(n.Name).Query(ctx, "[ ! -x "+shell.Quote(in.ProgramPath(n, "etcdutl"))+
				" ] || echo yes"); err != nil {
				return as(n.Name, err)
			} else if strings.TrimSpace(has) == "" {
				out = append(out, Finding(event.Error, n.Name, "preflight.restore-no-etcdutl"))
			}
			// The file, the new data with a first log of 64 MiB, and room to work in.
			free := f.Free[in.EtcdData].Bytes
			if need := 2*in.Snapshot.Size + 256<<20; free < need {
				out = append(out, Finding(event.Error, n.Name, "preflight.restore-space", "need",
					strconv.FormatInt(need>>20, 10), "free", strconv.FormatInt(free>>20, 10)))
			}
			return out
		},
	}
}
