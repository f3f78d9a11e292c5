package lines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/eventtest"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// readyDraft is a wizard, line by line, that has a draft without errors.
func readyDraft(m *menu) *wizard {
	w := newWizard(m, m.svc.Draft())
	w.g.Steps = []guide.Step{guide.PreflightStep, guide.ReviewStep}
	w.g.Draft.Set("package-src.x86src", "/srv/x.tar.gz")
	w.g.Draft.Machines = []config.Machine{{Name: "n1", IP: "192.0.2.1",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd, bundle.Worker}}}
	return w
}

// checkedAs has preflight of the draft as it is end with findings.
func checkedAs(w *wizard, findings ...event.Severity) {
	w.g.StartPreflight()
	for _, sev := range findings {
		w.g.Preflight.Take(draft.Check{Finding: &event.Finding{Severity: sev}})
	}
	w.g.Preflight.Take(draft.Check{End: true})
}

// After a preflight that failed, an install is none of the choices; with warnings it is, and they are told before the
// question.
func TestPlainInstallAfterPreflight(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English, "1")
	w := readyDraft(m)
	checkedAs(w, event.Error, event.Error)
	var to toStep
	if err := w.review(context.Background()); !errors.As(err, &to) || to != "preflight" {
		t.Errorf("the first choice leads to %v", err)
	}
	says(t, said.String(), "Preflight found 2 errors", "fix the errors")
	if strings.Contains(said.String(), "write and install") {
		t.Errorf("an install is offered:\n%s", said)
	}
	m, said = dialogue(t, i18n.English, "1", "", "7")
	w = readyDraft(m)
	checkedAs(w, event.Warning)
	if err := w.review(context.Background()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	says(t, said.String(), "write and install", "Preflight passed with 1 warning", "Install k8s-cluster now?")
}

// A machine with errors is not said to be ready, neither as it is looked at nor in the list.
func TestPlainMachinesWithErrorsAreNotReady(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English)
	w := readyDraft(m)
	x := w.g.Draft.Machines[0]
	w.g.Unprobed(false)
	w.hearOf(draft.Probe{Machine: x, Stage: draft.Seen, OS: "Debian",
		Findings: []event.Finding{{Host: x.Name, Severity: event.Error,
			Fault: *event.NewFault(event.ClassPreflight, "preflight.other-cluster", nil, "cluster", "old")}}})
	w.listMachines("")
	says(t, said.String(), "n1 has 1 error: Debian", "control plane, etcd, worker  1 error")
	if strings.Contains(said.String(), "is ready") {
		t.Errorf("it is ready:\n%s", said)
	}
}

// Line by line too: what a line says that is no machine is told part by part, and each change is kept before the next
// question.
func TestPlainLinesAreNotDropped(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English, "10.0.0.1 wroker", "web 10.0.0.1:22", "10.0.0.1:2222", "web 10.0.0.1",
		"10.0.0.1 etcd")
	w := readyDraft(m)
	w.g.Draft.Machines, w.g.Steps = nil, []guide.Step{guide.MachinesStep}
	if err := w.machines(context.Background()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	says(t, said.String(), "did you mean worker?", "write name=wroker",
		"already in the list, unchanged: 10.0.0.1")
	if n := len(w.g.Draft.Machines); n != 2 || w.g.Draft.Machines[1].Port != "2222" {
		t.Errorf("%+v", w.g.Draft.Machines)
	}
	if s, ok := w.svc.Load(); !ok || len(s.Draft.Machines) != 2 {
		t.Errorf("kept is %+v", s)
	}
}

// Line by line what can be done about a cause is done on all its machines.
func TestPlainFixesOfACause(t *testing.T) {
	t.Parallel()
	m, _ := dialogue(t, i18n.English)
	w := readyDraft(m)
	w.g.Draft.Machines = nil
	for i := range 60 {
		w.g.Draft.Machines = append(w.g.Draft.Machines, config.Machine{Name: fmt.Sprintf("node-%d", i+1),
			IP: fmt.Sprintf("192.0.2.%d", i+1)})
	}
	w.g.Preflight.Causes = report.Causes(eventtest.Archs(60))
	list, do := w.fixes()
	if len(list) != 1 || !strings.Contains(list[0].text, "60 machines, for example") {
		t.Fatalf("%+v", list)
	}
	do[list[0].id]()
	for _, x := range w.g.Draft.Machines {
		if x.Arch != "arm64" {
			t.Errorf("%+v", x)
		}
	}
}

// Line by line the key is shown before the question; anything but a yes is a no.
func TestTheSignerLineByLine(t *testing.T) {
	t.Parallel()
	who := ask.Signer{Bundle: "b.tar.gz", Name: "b", Arch: "amd64", Type: "ssh-ed25519", Fingerprint: "SHA256:abc"}
	for typed, want := range map[string]bool{"yes": true, "y": true, "": false, "n": false, "perhaps": false} {
		m, said := dialogue(t, i18n.English, typed)
		yes, err := ask.Trusts(t.Context(), m, who)
		if yes != want || err != nil {
			t.Errorf("%q: %v %v", typed, yes, err)
		}
		says(t, said.String(), "b.tar.gz", "ssh-ed25519", "SHA256:abc", "Trust this key from now on?")
	}
}

// The last step says what will stand before it asks anything: groups of nodes, versions, networks, bytes and time.
func TestReviewStartsWithThePreview(t *testing.T) {
	for lang, want := range map[i18n.Lang][]string{
		i18n.English: {"Control plane (1): m; kube-apiserver :6443, etcd :2379",
			"Workers (5): w-[1-5]; kubelet, containerd",
			"Versions: Kubernetes v1.34.2", "API endpoint: 10.0.0.1:6443", "Upload: about 60 B (10 B per",
			"Expected time: about 6 min: old with 5 nodes took 5m40s (2026-11-20)"},
		i18n.Chinese: {"控制平面（1）：m；kube-apiserver :6443、etcd :2379", "工作节点（5）：w-[1-5]；",
			"版本：Kubernetes v1.34.2",
			"发送数据：约 60 B（", "预计时间：约 6 分钟：old（5 个节点）用了 5m40s（2026-11-20）"},
	} {
		m, out := dialogue(t, lang, "q")
		w := readyDraft(m)
		w.svc.(*uitest.Draft).OnPast = func(context.Context) []draft.Past {
			return []draft.Past{{Cluster: "old", Nodes: 5, Took: 340 * time.Second,
				At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
		}
		w.g.Draft = config.Draft{Machines: []config.Machine{
			{Name: "m", IP: "10.0.0.1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}},
		}.WithValues(map[string]string{"package-src.x86src": "/b"})
		for i := range 5 {
			w.g.Draft.Machines = append(w.g.Draft.Machines, config.Machine{Name: "w-" + strconv.Itoa(i+1),
				IP: "10.0.0.1" + strconv.Itoa(i), Roles: []bundle.Role{bundle.Worker}})
		}
		w.g.Bundles = []draft.Bundle{{Path: "/b", Manifest: &bundle.Manifest{Arch: "amd64", Kubernetes: "v1.34.2",
			Members: []bundle.Member{{Path: "kubelet", Kind: bundle.Binary, Name: "kubelet", Size: 10, Dst: "/usr/bin",
				Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker}}}}}}
		if err := w.review(context.Background()); err == nil {
			t.Fatal("it does not end")
		}
		text := out.String()
		for _, x := range want {
			if at := strings.Index(text, x); at < 0 || at > strings.Index(text, "/home/.eggo/deploy.yaml") {
				t.Errorf("%q is not said first:\n%s", x, text)
			}
		}
	}
}

// A file of which no line is a machine is rejected once, for the reason of its first line, and a bastion of a list is
// told.
func TestPlainFilesOfMachines(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English)
	w := newWizard(m, m.svc.Draft())
	files := map[string]string{"/wrong": "10.0.0.300 web\nno such thing\nat all here\n",
		"/config": "Host gate\n  HostName 192.0.2.1\nHost n1\n  HostName 10.0.0.1\n  ProxyJump ops@gate:2222\n"}
	w.svc.(*uitest.Draft).OnRead = func(path string) ([]byte, error) { return []byte(files[path]), nil }
	w.machineLine("@/wrong")
	says(t, said.String(), "10.0.0.300” is not a valid IP address: 300 is greater than 255",
		"none of 3 lines is a machine; the reason is that of line 1")
	if n := strings.Count(said.String(), "is not a"); n != 1 || len(w.g.Draft.Machines) > 0 {
		t.Errorf("%d reasons, machines %v:\n%s", n, w.g.Draft.Machines, said)
	}
	w.machineLine("@/config")
	says(t, said.String(), "1 machine is reached through bastion ops@192.0.2.1:2222")
	if got := w.g.Draft.Value("eggo.bastion"); got != `"ops@192.0.2.1:2222"` || len(w.g.Draft.Machines) != 1 {
		t.Errorf("bastion %s, machines %v", got, w.g.Draft.Machines)
	}
}

// From every question another step can be chosen, and the machines can be probed again.
func TestWizard_GoesToAnyStepAndProbesAgain(t *testing.T) {
	t.Parallel()
	probes := 0
	m, said, f := dialogueAt(i18n.English, strings.Join([]string{
		"n1 192.0.2.1", "", ":p", ":s", "1", ":q",
	}, "\n")+"\n")
	svc := f.draft()
	probe := svc.(*uitest.Draft).OnProbe
	svc.(*uitest.Draft).OnProbe = func(ctx context.Context, d config.Draft, x config.Machine, tell func(draft.Probe)) {
		probes++
		probe(ctx, d, x, tell)
	}
	w := newWizard(m, svc)
	w.g.Steps = []guide.Step{guide.MachinesStep, guide.NetworksStep, guide.ReviewStep}
	if err := w.run(t.Context()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	seen := func(step string) int { return strings.Count(said.String(), step) }
	if probes != 2 || seen("Step 2 of 3") != 2 || seen("Step 1 of 3") != 2 {
		t.Errorf("%d probes\n%s", probes, said)
	}
}

// Machines are changed and removed by numbers and ranges of them, and listed by a filter. Members stay as they are.
func TestMachineLine_OfSeveral(t *testing.T) {
	t.Parallel()
	m, said := dialogue(t, i18n.English)
	w := newWizard(m, m.svc.Draft())
	w.probes = t.Context()
	names := func() string {
		var out []string
		for _, x := range w.g.Draft.Machines {
			out = append(out, x.Name+map[bool]string{true: "*"}[x.Has(bundle.Etcd)])
		}
		return strings.Join(out, " ")
	}
	for _, c := range [][2]string{
		{"n[1-6] 192.0.2.[1-6]", "n1* n2 n3 n4 n5 n6"},
		{"2-3,5 worker etcd", "n1* n2* n3* n4 n5* n6"},
		{"n6 etcd", "n1* n2* n3* n4 n5* n6*"},
		{"3-2 worker", "n1* n2* n3* n4 n5* n6*"},
		{"2-9 worker", "n1* n2* n3* n4 n5* n6*"},
		{"-4,6", "n1* n2* n3* n5*"},
		{"-n5", "n1* n2* n3*"},
		{"-9", "n1* n2* n3*"},
	} {
		if w.machineLine(c[0]); names() != c[1] {
			t.Errorf("after %q: %s, want %s", c[0], names(), c[1])
		}
	}
	before := said.Len()
	w.g.Members = map[string]bool{draft.MachineKey(w.g.Draft.Machines[0]): true}
	w.machineLine("/!n2")
	w.machineLine("-1-2")
	if names() != "n1* n3*" {
		t.Errorf("a member was removed: %s", names())
	}
	text := said.String()[before:]
	says(t, text, " 1  n1", " 3  n3", "n1")
	if strings.Contains(text, " 2  n2") {
		t.Errorf("the filter lets it through:\n%s", text)
	}
}
