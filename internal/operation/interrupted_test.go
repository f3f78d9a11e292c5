package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// interrupting is an Asker that is interrupted while it reads a secret.
type interrupting struct{ interrupt func() }

func (i interrupting) Ask(context.Context, ask.Question) (ask.Answer, error) {
	i.interrupt()
	return ask.Answer{Secret: "x"}, nil
}

// An interrupt before the run has a log is one to whoever launched it, and to who reads the exit code.
func TestInterruptedBeforeThereIsALog(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	asking := deployOf(f)
	asking.Source.Text = append(asking.Source.Text, "\neggo: {password-from: prompt}\n"...)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(snapshot, make([]byte, 1024+32), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]request.Request{
		"a secret": asking, "a snapshot": request.Restore{Common: deployOf(f).Common, Snapshot: snapshot},
	} {
		in, err := Envelope{Request: q}.encode()
		if err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		var out bytes.Buffer
		err = RunDetached(ctx, bytes.NewReader(in), &out, func(Envelope) (Deps, error) {
			d := d
			if d.Asker = (interrupting{interrupt: interrupt}); what == "a snapshot" {
				interrupt()
			}
			return d, nil
		}, func(*Handle) func() { return func() {} }, func(err error) { t.Error(err) })
		var said report
		if err := json.Unmarshal(out.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		if said.Fault == nil || said.Fault.Code != "run.interrupted" ||
			exitcode.Of(said.Fault) != exitcode.Interrupted {
			t.Errorf("%s: it says %v", what, said.Fault)
		}
		if exitcode.Of(err) != exitcode.Interrupted {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// cut are connections that are interrupted while a node is asked.
type cut struct {
	*fakes
	interrupt func()
}

func (c cut) Connections(Access) (Connections, error) { return c, nil }
func (c cut) Close() error                            { return nil }

func (c cut) Dial(_ context.Context, n config.Node) (Host, error) {
	c.interrupt()
	return nil, event.NewFault(event.ClassFailed, "ssh.lost", context.Canceled).On(n.Name)
}

// An abort before there is a plan is one in the log, too: that of a join that asks the new node what it is.
func TestInterruptedBeforeThereIsAPlan(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1})
	ctx, interrupt := context.WithCancel(t.Context())
	d.Dialer = cut{f, interrupt}
	node := config.Node{Name: "w9", IP: netip.MustParseAddr("192.0.2.99"), Roles: []bundle.Role{bundle.Worker}}
	h, err := Start(ctx, request.Join{Common: deployOf(f).Common, Nodes: []config.Node{node}}, d)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.Wait(t.Context())
	if res.Outcome != event.Interrupted || !res.Logged || exitcode.Of(err) != exitcode.Interrupted {
		t.Errorf("%+v %v", res, err)
	}
	last, err := journal.Last(h.Run().Dir)
	end, _ := last.Event.(event.RunEnded)
	if err != nil || end.Outcome != event.Interrupted || end.Exit != 130 || end.Fault.Code != "run.interrupted" {
		t.Errorf("%+v %v", end, err)
	}
}
