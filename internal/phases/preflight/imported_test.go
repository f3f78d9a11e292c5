package preflight

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// A node that was imported is not installed over; one that is to be imported runs.
func TestCheckOfANodeThatIsImported(t *testing.T) {
	ours := func(f *facts.Facts) { f.Cluster, f.RecordKinds = "mine", []string{"unit", "imported"} }
	for name, c := range map[string]struct {
		check Check
		spoil func(f *facts.Facts)
		want  []string
	}{
		"installed": {checkImported(), func(f *facts.Facts) {
			f.Cluster, f.RecordKinds = "mine", []string{"unit"}
		}, nil},
		"imported from what is not known": {checkImported(), ours, []string{"error preflight.imported"}},
		"a restore":                       {checkImportedRestore(), ours, []string{"error preflight.imported-restore"}},
		"it runs": {checkImportable(), func(f *facts.Facts) {
			f.Active = []string{"kubelet"}
		}, nil},
		"it does not run": {checkImportable(), func(*facts.Facts) {
		}, []string{"error preflight.import-idle"}},
		"a control plane without kubelet": {checkImportable(), func(f *facts.Facts) {
			f.Active = []string{"kube-apiserver"}
		}, []string{"warning preflight.import-no-kubelet"}},
		"its CA is another one": {checkImportable(), func(f *facts.Facts) {
			f.Active, f.CA = []string{"kubelet"}, "another"
		}, []string{"error preflight.state-elsewhere"}},
	} {
		in, f := newInput(), nodestest.Good(worker)
		in.StateDir = t.TempDir()
		c.spoil(f)
		n := worker
		if strings.HasPrefix(name, "a control plane") {
			n = master
		}
		if got := nodestest.Codes(findingsOf(t, in, c.check, n, f)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// says is a machine that answers every question in the same way.
type says struct {
	node.Host
	out string
}

func (says) Name() string { return "w1" }

func (s says) Run(context.Context, shell.Command) (shell.Result, error) {
	return shell.Result{Stdout: []byte(s.out)}, nil
}

// Nodes of kubeadm are taken over by a deploy of all nodes, which says so; before that, nothing else is done to them.
func TestCheckOfNodesThatAreToBeTakenOver(t *testing.T) {
	const manifest = "/etc/systemd/system/kubelet.service\n"
	for name, c := range map[string]struct {
		left  string
		spoil func(in *Input)
		want  []string
	}{
		"a deploy":         {manifest, func(*Input) {}, []string{"warning preflight.takes-over"}},
		"a deploy again":   {"", func(*Input) {}, nil},
		"an upgrade":       {manifest, func(in *Input) { in.Upgrade = &Upgrading{} }, refusedImport()},
		"an upgrade later": {"", func(in *Input) { in.Upgrade = &Upgrading{} }, nil},
		"a join":           {manifest, func(in *Input) { in.Verb = "join" }, refusedImport()},
		"a join later":     {"", func(in *Input) { in.Verb = "join" }, nil},
		"some nodes alone": {manifest, func(in *Input) { in.Limit = []string{"w1"} }, refusedImport()},
		"a node leaves":    {manifest, func(in *Input) { in.Removing = in.Cluster.Nodes }, refusedImport()},
		"certificates":     {manifest, func(in *Input) { in.RenewBefore = time.Unix(1, 0) }, refusedImport()},
		"another runtime": {manifest, func(in *Input) { in.Runtime = "docker" },
			[]string{"error preflight.imported"}},
		"the driver of services": {manifest, func(in *Input) { in.Cluster.Eggo.Driver = "binary" },
			[]string{"warning preflight.takes-over"}},
		"services with another runtime": {manifest, func(in *Input) {
			in.Cluster.Eggo.Driver, in.Runtime = "binary", "isulad"
		}, []string{"error preflight.imported"}},
		"CoreDNS as a service": {manifest, func(in *Input) {
			in.Cluster.Eggo.Driver, in.Cluster.DNS.Type = "binary", "binary"
		}, []string{"error preflight.imported-dns", "warning preflight.takes-over"}},
	} {
		in, f := newInput(), nodestest.Good(worker)
		f.Cluster, f.RecordKinds = "mine", []string{"imported"}
		in.Cluster.Eggo.Imported, in.Cluster.Eggo.Driver, in.Runtime = true, "kubeadm", "containerd"
		in.Owns = func(config.Node) []string { return []string{strings.TrimSpace(manifest)} }
		in.SetFact("w1", f)
		in.SetNode("w1", node.New(says{out: c.left}, nil))
		c.spoil(in)
		n := worker
		if in.Cluster.DNS.IsBinary() {
			n = master
			in.SetNode(n.Name, node.New(says{out: c.left}, nil))
		}
		got := nodestest.Codes(RunOn(t.Context(), in, []Check{checkImported(), checkTakenOver()}, n, f))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func refusedImport() []string { return []string{"error preflight.not-taken-over"} }

// A kubelet is not taken over without the flags that somebody has given it. Those of kubeadm, and those that Eggo sets
// to the same, are no such flags.
func TestFlagsOfAKubeletThatIsToBeTakenOver(t *testing.T) {
	const kubeadm = `env KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock ` +
		`--hostname-override=w1 --node-ip=127.0.0.2 --node-labels=a=b --register-with-taints=c=d:NoSchedule ` +
		`--pod-infra-container-image=registry.k8s.io/pause:3.10"` + "\n"
	with := func(value string) func(in *Input) {
		return func(in *Input) {
			in.Cluster.ExtraArgs = []config.ExtraArgs{{Component: "kube-proxy", Args: map[string]string{"--v": "4"}},
				{Component: "kubelet", Args: map[string]string{"--max-pods": value}}}
		}
	}
	for name, c := range map[string]struct {
		says  string
		spoil func(in *Input)
		want  string
	}{
		"none":                   {"", nil, ""},
		"of kubeadm":             {kubeadm + "\n", nil, ""},
		"of kubeadm for another": {strings.ReplaceAll(kubeadm, "w1", "w9"), nil, "--hostname-override=w9"},
		"another socket": {strings.ReplaceAll(kubeadm, "containerd.sock", "crio.sock"), nil,
			"--container-runtime-endpoint=unix:///run/containerd/crio.sock"},
		"/etc/default/kubelet": {kubeadm + "env # KUBELET_EXTRA_ARGS=--no\nenv KUBELET_EXTRA_ARGS=--max-pods=50 " +
			"--fail-swap-on --v 4\n", nil, "--max-pods=50, --fail-swap-on=true, --v=4"},
		"a number below zero": {"env KUBELET_EXTRA_ARGS=--pod-max-pids -1 --v=4 --fail-swap-on\n" +
			"arg /usr/bin/kubelet\narg --pod-max-pids=-1\narg -v\narg -2\narg --registry-qps\narg -1\n", nil,
			"--pod-max-pids=-1, --v=4, --fail-swap-on=true, --v=-2, --registry-qps=-1"},
		"quoted": {`env KUBELET_EXTRA_ARGS="--max-pods=50 '--v=4'"` + "\n", nil,
			"--max-pods=50, --v=4"},
		"another variable":         {"env OTHER=--max-pods=50\nenv KUBELET_EXTRA_ARGS=\n", nil, ""},
		"in deploy.yaml":           {"env KUBELET_EXTRA_ARGS=--max-pods=50\n", with("50"), ""},
		"another value there":      {"env KUBELET_EXTRA_ARGS=--max-pods=50\n", with("60"), "--max-pods=50"},
		"of another component too": {"env KUBELET_EXTRA_ARGS=--v=4\n", with("50"), "--v=4"},
		"of the process": {"arg /usr/bin/kubelet\narg --kubeconfig=/etc/kubernetes/kubelet.conf\narg --v\narg 4\n" +
			"arg --fail-swap-on\n", nil, "--v=4, --fail-swap-on=true"},
		"of both": {"env KUBELET_EXTRA_ARGS=--v=4\narg /usr/bin/kubelet\narg --config=/var/lib/kubelet/config.yaml\n" +
			"arg --v=4\n", nil, "--v=4"},
		"with what no terminal may get": {"env KUBELET_EXTRA_ARGS=--v=4\x1b[2J\n", nil, "--v=4[2J"},
		"in a join":                     {"env KUBELET_EXTRA_ARGS=--v=4\n", func(in *Input) { in.Verb = "join" }, ""},
		"of the driver of services": {"env KUBELET_EXTRA_ARGS=--v=4\n",
			func(in *Input) { in.Cluster.Eggo.Driver = "binary" }, ""},
	} {
		in, f := newInput(), nodestest.Good(worker)
		f.Cluster, f.RecordKinds = "mine", []string{"imported"}
		in.Cluster.Eggo.Imported, in.Cluster.Eggo.Driver, in.Runtime = true, "kubeadm", "containerd"
		in.SetFact("w1", f)
		in.SetNode("w1", node.New(says{out: strings.ReplaceAll(c.says, "127.0.0.2", worker.IP.String())}, nil))
		if c.spoil != nil {
			c.spoil(in)
		}
		got := RunOn(t.Context(), in, []Check{checkKubeletFlags()}, worker, f)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %+v", name, got)
		case c.want != "" && (len(got) != 1 || got[0].Severity != event.Error ||
			got[0].Fault.Code != "preflight.kubelet-flags" || got[0].Fault.Args["flags"] != c.want):
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// Where a control plane gets its container runtime with the take-over, nobody else's files are in its place; what else
// is there is kept.
func TestFilesOfAControlPlaneThatGetsAKubelet(t *testing.T) {
	const conf = "/etc/systemd/system/containerd.service.d/10-eggo.conf"
	for name, c := range map[string]struct {
		runtime []string
		want    []string
	}{
		"it gets one":      {[]string{conf}, []string{"error preflight.foreign-files"}},
		"it keeps its own": {nil, nil},
	} {
		got := takingOver(t, checkFiles(), master, conf+"\n", func(in *Input) {
			in.Fact(master.Name).TheirKubelet = c.runtime == nil
			in.Owns = func(config.Node) []string { return []string{"/etc/systemd/system/etcd.service"} }
			in.Runtimes = func(config.Node) []string { return c.runtime }
		})
		if codes := nodestest.Codes(got); !slices.Equal(codes, c.want) {
			t.Errorf("%s: %q, want %q", name, codes, c.want)
		}
	}
}
