package runtimes

import (
	"context"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// imagesPath is where the archive lies on a node until it is loaded.
func (r *Runtimes) imagesPath() string { return path.Join(r.SentDir(), "images.tar") }

// imagesStamp names the set of images that a node has loaded.
func (r *Runtimes) imagesStamp(n config.Node) string {
	var l []string
	for _, im := range r.Images(n, r.BundleOf(n).Manifest()) {
		l = append(l, im.Name+"@"+im.Digest)
	}
	sort.Strings(l)
	return strings.Join(l, " ")
}

func (r *Runtimes) imagesLoaded(ctx context.Context, n config.Node, nd *node.Node) (bool, error) {
	out, err := nd.Query(ctx, "cat "+node.Dir+"/applied/images 2>/dev/null || true\n"+r.Runtime().List())
	if err != nil {
		return false, err
	}
	first, rest, _ := strings.Cut(out, "\n")
	stamp := r.imagesStamp(n)
	if first != stamp {
		return false, nil
	}
	for _, want := range strings.Fields(stamp) {
		if !r.Runtime().KeepsDigests() {
			name := want[:strings.LastIndex(want, "@")]
			if strings.Contains(name, "@") {
				continue // named by digest alone, which this runtime cannot import
			}
			want = name + "@"
		}
		if !strings.Contains("\n"+rest, "\n"+want+"\n") {
			return false, nil
		}
	}
	return true, nil
}

// SendImages uploads an archive of just the images that the node needs.
func (r *Runtimes) SendImages(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "send-images", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.Lane, s.Limit, s.Timeout = plan.LaneBulk, plan.LimitUploads, 60*time.Minute
	s.Retry = engine.Retry{Tries: 5, Delay: 2 * time.Second, MaxDelay: 30 * time.Second}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		return r.imagesLoaded(ctx, n, nd)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		var names []string
		for _, im := range r.Images(n, r.BundleOf(n).Manifest()) {
			names = append(names, im.Name)
		}
		f, err := r.BundleOf(n).Images(ctx, names)
		if err != nil {
			return err
		}
		sent, err := nd.Place(ctx, shell.Upload{Path: r.imagesPath(), Mode: 0o600, Size: f.Size, SHA256: f.SHA256,
			Open: f.Open, What: "images.tar"})
		if err == nil && !sent {
			return engine.ErrUnchanged
		}
		return err
	})
	return s
}

// LoadImages imports them into the runtime and removes the archive.
func (r *Runtimes) LoadImages(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "load-images", n.Name,
		[]string{plan.ID(plan.PhaseInfra, "send-images", n.Name), plan.ID(plan.PhaseInfra, "runtime", n.Name)})
	s.Limit, s.Timeout = plan.LimitLoads, 30*time.Minute
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if ok, err := r.imagesLoaded(ctx, n, nd); !ok || err != nil {
			return false, err
		}
		// A load that was cut off at its end leaves the archive.
		out, err := nd.Query(ctx, "[ ! -e "+shell.Quote(r.imagesPath())+" ] || echo left")
		return out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.images"), Quiet: true,
			Script: r.Runtime().Load(shell.Quote(r.imagesPath())) + "stamp images " + shell.Quote(r.imagesStamp(n)) +
				"\nrm -f " + shell.Quote(r.imagesPath()) + "\n"})
		return err
	})
	s.Verify = r.Verified(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		return r.imagesLoaded(ctx, n, nd)
	}, "runtime.image-missing")
	return s
}

// CountImages is a script that prints the number of images in the stores that go: each runtime knows its own. What
// cannot be asked, for the runtime does not run, counts for none.
func CountImages(trees []string) string {
	var b strings.Builder
	for _, runtime := range []struct{ store, list string }{
		{containerd{}.Store(), "ctr -n k8s.io images ls -q"}, {docker{}.Store(), "docker images -q --no-trunc"},
		{isulad{}.Store(), "isula images -q"},
	} {
		if slices.Contains(trees, runtime.store) {
			b.WriteString("timeout 20 " + runtime.list + " 2>/dev/null | sort -u || true\n")
		}
	}
	return "echo images $( { :; " + strings.ReplaceAll(b.String(), "\n", "; ") + "} | grep -c . || true)\n"
}
