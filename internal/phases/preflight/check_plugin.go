package preflight

import (
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkPlugin compares the node's kernel with what the network plugin asks of it. Whether a module is built into the
// kernel cannot be told of every machine, so that its absence is only a warning.
func checkPlugin() Check {
	return Check{
		Name: "plugin", Codes: []string{"preflight.plugin-kernel", "preflight.plugin-module"}, When: kubelets,
		Node: func(in *Input, n config.Node, f *facts.Facts) []event.Finding {
			plugin := in.Cluster.NetworkPlugin
			if plugin == "cilium" && f.Kernel != "" && kernelBefore(f.Kernel, 5, 10) {
				return one(event.Error, n, "preflight.plugin-kernel", "plugin", plugin, "is", event.Clean(f.Kernel),
					"need", "5.10")
			}
			if (plugin == "calico" || plugin == "canal") && f.NoIPSet {
				return one(event.Warning, n, "preflight.plugin-module", "plugin", plugin, "module", "ip_set")
			}
			return nil
		},
	}
}

// kernelBefore compares a release such as 5.10.0-32-amd64 with a version.
func kernelBefore(release string, major, minor int) bool {
	a, rest, _ := strings.Cut(release, ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err := strconv.Atoi(a)
	y, err2 := strconv.Atoi(strings.TrimRight(b, "-+abcdefghijklmnopqrstuvwxyz"))
	return err == nil && err2 == nil && (x < major || x == major && y < minor)
}
