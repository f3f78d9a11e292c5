package phases

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/payload/packages"
	"github.com/eggo-k8s/eggo/internal/phases/preflight"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// joining is one of the steps by which nodes join.
func joining(r *run, id string) *engine.Step {
	steps := r.join.Steps(nil)
	return steps[slices.IndexFunc(steps, func(s *engine.Step) bool { return s.ID == id })]
}

func TestServingCertificatesThatDoNotCome(t *testing.T) {
	const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	r := stand(t, silent)
	serving(t, r, 0, fields{path: list("CertificateSigningRequestList", "certificates.k8s.io/v1")})
	r.Cluster.KubeletServing = true
	apply := func() error { return joining(r, "bootstrap.serving/w1").Apply(t.Context()) }
	if f := wantFault(t, apply(), "bootstrap.no-serving-certificate", "w1", ""); !f.Retry {
		t.Error("nobody waits for it")
	}
	serving(t, r, 0, fields{path: list("CertificateSigningRequestList", "certificates.k8s.io/v1",
		thing("", "csr-x", fields{"spec": fields{
			"signerName": "kubernetes.io/kubelet-serving", "username": "system:node:w1",
			"groups": []any{"system:masters"}}}))})
	f := wantFault(t, apply(), "bootstrap.serving-refused", "w1", "asks for it")
	if f.Retry || f.Args["request"] != "csr-x" {
		t.Errorf("%+v", f)
	}
}

func TestATokenThatIsGone(t *testing.T) {
	r := stand(t, silent)
	wantFault(t, joining(r, "bootstrap.kubelet/w1").Apply(t.Context()), "bootstrap.no-token", "w1", "")
	ended := `{"ID": "abcdef", "Secret": "0123456789abcdef", "Ends": "2020-01-01T00:00:00Z"}`
	if err := os.WriteFile(filepath.Join(r.StateDir, "pki", "bootstrap-token"), []byte(ended), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFault(t, joining(r, "bootstrap.kubelet/w1").Apply(t.Context()), "bootstrap.no-token", "w1", "")
	// Nor can a new one be kept where the state directory is gone.
	if err := os.RemoveAll(r.StateDir); err != nil {
		t.Fatal(err)
	}
	wantFault(t, joining(r, "bootstrap.token").Apply(t.Context()), "state.write", "", "no such file")
}

func TestAClusterThatIsNotWhatWasInstalled(t *testing.T) {
	daemons := func(ready int) fields {
		return thing("kube-system", "net", fields{"status": fields{
			"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": ready}})
	}
	dns := thing("kube-system", "coredns", fields{"spec": fields{"replicas": 2}, "status": fields{
		"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 1}})
	nodes := []any{machineObject("m1", "v1.34.2"), machineObject("w1", "v1.33.9")}
	docs := func(nodes, sets, deps []any) fields {
		return fields{"/api/v1/nodes": list("NodeList", "v1", nodes...),
			"/apis/apps/v1/daemonsets":  list("DaemonSetList", "apps/v1", sets...),
			"/apis/apps/v1/deployments": list("DeploymentList", "apps/v1", deps...)}
	}
	const pods = "/api/v1/namespaces/kube-system/pods"
	ended := docs(nil, []any{daemons(1)}, nil)
	ended[pods] = list("PodList", "v1", thing("kube-system", "net-x", fields{"spec": fields{"nodeName": "w1"},
		"status": fields{"initContainerStatuses": []any{fields{"name": "install",
			"state":     fields{"waiting": fields{"reason": "CrashLoopBackOff"}},
			"lastState": fields{"terminated": fields{"reason": "Error", "exitCode": 3}}}}}}))
	nodesReady := func(r *run, ctx context.Context) error { return r.join.Ready(ctx) }
	ready := func(r *run, ctx context.Context) error { return r.addons.Ready(ctx) }
	podCIDR := func(node fields) fields {
		node["spec"] = fields{"podCIDR": "10.244.1.0/24"}
		return node
	}
	routed := list("NodeList", "v1", podCIDR(machineObject("m1", "v1.34.2")), machineObject("w1", "v1.34.2"))
	routes := func(r *run, ctx context.Context) error {
		r.SetNode("w1", node.New(stub{name: "w1", says: func(string) string { return "lease\n" }}, r.Emit))
		r.Cluster.NetworkPlugin = "flannel"
		for _, s := range r.addons.Steps() {
			if s.ID == "addons.network/w1" {
				return s.Verify(ctx)
			}
		}
		return nil
	}
	pluginReady := func(r *run, ctx context.Context) error {
		for _, s := range r.addons.Steps() {
			if s.ID == "addons.plugin" {
				return s.Verify(ctx)
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		docs       fields
		ask        func(*run, context.Context) error
		code, host string
		args       map[string]string
		retry      bool
	}{
		"another kubelet": {docs(nodes, nil, nil), nodesReady,
			"check.version", "w1", map[string]string{"is": "v1.33.9", "want": "v1.34.2"}, false},
		"a DaemonSet": {docs(nil, []any{daemons(1)}, nil), ready,
			"check.workload", "", map[string]string{"what": "DaemonSet kube-system/net", "ready": "1/2"}, true},
		"a Deployment": {docs(nil, []any{daemons(2)}, []any{dns}), ready,
			"check.workload", "", map[string]string{"what": "Deployment kube-system/coredns", "ready": "1/2"}, true},
		"a pod that ended": {ended, ready,
			"check.workload-pod", "w1", map[string]string{"what": "DaemonSet kube-system/net", "ready": "1/2",
				"pod": "net-x", "why": "install: Error (3)"}, true},
		"a pod that cannot begin": {fields{"/apis/apps/v1/daemonsets": ended["/apis/apps/v1/daemonsets"],
			pods: list("PodList", "v1", thing("kube-system", "net-y", fields{"spec": fields{"nodeName": "w1"}})),
			"/api/v1/namespaces/kube-system/events": list("EventList", "v1", thing("kube-system", "e", fields{
				"type": "Warning", "reason": "FailedMount", "message": "path does not exist"}))}, ready,
			"check.workload-pod", "w1", map[string]string{"why": "FailedMount: path does not exist"}, true},
		"a pod without a node": {fields{"/apis/apps/v1/daemonsets": ended["/apis/apps/v1/daemonsets"],
			pods: list("PodList", "v1", thing("kube-system", "over", fields{"spec": fields{"nodeName": "w1"},
				"status": fields{"phase": "Failed"}}), thing("kube-system", "net-z", fields{"status": fields{
				"phase": "Pending", "conditions": []any{fields{"type": "PodScheduled", "status": "False",
					"reason": "Unschedulable", "message": "no node has room"}}}}))}, ready,
			"check.workload-unscheduled", "", map[string]string{"pod": "net-z",
				"why": "Unschedulable: no node has room"}, true},
		"no route to a node whose flannel has not begun": {fields{
			"/api/v1/nodes": routed,
			"/apis/apps/v1/daemonsets": list("DaemonSetList", "apps/v1", thing("kube-flannel", "flannel", fields{
				"status": fields{"desiredNumberScheduled": 2, "numberReady": 1}})),
			"/api/v1/namespaces/kube-flannel/pods": list("PodList", "v1",
				thing("kube-flannel", "f-w1", fields{"spec": fields{"nodeName": "w1"}}),
				thing("kube-flannel", "f-m1", fields{"spec": fields{"nodeName": "m1"}, "status": fields{
					"containerStatuses": []any{fields{"name": "install-cni",
						"state": fields{"waiting": fields{"reason": "ContainerCreating"}}}}}}))}, routes,
			"check.workload-pod", "m1", map[string]string{"pod": "f-m1", "what": "DaemonSet kube-flannel/flannel",
				"ready": "1/2", "why": "install-cni: ContainerCreating"}, true},
		"no route to a node without a pod of flannel": {fields{
			"/api/v1/nodes": routed,
			"/apis/apps/v1/daemonsets": list("DaemonSetList", "apps/v1", thing("kube-flannel", "flannel", fields{
				"status": fields{"desiredNumberScheduled": 2, "numberReady": 1}})),
			"/api/v1/namespaces/kube-flannel/pods": list("PodList", "v1",
				thing("kube-flannel", "f-w1", fields{"spec": fields{"nodeName": "w1"}}),
				thing("kube-flannel", "f-m0", fields{"spec": fields{"nodeName": "m1"},
					"status": fields{"phase": "Failed"}}))}, routes,
			"check.no-pod", "m1", map[string]string{"what": "DaemonSet kube-flannel/flannel"}, true},
		"no route to a node whose flannel is well": {fields{
			"/api/v1/nodes":            routed,
			"/apis/apps/v1/daemonsets": list("DaemonSetList", "apps/v1")}, routes,
			"check.no-route", "w1", map[string]string{"other": "m1", "cidr": "10.244.1.0/24"}, true},
		"the network plugin": {fields{"/apis/apps/v1/namespaces/kube-system/daemonsets/net": daemons(0)},
			pluginReady,
			"check.workload", "", map[string]string{"what": "DaemonSet kube-system/net", "ready": "0/2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := stand(t, silent)
			r.Cluster.NetworkPlugin = "net"
			r.SetBundle("amd64", shelved(map[string]string{
				"addons/net.yaml": "kind: DaemonSet\napiVersion: apps/v1\nmetadata: {name: net, namespace: " +
					"kube-system}\n"}))
			serving(t, r, 0, c.docs)
			f := wantFault(t, c.ask(r, t.Context()), c.code, c.host, "")
			for k, v := range c.args {
				if f.Args[k] != v {
					t.Errorf("%s is %q, not %q", k, f.Args[k], v)
				}
			}
			if f.Retry != c.retry {
				t.Error("retry:", f.Retry)
			}
		})
	}
}

func TestAManifestThatIsNone(t *testing.T) {
	r := stand(t, silent)
	r.Cluster.NetworkPlugin = "net"
	r.SetBundle("amd64", shelved(map[string]string{"addons/net.yaml": "kind: [DaemonSet\n"}))
	f := wantFault(t, r.addons.Ready(t.Context()), "addon.unreadable", "", "yaml")
	if f.Class != event.ClassBundle || f.Args["addon"] != "net.yaml" {
		t.Errorf("%+v", f)
	}
}

func TestAnAPIServerThatRefuses(t *testing.T) {
	objects, err := clients.ParseManifests([]byte("kind: Namespace\napiVersion: v1\nmetadata: {name: site}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := stand(t, silent)
	serving(t, r, http.StatusInternalServerError, nil)
	if f := wantFault(t, r.join.Ready(t.Context()), "kube.api", "", "request timed out"); !f.Retry {
		t.Error("it may pass, and nobody tries again")
	}
	discovered := fields{"/api": fields{"kind": "APIVersions", "versions": []any{"v1"}},
		"/apis": list("APIGroupList", "v1"),
		"/api/v1": fields{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			fields{"name": "namespaces", "kind": "Namespace", "namespaced": false, "verbs": []any{"patch"}}}}}
	serving(t, r, 0, discovered)
	wantFault(t, r.API().Apply(t.Context(), objects), "kube.api", "", "Namespace site: ") // is discovered
	// What the connection has to say stays whole: its sentence names the address.
	r.SetNode("m1", node.New(stub{name: "m1", says: silent}, r.Emit))
	if f := wantFault(t, r.API().Apply(t.Context(), objects), "ssh.forward-failed", "m1",
		"refused"); f.Args["addr"] == "" {
		t.Errorf("%+v", f)
	}
}

func TestWhatAPackageManagerMayNotChoose(t *testing.T) {
	const ours = "Inst containerd (1.6.20~ds1-1+b1 Eggo [amd64])\n"
	for name, c := range map[string]struct{ says, code, arg, is string }{
		"an upgrade": {"Inst libc6 [2.36-9] (2.36-10 Debian)\n" + ours, "packages.would-upgrade", "packages",
			"libc6"},
		"another version": {"Inst containerd (1.7.0-1 Eggo [amd64])\n", "packages.not-in-bundle", "version",
			"1.7.0-1"},
		"a foreign package": {ours + "Inst tini (0.19 Eggo [amd64])\n", "packages.not-in-bundle", "package", "tini"},
	} {
		t.Run(name, func(t *testing.T) {
			r := stand(t, to("apt-get", c.says))
			pk := packages.Packages{Payload: r.Payload}
			err := pk.Install(r.Cluster.Nodes[1]).Apply(t.Context())
			if f := wantFault(t, err, c.code, "w1", ""); f.Args[c.arg] != c.is {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestDockerWithoutAUnit(t *testing.T) {
	for _, says := range []string{"", "dockerd -H fd://\n", "/usr/bin/a\n/usr/bin/b\n"} {
		r := stand(t, to("ExecStart", says))
		r.Cluster.Runtime = "docker"
		_, err := r.runtimes.Runtime().Services(t.Context(), r.Cluster.Nodes[1], r.Node("w1"))
		if f := wantFault(t, err, "runtime.no-unit", "w1", ""); f.Args["unit"] != "docker.service" {
			t.Errorf("%q: %+v", says, f)
		}
	}
}

func TestALeaveThatIsRefused(t *testing.T) {
	r := stand(t, to("is-active", "state=inactive\n"))
	e1 := etcdOnly
	r.Removing = []config.Node{{Name: "w2", IP: worker.IP.Next(), Roles: []bundle.Role{workerRole}}, e1}
	r.SetFact("e1", good(e1))
	_ = r.KeepFault("w2", event.NewFault(event.ClassFailed, "ssh.unreachable", errors.New("no route to host")))
	serving(t, r, 0, fields{"/api/v1/nodes": list("NodeList", "v1", machineObject("w2", "v1.34.2"))})
	found := map[string]event.Fault{}
	r.Emit = func(e event.Event) error {
		if f, ok := e.(event.Finding); ok {
			found[string(f.Severity)+" "+f.Fault.Code] = f.Fault
		}
		return nil
	}
	wantFault(t, r.checkRemoval(false, preflight.RemoveLost())(t.Context()), "preflight.failed", "", "")
	if f := found["error preflight.leave-alive"]; f.Node != "w2" || f.Args["cause"] != "no route to host" {
		t.Errorf("%+v", found)
	}
	if f := found["error preflight.leave-no-quorum"]; f.Args["cause"] != "no member runs" {
		t.Errorf("%+v", found)
	}
}

func TestARestoreThatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(r *run)
		want  string
	}{
		"a worker away":  {func(r *run) { r.SetFact("w1", nil) }, "warning preflight.restore-without"},
		"a bare machine": {func(r *run) { r.Fact("w1").Cluster = "" }, "error preflight.restore-not-deployed"},
		"no manifest": {func(r *run) { r.Fact("m1").NoManifest = []string{"etcd"} },
			"error preflight.restore-manifests"},
		"no space": {func(r *run) {
			r.Fact("m1").Free[r.driver.Paths().EtcdData] = facts.FreeSpace{Device: "/dev/vdb", Bytes: 100 << 20}
		},
			"error preflight.restore-space"},
		"no certificates":    {func(r *run) { r.StateDir += "/elsewhere" }, "error snapshot.no-state"},
		"nothing in the way": {func(*run) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := stand(t, to("etcdutl", "yes\n"))
			for _, n := range r.Cluster.Nodes {
				r.Fact(n.Name).Cluster = "mine"
				r.Fact(n.Name).Free[r.driver.Paths().EtcdData] = facts.FreeSpace{Device: "/dev/vda", Bytes: 50 << 30}
			}
			c.spoil(r)
			var all []event.Finding
			r.Emit = func(e event.Event) error { all = append(all, e.(event.Finding)); return nil }
			err := r.checkRestore(t.Context(), &SnapshotFile{Size: 1 << 20})
			if got := strings.Join(nodestest.Codes(all), " "); got != c.want ||
				(err != nil) != strings.HasPrefix(got, "error") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

func TestAStateDirectoryThatIsDamaged(t *testing.T) {
	r := stand(t, silent)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.StateDir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("restore.json", `{"SHA256":`)
	_, err := Restore(*r.Env, &SnapshotFile{})
	wantFault(t, err, "state.read", "", "restore.json")
	if got := r.findings(t, preflight.Deploy(), worker); !slices.Contains(got, "error state.read") {
		t.Error(got)
	}
}

func TestAStatusWithoutCertificates(t *testing.T) {
	r := stand(t, silent)
	env := *r.Env
	env.StateDir = t.TempDir()
	env.Connect = func(_ context.Context, n config.Node) (node.Host, error) {
		return stub{name: n.Name, says: silent}, nil
	}
	s, err := GatherStatus(t.Context(), env)
	if err != nil || s.Healthy || !s.Nodes[0].Reached {
		t.Fatalf("%+v, %v", s, err)
	}
	if f := wantFault(t, s.Unknown, "status.no-pki", "", ""); f.Args["cluster"] != "mine" {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(env.StateDir); err != nil || len(left) > 0 {
		t.Errorf("made %v, %v", left, err)
	}
}
