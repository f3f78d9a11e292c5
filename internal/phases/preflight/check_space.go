package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/env"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// checkSpace adds up by file system what will be written: members to their places, images once as archive and about
// three times unpacked, packages once as files and about four times installed; half a gigabyte remains for logs and
// pods. On a node of ours most is there already, but not other versions of binaries.
func checkSpace() Check {
	return Check{
		Name: "space", Codes: []string{"preflight.disk"}, Needs: Served,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			b := in.BundleFor(n, f)
			need := map[string]int64{}
			for _, m := range in.Members(n, b.Manifest()) {
				switch {
				case m.Executed && !slices.Contains(f.Versions, node.VersionOf(m.Binary().File)):
					need[node.VersionsDir] += m.Size
				case !m.Executed && f.Cluster != in.Cluster.Name:
					need[m.Dst] += m.Size
				}
			}
			if f.Cluster != in.Cluster.Name {
				addSpace(in, need, n, b)
			}
			return tooLittle(n, f, need)
		},
	}
}

// addSpace adds what a machine needs on which nothing of ours is yet.
func addSpace(in *Input, need map[string]int64, n config.Node, b env.Bundle) {
	const reserve = 512 << 20
	need[in.Store] += reserve
	for _, im := range in.Images(n, b.Manifest()) {
		need[in.SpaceFor()] += im.Size
		need[in.Store] += 3 * im.Size
	}
	for _, m := range b.Manifest().Members {
		if m.Kind == bundle.Deb || m.Kind == bundle.RPM {
			need[in.SpaceFor()] += m.Size
			need["/usr"] += 4 * m.Size
		}
	}
}

// tooLittle compares what is needed below paths with what their file systems have.
func tooLittle(n config.Node, f *facts.Facts, need map[string]int64) []event.Finding {
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
			out = append(out, Finding(event.Error, n.Name, "preflight.disk", "path", paths[dev], "device", dev, "need",
				mib(bytes), "free", mib(free[dev])))
		}
	}
	return out
}

func mib(b int64) string { return fmt.Sprintf("%d MiB", (b+1<<20-1)>>20) }
