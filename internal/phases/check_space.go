package phases

import (
	"fmt"
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// judgeSpace adds up by file system what will be written: members to their places, images once as archive and about
// three times unpacked, packages once as files and about four times installed; half a gigabyte remains for logs and
// pods. On a node of ours most is there already, but not other versions of binaries.
func (r *run) judgeSpace(n config.Node, f *facts.Facts, b Bundle) []event.Finding {
	need := map[string]int64{}
	for _, m := range r.Members(n, b.Manifest()) {
		switch {
		case m.Executed && !slices.Contains(f.Versions, node.VersionOf(m.Binary().File)):
			need[node.VersionsDir] += m.Size
		case !m.Executed && f.Cluster != r.Cluster.Name:
			need[m.Dst] += m.Size
		}
	}
	if f.Cluster != r.Cluster.Name {
		r.addSpace(need, n, b)
	}
	return judgeFree(n, f, need)
}

// addSpace adds what a machine needs on which nothing of ours is yet.
func (r *run) addSpace(need map[string]int64, n config.Node, b Bundle) {
	const reserve = 512 << 20
	store := r.runtimes.Runtime().Store()
	need[store] += reserve
	for _, im := range r.Images(n, b.Manifest()) {
		need[r.SpaceFor()] += im.Size
		need[store] += 3 * im.Size
	}
	for _, m := range b.Manifest().Members {
		if m.Kind == bundle.Deb || m.Kind == bundle.RPM {
			need[r.SpaceFor()] += m.Size
			need["/usr"] += 4 * m.Size
		}
	}
}

// judgeFree compares what is needed below paths with what their file systems have.
func judgeFree(n config.Node, f *facts.Facts, need map[string]int64) []event.Finding {
	byDevice := map[string]int64{}
	paths := map[string]string{}
	free := map[string]int64{}
	for p, bytes := range need {
		s, ok := f.Free[p]
		if !ok {
			continue
		}
		byDevice[s.Device] += bytes
		free[s.Device] = s.Bytes
		if paths[s.Device] == "" || p < paths[s.Device] {
			paths[s.Device] = p
		}
	}
	var out []event.Finding
	for _, dev := range slices.Sorted(maps.Keys(byDevice)) {
		bytes := byDevice[dev]
		if bytes > free[dev] {
			out = append(out, finding(event.Error, n.Name, "disk", "path", paths[dev], "device", dev, "need",
				mib(bytes), "free", mib(free[dev])))
		}
	}
	return out
}

func mib(b int64) string { return fmt.Sprintf("%d MiB", (b+1<<20-1)>>20) }
