package phases

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// judgeRestoring refuses what is not the restore while one is half done: some members would start with the new data and
// others with the old. Before the first member was touched, and when all have their new data, there is nothing in the
// way.
func (r *run) judgeRestoring(ctx context.Context) []event.Finding {
	re := &restore{run: r}
	under, err := re.underWay()
	if err != nil {
		return []event.Finding{{Severity: event.Error, Fault: *event.AsFault(err)}}
	}
	if under.Token == "" {
		return nil
	}
	re.token = under.Token
	members, touched, whole := r.Cluster.With(bundle.Etcd), 0, 0
	for _, n := range members {
		nd := r.Node(n.Name)
		if nd == nil {
			continue // told already
		}
		out, err := nd.Query(ctx, fmt.Sprintf("[ ! -d %s ] || echo yes", node.Quote(re.old())))
		yes, err2 := re.exchanged(ctx, nd)
		if err = errors.Join(err, err2); err != nil {
			return []event.Finding{{Host: n.Name, Severity: event.Error, Fault: *event.AsFault(err)}}
		}
		if strings.TrimSpace(out) == "yes" {
			touched++
		}
		if yes {
			whole++
		}
	}
	if touched == 0 || whole == len(members) {
		return nil
	}
	return []event.Finding{finding(event.Error, "", "restore-half", "cluster", r.Cluster.Name, "done",
		strconv.Itoa(whole), "members", strconv.Itoa(len(members)))}
}
