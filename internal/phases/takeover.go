package phases

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// takeOver keeps the files of others on a node that was imported before ours take their places, and records both: a
// cleanup puts them back. A file that is not among them is never written over.
func (r *run) takeOver(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "take-over", n.Name, []string{plan.ID(plan.PhaseInfra, "claim", n.Name)})
	s.When = r.whenImported(n)
	others := func(ctx context.Context, nd *node.Node) ([]string, error) {
		paths, err := r.replaced(ctx, n)
		if err != nil {
			return nil, err
		}
		out, err := nd.Query(ctx, "for p in "+shell.QuoteAll(paths)+"; do\n"+
			"  if [ -e \"$p\" ] || [ -L \"$p\" ]; then\n"+
			"    awk -F'\\t' -v p=\"$p\" '$1==\"file\" && $2==p {f=1} END {exit !f}' "+node.Dir+"/record || "+
			"printf '%s\\n' \"$p\"\n  fi\ndone\n")
		return slices.DeleteFunc(strings.Split(out, "\n"), func(f string) bool { return f == "" }), err
	}
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		files, err := others(ctx, nd)
		if err != nil || len(files) > 0 {
			return false, err
		}
		out, err := nd.Query(ctx, r.inherits("echo yes")+r.owns(n, "echo yes"))
		return out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		files, err := others(ctx, nd)
		if err != nil {
			return err
		}
		var script strings.Builder
		for _, f := range files {
			script.WriteString("aside " + shell.Quote(f) + "\n")
		}
		conf := shell.Quote(r.driver.Paths().Kubeconfig)
		script.WriteString(r.inherits("own "+conf+"; (umask 077; cat "+
			shell.Quote(r.driver.Paths().Theirs)+" >"+conf+".eggo-new); sync "+conf+
			".eggo-new 2>/dev/null || sync; mv -f "+conf+".eggo-new "+conf) + r.owns(n, "own "+conf))
		desc := event.M("change.take-over", "count", strconv.Itoa(len(files)), "files",
			event.Clean(strings.Join(files, ", ")))
		if len(files) == 0 {
			desc = event.M("change.take-over-conf", "path", r.driver.Paths().Kubeconfig)
		}
		_, err = nd.Change(ctx, node.Change{Desc: desc, Script: script.String()})
		return err
	})
	return s
}

// inherits is a script that does something when the kubelet has joined under a name of the original eggo's, and not
// under ours: ours keeps its certificate.
func (r *run) inherits(do string) string {
	at := r.driver.Paths()
	return "if [ -s " + shell.Quote(at.Theirs) + " ] && [ ! -s " + shell.Quote(at.Kubeconfig) + " ]; then " + do +
		"; fi\n"
}

// owns is a script that does something when a node that was imported without a kubelet does not record yet that the
// kubeconfig which its kubelet will write is ours: the directory is of others, and a cleanup removes by record.
func (r *run) owns(n config.Node, do string) string {
	if r.Equipped(n) || !inventory.IsKubelet(n) {
		return ""
	}
	return "awk -F'\\t' -v p=" + shell.Quote(r.driver.Paths().Kubeconfig) +
		" '$1==\"file\" && $2==p {f=1} END {exit !f}' " + node.Dir + "/record || " + do + "\n"
}

// replaced are the paths of the files that a node gets.
func (r *run) replaced(ctx context.Context, n config.Node) ([]string, error) {
	if err := r.ReadPKI(ctx); err != nil {
		return nil, err
	}
	paths, err := r.driver.Replaces(n)
	if err != nil {
		return nil, err
	}
	for _, m := range r.Members(n, r.BundleOf(n).Manifest()) {
		if !slices.Contains(paths, m.File) {
			paths = append(paths, m.File)
		}
	}
	return paths, nil
}

// whenImported limits a step to a node that others have made.
func (r *run) whenImported(n config.Node) func(context.Context) (bool, event.Msg, error) {
	return func(context.Context) (bool, event.Msg, error) {
		return r.Imported(n.Name), event.M("why.not-imported"), nil
	}
}

// kubeletsFirst restarts the kubelets of imported nodes as ours, one after another, before a component of the control
// plane is restarted: our API servers want certificates of the cluster's CA from kubelets, and those of kubeadm take
// any. No pod is restarted by it.
func (r *run) kubeletsFirst(b *plan.Builder) {
	if !r.Cluster.Eggo.Imported {
		return
	}
	var ids []string
	for _, n := range inventory.Kubelets(r.Cluster) {
		needs := []string{plan.ID(plan.PhaseInfra, "take-over", n.Name), plan.ID(plan.PhaseInfra, "system", n.Name)}
		for _, group := range plan.Groups(n) {
			needs = append(needs, plan.Programs(n, group))
		}
		for _, s := range r.driver.Start(driver.Kubelet, n, nil).Steps(plan.PhaseInfra, "take-over-kubelet", n, needs) {
			s.When = func(context.Context) (bool, event.Msg, error) {
				return r.Equipped(n), event.M("why.no-kubelet"), nil
			}
			ids = append(ids, s.ID)
			b.Add(s)
		}
	}
	b.Gate(func(phase, _ string) []string {
		if phase == plan.PhaseEtcd || phase == plan.PhaseControl {
			return ids
		}
		return nil
	})
}
