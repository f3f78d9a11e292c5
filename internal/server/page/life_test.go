package page

import (
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
	var h server.StatusOutput
	h.Body.Drift = []string{"n1 is missing"}
	h.Body.Nodes = []server.StatusNode{{Name: "<b>n1", Reached: true, Ready: true,
		Conditions: []server.NodeCondition{{Type: "DiskPressure", Message: "<b>low"}}, Parts: []server.NodeComponent{
			{Name: "kubelet", State: "active", Version: "v1.34.2"}, {Name: "etcd", State: "failed"}}},
		{Name: "n2", Fault: &server.Fault{Code: "ssh.refused", Detail: "no login"}}}
	h.Body.Etcd = []server.EtcdMember{{Node: "n1", Healthy: true, Leader: true, DBBytes: 4096,
		Alarms: []string{"NOSPACE"}}}
	h.Body.Loads = []server.Workload{{Kind: "Deployment", Name: "kube-system/coredns", Ready: 1, Want: 2}}
	var verified server.VerifyOutput
	verified.Body.Files, verified.Body.Keys, verified.Body.Revision, verified.Body.Etcd = 7, 9, 11, true
	ends := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		for name, c := range map[string]struct {
			data any
			want []string
		}{
			"status": {h.Body, []string{"&lt;b&gt;n1", "DiskPressure", "&lt;b&gt;low", "v1.34.2", "failed",
				"no login", "NOSPACE", "1/2", "n1 is missing"}},
			"certificates": {problem.List[server.Certificate]{Items: []server.Certificate{{Node: "n1",
				Name: "apiserver", NotAfter: ends, State: "soon", At: "/etc/x.crt"}}},
				[]string{"2027-01-02T03:04:05Z", "apiserver", `class="warn"`}},
			"health-history": {problem.List[server.Health]{Items: []server.Health{{At: ends, State: "Running"},
				{At: ends, State: "Unreachable",
					Reason: &server.Fault{Code: "manager.unreachable", Detail: "<b>no answer"}}}},
				[]string{"2027-01-02T03:04:05Z", "manager.unreachable", "&lt;b&gt;no answer"}},
			"verified": {verified.Body, []string{"7", "11"}},
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
