package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// fakeMeta is the store of a meta cluster: another directory.
type fakeMeta struct {
	*fakes
	ca []byte
}

func (m *fakeMeta) Place() string { return "namespace prod of https://192.0.2.99:6443" }
func (m *fakeMeta) CA() []byte    { return m.ca }
func (m *fakeMeta) Remove(_ context.Context, cluster string) error {
	return os.RemoveAll(filepath.Join(m.root, cluster))
}

// sides are a control host and a meta cluster, which share machines.
type sides struct {
	*fakes
	t    *testing.T
	meta *fakeMeta
	at   int      // the step at which a hand-over is killed; negative: at none
	seen []string // steps of the last hand-over
}

var errKilled = errors.New("killed")

// beside deploys a cluster from a control host; there is a meta cluster that has nothing.
func beside(t *testing.T, shape phasestest.Shape) *sides {
	t.Helper()
	f, d := simulate(t, shape)
	if refused, err := errorsOf(t, deployOf(f), d); err != nil {
		t.Fatal(refused, err)
	}
	// The machines of the lab read their certificates from its own directory: that stays.
	s := &sides{fakes: f, t: t, at: -1, meta: &fakeMeta{fakes: &fakes{root: t.TempDir(), lab: f.lab,
		locked: map[string]string{}}}}
	root := filepath.Join(t.TempDir(), "host")
	if err := os.CopyFS(root, os.DirFS(f.root)); err != nil {
		t.Fatal(err)
	}
	f.root = root
	return s
}

func (s *sides) here() Deps {
	d := s.deps()
	d.Clock = operationtest.Swift{}
	return d
}

func (s *sides) there() Deps {
	d := s.here()
	d.Store, d.Who.Program = s.meta, "eggops"
	return d
}

// move hands the cluster over, or back, until it is killed.
func (s *sides) move(q request.Handover) (*HandoverResult, error) {
	s.seen = nil
	q.Cluster = "sim"
	return Handover(s.t.Context(), q, s.here(), func(string) (Meta, error) { return s.meta, nil },
		func(m event.Msg) error {
			s.seen = append(s.seen, strings.TrimPrefix(m.Key, "handover.step."))
			if len(s.seen) == s.at+1 {
				return errKilled
			}
			return nil
		})
}

// may reports whether a side may run, and why not.
func may(t *testing.T, d Deps) (bool, string) {
	t.Helper()
	p, err := Preflight(t.Context(), request.OfCluster("sim"), d)
	if err == nil {
		return true, ""
	}
	why := code(err)
	if p != nil {
		for _, f := range p.Findings {
			if f.Severity == event.Error {
				why += " " + f.Fault.Code
			}
		}
	}
	return false, why
}

// one checks that exactly one side may run, and returns whether that is the control host.
func (s *sides) one(when string) bool {
	s.t.Helper()
	here, whyHere := may(s.t, s.here())
	there, whyThere := may(s.t, s.there())
	if here == there {
		s.t.Fatalf("%s: control host %t %s, meta cluster %t %s", when, here, whyHere, there, whyThere)
	}
	return here
}

// runs has the side that may run do so, and checks that the other side is refused.
func (s *sides) runs(when string, here bool) {
	s.t.Helper()
	sure, other := s.there(), s.here()
	if here {
		sure, other = other, sure
	}
	q := request.Deploy{Common: request.OfCluster("sim")}
	if refused, err := errorsOf(s.t, q, sure); err != nil {
		s.t.Fatal(when, here, refused, err)
	}
	h, err := Start(s.t.Context(), q, other)
	if err == nil {
		_, err = h.Wait(s.t.Context())
	}
	if err == nil {
		s.t.Fatal(when, here, "the other side has run, too")
	}
}

// secretsIn lists the files below a directory that hold a private key or a token.
func secretsIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{"PRIVATE KEY", "client-key-data", "aescbc", "secretbox", "token-secret"} {
			if strings.Contains(string(text), secret) {
				out = append(out, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A hand-over that is killed before any of its steps, in both directions, leaves a cluster that exactly one side may
// change, and is completed when it is repeated.
func TestHandover_KilledAtEachStep(t *testing.T) {
	s := beside(t, phasestest.Shape{Masters: 1, Workers: 1})
	if len(secretsIn(t, s.root)) < 5 {
		t.Fatal("the test does not find keys: ", secretsIn(t, s.root))
	}
	for _, c := range []struct {
		back  bool
		steps []string
		first string // from this step on, the new side may run
	}{
		{false, []string{"check", "number", "files", "owner", "first-node", "nodes", "mark"}, "nodes"},
		{true, []string{"check", "number", "files", "owner", "unmark", "first-node", "nodes", "release"}, "nodes"},
	} {
		moved, again := false, false
		for i, step := range c.steps {
			moved = moved || step == c.first
			if testing.Short() && step != "first-node" && step != "nodes" && step != "unmark" {
				continue
			}
			if again {
				s.reset(c.back)
			}
			again = true
			when := "killed before " + step
			if c.back {
				when = "back, " + when
			}
			s.at = i
			if _, err := s.move(request.Handover{Back: c.back}); !errors.Is(err, errKilled) || s.seen[i] != step {
				t.Fatal(when, s.seen, err)
			}
			here := s.one(when)
			if here == (moved != c.back) {
				t.Errorf("%s: the control host may run: %t", when, here)
			}
			if !testing.Short() {
				s.runs(when, here)
			}
			s.at = -1
			if r, err := s.move(request.Handover{Back: c.back}); err != nil || r.Already && step != "release" {
				t.Fatalf("%s: %+v %v %v", when, r, s.seen, err)
			}
			if here := s.one(when + ", repeated"); here != c.back {
				t.Errorf("%s, repeated: the control host may run: %t", when, here)
			}
			if r, err := s.move(request.Handover{Back: c.back}); err != nil || !r.Already {
				t.Errorf("%s: the third time: %+v %v", when, r, err)
			}
			s.ended(when, c.back)
		}
	}
}

// reset brings the cluster to where the next try begins.
func (s *sides) reset(back bool) {
	s.t.Helper()
	s.at = -1
	if _, err := s.move(request.Handover{Back: !back}); err != nil {
		s.t.Fatal(err)
	}
}

// ended checks what both sides have after a hand-over.
func (s *sides) ended(when string, back bool) {
	s.t.Helper()
	from, to := s.root, s.meta.root
	if back {
		from, to = to, from
	}
	if keys := secretsIn(s.t, from); len(keys) > 0 {
		s.t.Errorf("%s: keys stay: %v", when, keys)
	}
	if keys := secretsIn(s.t, to); len(keys) < 5 {
		s.t.Errorf("%s: keys are lost: %v", when, keys)
	}
	is, err := phases.ReadOwner(filepath.Join(to, "sim"))
	kind := map[bool]string{false: node.OwnerMeta, true: node.OwnerDirectory}[back]
	if err != nil || is.Kind != kind || is.From.ID == "" {
		s.t.Errorf("%s: %+v %v", when, is, err)
	}
	for _, name := range []string{"m1", "w1"} {
		if got := ownerOn(s.t, s.fakes, name); got != is {
			s.t.Errorf("%s: %s has %+v, the files have %+v", when, name, got, is)
		}
	}
}
