package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/eggo-k8s/eggo/internal/exitcode"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/phasestest"
)

// interrupting is an Asker that is interrupted while it reads a secret.
type interrupting struct {
	Asker
	interrupt func()
}

func (i interrupting) Secret(context.Context, SecretQuestion) (string, error) {
	i.interrupt()
	return "x", nil
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
		if said.Fault == nil || said.Fault.Code != "run.interrupted" || exitcode.Of(said.Fault) != exitcode.Interrupted {
			t.Errorf("%s: it says %v", what, said.Fault)
		}
		if exitcode.Of(err) != exitcode.Interrupted {
			t.Errorf("%s: %v", what, err)
		}
	}
}
