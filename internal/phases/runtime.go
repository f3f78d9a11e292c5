package phases

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// runtime starts containerd, which comes from the distribution's package, with a configuration of ours beside the distribution's: a
// drop-in of the unit names it, and neither the package's unit nor its configuration file is touched.
func (r *run) runtime(n config.Node) *engine.Step {
	s := r.service(phaseInfra, "runtime", n, []string{id(phaseInfra, "packages", n.Name), id(phaseInfra, "system", n.Name)}, r.containerdService, nil)
	s.Apply = r.announcing(n, s.Apply, "notice.no-sysresource", func(f *Facts) bool { return !f.HasSysResource() })
	return s
}

func (r *run) containerdService(n config.Node) (node.Service, error) {
	const conf = "/etc/eggo/containerd.toml"
	cni := cniBinDir
	if d := r.Cluster.CNIBinDirs; len(d) > 0 && !slices.Contains(d, cniBinDir) {
		cni = d[0]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by Eggo; removed by eggo-tui cleanup.\nversion = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = %q\n", r.pauseImage(r.bundleOf(n).Manifest()))
	if !r.fact(n.Name).HasSysResource() {
		b.WriteString("  restrict_oom_score_adj = true\n")
	}
	if !r.fact(n.Name).AppArmor {
		b.WriteString("  disable_apparmor = true\n")
	}
	fmt.Fprintf(&b, "  [plugins.\"io.containerd.grpc.v1.cri\".cni]\n    bin_dir = %q\n    conf_dir = %q\n", cni, cniConfDir)
	b.WriteString("  [plugins.\"io.containerd.grpc.v1.cri\".registry]\n    config_path = \"/etc/containerd/certs.d\"\n" +
		"  [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n    runtime_type = \"io.containerd.runc.v2\"\n" +
		"    [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n      SystemdCgroup = true\n")
	drop := "# Written by Eggo; removed by eggo-tui cleanup.\n[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config " + conf + "\n"
	return node.Service{Unit: "containerd.service", Files: []node.File{
		plainFile(conf, []byte(b.String())),
		plainFile(filepath.Join(unitDir, "containerd.service.d/10-eggo.conf"), []byte(drop)),
	}}, nil
}

const imagesPath = node.Dir + "/images.tar"

// imagesStamp names the set of images that a node has loaded.
func (r *run) imagesStamp(n config.Node) string {
	var l []string
	for _, im := range r.images(n, r.bundleOf(n).Manifest()) {
		l = append(l, im.Name+"@"+im.Digest)
	}
	sort.Strings(l)
	return strings.Join(l, " ")
}

func (r *run) imagesLoaded(ctx context.Context, n config.Node, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "cat "+node.Dir+"/applied/images 2>/dev/null || true; command -v ctr >/dev/null 2>&1 && ctr -n k8s.io images ls 2>/dev/null | awk 'NR>1 {print $1 \"@\" $3}' || true\n")
	if err != nil {
		return false, err
	}
	first, rest, _ := strings.Cut(out, "\n")
	stamp := r.imagesStamp(n)
	if first != stamp {
		return false, nil
	}
	for _, want := range strings.Fields(stamp) {
		if !strings.Contains("\n"+rest, "\n"+want+"\n") {
			return false, nil
		}
	}
	return true, nil
}

// sendImages uploads an archive of just the images that the node needs.
func (r *run) sendImages(n config.Node) *engine.Step {
	s := step(phaseInfra, "send-images", n.Name, []string{id(phaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = laneBulk, LimitUploads, 60*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) { return r.imagesLoaded(ctx, n, nd) })
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		var names []string
		for _, im := range r.images(n, r.bundleOf(n).Manifest()) {
			names = append(names, im.Name)
		}
		f, err := r.bundleOf(n).Images(ctx, names)
		if err != nil {
			return err
		}
		sent, err := nd.Place(ctx, node.Upload{Path: imagesPath, Mode: 0o600, Size: f.Size, SHA256: f.SHA256, Open: f.Open, What: "images.tar"})
		if err == nil && !sent {
			return engine.ErrUnchanged
		}
		return err
	})
	return s
}

// loadImages imports them into the runtime and removes the archive.
func (r *run) loadImages(n config.Node) *engine.Step {
	s := step(phaseInfra, "load-images", n.Name, []string{id(phaseInfra, "send-images", n.Name), id(phaseInfra, "runtime", n.Name)})
	s.Limit, s.Timeout = LimitLoads, 30*time.Minute
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if ok, err := r.imagesLoaded(ctx, n, nd); !ok || err != nil {
			return false, err
		}
		// A load that was cut off at its end leaves the archive.
		out, err := nd.Query(ctx, "[ ! -e "+imagesPath+" ] || echo left")
		return out == "", err
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.images"), Quiet: true,
			Script: "ctr -n k8s.io images import " + imagesPath + " >/dev/null\nstamp images " + node.Quote(r.imagesStamp(n)) + "\nrm -f " + imagesPath + "\n"})
		return err
	})
	s.Verify = r.asksVerify(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) { return r.imagesLoaded(ctx, n, nd) }, "runtime.image-missing")
	return s
}
