package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// way is one way to a cluster; it gives how long it took and where the time went.
type way struct {
	name, says, driver string
	floor              string // the way by hand that it is compared with
	up                 func(context.Context) (time.Duration, string, error)
	took               []time.Duration
	told               string // of the fastest round
}

// The ways by hand.
const (
	script  = "script"
	kubeadm = "kubeadm"
)

// all are the ways, in the order of a round.
func (b *bench) all() []*way {
	return []*way{
		{name: script, says: "careful script", driver: stand.Binary, floor: script, up: b.services},
		{name: "eggo", says: "eggo-tui deploy, driver binary", driver: stand.Binary, floor: script, up: b.binary},
		{name: kubeadm, says: "kubeadm by hand", driver: stand.Kubeadm, floor: kubeadm, up: b.pods},
		{name: "eggo-kubeadm", says: "eggo-tui deploy, driver kubeadm", driver: stand.Kubeadm, floor: kubeadm,
			up: b.static},
	}
}

// names of all ways.
func names() []string {
	var out []string
	for _, w := range (&bench{}).all() {
		out = append(out, w.name)
	}
	return out
}

// choose gives the ways of a list, in the order of a round.
func choose(ways []*way, list string) ([]*way, error) {
	want := strings.Split(list, ",")
	for _, name := range want {
		if !slices.ContainsFunc(ways, func(w *way) bool { return w.name == name }) {
			return nil, fmt.Errorf("-ways=%s: %q is none of %s", list, name, strings.Join(names(), ", "))
		}
	}
	return slices.DeleteFunc(ways, func(w *way) bool { return !slices.Contains(want, w.name) }), nil
}

// uses says whether one of the ways is of a driver.
func uses(ways []*way, driver string) bool {
	return slices.ContainsFunc(ways, func(w *way) bool { return w.driver == driver })
}

// tell prints one table of all ways that were measured: the least time of each beside that of its floor, and of the
// careful script.
func tell(out io.Writer, ways []*way, before, after string) {
	ways = slices.DeleteFunc(slices.Clone(ways), func(w *way) bool { return len(w.took) == 0 })
	fmt.Fprintf(out, "# A cluster of three control planes and two workers, measured\n\n%s, %d cores, %s; at the "+
		"beginning: %s, at the end: %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		runtime.NumCPU(), runtime.Version(), before, after)
	fmt.Fprintf(out, "| way | rounds | least s | all s | x its floor | x script |\n|---|--:|--:|---|--:|--:|\n")
	for _, w := range ways {
		var all []string
		for _, t := range w.took {
			all = append(all, fmt.Sprintf("%.1f", t.Seconds()))
		}
		least := slices.Min(w.took)
		fmt.Fprintf(out, "| %s | %d | %.1f | %s | %s | %s |\n", w.says, len(w.took), least.Seconds(),
			strings.Join(all, ", "), times(least, ways, w.floor), times(least, ways, script))
	}
	for _, w := range ways {
		fmt.Fprintf(out, "\n## Time per phase: %s\n\n%s", w.says, w.told)
	}
}

// times is a time divided by the least of a way, which may not have been measured.
func times(least time.Duration, ways []*way, floor string) string {
	i := slices.IndexFunc(ways, func(w *way) bool { return w.name == floor })
	if i < 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(least)/float64(slices.Min(ways[i].took)))
}
