package clients

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestPodsAreDeletedOnTheirNode: of the node's pods those of another revision are deleted, as they are; one that ends
// already and one of this revision are left alone, and a dry run deletes none.
func TestPodsAreDeletedOnTheirNode(t *testing.T) {
	pod := func(name, revision string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "A"}, {Name: "REVISION", Value: revision}}}}}}
	}
	ends := pod("ends", "other")
	ends.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	list := corev1.PodList{Items: []corev1.Pod{pod("old", "other"), pod("new", "this"), ends,
		{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}}}
	var deleted []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.Method == http.MethodDelete {
			deleted = append(deleted, path.Base(req.URL.Path))
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: metav1.StatusSuccess})
			return
		}
		if q := req.URL.Query(); q.Get("fieldSelector") != "spec.nodeName=w1" || q.Get("labelSelector") != "app=x" {
			t.Errorf("asked for %s", req.URL)
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	defer srv.Close()
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	e := &input.Env{Emit: func(event.Event) error { told++; return nil }}
	r := &Clients{Env: e, kube: &API{Interface: cs}}
	for _, x := range []struct {
		dry  bool
		pods []corev1.Pod
		want []string
		told int
	}{
		{false, list.Items, []string{"old", "foreign"}, 2},
		{false, list.Items[1:3], nil, 0},
		{true, []corev1.Pod{pod("old", "other")}, nil, 1},
	} {
		list.Items, deleted, told, e.Dry = x.pods, nil, 0, x.dry
		err := r.DeletePods(t.Context(), Pods{"kube-system", "app=x", "w1", [2]string{"REVISION", "this"}})
		if err != nil || !slices.Equal(deleted, x.want) || told != x.told {
			t.Errorf("%v: deleted %q, want %q; %d were told, want %d", err, deleted, x.want, told, x.told)
		}
	}
}
