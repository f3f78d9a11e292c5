package present

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/status"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// tones are the texts of a document by what they mean.
func tones(d document.Document) map[document.Emphasis][]string {
	out := map[document.Emphasis][]string{}
	for _, l := range d.Lines() {
		for _, c := range l.Cells {
			if strings.TrimSpace(c.Text) != "" {
				out[c.Emphasis] = append(out[c.Emphasis], c.Text)
			}
		}
	}
	return out
}

// What is well and what is not is said by the result, not by the words: a node that is called Ready is a name.
func TestAStatusSaysWhatIsWell(t *testing.T) {
	t.Parallel()
	day := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	st := &operation.StatusResult{
		Status: &phases.Status{
			Cluster: "rack",
			Nodes: []phases.NodeStatus{
				{Node: "Ready", Address: "192.0.2.1", Reached: true, Registered: true, Ready: true, Kubelet: "v1.34.2",
					Components:   []status.Component{{Name: "kubelet", State: "active"}},
					Certificates: []status.Certificate{{Ends: day.AddDate(1, 0, 0)}, {Ends: day}}},
				{Node: "n2", Address: "192.0.2.2", Reached: true, Registered: true,
					Components: []status.Component{{Name: "kubelet", State: "failed"}}},
				{Node: "n3", Address: "192.0.2.3",
					Fault: event.NewFault(event.ClassFailed, "state.read", errors.New("no"))},
			},
			Etcd: []phases.EtcdStatus{
				{Node: "Ready", Healthy: true, Leader: true, Version: "3.6.5", DBBytes: 6 << 20},
				{Node: "n2", Error: "timed out", Alarms: []string{"NOSPACE"}},
			},
		},
		Now: request.ClusterInfo{Name: "rack", Status: "running", LastRun: "20270101T000000Z-deploy", Verb: "deploy"},
	}
	for lang, want := range map[i18n.Lang]map[document.Emphasis]string{
		i18n.English: {
			document.Good: "Ready|healthy, leader",
			document.Bad:  "NotReady|unreachable|not healthy|rack is not healthy",
			document.Name: "Ready|n2|n3|Ready|n2",
		},
		i18n.Chinese: {document.Name: "Ready|n2|n3|Ready|n2"},
	} {
		d := Status(i18n.NewPrinter(lang), st)
		got := tones(d)
		for tone, texts := range want {
			if have := strings.Join(got[tone], "|"); have != texts {
				t.Errorf("%s: %s is %q, want %q\n%s", lang, tone, have, texts, d.Text())
			}
		}
		for _, w := range []string{"2027-01-02", "kubelet: failed", "NOSPACE timed out", "6.0 MiB",
			"20270101T000000Z-deploy"} {
			if !strings.Contains(d.Text(), w) {
				t.Errorf("%s: %q is not in\n%s", lang, w, d.Text())
			}
		}
	}
}

func TestStatus_NodeWithPressure(t *testing.T) {
	t.Parallel()
	st := &operation.StatusResult{Status: &phases.Status{Cluster: "rack", Nodes: []phases.NodeStatus{{
		Node: "n1", Reached: true, Registered: true, Ready: true,
		Conditions: []status.Condition{{Type: "DiskPressure"}, {Type: "PIDPressure"}},
	}}}}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		d := Status(i18n.NewPrinter(lang), st)
		if bad := tones(d)[document.Bad]; bad[0] != "Ready,DiskPressure,PIDPressure" {
			t.Errorf("%s: %q", lang, bad)
		}
		for _, w := range []string{"df -h", "n1: PIDPressure", "n1：PIDPressure"} {
			if !strings.Contains(d.Text(), w) && w != map[i18n.Lang]string{i18n.English: "n1：PIDPressure",
				i18n.Chinese: "n1: PIDPressure"}[lang] {
				t.Errorf("%s: no %q in\n%s", lang, w, d.Text())
			}
		}
	}
}

// Nodes that could not be logged in to may be healthy: no word says that they are off, or that etcd is ill.
func TestAStatusWithoutALogin(t *testing.T) {
	t.Parallel()
	st := &operation.StatusResult{Status: &phases.Status{
		Cluster: "rack",
		Nodes: []phases.NodeStatus{{Node: "n1", Address: "192.0.2.1",
			Fault: event.NewFault(event.ClassAuth, "ssh.no-credentials", nil, "user", "root").On("n1")}},
		Etcd:    []phases.EtcdStatus{{Node: "n1", Error: "the login to the node failed"}},
		Unknown: event.NewFault(event.ClassAuth, "kube.no-login", nil),
	}}
	d := Status(i18n.NewPrinter(i18n.English), st)
	if got := strings.Join(tones(d)[document.Bad], "|"); got != "login failed|The state of rack is unknown" {
		t.Errorf("%q\n%s", got, d.Text())
	}
	for _, w := range []string{"not checked", "No control plane could be logged in to.",
		"→ Specify private-key-path in deploy.yaml, or start an SSH agent."} {
		if !strings.Contains(d.Text(), w) {
			t.Errorf("%q is not in\n%s", w, d.Text())
		}
	}
}

// A run that waits for somebody is shown with what it waits for and how that is decided.
func TestAStatusSaysWhatARunWaitsFor(t *testing.T) {
	t.Parallel()
	st := &operation.StatusResult{Status: &phases.Status{Cluster: "rack", Healthy: true}, Now: request.ClusterInfo{
		Name: "rack", Status: "running", LastRun: "r", Waits: []request.Wait{{Node: "n1", Step: "etcd.start/n1",
			Title: event.M("step.etcd.start"),
			Fault: event.NewFault(event.ClassFailed, "state.read", errors.New("no"))}},
	}}
	text := Status(CommandLine{Program: "eggo", State: "/my state"}.Printer(i18n.English), st).Text()
	for _, w := range []string{"n1: ", "eggo attach --id rack --state-dir '/my state'"} {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

// An upgrade that has not ended is shown with what it is at and both ways out; while its run goes on there is none.
func TestAStatusSaysThatAnUpgradeIsNotComplete(t *testing.T) {
	t.Parallel()
	p := CommandLine{Program: "eggo", State: "/s"}.Printer(i18n.English)
	up := func(u request.Upgrading, status string) string {
		u.From, u.To, u.Target = "v1.34.2", "v1.35.4", "v1.36.3"
		c := request.ClusterInfo{Name: "rack", Status: status, Upgrade: &u}
		st := &operation.StatusResult{Status: &phases.Status{Cluster: "rack", Healthy: true}, Now: c}
		text := Status(p, st).Text()
		if list := Clusters(p, []request.ClusterInfo{c}).Text(); !strings.Contains(list, "from v1.34.2 to v1.35.4") {
			t.Error(list)
		}
		return text
	}
	const back = "eggo upgrade --back --id rack --state-dir /s"
	for _, c := range []struct {
		text string
		has  []string
		not  string
	}{
		{up(request.Upgrading{Soak: time.Unix(1, 0)}, request.Failed), []string{"v1.36.3",
			"emulated the old version since",
			"eggo upgrade --id rack --state-dir /s", back}, "restoring etcd"},
		{up(request.Upgrading{Committed: true}, request.Failed), []string{"restoring etcd"}, "--back"},
		{up(request.Upgrading{}, request.Running), []string{"from v1.34.2 to v1.35.4"}, "To continue"},
	} {
		for _, w := range c.has {
			if !strings.Contains(c.text, w) {
				t.Errorf("%q is not in\n%s", w, c.text)
			}
		}
		if strings.Contains(c.text, c.not) {
			t.Errorf("%q is in\n%s", c.not, c.text)
		}
	}
	line, err := json.Marshal(StatusLine(&operation.StatusResult{Status: &phases.Status{},
		Now: request.ClusterInfo{Upgrade: &request.Upgrading{From: "a", To: "b", Target: "c"}}}))
	if err != nil || !strings.Contains(string(line), `"upgrade":{"from":"a","to":"b","target":"c"}`) {
		t.Errorf("%s %v", line, err)
	}
}

// The days that are left of a certificate are beside the date; of one that nobody has seen there is neither.
func TestTheDaysThatAreLeftOfACertificate(t *testing.T) {
	left := 363
	row := operation.CertificateRow{State: "ok", At: "/etc/kubernetes/admin.conf", Days: &left}
	row.Node, row.Name, row.NotAfter = "n1", "admin", time.Date(2027, 11, 28, 0, 0, 0, 0, time.UTC)
	gone := operation.CertificateRow{State: "absent", At: "/etc/kubernetes/scheduler.conf"}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		got := Certificates(i18n.NewPrinter(lang), []operation.CertificateRow{row, gone})[0]
		if len(got.Head) != len(got.Rows[0]) || got.Rows[0][2].Text != "2027-11-28" || got.Rows[0][3].Text != "363" ||
			got.Rows[1][2].Text != "–" || got.Rows[1][3].Text != "–" || got.Rows[1][4].Emphasis != document.Bad {
			t.Errorf("%s: %+v", lang, got)
		}
	}
}
