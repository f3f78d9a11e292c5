package runtimes

import (
	"context"
	_ "embed"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// leaving is a runtime that another one takes the place of, on a node that has it.
type leaving struct {
	Runtime
	name string
	// before ends containers while the runtime runs that Stop does not end; after comes when its services have ended.
	before, after string
	ends          []string // units that are not to run any more
	early         []string // files that go with them, as patterns of paths
	late          []string // files that go when the node is back, the last of them that by which the runtime is known
	packages      string   // a pattern of their names; "" for those that the other one needs
	dirs          []string // that were made for the files
}

// Others are the runtimes that a node has beside that of deploy.yaml: it is to be changed from them.
func (r *Runtimes) Others(n config.Node) []string {
	f := r.Fact(n.Name)
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.OwnRuntimes), func(is string) bool { return is == Name(r.Cluster) })
}

// leaving are the runtimes that a node is changed from.
func (r *Runtimes) leaving(n config.Node) []leaving {
	var out []leaving
	for _, name := range r.Others(n) {
		switch name {
		case "docker":
			drops := layout.UnitDir + layout.DockerdUnit + ".d"
			out = append(out, leaving{
				Runtime: docker{r.Payload}, name: name,
				before: "if command -v docker >/dev/null 2>&1; then\n" +
					"  ids=$(timeout 20 docker ps -q 2>/dev/null) || ids=\n" +
					"  # shellcheck disable=SC2086 # several containers\n" +
					"  [ -z \"$ids\" ] || timeout 120 docker stop -t 10 $ids >/dev/null 2>&1 || true\nfi\n",
				ends:     []string{"docker.socket", layout.DockerdUnit, layout.CRIDockerUnit},
				early:    []string{layout.UnitDir + layout.CRIDockerUnit, drops + "/10-eggo.conf"},
				late:     []string{drops + "/05-eggo.conf", layout.DockerConf},
				packages: "^(docker|moby)([.-]|$)", dirs: []string{drops},
			})
		case "isulad":
			out = append(out, leaving{
				Runtime: isulad{r.Payload}, name: name, ends: []string{layout.IsuladUnit},
				late: []string{layout.IsuladConf, layout.IsuladMark}, packages: "^[iI][sS]ulad([.]|$)",
			})
		case "containerd":
			drops := layout.UnitDir + layout.ContainerdUnit + ".d"
			l := leaving{
				Runtime: containerd{r.Payload}, name: name, ends: []string{layout.ContainerdUnit},
				early: []string{layout.UnitDir + layout.ContainerdUnit, drops + "/10-eggo.conf"},
				late:  []string{layout.ContainerdConf}, dirs: []string{drops},
			}
			if Name(r.Cluster) == "docker" { // it runs its containers with the distribution's containerd
				l.after = "systemctl enable --now " + layout.ContainerdUnit + " 2>/dev/null || true\n"
			}
			out = append(out, l)
		}
	}
	return out
}

//go:embed leave.sh
var leaveLib string

// Switch is how a node gets the runtime of deploy.yaml in the place of another one; of the step Check and Apply are
// used. stop is a script that stops the kubelet, which starts containers. When all containers have ended the other
// runtime is stopped for good, this one is started and gets its images. What a run that was cut off has begun is done
// again, as far as it is not done.
func (r *Runtimes) Switch(n config.Node, stop string) *engine.Step {
	start, load := r.Start(n), r.LoadImages(n)
	s := &engine.Step{}
	s.Check = func(ctx context.Context) (bool, error) {
		if runs, err := r.runs(ctx, r.Node(n.Name), n); runs || err != nil {
			return false, err
		}
		if ok, err := start.Check(ctx); !ok || err != nil {
			return false, err
		}
		return load.Check(ctx)
	}
	s.Apply = func(ctx context.Context) error {
		quit := r.On(n.Name, func(ctx context.Context, nd *node.Node) error { return r.quit(ctx, nd, n, stop) })
		if err := quit(ctx); err != nil {
			return err
		}
		for _, part := range []*engine.Step{start, load} {
			ok, err := part.Check(ctx)
			if err == nil && !ok {
				err = part.Apply(ctx)
			}
			if err == nil && part.Verify != nil && !r.Dry {
				err = part.Verify(ctx)
			}
			if err != nil && !errors.Is(err, engine.ErrUnchanged) {
				return err
			}
		}
		return nil
	}
	return s
}

// runs says whether one that the node is changed from was not stopped for good yet.
func (r *Runtimes) runs(ctx context.Context, nd *node.Node, n config.Node) (bool, error) {
	var stamps []string
	for _, l := range r.leaving(n) {
		for _, u := range l.Units() {
			stamps = append(stamps, node.Dir+"/applied/"+u)
		}
	}
	if len(stamps) == 0 {
		return false, nil
	}
	out, err := nd.Query(ctx, "for f in "+shell.QuoteAll(stamps)+"; do [ ! -e \"$f\" ] || echo runs; done\n")
	return out != "", err
}

// quit stops those for good that the node is changed from, with all containers. No pod has a network then: the
// addresses that they had are free.
func (r *Runtimes) quit(ctx context.Context, nd *node.Node, n config.Node, stop string) error {
	if runs, err := r.runs(ctx, nd, n); !runs || err != nil {
		return err
	}
	for _, l := range r.leaving(n) {
		var b strings.Builder
		b.WriteString(leaveLib + stop + l.before + l.Stop() + stopRest)
		for _, u := range l.ends {
			u := shell.Quote(u)
			b.WriteString("systemctl disable --now " + u + " 2>/dev/null || systemctl stop " + u +
				" 2>/dev/null || true\n")
		}
		b.WriteString("gone " + shell.QuoteAll(l.early) + "\n")
		if l.name == "containerd" {
			b.WriteString("for f in $(ours file '^" + layout.CertsDir + "/'); do gone \"$f\"; done\n")
		}
		b.WriteString("systemctl daemon-reload\n" + l.after +
			"if has tree /var/lib/cni; then rm -rf /var/lib/cni/networks /var/lib/cni/cache; fi\n" +
			"for d in /var/log/pods /var/log/containers; do\n" +
			"  [ ! -d $d ] || find $d -type l | while read -r f; do [ -e \"$f\" ] || rm -f \"$f\"; done\ndone\n")
		for _, u := range l.Units() {
			u := shell.Quote(u)
			b.WriteString("rm -f $D/applied/" + u + " $D/applied/" + u + ".file\n")
		}
		if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.runtime-stop", "runtime", l.name),
			Script: b.String()}); err != nil {
			return err
		}
	}
	return nil
}

// Leave removes what is left of the runtimes that a node was changed from, when it is back with its pods: their
// packages, programs, files and directories, as far as they are recorded; what the new runtime needs stays. Of the step
// Check and Apply are used.
func (r *Runtimes) Leave(n config.Node) *engine.Step {
	s := &engine.Step{}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		var marks []string
		for _, l := range r.leaving(n) {
			marks = append(marks, l.late[len(l.late)-1])
		}
		if len(marks) == 0 {
			return true, nil
		}
		out, err := nd.Query(ctx, "for f in "+shell.QuoteAll(marks)+"; do [ ! -e \"$f\" ] || echo left; done\n")
		return out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		for _, l := range r.leaving(n) {
			if err := r.leave(ctx, n, nd, l); err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

func (r *Runtimes) leave(ctx context.Context, n config.Node, nd *node.Node, l leaving) error {
	recs, err := nd.Records(ctx)
	if err != nil {
		return err
	}
	var versions, plain []string // its programs
	for _, rec := range recs {
		own := rec.Kind == "file" && slices.Contains(config.RuntimeExtras(l.name), path.Base(rec.Key)) &&
			r.Program(n, path.Base(rec.Key)) == ""
		switch {
		case own && node.VersionOf(rec.Key) != "":
			versions = append(versions, rec.Key)
		case own:
			plain = append(plain, rec.Key)
		}
	}
	if err := nd.Retire(ctx, versions, nil); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(node.RPM + leaveLib)
	for _, u := range append(slices.Clone(l.ends), l.Units()...) {
		b.WriteString("unrec unit " + shell.Quote(u) + "\n")
	}
	wanted := r.Packages(n, r.BundleOf(n).Manifest())
	if l.packages != "" && !slices.ContainsFunc(wanted, func(p string) bool {
		return slices.Contains(config.RuntimePackages(l.name), p)
	}) {
		b.WriteString("dismiss " + shell.Quote(l.packages) + "\n")
	}
	if l.name == "docker" {
		b.WriteString(unmount("^" + l.Store() + "/(overlay2|containers)/"))
	}
	for _, t := range l.Trees() {
		if !slices.ContainsFunc(r.Runtime().Trees(), func(o node.Tree) bool { return o.Path == t.Path }) {
			b.WriteString("fell " + shell.Quote(t.Path) + "\n")
		}
	}
	for _, f := range append(plain, l.late...) {
		b.WriteString("gone " + shell.Quote(f) + "\n")
	}
	if len(l.dirs) > 0 {
		b.WriteString("hollow " + shell.QuoteAll(l.dirs) + "\n")
	}
	b.WriteString("systemctl daemon-reload\nsystemctl reset-failed 2>/dev/null || true\n")
	res, err := nd.Change(ctx, node.Change{Desc: event.M("change.runtime-leave", "runtime", l.name),
		Script: b.String()})
	if err != nil {
		return err
	}
	var kept []string
	for line := range strings.Lines(string(res.Stdout)) {
		if what, ok := strings.CutPrefix(line, "kept "); ok {
			kept = append(kept, event.Clean(strings.TrimSpace(what)))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return r.Emit(event.Notice{Host: n.Name, Step: engine.StepID(ctx),
		Text: event.M("notice.kept", "what", strings.Join(kept, ", "))})
}
