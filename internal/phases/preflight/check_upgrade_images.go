package preflight

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade/objects"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkUpgradeImages finds images that pods run from, that came with the bundle of now, and that the new one does not
// have. Of the system's pods another version of it counts: they get a new one themselves.
func checkUpgradeImages() Check {
	return Check{
		Name: "upgrade-images", Codes: []string{"upgrade.image-system", "upgrade.image"},
		Cluster: func(_ context.Context, in *Input) []event.Finding {
			var system, others []string
			for _, p := range in.has().Pods {
				i := slices.IndexFunc(in.Cluster.Nodes, func(n config.Node) bool { return n.Name == p.Node })
				if i < 0 {
					continue
				}
				n := in.Cluster.Nodes[i]
				was, is := in.current(n), in.Target(n)
				if was == nil || is == nil {
					continue
				}
				for _, image := range p.Images {
					switch {
					case !hasImage(was, image, false):
					case !systemPod(p) && !hasImage(is, image, false):
						others = append(others, image)
					case systemPod(p) && !hasImage(is, image, true):
						system = append(system, image)
					}
				}
			}
			sev := event.Error
			if in.Force {
				sev = event.Warning
			}
			var out []event.Finding
			if len(system) > 0 {
				out = append(out, Finding(sev, "", "upgrade.image-system", "images", few(system)))
			}
			if len(others) > 0 {
				out = append(out, Finding(event.Warning, "", "upgrade.image", "images", few(others)))
			}
			return out
		},
	}
}

// systemPod says whether a pod belongs to the cluster itself: its network plugin, its DNS, its addons.
func systemPod(p *objects.Pod) bool { return strings.HasPrefix(p.Namespace, "kube-") }

// hasImage says whether the bundle has an image, or one of the name behind the last slash in any version.
func hasImage(m *bundle.Manifest, image string, alike bool) bool {
	return slices.ContainsFunc(m.Images, func(im bundle.Image) bool {
		return im.Name == image || alike && imageBase(im.Name) == imageBase(image)
	})
}

// imageBase is the name behind the last slash, without tag and digest.
func imageBase(image string) string {
	base, _, _ := strings.Cut(path.Base(image), "@")
	base, _, _ = strings.Cut(base, ":")
	return base
}
