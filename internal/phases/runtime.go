package phases

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/phases/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/wait"
)

// containerRuntime is what the phases need to know of a container runtime. Every file that it names is ours: neither a
// distribution's unit nor its configuration is touched.
type containerRuntime interface {
	// unit is what the kubelet is started after.
	unit() string
	// store is the directory that holds images and containers.
	store() string
	// trees are the directories whose whole content is the runtime's; dirs are those that hold files of ours and of the
	// package.
	trees() []node.Tree
	dirs() []string
	// paths are files and units that are ours on a node of this bundle.
	paths(n config.Node) []string
	// seeds says whether there are files that the package must find when it is installed; early are these.
	seeds() bool
	early(n config.Node) ([]node.File, error)
	// services are started one after the other. What depends on the installed version is asked of the node.
	services(ctx context.Context, n config.Node, nd *node.Node) ([]node.Service, error)
	// executes are the names of binaries that its services execute; from the bundle they take effect by a restart.
	executes() []string
	// alive is a script that fails while the runtime does not answer.
	alive() string
	// links are directories of CNI plugins whose plugins are linked into another one, for a runtime that looks in one
	// only.
	links(ctx context.Context, n config.Node, nd *node.Node) (from []string, to string, err error)
	// list is a script that prints a line NAME@DIGEST for each image, or NAME@ where the runtime does not keep the
	// digest of registries.
	list() string
	keepsDigests() bool
	// load is a script that imports the archive at a path.
	load(archive string) string
	// stop is a script that ends all containers of pods, in bounded time, while the runtime runs, and then unmounts
	// what they held.
	stop() string
}

// runtime is that of the runtime that deploy.yaml names.
func (r *run) runtime() containerRuntime {
	switch r.Cluster.Runtime {
	case "docker":
		return docker{r}
	case "isulad":
		return isulad{r}
	}
	return containerd{r}
}

// runtimeName is the word that deploy.yaml has for the runtime.
func (r *run) runtimeName() string {
	if r.Cluster.Runtime == "" {
		return "containerd"
	}
	return r.Cluster.Runtime
}

// runtimeFiles puts what the runtime's package must find.
func (r *run) runtimeFiles(n config.Node) *engine.Step {
	files := func() ([]node.File, error) { return r.runtime().early(n) }
	s := plan.Step(plan.PhaseInfra, "runtime-files", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		list, err := files()
		if err != nil {
			return false, err
		}
		return nd.Same(ctx, list)
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		list, err := files()
		if err != nil {
			return err
		}
		// A package manager that finds our file keeps its own beside it, and ours when it is removed: they are ours
		// too.
		var rec strings.Builder
		for _, f := range list {
			for _, ending := range []string{".rpmnew", ".rpmsave", ".dpkg-dist"} {
				p := node.Quote(f.Path + ending)
				rec.WriteString("[ -e " + p + " ] || rec file " + p + " absent\n")
			}
		}
		if _, err := nd.Put(ctx, list); err != nil {
			return err
		}
		_, err = nd.Change(ctx, node.Change{Desc: event.M("change.runtime-files"), Script: rec.String()})
		return err
	})
	return s
}

// runtimeStep starts the container runtime, which comes from the distribution's package or the bundle, with a
// configuration of ours beside the distribution's.
func (r *run) runtimeStep(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "runtime", n.Name,
		[]string{plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name),
			plan.Programs(n, plan.GroupNode)})
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Timeout = rolling.Timeout
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if missing, _, err := r.unlinked(ctx, n, nd); err != nil || len(missing) > 0 {
			return false, err
		}
		list, err := r.runtime().services(ctx, n, nd)
		for _, svc := range list {
			if ok, err := nd.Running(ctx, svc); !ok || err != nil {
				return false, err
			}
		}
		return err == nil, err
	})
	apply := r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		if err := r.linkPlugins(ctx, n, nd); err != nil {
			return err
		}
		list, err := r.runtime().services(ctx, n, nd)
		if err != nil {
			return err
		}
		for _, svc := range list {
			if ok, err := nd.Running(ctx, svc); ok || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if err := r.startRuntime(ctx, n, nd, svc); err != nil {
				return err
			}
		}
		return nil
	})
	s.Apply = r.Announce(n, apply, "notice.no-sysresource", func(f *facts.Facts) bool { return !f.HasSysResource() })
	return s
}

// startRuntime starts a service of the runtime. One that we started before takes its turn, and is to answer before the
// next; that of a package, which starts by itself when it is installed, has no containers of ours yet.
func (r *run) startRuntime(ctx context.Context, n config.Node, nd *node.Node, svc node.Service) error {
	if err := r.CheckLinks(ctx, n, nd, svc); err != nil {
		return err
	}
	unit := node.Quote(svc.Unit)
	out, err := nd.Query(ctx, "if [ -e "+node.Dir+"/applied/"+unit+" ]; then systemctl is-active "+unit+
		" || true; fi\n")
	if err != nil {
		return err
	}
	if strings.TrimSpace(out) != "active" {
		return nd.Start(ctx, svc)
	}
	return r.InTurn(ctx, "runtime", n.Name, func(ctx context.Context) error {
		if err := nd.Start(ctx, svc); err != nil {
			return err
		}
		return wait.Until(ctx, wait.ProbeLimit, func(ctx context.Context) error {
			_, err := nd.Query(ctx, r.runtime().alive())
			return err
		})
	})
}

// unlinked are the plugins that lie only in directories where the runtime does not look.
func (r *run) unlinked(ctx context.Context, n config.Node, nd *node.Node) (missing []string, to string, err error) {
	from, to, err := r.runtime().links(ctx, n, nd)
	if err != nil || len(from) == 0 {
		return nil, to, err
	}
	out, err := nd.Query(ctx, "for d in "+node.QuoteAll(from)+"; do for f in \"$d\"/*; do\n"+
		"  [ ! -f \"$f\" ] || [ -e "+node.Quote(to)+"/\"${f##*/}\" ] || printf '%s\\n' \"$f\"\ndone; done\n")
	return strings.Fields(out), to, err
}

func (r *run) linkPlugins(ctx context.Context, n config.Node, nd *node.Node) error {
	missing, to, err := r.unlinked(ctx, n, nd)
	if err != nil || len(missing) == 0 {
		return err
	}
	var script strings.Builder
	script.WriteString("dirs " + node.Quote(to) + "\n")
	for _, f := range missing {
		link := node.Quote(path.Join(to, path.Base(f)))
		script.WriteString("own " + link + "\nln -sfn " + node.Quote(f) + " " + link + "\n")
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.cni-links", "dir", to), Script: script.String()})
	return err
}

// stopWorkloads stops the kubelet first, so that nothing is started again, then the pods' containers through the
// runtime.
func (r *run) stopWorkloads() string {
	return "systemctl stop kubelet.service kube-proxy.service 2>/dev/null || true\n" + r.runtime().stop() + stopRest
}

// stopRest ends what is left of the pods: their cgroup, the volumes that the kubelet mounted, their networks.
const stopRest = `
systemctl stop kubepods.slice 2>/dev/null || true
awk '$2 ~ "^/var/lib/kubelet/" {print $2}' /proc/mounts |
  sort -r | while read -r m; do m=$(printf '%b' "$m"); umount "$m" 2>/dev/null || umount -l "$m" || true; done
for n in /run/netns/cni-*; do [ -e "$n" ] || continue; umount "$n" 2>/dev/null || true; rm -f "$n"; done
`

// unmount is a script that takes away mounts whose place matches an expression of awk.
func unmount(expression string) string {
	return "awk '$2 ~ \"" + expression + "\" {print $2}' /proc/mounts |\n" +
		"  sort -r | while read -r m; do m=$(printf '%b' \"$m\"); umount \"$m\" 2>/dev/null || umount -l \"$m\" || " +
		"true; done\n"
}
