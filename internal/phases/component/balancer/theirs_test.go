package balancer

import (
	"context"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// original is a machine whose nginx is, or is not, the load balancer of the original eggo.
type original struct {
	node.Host
	says string
	did  *[]string
}

func (original) Name() string { return "lb" }

func (o original) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	if strings.Contains(c.Script, "systemctl disable --now nginx.service") {
		*o.did = append(*o.did, c.Script)
		return shell.Result{}, nil
	}
	if strings.Contains(c.Script, "is-active") {
		return shell.Result{Stdout: []byte("state=active enabled=enabled applied=\n")}, nil
	}
	return shell.Result{Stdout: []byte(o.says)}, nil
}

// The load balancer of the original eggo makes room for ours on a node that was imported, and nowhere else.
func TestTheOriginalsBalancerMakesRoom(t *testing.T) {
	for name, c := range map[string]struct {
		kinds []string
		says  string
		want  int
	}{
		"imported":           {[]string{"imported"}, "theirs\n", 1},
		"somebody's nginx":   {[]string{"imported"}, "", 0},
		"installed by us":    {[]string{"unit"}, "theirs\n", 0},
		"nothing is known":   {nil, "theirs\n", 0},
		"imported, and done": {[]string{"unit", "imported"}, "", 0},
	} {
		r := asideRun()
		r.SetFact("lb", &facts.Facts{Cluster: "mine", RecordKinds: c.kinds})
		var did []string
		nd := node.New(original{says: c.says, did: &did}, func(event.Event) error { return nil })
		if err := r.endTheirs(t.Context(), nd); err != nil || len(did) != c.want {
			t.Errorf("%s: %v %q", name, err, did)
		}
		if c.want > 0 && !strings.Contains(did[0], "nginx.service") {
			t.Errorf("%s: %q", name, did)
		}
	}
}
