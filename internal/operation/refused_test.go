package operation

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// A deploy.yaml with another driver than the cluster's own is refused with one error, and nothing is touched.
func TestADriverThatIsChangedTouchesNothing(t *testing.T) {
	f, d := simulate(t, phasestest.Shape{Masters: 1, Workers: 1})
	elsewhere(t, f)
	own := filepath.Join(f.root, "sim", "deploy.yaml")
	text := string(f.lab.DeployYAML())
	file := filepath.Join(t.TempDir(), "deploy.yaml")
	for path, content := range map[string]string{own: text + "eggo: {driver: kubeadm}\n", file: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	was := trees(t, f)
	h := heard{&collector{}}
	d.Sink = h.collector
	err := did(t, request.Deploy{Common: request.OfFile(file)}, d)
	if event.AsFault(err) == nil || event.AsFault(err).Code != "preflight.failed" || len(h.changes()) > 0 {
		t.Error(err, h.changes())
	}
	var codes []string
	for _, x := range h.findings() {
		if x.Severity == event.Error {
			codes = append(codes, x.Fault.Code+" "+x.Fault.Args["is"]+" "+x.Fault.Args["want"])
		}
	}
	if !slices.Equal(codes, []string{"preflight.driver-change kubeadm binary"}) {
		t.Errorf("%q", codes)
	}
	if got := trees(t, f); got != was {
		t.Error("a node was changed:", got, was)
	}
	if now, err := os.ReadFile(own); err != nil || !strings.Contains(string(now), "driver: kubeadm") {
		t.Errorf("the cluster's own deploy.yaml was replaced: %v\n%s", err, now)
	}
}

// A cluster of kubeadm with a part that Eggo does not know is refused with one error that names it, and nothing is
// touched, on its nodes or here.
func TestAnUnknownPartOfAClusterTouchesNothing(t *testing.T) {
	f, d := byKubeadm(t)
	manifest := f.lab.Nodes["m1"].Path("/etc/kubernetes/manifests/kube-scheduler.yaml")
	usual, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for code, pair := range map[string][2]string{
		"import.volume": {"path: /etc/kubernetes/scheduler.conf", "path: /srv/x"},
		"import.flag":   {"--leader-elect=true", "--no-such-flag=1"},
	} {
		elsewhere(t, f)
		text := strings.Replace(string(usual), pair[0], pair[1], 1)
		if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil || text == string(usual) {
			t.Fatal(code, err)
		}
		was := trees(t, f)
		var found []string
		_, err := ReadImport(t.Context(), importOf(), d, func(all []event.Finding) {
			for _, x := range all {
				if x.Severity == event.Error {
					found = append(found, x.Host+" "+x.Fault.Code)
				}
			}
		})
		if event.AsFault(err) == nil || event.AsFault(err).Code != "import.refused" ||
			!slices.Equal(found, []string{"m1 " + code}) {
			t.Errorf("%s: %v %q", code, err, found)
		}
		if got := trees(t, f); got != was || len(f.locked) > 0 {
			t.Errorf("%s: a node was changed or locked: %v", code, f.locked)
		}
		if list, err := os.ReadDir(filepath.Join(f.root, "sim")); err != nil || len(list) > 0 {
			t.Errorf("%s: %v %v", code, list, err)
		}
	}
}
