package page

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// What is asked for on the page of a cluster is drawn in both languages, and what comes from nodes is text.
func TestTheLifeOfACluster(t *testing.T) {
	p := pageOf(t, nil)
	var h health
	if err := json.Unmarshal([]byte(`{"healthy": false, "drift": ["n1 is missing"],
		"nodes": [{"name": "<b>n1", "reached": true, "ready": true, "components": [
			{"name": "kubelet", "state": "active", "version": "v1.34.2"}, {"name": "etcd", "state": "failed"}]},
			{"name": "n2", "reached": false, "fault": {"code": "ssh.refused", "detail": "no login"}}],
		"etcd": [{"node": "n1", "healthy": true, "leader": true, "db_bytes": 4096, "alarms": ["NOSPACE"]}],
		"workloads": [{"kind": "Deployment", "name": "kube-system/coredns",
		"ready": 1, "want": 2}]}`), &h); err != nil {
		t.Fatal(err)
	}
	ends := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for name, c := range map[string]struct {
			data any
			want []string
		}{
			"status": {h, []string{"&lt;b&gt;n1", "v1.34.2", "failed", "no login", "NOSPACE", "1/2", "n1 is missing"}},
			"certificates": {problem.List[server.Certificate]{Items: []server.Certificate{{Node: "n1",
				Name: "apiserver", NotAfter: ends, State: "soon", At: "/etc/x.crt"}}},
				[]string{"2027-01-02T03:04:05Z", "apiserver", `class="warn"`}},
			"health-history": {problem.List[server.Health]{Items: []server.Health{{At: ends, State: "Running"},
				{At: ends, State: "Unreachable",
					Reason: &server.Fault{Code: "manager.unreachable", Detail: "<b>no answer"}}}},
				[]string{"2027-01-02T03:04:05Z", "manager.unreachable", "&lt;b&gt;no answer"}},
			"verified": {verifiedBackup{Files: 7, Keys: 9, Revision: 11, Etcd: true}, []string{"7", "11"}},
		} {
			html, err := p.piece(lang, name, c.data)
			if err != nil {
				t.Fatal(name, err)
			}
			for _, want := range c.want {
				if !strings.Contains(html, want) {
					t.Errorf("%s in %s has no %q\n%s", name, lang, want, html)
				}
			}
			if strings.Contains(html, "<b>") || strings.Contains(html, "(?)") {
				t.Errorf("%s in %s\n%s", name, lang, html)
			}
		}
	}
}
