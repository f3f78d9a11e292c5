package operation

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
)

// op returns an Operation: its UID is its name.
func op(name, namespace, cluster string, age int, phase eggov1.OperationPhase) eggov1.Operation {
	return eggov1.Operation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(name),
		CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))},
		Spec:   eggov1.OperationSpec{ClusterRef: eggov1.OperationCluster{Name: cluster}, Verb: eggov1.VerbDeploy},
		Status: eggov1.OperationStatus{Phase: phase}}
}

func running(o *eggov1.Operation) bool { return o.Status.Phase == eggov1.PhaseRunning }

func TestQueue(t *testing.T) {
	const runs, ended = eggov1.PhaseRunning, eggov1.PhaseSucceeded
	for name, c := range map[string]struct {
		all   []eggov1.Operation
		limit int
		want  map[string]int
	}{
		"the older one of a cluster": {[]eggov1.Operation{op("b", "n", "x", 1, ""), op("a", "n", "x", 2, "")}, 9,
			map[string]int{"a": 0, "b": 1}},
		"one that runs holds its cluster": {[]eggov1.Operation{op("a", "n", "x", 2, runs), op("b", "n", "x", 1, ""),
			op("c", "n", "y", 0, "")}, 9, map[string]int{"b": 1, "c": 0}},
		"the same name elsewhere": {[]eggov1.Operation{op("a", "n", "x", 2, runs), op("b", "m", "x", 1, "")}, 9,
			map[string]int{"b": 0}},
		"one that has ended does not count": {[]eggov1.Operation{op("a", "n", "x", 2, ended),
			op("b", "n", "x", 1, "")}, 1, map[string]int{"b": 0}},
		"no more than the limit": {[]eggov1.Operation{op("a", "n", "x", 3, runs), op("b", "n", "y", 2, ""),
			op("c", "n", "z", 1, "")}, 1, map[string]int{"b": 1, "c": 2}},
		"namespaces share": {[]eggov1.Operation{op("a", "n", "1", 9, runs), op("b", "n", "2", 8, ""),
			op("c", "n", "3", 7, ""), op("d", "m", "4", 1, "")}, 2, map[string]int{"d": 0, "b": 1, "c": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := queue(c.all, running, c.limit)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Whatever waits: no cluster has two runs, no more than the limit run, and something begins if anything can.
func TestQueue_Always(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var all []eggov1.Operation
		phases := []eggov1.OperationPhase{"", "", eggov1.PhaseQueued, eggov1.PhaseRunning, eggov1.PhaseFailed}
		limit, clusters, busy := 1+r.IntN(5), map[string]int{}, 0
		for i := range r.IntN(20) {
			o := op(strconv.Itoa(i), strconv.Itoa(r.IntN(3)), strconv.Itoa(r.IntN(6)), r.IntN(100), phases[r.IntN(5)])
			key := o.Namespace + "/" + o.Spec.ClusterRef.Name
			if running(&o) && (clusters[key] > 0 || busy == limit) {
				o.Status.Phase = ""
			}
			if running(&o) {
				clusters[key]++
				busy++
			}
			all = append(all, o)
		}
		free := false
		got := queue(all, running, limit)
		for i := range all {
			o := &all[i]
			key := o.Namespace + "/" + o.Spec.ClusterRef.Name
			waits := !running(o) && !o.Status.Phase.Ended()
			if at, is := got[string(o.UID)]; is != waits {
				t.Fatalf("%s has position %d, %t", o.Name, at, is)
			} else if waits && at == 0 {
				clusters[key]++
				busy++
			}
		}
		for i := range all {
			o := &all[i]
			if at, is := got[string(o.UID)]; is && at > 0 && clusters[o.Namespace+"/"+o.Spec.ClusterRef.Name] == 0 {
				free = true
			}
		}
		for key, n := range clusters {
			if n > 1 {
				t.Fatalf("%d runs of %s", n, key)
			}
		}
		if busy > limit || free && busy < limit {
			t.Fatalf("%d run, the limit is %d, one could begin: %t", busy, limit, free)
		}
	}
}
