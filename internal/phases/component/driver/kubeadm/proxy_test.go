package kubeadm

import (
	"bytes"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// TestAStaticPodIsAnotherOneEachTimeItIsMade: the manifest has a uid of its own, or else a kubelet of another version
// would take the pod for another one and restart it; and a new one, or else the kubelet would not see what has changed.
func TestAStaticPodIsAnotherOneEachTimeItIsMade(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	p := scheduler(t, r, node.New(m, r.Emit))
	uid := regexp.MustCompile("metadata:\n  uid: \"([0-9a-f]{32})\"\n")
	var seen []string
	for range 2 {
		if err := p.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(m.at("/var/lib/eggo-node/pods/kube-scheduler/kube-scheduler.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		found := uid.FindAllStringSubmatch(string(text), -1)
		if len(found) != 1 || slices.Contains(seen, found[0][1]) {
			t.Fatalf("seen %q\n%s", seen, text)
		}
		seen = append(seen, found[0][1])
	}
}

// TestProxiesOfANodeAreNotThoseOfPods: kubeadm would copy them from its environment into all that it makes.
func TestProxiesOfANodeAreNotThoseOfPods(t *testing.T) {
	for _, name := range []string{"https_proxy", "HTTP_PROXY", "No_Proxy"} {
		t.Setenv(name, "http://proxy.example:3128")
	}
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	nd := node.New(m, r.Emit)
	if err := scheduler(t, r, nd).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(m.at("/var/lib/eggo-node/pods/kube-scheduler/kube-scheduler.yaml"))
	if err != nil || strings.Contains(string(text), "proxy.example") {
		t.Errorf("%v\n%s", err, text)
	}
	r.SetNode("m1", nd)
	if objects, err := r.objects(t.Context()); err != nil || strings.Contains(string(objects), "proxy.example") {
		t.Errorf("%v\n%s", err, objects)
	}
}

// TestAnotherBuildIsAnotherRevision: images of the same names may be others, which pods that run do not see.
func TestAnotherBuildIsAnotherRevision(t *testing.T) {
	r, other := made(t, ""), made(t, "")
	images := other.BundleOf(other.named("m1")).Manifest().Images
	for i := range images {
		images[i].Digest += "0"
	}
	for _, c := range podsOf(r.named("m1")) {
		is, err := r.pod(c, r.named("m1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		now, err := other.pod(c, other.named("m1"), nil)
		if err != nil || is.revision == now.revision {
			t.Errorf("%s is %s in both builds: %v", c, is.revision, err)
		}
	}
	is, err := r.proxyRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now, err := other.proxyRevision(t.Context()); err != nil || now == is {
		t.Errorf("kube-proxy is %s in both builds: %v", is, err)
	}
}

// TestKubeProxyStaysWhenAControlPlaneLeaves: also the first one, of which kubeadm is told.
func TestKubeProxyStaysWhenAControlPlaneLeaves(t *testing.T) {
	r := made(t, "")
	second := r.named("m1")
	second.Name, second.IP = "m0", netip.MustParseAddr("192.0.2.10")
	was, err := r.proxyRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Cluster.Nodes = slices.Insert(r.Cluster.Nodes, 0, second)
	r.services.SetFact("m0", nodestest.Good(second))
	if is, err := r.proxyRevision(t.Context()); err != nil || is != was {
		t.Errorf("%s was %s: %v", is, was, err)
	}
}

// TestAnAPIServerGetsTheTimeToStop: what a flag of deploy.yaml says counts.
func TestAnAPIServerGetsTheTimeToStop(t *testing.T) {
	const flag = "config-extra-args: [{name: kube-apiserver, extra-args: [--shutdown-delay-duration=40s]}]\n"
	for more, want := range map[string]string{"": "97", flag: "135"} {
		r := made(t, more)
		m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
		p, err := r.pod(driver.APIServer, r.named("m1"), node.New(m, r.Emit))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(m.at("/var/lib/eggo-node/pods/kube-apiserver/kube-apiserver.yaml"))
		if err != nil || !strings.Contains(string(text), `"terminationGracePeriodSeconds":`+want) ||
			strings.Count(string(text), `Probe":{"terminationGracePeriodSeconds":30}`) != 2 {
			t.Errorf("%v, want %s\n%s", err, want, text)
		}
	}
}

// TestAFileOfSeveralComponentsIsTheSame: what one component puts there is no change to another one, which would be
// restarted by every deploy.
func TestAFileOfSeveralComponentsIsTheSame(t *testing.T) {
	r := made(t, "")
	n := r.named("m1")
	nd := node.New(newMachine(t, r.Binaries(n, Program)[0].File), r.Emit)
	seen := map[string]node.File{}
	for _, c := range podsOf(n) {
		p, err := r.pod(c, n, nd)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range slices.Concat(p.beside, p.files) {
			if is, ok := seen[f.Path]; ok && (is.Mode != f.Mode || !bytes.Equal(is.Data, f.Data)) {
				t.Errorf("%s of %s has mode %o, and of another one %o", f.Path, c, f.Mode, is.Mode)
			}
			seen[f.Path] = f
		}
	}
}
