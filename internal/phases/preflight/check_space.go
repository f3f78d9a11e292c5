package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// reserve remains for logs and pods.
const reserve = 512 << 20

// checkSpace adds up by file system what will be written: members to their places, images once as archive and about
// three times unpacked, packages once as files and about four times installed; half a gigabyte remains for logs and
// pods. On a node of ours most is there already, but not other versions of binaries, which lie side by side, and in an
// upgrade not all images.
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
			switch {
			case f.Cluster != in.Cluster.Name:
				addSpace(in, need, n, b)
			case in.changes(n):
				need[in.Store] += reserve
				for _, im := range in.Images(n, b.Manifest()) {
					addImage(in, need, im)
				}
			case in.Upgrade != nil:
				for _, im := range in.newImages(n, b.Manifest()) {
					addImage(in, need, im)
				}
			}
			return tooLittle(n, f, need)
		},
	}
}

// addSpace adds what a machine needs on which nothing of ours is yet.
func addSpace(in *Input, need map[string]int64, n config.Node, b input.Bundle) {
	need[in.Store] += reserve
	for _, im := range in.Images(n, b.Manifest()) {
		addImage(in, need, im)
	}
	for _, m := range b.Manifest().Members {
		if m.Kind == bundle.Deb || m.Kind == bundle.RPM {
			need[in.SpaceFor()] += m.Size
			need["/usr"] += 4 * m.Size
		}
	}
}

func addImage(in *Input, need map[string]int64, im bundle.Image) {
	need[in.SpaceFor()] += im.Size
	need[in.Store] += 3 * im.Size
}

// newImages are those of the bundle that a node of ours does not have: neither of the bundle that it is of now, nor by
// what its kubelet says.
func (in *Input) newImages(n config.Node, m *bundle.Manifest) []bundle.Image {
	if !inventory.IsKubelet(n) || !in.limited(n) {
		return nil
	}
	has := map[string]bool{}
	if was := in.current(n); was != nil {
		for _, im := range in.Images(n, was) {
			has[im.Name+" "+im.Digest] = true
		}
	}
	for _, o := range in.has().Nodes {
		if o.Name == n.Name {
			for _, name := range o.Images {
				has[name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(in.Images(n, m)), func(im bundle.Image) bool {
		return has[im.Name] || has[im.Name+" "+im.Digest]
	})
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
