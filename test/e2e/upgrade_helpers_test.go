package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// upgraded is a cluster with a workload, to be upgraded.
type upgraded struct {
	*stand.Stand
	t       *testing.T
	cluster string
	file    string // its deploy.yaml
	nodes   []stand.Node
	before  []lab.Snapshot
}

// installed is a lab with a cluster of the stand's bundle, or of another one.
func installed(t *testing.T, cluster string, nodes []stand.Node, pack func(*stand.Stand) string) *upgraded {
	t.Helper()
	s := newLab(t, len(nodes))
	if pack != nil {
		s.Bundle = pack(s)
	}
	u := &upgraded{Stand: s, t: t, cluster: cluster, nodes: nodes}
	var err error
	u.file, err = s.Deploy(cluster+".yaml", cluster, nodes)
	must(t, "deploy.yaml", err)
	u.before = untouched(t, s, len(nodes))
	deploy(t, s, u.file)
	u.workload()
	return u
}

// steady is a workload as it should be for an upgrade: a pod that is to end serves on until nobody calls it any more,
// and only one is away at a time.
const steady = `{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":20,` +
	`"topologySpreadConstraints":[{"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule",` +
	`"maxSkew":1,"matchLabelKeys":["pod-template-hash"]}],` +
	`"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":5}}}}]}}}}`

const steadyBudget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: steady}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`

func (u *upgraded) workload() {
	u.t.Helper()
	must(u.t, "workload", u.StartWorkload(u.t.Context()))
	u.kubectl("patch", "deployment", "web", "--type", "strategic", "-p", steady)
	must(u.t, "budget", u.Apply(u.t.Context(), steadyBudget))
	u.kubectl("rollout", "status", "deployment/web", "--timeout=180s")
	must(u.t, "use", u.WorksOn(u.t.Context(), u.kubelets()...))
}

// spread has the replicas on different nodes again, which drained nodes do not get back by themselves, and uses them.
func (u *upgraded) spread() {
	u.t.Helper()
	u.kubectl("rollout", "restart", "deployment/web")
	u.kubectl("rollout", "status", "deployment/web", "--timeout=180s")
	must(u.t, "use", u.WorksOn(u.t.Context(), u.kubelets()...))
}

func (u *upgraded) kubectl(args ...string) string {
	u.t.Helper()
	out, err := u.Kubectl(u.t.Context(), args...)
	must(u.t, "kubectl "+strings.Join(args, " "), err)
	return out
}

// with are the nodes that have one of the roles.
func (u *upgraded) with(roles string) []string {
	var out []string
	for _, n := range u.nodes {
		if strings.ContainsAny(n.Roles, roles) {
			out = append(out, n.Name)
		}
	}
	return out
}

func (u *upgraded) kubelets() []string { return u.with("mn") }

// api is the address by which clients call the API.
func (u *upgraded) api() string {
	for _, n := range u.with("l") {
		return net.JoinHostPort(address(u.t, u.Stand, n), "8443")
	}
	return net.JoinHostPort(address(u.t, u.Stand, u.with("m")[0]), "6443")
}

// clients begin to use the cluster; the Service is called from its last node.
func (u *upgraded) clients() *clients {
	u.t.Helper()
	return useCluster(u.t, u.Stand, u.cluster, u.api(), u.nodes[len(u.nodes)-1].Name)
}

// args of an upgrade to bundles.
func (u *upgraded) args(bundles []string, more ...string) []string {
	args := []string{"upgrade", "--id", u.cluster, "--yes"}
	for _, b := range bundles {
		args = append(args, "--bundle", b)
	}
	return append(args, more...)
}

// to upgrades to a bundle.
func (u *upgraded) to(code int, bundle string, more ...string) stand.Try {
	u.t.Helper()
	return try(u.t, u.Stand, code, u.args([]string{bundle}, more...)...)
}

// killed upgrades with these arguments until a step has begun and has changed something, and ends the program as a
// power cut does.
func (u *upgraded) killed(step string, args []string) {
	u.t.Helper()
	u.until(step, args, func(r *stand.Running) {
		must(u.t, "kill", r.Signal(syscall.SIGKILL))
		got, err := r.Wait()
		must(u.t, "upgrade", err)
		u.Say("killed in %s after %s", step, got.Took)
	})
}

// until upgrades with these arguments until a step has begun and has changed or said something; then is what happens
// there.
func (u *upgraded) until(step string, args []string, then func(*stand.Running)) {
	u.t.Helper()
	begun := u.runs()
	r, err := u.Start(u.t.Context(), "", append(args, "--foreground")...)
	must(u.t, "upgrade", err)
	reached, err := r.When(u.t.Context(), u.cluster, func(runs [][]event.Record) bool {
		return len(runs) > begun && slices.ContainsFunc(runs[len(runs)-1], func(r event.Record) bool {
			switch e := r.Event.(type) {
			case event.Change:
				return strings.HasSuffix(e.Step, step)
			case event.Notice:
				return strings.HasSuffix(e.Step, step)
			}
			return false
		})
	})
	must(u.t, "watch", err)
	if !reached {
		got, err := r.Wait()
		u.t.Fatalf("%s did not begin: %v\n%s", step, err, tail(got.Out, 40))
	}
	then(r)
}

// more continues the upgrade under way, and wants an exit code.
func (u *upgraded) more(code int, more ...string) stand.Try {
	u.t.Helper()
	return try(u.t, u.Stand, code, u.args(nil, more...)...)
}

// packed is a bundle of another version.
func (u *upgraded) packed(version string) string {
	u.t.Helper()
	path, err := u.PackVersion(u.t.Context(), version)
	must(u.t, "pack", err)
	return path
}

// patched is a bundle of another patch version.
func (u *upgraded) patched() string {
	u.t.Helper()
	path, err := u.PatchVersion(u.t.Context(), aPatch)
	must(u.t, "patch", err)
	return path
}

// runs is how many there have been.
func (u *upgraded) runs() int {
	u.t.Helper()
	runs, err := stand.Runs(u.State(), u.cluster)
	must(u.t, "event logs", err)
	return len(runs)
}

// last is the newest run.
func (u *upgraded) last() []event.Record {
	u.t.Helper()
	runs, err := stand.Runs(u.State(), u.cluster)
	must(u.t, "event logs", err)
	return runs[len(runs)-1]
}

// underWay says whether an upgrade is begun and not ended.
func (u *upgraded) underWay() bool {
	_, err := os.Stat(filepath.Join(u.State(), u.cluster, "upgrade.json"))
	return err == nil
}

// components of Kubernetes that run on a control plane, and those on every node with a kubelet.
var (
	controlPlane = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	everyKubelet = []string{"kubelet", "kube-proxy"}
)

// versions is a command line that says in which version each component runs, as a service or in a pod.
const versions = `for d in /proc/[0-9]*; do c=$(readlink $d/exe) || continue; c=${c% (deleted)}; c=${c##*/}; ` +
	`case $c in kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kube-proxy) ` +
	`echo $c $($d/exe --version | awk '{print $2}');; esac; done`

// run wants components to run in a version on these nodes.
func (u *upgraded) run(version string, components []string, nodes ...string) {
	u.t.Helper()
	for _, n := range nodes {
		out, err := u.Lab.Run(u.t.Context(), n, versions)
		must(u.t, "versions", err)
		for _, c := range components {
			if !strings.Contains("\n"+out, "\n"+c+" "+version+"\n") {
				u.t.Errorf("%s on %s does not run in %s:\n%s", c, n, version, out)
			}
		}
	}
}

// allRun wants the whole cluster to be of a version, and nothing of another one to be left.
func (u *upgraded) allRun(version string) {
	u.t.Helper()
	u.run(version, controlPlane, u.with("m")...)
	u.run(version, everyKubelet, u.kubelets()...)
	for _, is := range strings.Fields(u.kubectl("get", "nodes", "-o",
		"jsonpath={.items[*].status.nodeInfo.kubeletVersion}")) {
		if is != version {
			u.t.Errorf("a Node says %s, want %s", is, version)
		}
	}
	for _, n := range u.nodes {
		out, err := u.Lab.Run(u.t.Context(), n.Name, `ls /opt/eggo | sed 's/-[0-9a-f]\{12\}$//' | sort | uniq -d`)
		if err != nil || out != "" {
			u.t.Errorf("%s has several versions of %q, %v", n.Name, out, err)
		}
	}
	if u.underWay() {
		u.t.Error("the upgrade is still under way")
	}
}

// services are the processes that serve on every node: they change when something is restarted.
func (u *upgraded) services() map[string]string {
	u.t.Helper()
	out := map[string]string{}
	for _, n := range u.nodes {
		text, err := u.Lab.Run(u.t.Context(), n.Name,
			`for u in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy containerd eggo-lb; do `+
				`echo $u $(systemctl show -P MainPID $u.service); done; `+
				`for d in /proc/[0-9]*; do tr '\0' '\n' <$d/environ 2>/dev/null | grep -q ^EGGO_REVISION= && `+
				`echo $(readlink $d/exe) ${d#/proc/}; done | grep -E '/(etcd|kube-[a-z-]+) ' | sort; `+
				`ls -l /opt/eggo /usr/local/bin`)
		must(u.t, "services", err)
		out[n.Name] = text
	}
	return out
}

// refused wants a command to be refused with an exit code and these words, and nothing to be touched.
func (u *upgraded) refused(code int, args []string, words ...string) {
	u.t.Helper()
	was, before, begun := u.services(), u.changes(), u.underWay()
	got, err := u.Try(u.t.Context(), "", args...)
	must(u.t, strings.Join(args, " "), err)
	u.Say("eggo-tui %s: exit code %d after %s\n%s", strings.Join(args, " "), got.Code, got.Took, tail(got.Out, 40))
	if err := got.Has(words...); err != nil || got.Code != code {
		u.t.Errorf("exit code %d, want %d; %v", got.Code, code, err)
	}
	if got.Has("Suggested fix: ") != nil && got.Has("→ ") != nil {
		u.t.Error("it does not say what to do next")
	}
	if n := u.changes(); n != before {
		u.t.Errorf("%d changes were made", n-before)
	}
	if now := u.services(); !maps.Equal(now, was) {
		u.t.Errorf("what runs was\n%v\nand is\n%v", was, now)
	}
	if u.underWay() != begun {
		u.t.Errorf("an upgrade was under way: %v, and is: %v", begun, u.underWay())
	}
}

// changes that all runs have made.
func (u *upgraded) changes() int {
	u.t.Helper()
	runs, err := stand.Runs(u.State(), u.cluster)
	must(u.t, "event logs", err)
	return changes(runs)
}

// head is the head of a bundle like another one but for what edit changes: no more of it is read.
func (u *upgraded) head(name, like string, edit func(m *bundle.Manifest)) string {
	u.t.Helper()
	a, err := bundle.Open(like)
	must(u.t, "bundle", err)
	m := a.Manifest()
	edit(m)
	text, err := json.Marshal(m)
	must(u.t, "manifest", err)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, part := range []struct {
		name string
		data []byte
	}{{bundle.ManifestName, text}, {bundle.SumsName, bundle.SumsText(text, m)}} {
		must(u.t, "head", w.WriteHeader(&tar.Header{Name: part.name, Mode: 0o644, Size: int64(len(part.data)),
			Typeflag: tar.TypeReg}))
		_, err = w.Write(part.data)
		must(u.t, "head", err)
	}
	must(u.t, "head", w.Close())
	must(u.t, "head", z.Close())
	path := filepath.Join(u.Dir, name)
	must(u.t, "head", os.WriteFile(path, b.Bytes(), 0o600))
	must(u.t, "size", os.Truncate(path, 64<<20)) // what its head says has to be possible in a file of that size
	return path
}

// damaged is a copy of a bundle with one bit changed in the middle.
func (u *upgraded) damaged(path string) string {
	u.t.Helper()
	other := *u.Stand
	other.Bundle = path
	return (&badLab{Stand: &other}).copyBundle(u.t, "damaged-"+filepath.Base(path), flip)
}

// window is when a step ran.
type window struct{ from, to time.Time }

// windows are those of the steps of the newest run whose ID ends like this.
func (u *upgraded) windows(step string) []window {
	u.t.Helper()
	var out []window
	began := map[string]time.Time{}
	for _, r := range u.last() {
		switch e := r.Event.(type) {
		case event.StepStarted:
			began[e.Step] = r.Time
		case event.StepEnded:
			if strings.HasSuffix(e.Step, step) {
				out = append(out, window{began[e.Step], r.Time})
			}
		}
	}
	return out
}

// reportAbsences says how long components were away, as the newest run reports it.
func (u *upgraded) reportAbsences() {
	u.t.Helper()
	for _, r := range u.last() {
		if n, ok := r.Event.(event.Notice); ok && strings.HasPrefix(n.Text.Key, "notice.away") {
			a := n.Text.Args
			u.Say("%s on %s was unavailable for %s s", a["component"], a["node"], a["seconds"])
		}
	}
}

// gone cleans the cluster up, and every machine is what it was.
func (u *upgraded) gone() {
	u.t.Helper()
	try(u.t, u.Stand, 0, "cleanup", "--id", u.cluster, "--yes", "--purge")
	same(u.t, u.before, func() []lab.Snapshot { return snapshots(u.t, u.Stand, len(u.nodes)) })
}

// healthy waits until status says so.
func (u *upgraded) healthy() {
	u.t.Helper()
	must(u.t, "status", stand.Until(u.t.Context(), 2*time.Minute, "the cluster is healthy",
		func(ctx context.Context) error {
			got, err := u.Try(ctx, "", "status", "--id", u.cluster)
			if err == nil && got.Code != 0 {
				err = fmt.Errorf("exit code %d: %s", got.Code, got.Out)
			}
			return err
		}))
}
