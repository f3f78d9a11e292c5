package preflight

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkRuntimeTurns says which nodes are changed to another container runtime, and what may stop that: what stops the
// drain of an upgrade. Images that only the old runtime has are pulled again.
func checkRuntimeTurns() Check {
	shared := []Check{checkUpgradeAPI(), checkUpgradeNodes(), checkUpgradeBudgets(), checkUpgradePods()}
	return Check{
		Name: "runtime-turns", Codes: slices.Concat([]string{"preflight.runtime-turns", "preflight.runtime-alone",
			"preflight.runtime-images"}, shared[0].Codes, shared[1].Codes, shared[2].Codes, shared[3].Codes),
		Cluster: func(ctx context.Context, in *Input) []event.Finding {
			all := in.changed()
			if len(all) == 0 {
				return nil
			}
			var names, alone, was []string
			for _, n := range all {
				names = append(names, n.Name)
				if in.has().Nodes != nil && !in.drained(n) {
					alone = append(alone, n.Name)
				}
				was = append(was, in.others(in.Fact(n.Name))...)
			}
			slices.Sort(was)
			out := []event.Finding{Finding(event.Warning, "", "preflight.runtime-turns", "nodes",
				strings.Join(names, ", "), "is", strings.Join(slices.Compact(was), ", "), "want", in.Runtime, "batch",
				strconv.Itoa(max(1, in.Change.Batch)))}
			if len(alone) > 0 {
				out = append(out, Finding(event.Warning, "", "preflight.runtime-alone", "nodes",
					strings.Join(alone, ", ")))
			}
			for _, c := range shared {
				out = append(out, c.Cluster(ctx, in)...)
			}
			if images := in.pulled(all); len(images) > 0 {
				out = append(out, Finding(event.Warning, "", "preflight.runtime-images", "images", few(images)))
			}
			return out
		},
	}
}

// pulled are the images of the cluster's pods that do not come with the bundles of the nodes that are changed.
func (in *Input) pulled(changed []config.Node) []string {
	var out []string
	for _, n := range changed {
		m := in.Target(n)
		if m == nil {
			continue
		}
		come := in.Images(n, m)
		for _, p := range in.has().Pods {
			out = append(out, absent(p, come)...)
		}
	}
	return out
}

func absent(p *objects.Pod, come []bundle.Image) []string {
	return slices.DeleteFunc(slices.Clone(p.Images), func(name string) bool {
		return slices.ContainsFunc(come, func(im bundle.Image) bool { return im.Name == name })
	})
}
