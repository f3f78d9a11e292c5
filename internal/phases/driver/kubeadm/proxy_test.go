package kubeadm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// TestTheProxyIsReplacedInTheTurnOfItsNode: of the node's pods, those of another revision are deleted, as they are; one
// that ends already and one of this revision are left alone.
func TestTheProxyIsReplacedInTheTurnOfItsNode(t *testing.T) {
	r := made(t, "")
	revision, err := r.proxyRevision()
	if err != nil {
		t.Fatal(err)
	}
	pod := func(name, revision string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Env: []corev1.EnvVar{{Name: "NODE_NAME"}, {Name: revisionName, Value: revision}}}}}}
	}
	ends := pod("ends", "other")
	ends.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	list := corev1.PodList{Items: []corev1.Pod{pod("old", "other"), pod("new", revision), ends,
		{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}}}
	var deleted []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.Method == http.MethodDelete {
			deleted = append(deleted, req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:])
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusSuccess})
			return
		}
		if q := req.URL.Query(); q.Get("fieldSelector") != "spec.nodeName=w1" ||
			q.Get("labelSelector") != "k8s-app=kube-proxy" {
			t.Errorf("asked for %s", req.URL)
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	defer srv.Close()
	c, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		t.Helper()
		if err := r.endProxies(t.Context(), r.named("w1"), c.CoreV1().Pods("kube-system")); err != nil {
			t.Fatal(err)
		}
	}
	end()
	if want := []string{"old", "foreign"}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, want %q", deleted, want)
	}
	list.Items, deleted = list.Items[1:3], nil
	end()
	if len(deleted) > 0 {
		t.Errorf("deleted %q", deleted)
	}
	r.Dry = true
	list.Items = []corev1.Pod{pod("old", "other")}
	end()
	if len(deleted) > 0 {
		t.Errorf("a dry run deleted %q", deleted)
	}
}

// TestAStaticPodKeepsItsUIDUntilItChanges: the manifest has one of its own, or else a kubelet of another version would
// take the pod for another one and restart it.
func TestAStaticPodKeepsItsUIDUntilItChanges(t *testing.T) {
	r := made(t, "")
	m := newMachine(t, r.Binaries(r.named("m1"), Program)[0].File)
	p := scheduler(t, r, node.New(m, r.Emit))
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(m.at("/var/lib/eggo-node/pods/kube-scheduler/kube-scheduler.yaml"))
	if err != nil || strings.Count(string(text), "metadata:\n  uid: \""+p.uid()+"\"\n") != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	other := scheduler(t, made(t, "config-extra-args: [{name: kube-scheduler, extra-args: [--v=4]}]\n"),
		node.New(m, r.Emit))
	if other.uid() == p.uid() {
		t.Error("a pod with another argument has the same uid")
	}
	q, err := r.pod(driver.ControllerManager, r.named("m1"), p.nd)
	if err != nil || q.uid() == p.uid() {
		t.Errorf("two components have the same uid: %v", err)
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
