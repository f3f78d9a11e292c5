package preflight

import (
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkAnonymous finds that the file of --authentication-config refuses the probes of a static pod: they are anonymous,
// and the kubelet would restart an API server that answers them with 401 for ever. What the flags say by themselves is
// checked when deploy.yaml is read.
func checkAnonymous() Check {
	return Check{
		Name: "anonymous", Codes: []string{"preflight.anonymous-probes", "preflight.anonymous-twice"},
		When: func(in *Input, n config.Node) bool { return in.Cluster.ByKubeadm() && n.Has(bundle.ControlPlane) },
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			at, is := in.Cluster.ServerFlag("--authentication-config")
			if at = path.Clean(strings.TrimSpace(at)); !is || !path.IsAbs(at) || in.othersNode(f) {
				return nil
			}
			text, err := in.fileOf(ctx, n, f, at)
			if err != nil {
				return as(n.Name, err)
			}
			refused, says := refusedProbes(text)
			var out []event.Finding
			if len(refused) > 0 {
				out = one(event.Error, n, "preflight.anonymous-probes", "file", at, "paths",
					strings.Join(refused, ", "))
			}
			if _, is := in.Cluster.ServerFlag("--anonymous-auth"); is && says {
				out = append(out, one(event.Error, n, "preflight.anonymous-twice", "file", at)...)
			}
			return out
		},
	}
}

// fileOf is a file of a node as its components will read it: that of the bundle where it has one for the place, else
// what is there. It is empty where nothing is there yet, as before a script of deploy.yaml has run.
func (in *Input) fileOf(ctx context.Context, n config.Node, f *facts.Facts, at string) ([]byte, error) {
	const most = 1 << 20
	if b := in.BundleFor(n, f); b != nil {
		for _, m := range in.Members(n, b.Manifest()) {
			if m.File != at {
				continue
			}
			r, err := b.Open(m.Path)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(io.LimitReader(r, most))
		}
	}
	q := shell.Quote(at)
	out, err := in.Nodes.Node(n.Name).Query(ctx, "if [ -f "+q+" ]; then head -c "+strconv.Itoa(most)+" "+q+"; fi\n")
	return []byte(out), err
}

// refusedProbes are the paths of probes that an AuthenticationConfiguration refuses to anonymous requests, and whether
// it says anything of these: without the field the flag holds. One that cannot be read refuses none: with it the API
// server does not start.
func refusedProbes(text []byte) (paths []string, says bool) {
	var is struct {
		Anonymous *struct {
			Enabled    bool `json:"enabled"`
			Conditions []struct {
				Path string `json:"path"`
			} `json:"conditions"`
		} `json:"anonymous"`
	}
	if err := yaml.Unmarshal(text, &is); err != nil || is.Anonymous == nil {
		return nil, false
	}
	a := is.Anonymous
	for _, p := range []string{"/livez", "/readyz"} { // as kubeadm writes them
		var allowed []string
		for _, c := range a.Conditions {
			allowed = append(allowed, c.Path)
		}
		if !a.Enabled || len(allowed) > 0 && !slices.Contains(allowed, p) {
			paths = append(paths, p)
		}
	}
	return paths, true
}
