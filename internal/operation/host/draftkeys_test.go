package host

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// The key of a bastion is asked about once, for all machines behind it; then each machine's own. What was accepted is
// kept with the draft, so that another wizard does not ask, and deploy.yaml's own known_hosts gets it in the end.
func TestKeysBehindABastionAreAskedAboutOnce(t *testing.T) {
	t.Parallel()
	gate := remotetest.New(t)
	d := testServices(t)
	mine := filepath.Join(t.TempDir(), "mine")
	of := config.Draft{}.WithValues(map[string]string{"password": "secret", "cluster-id": "prod",
		"eggo.known-hosts": mine, "eggo.bastion": fmt.Sprintf("[{host: %s, port: %d}]", gate.IP, gate.Port)})
	for i := range 3 {
		s := remotetest.New(t)
		of.Machines = append(of.Machines, config.Machine{Name: fmt.Sprintf("n%d", i+1), IP: s.IP,
			Port: strconv.Itoa(s.Port), Roles: []bundle.Role{bundle.Worker}})
	}
	asked := func(d *Draft) (out []string) {
		for _, m := range of.Machines {
			d.Probe(t.Context(), of, m, func(l draft.Probe) {
				switch l.Stage {
				case draft.Asking:
					k := backend.KeyOf(&l)
					out = append(out, fmt.Sprintf("%s %s %d", k.Node, k.Addr, k.Serves))
					l.Key.Answer(true)
				case draft.Failed:
					t.Error(m.Name, l.Fault)
				}
			})
		}
		return out
	}
	want := []string{fmt.Sprintf("%s %s 3", gate.IP, gate.Addr)}
	for _, m := range of.Machines {
		want = append(want, fmt.Sprintf("%s %s:%s 0", m.Name, m.IP, m.Port))
	}
	if got := asked(d); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("asked about %q, want %q", got, want)
	}
	if got := asked(d.h.newDraft(d.kept)); got != nil { // the terminal was closed
		t.Errorf("asked again about %q", got)
	}
	if err := d.Write(filepath.Join(t.TempDir(), "deploy.yaml"), of, d.h.Printer()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(mine); err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("%q %v", text, err)
	}
	if err := d.Forget(); err != nil || exists(d.kept.KnownHosts()) {
		t.Errorf("the draft's keys are left: %v", err)
	}
}

// More machines than are probed at once wait behind a bastion whose key is asked about: the answer lets all of them
// through, over one connection to it.
func TestTheAnswerAboutABastionReachesAllThatWait(t *testing.T) {
	t.Parallel()
	gate, s, d := remotetest.New(t), remotetest.New(t), testServices(t)
	of := config.Draft{}.WithValues(map[string]string{"password": "secret", "cluster-id": "prod",
		"eggo.bastion": fmt.Sprintf("[{host: %s, port: %d}]", gate.IP, gate.Port)})
	for i := range cap(d.turn) + 4 {
		of.Machines = append(of.Machines, config.Machine{Name: fmt.Sprintf("n%d", i+1), IP: s.IP,
			Port: strconv.Itoa(s.Port), Roles: []bundle.Role{bundle.Worker}})
	}
	var all sync.WaitGroup
	var seen, gates atomic.Int32
	for _, m := range of.Machines {
		all.Go(func() {
			d.Probe(t.Context(), of, m, func(l draft.Probe) {
				switch l.Stage {
				case draft.Asking:
					if backend.KeyOf(&l).Serves > 0 {
						gates.Add(1)
						for len(d.turn) < cap(d.turn) && t.Context().Err() == nil { // others take the place
							runtime.Gosched()
						}
					}
					l.Key.Answer(true)
				case draft.Seen:
					seen.Add(1)
				case draft.Failed:
					t.Error(m.Name, l.Fault)
				}
			})
		})
	}
	all.Wait()
	if int(seen.Load()) != len(of.Machines) || gates.Load() != 1 || len(d.turn) != 0 {
		t.Errorf("%d of %d are seen, the bastion was asked about %d times, %d places are taken", seen.Load(),
			len(of.Machines), gates.Load(), len(d.turn))
	}
	if n := gate.Connections(); n > 2 {
		t.Errorf("%d connections to the bastion", n)
	}
}
