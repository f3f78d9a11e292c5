package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// deletes has the cluster deleted so long ago.
func (r *rack) deletes(ago time.Duration) {
	at := metav1.NewTime(r.now.Add(-ago))
	r.cluster.DeletionTimestamp = &at
}

// freed returns a decision in few words: what begins, and which machines leave clean (+) or not (!).
func (r *rack) freed() string {
	r.Helper()
	c, err := r.cleaning(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	var free []string
	for m, clean := range c.free {
		mark := "!"
		if clean {
			mark = "+"
		}
		free = append(free, mark+m.Name)
	}
	slices.Sort(free)
	words := append(strings.Fields(says(c.decision)), free...)
	for _, o := range c.stop {
		words = append(words, "stop", string(o.Spec.Verb))
	}
	return strings.Join(words, " ")
}

// attemptCleanup is the cleanup that the deletion begins.
func (r *rack) attemptCleanup() *attempt {
	r.Helper()
	c, err := r.cleaning(r.Context())
	if err != nil || c.begin == nil {
		r.Fatalf("no cleanup: %+v, %v", c, err)
	}
	return c.begin
}

func TestCleaning(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		set  func(*rack)
		want string
	}{
		"never installed": {0, func(*rack) {}, "+m1 +w1 +w2"},
		"a preflight that failed": {0, func(r *rack) {
			code := int32(5)
			r.ended(r.decide().begin, v1.PhaseFailed).Status.ExitCode = &code
		}, "+m1 +w1 +w2"},
		"the state was lost": {0, func(r *rack) { r.cluster.Status.HasCluster = true }, "!m1 !w1 !w2"},
		"a run that broke off, without state": {0, func(r *rack) {
			r.ended(r.decide().begin, v1.PhaseFailed)
		}, "!m1 !w1 !w2"},
		"a run that never began": {0, func(r *rack) { r.ended(r.decide().begin, v1.PhaseStopped) }, "+m1 +w1 +w2"},
		"installed":              {0, func(r *rack) { r.install() }, "cleanup"},
		"a run is stopped first": {0, func(r *rack) {
			first := r.decide().begin
			r.install()
			r.ended(first, v1.PhaseRunning)
		}, "waits Deleting stop deploy"},
		"cleaned": {0, func(r *rack) {
			r.install()
			r.ended(r.attemptCleanup(), v1.PhaseSucceeded)
		}, "waits Deleting +m1 +w1 +w2"},
		"cleaned, and the state is empty": {0, func(r *rack) {
			r.install()
			r.ended(r.attemptCleanup(), v1.PhaseSucceeded)
			r.has = known{}
		}, "+m1 +w1 +w2"},
		"cleaned in the same second as another attempt": {0, func(r *rack) {
			r.install()
			done := r.ended(r.attemptCleanup(), v1.PhaseSucceeded)
			other := done.DeepCopy()
			other.Name, other.Status.Phase = "zz", v1.PhaseFailed
			r.ops = append(r.ops, *other)
			r.has = known{}
		}, "+m1 +w1 +w2"},
		"the state is empty before the end of the cleanup is known": {0, func(r *rack) {
			r.install()
			r.ended(r.attemptCleanup(), v1.PhaseQueued)
			r.has = known{}
		}, "waits Deleting"},
		"failed": {0, func(r *rack) {
			r.install()
			r.ended(r.attemptCleanup(), v1.PhaseFailed)
		}, "failed waits Deleting"},
		"a dead machine is waited for": {time.Minute, func(r *rack) { r.install(); dead(r.bound["w1"]) }, "cleanup"},
		"a dead machine is left behind": {2 * time.Hour, func(r *rack) { r.install(); dead(r.bound["w1"]) },
			"cleanup m1 w2 !w1"},
		"nothing is waited for without end": {2 * time.Hour, func(r *rack) {
			r.install()
			r.ended(r.attemptCleanup(), v1.PhaseFailed)
		}, "failed waits Deleting !m1 !w1 !w2"},
		"all are dead": {2 * time.Hour, func(r *rack) {
			r.install()
			for _, m := range r.bound {
				dead(m)
			}
		}, "!m1 !w1 !w2"},
		"a timeout of its own": {2 * time.Hour, func(r *rack) {
			r.install()
			dead(r.bound["w1"])
			r.cluster.Spec.CleanupTimeout = &metav1.Duration{Duration: 3 * time.Hour}
		}, "cleanup"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRack(t)
			r.deletes(c.ago)
			c.set(r)
			if got := r.freed(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
