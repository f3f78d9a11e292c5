package start

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// lost is a part whose node cannot be asked any more.
type lost struct{ Part }

func (lost) StoppedIn(context.Context, time.Duration) (time.Duration, error) {
	return 0, errors.New("gone")
}

// n1 is a node that is never asked.
type n1 struct{ node.Host }

func (n1) Name() string { return "n1" }

// TestARestartIsDoneThoughNobodyKnowsHowLongItTook: the report of an absence is no part of the restart.
func TestARestartIsDoneThoughNobodyKnowsHowLongItTook(t *testing.T) {
	var told []string
	e := &input.Env{Emit: func(e event.Event) error {
		if n, ok := e.(event.Notice); ok {
			told = append(told, n.Text.Key+" "+n.Text.Args["seconds"])
		}
		return nil
	}}
	r := &Start{Nodes: &inventory.Nodes{Env: e}}
	nd := node.New(n1{}, e.Emit)
	if err := r.reportAway(t.Context(), nd, driver.Etcd, Proof{Votes: 7 * time.Second}, lost{},
		9*time.Second); err != nil {
		t.Error(err)
	}
	if len(told) != 1 || told[0] != "notice.away 9.0" {
		t.Errorf("%q", told)
	}
}
