// Package runtimes holds the container runtimes: where each has its things on a node and how it is asked, and
// the steps by which a node gets its runtime and its images.
package runtimes

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Runtime is what the phases need to know of a container runtime. Every file that it names is ours: neither a
// distribution's unit nor its configuration is touched.
type Runtime interface {
	// Unit is what the kubelet is started after; Units are those of all its services, in the order of their start.
	Unit() string
	Units() []string
	// Store is the directory that holds images and containers.
	Store() string
	// Trees are the directories whose whole content is the runtime's; Dirs are those that hold files of ours and of the
	// package.
	Trees() []node.Tree
	Dirs() []string
	// Paths are files and units that are ours on a node of this bundle.
	Paths(n config.Node) []string
	// Seeds says whether there are files that the package must find when it is installed; Early are these.
	Seeds() bool
	Early(n config.Node) ([]node.File, error)
	// Services are started one after the other. What depends on the installed version is asked of the node.
	Services(ctx context.Context, n config.Node, nd *node.Node) ([]node.Service, error)
	// Executes are the names of binaries that its services execute; from the bundle they take effect by a restart.
	Executes() []string
	// Alive is a script that fails while the runtime does not answer.
	Alive() string
	// Links are directories of CNI plugins whose plugins are linked into another one, for a runtime that reads one
	// only.
	Links(ctx context.Context, n config.Node, nd *node.Node) (from []string, to string, err error)
	// List is a script that prints a line NAME@DIGEST for each image, or NAME@ where the runtime does not keep the
	// digest of registries.
	List() string
	KeepsDigests() bool
	// Pins are functions of the shell that mark images which the kubelet is not to remove: loose NAME... prints those
	// that are there and have no mark, pin NAME... marks them, unpin takes away the marks of pin. "" when the runtime
	// knows no such mark.
	Pins() string
	// Load is a script that imports the archive at a path.
	Load(archive string) string
	// Stop is a script that ends all containers of pods, in bounded time, while the runtime runs, and then unmounts
	// what they held.
	Stop() string
}

// Runtimes are the steps by which nodes get the runtime that deploy.yaml names, and their images.
type Runtimes struct {
	*payload.Payload
	Rolling *rolling.Rolling
}

// Runtime is the one that deploy.yaml names.
func (r *Runtimes) Runtime() Runtime { return named(r.Cluster, r.Payload) }

func named(c *config.Cluster, p *payload.Payload) Runtime { return of(c.Runtime, p) }

// of is the runtime of a name.
func of(name string, p *payload.Payload) Runtime {
	switch name {
	case "docker":
		return docker{p}
	case "isulad":
		return isulad{p}
	}
	return containerd{p}
}

// Executes are the binaries that services of the runtime that deploy.yaml names execute. A payload asks it before there
// are runtimes.
func Executes(c *config.Cluster) []string { return named(c, nil).Executes() }

// Units are those of all runtimes.
func Units() []string {
	return slices.Concat(containerd{}.Units(), docker{}.Units(), isulad{}.Units())
}

// Name is the word that deploy.yaml has for its runtime.
func Name(c *config.Cluster) string {
	if c.Runtime == "" {
		return "containerd"
	}
	return c.Runtime
}

// Files puts what the runtime's package must find.
func (r *Runtimes) Files(n config.Node) *engine.Step {
	files := func() ([]node.File, error) { return r.Runtime().Early(n) }
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
				p := shell.Quote(f.Path + ending)
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

// Start starts the container runtime, which comes from the distribution's package or the bundle, with a
// configuration of ours beside the distribution's.
func (r *Runtimes) Start(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "runtime", n.Name,
		[]string{plan.ID(plan.PhaseInfra, "packages", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name),
			plan.Programs(n, plan.GroupNode)})
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Timeout = rolling.Timeout
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		if r.Equipped(n) { // it stays as it is
			return true, nil
		}
		if missing, _, err := r.unlinked(ctx, n, nd); err != nil || len(missing) > 0 {
			return false, err
		}
		list, err := r.Runtime().Services(ctx, n, nd)
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
		list, err := r.Runtime().Services(ctx, n, nd)
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

// Answers wants the container runtime of a node that has one to answer, whatever it was started with.
func (r *Runtimes) Answers(n config.Node) *engine.Step {
	s := r.Start(n)
	s.Check, s.Apply = nil, nil
	s.Title = event.M("step.infrastructure.runtime-answers", "node", n.Name)
	s.Verify = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Query(ctx, r.Runtime().Alive())
		return err
	})
	return s
}

// startRuntime starts a service of the runtime. One that we started before waits until no other node restarts it, and
// is to answer before the next; that of a package, which starts by itself when it is installed, has no containers of
// ours yet.
func (r *Runtimes) startRuntime(ctx context.Context, n config.Node, nd *node.Node, svc node.Service) error {
	if err := r.CheckLinks(ctx, n, nd, svc); err != nil {
		return err
	}
	u, err := nd.Unit(ctx, svc.Unit)
	if err != nil {
		return err
	}
	if !u.Active() || u.Applied == "" {
		return nd.Start(ctx, svc)
	}
	return r.Rolling.Restart(ctx, "runtime", n.Name, func(ctx context.Context) error {
		if err := nd.Start(ctx, svc); err != nil {
			return err
		}
		return wait.Until(ctx, wait.ProbeLimit, func(ctx context.Context) error {
			_, err := nd.Query(ctx, r.Runtime().Alive())
			return err
		})
	})
}

// unlinked are the plugins that lie only in directories that the runtime does not read.
func (r *Runtimes) unlinked(ctx context.Context, n config.Node, nd *node.Node) (missing []string, to string,
	err error) {
	from, to, err := r.Runtime().Links(ctx, n, nd)
	if err != nil || len(from) == 0 {
		return nil, to, err
	}
	out, err := nd.Query(ctx, "for d in "+shell.QuoteAll(from)+"; do for f in \"$d\"/*; do\n"+
		"  [ ! -f \"$f\" ] || [ -e "+shell.Quote(to)+"/\"${f##*/}\" ] || printf '%s\\n' \"$f\"\ndone; done\n")
	return strings.Fields(out), to, err
}

func (r *Runtimes) linkPlugins(ctx context.Context, n config.Node, nd *node.Node) error {
	missing, to, err := r.unlinked(ctx, n, nd)
	if err != nil || len(missing) == 0 {
		return err
	}
	var script strings.Builder
	script.WriteString("dirs " + shell.Quote(to) + "\n")
	for _, f := range missing {
		link := shell.Quote(path.Join(to, path.Base(f)))
		script.WriteString("own " + link + "\nln -sfn " + shell.Quote(f) + " " + link + "\n")
	}
	_, err = nd.Change(ctx, node.Change{Desc: event.M("change.cni-links", "dir", to), Script: script.String()})
	return err
}

// StopPods is a script that ends all that is left of pods when the kubelet is stopped: their containers, through the
// runtime, then the rest. A node whose change to another runtime was interrupted may have containers of the old one.
func (r *Runtimes) StopPods() string {
	script := r.Runtime().Stop()
	for _, name := range slices.Sorted(maps.Keys(layout.RuntimeMarkers())) {
		if name != Name(r.Cluster) {
			script += "if [ -e " + layout.RuntimeMarkers()[name] + " ]; then\n" + of(name, r.Payload).Stop() + "fi\n"
		}
	}
	return script + stopRest
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
