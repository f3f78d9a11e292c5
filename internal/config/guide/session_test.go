package guide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// rack returns the draft of a running cluster whose password is stored nowhere.
func rack() config.Draft {
	d := config.Draft{Machines: []config.Machine{{Name: "m1", IP: "192.0.2.1",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}}}
	for key, value := range map[string]string{"cluster-id": "rack", "eggo.password-from": "prompt",
		"package-src.x86src": "/b.tar.gz"} {
		d.Set(key, value)
	}
	return d
}

func TestJoin_AsksForThePasswordThatIsStoredNowhere(t *testing.T) {
	stored := rack()
	stored.Set("eggo.password-from", "env:PW")
	for want, d := range map[string]config.Draft{"login nodes preflight review": rack(),
		"nodes preflight review": stored} {
		s := New()
		s.Join(d, "/rack.yaml")
		var got []string
		for _, step := range s.Steps {
			got = append(got, string(step))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the steps are %v, want %s", got, want)
		}
		if s.Index(LoginStep) == 0 && len(s.Fields(LoginStep)) != 1 {
			t.Error("more than the password is asked for")
		}
	}
}

// Machines that join are kept without the cluster, and are there again once, whatever was added meanwhile.
func TestSession_ResumesMachinesThatJoin(t *testing.T) {
	s := New()
	s.Join(rack(), "/rack.yaml")
	fresh := config.Machine{Name: "w1", IP: "192.0.2.9", Roles: []bundle.Role{bundle.Worker}}
	s.Draft.Machines = append(s.Draft.Machines, fresh)
	s.Draft.Set("password", "geheim")
	s.GoTo(s.Index(MachinesStep))
	kept := s.Saved(map[string]string{"machine": "w2 password=geheim"})
	if len(kept.Draft.Machines) != 1 || kept.Draft.Value("password") != "" || kept.Step != "nodes" ||
		strings.Contains(kept.Typed["machine"], "geheim") {
		t.Errorf("kept: %+v", kept)
	}
	again := New()
	again.Join(rack(), "/rack.yaml")
	m, ok := again.Offer(kept)
	if !ok || m.Key != "wizard.resume.add" || m.Args["cluster"] != "rack" || m.Args["count"] != "1" {
		t.Errorf("offered: %t, %+v", ok, m)
	}
	again.Draft.Machines = append(again.Draft.Machines, fresh)
	if !again.Resume(kept) || len(again.Fresh()) != 1 || !again.Been[MachinesStep] || again.Been[ReviewStep] {
		t.Errorf("%v, %v", again.Fresh(), again.Been)
	}
	if _, ok := again.Offer(draft.Saved{}); ok {
		t.Error("nothing was kept, and it is offered")
	}
}

func TestSameSaved_IgnoresTimeAndStep(t *testing.T) {
	s := New()
	a := s.Saved(nil)
	s.GoTo(3)
	b := s.Saved(nil)
	b.When = b.When.Add(time.Hour)
	if !SameSaved(a, b) {
		t.Error("time and step are a difference")
	}
	if s.File = "/x.yaml"; SameSaved(a, s.Saved(nil)) || SameSaved(a, s.Saved(map[string]string{"bundle": "/b"})) {
		t.Error("another file, or a path that was typed, is no difference")
	}
}

func TestSession_UndoesAnImport(t *testing.T) {
	s, p := New(), i18n.NewPrinter(i18n.English)
	if bad, ok := s.Import([]byte("{"), "x.yaml"); ok || bad.Code == "" || len(s.Draft.Machines) > 0 {
		t.Errorf("a text that is no YAML: %t, %+v", ok, bad)
	}
	if _, ok := s.Import(rack().YAML(), "rack.yaml"); !ok || len(s.Draft.Machines) != 1 {
		t.Fatalf("a deploy.yaml: %t, %v", ok, s.Draft.Machines)
	}
	if what, ok := s.Undo(p); !ok || !strings.Contains(what, "m1") || len(s.Draft.Machines) > 0 {
		t.Errorf("undone: %t, %q, %v", ok, what, s.Draft.Machines)
	}
	if _, ok := s.Redo(p); !ok || s.Draft.Value("cluster-id") != "rack" {
		t.Error("it is not there again")
	}
}

// A session of machines that join has no step for keys of the cluster, with which machines may be in conflict.
func TestFirstWrong_IsAStepOfMachinesThatJoin(t *testing.T) {
	for _, line := range []string{"w1 192.0.2.2 worker arm64", "w1 10.244.0.7 worker"} {
		s := New()
		s.Join(rack(), "/rack.yaml")
		s.AddMachines(s.ReadMachines(line).Entries)
		s.Check()
		if to, some := s.FirstWrong(); !s.Problems.HasErrors() || !some || s.Index(to) < 0 {
			t.Errorf("%s: %q, %v", line, to, s.Problems)
		}
	}
}

func TestProblemsOf_EachHasOneStep(t *testing.T) {
	s := New()
	s.Draft = rack()
	s.Draft.Machines = append(s.Draft.Machines, config.Machine{Name: "w", IP: "192.0.2.300"})
	s.Draft.Set("service.cidr", "10.0.0.0/40")
	s.Draft.Set("package-src.x86src", "")
	s.Check()
	n := 0
	for _, step := range s.Steps {
		n += len(s.ProblemsOf(step))
	}
	if n != len(s.Problems) || n < 3 {
		t.Errorf("%d of %d problems are in a step: %v", n, len(s.Problems), s.Problems)
	}
	for _, step := range []Step{MachinesStep, NetworksStep, BundleStep} {
		if !s.ProblemsOf(step).HasErrors() {
			t.Errorf("no error in %s: %v", step, s.Problems)
		}
	}
	if first, some := s.FirstWrong(); !some || first != MachinesStep {
		t.Errorf("the first is %q", first)
	}
}

// What is wrong with the file of the private key belongs to the key as long as it is the same.
func TestSession_ReportsTheFileOfTheKey(t *testing.T) {
	s := New()
	if _, check := s.KeyToCheck(); check {
		t.Error("there is no key to check")
	}
	s.Draft.Set(keyPath, "/no/key")
	file, check := s.KeyToCheck()
	if !check || !s.KeyChecked(file, event.NewFault(event.ClassUsage, "ssh.key-missing", nil, "file", file)) {
		t.Fatal("the key is not checked")
	}
	has := func() bool {
		s.Check()
		return slices.ContainsFunc(s.ProblemsOf(LoginStep), func(x config.Problem) bool {
			return x.Code == "ssh.key-missing"
		})
	}
	if _, again := s.KeyToCheck(); again || !has() {
		t.Error("it is checked again, or what was found is lost")
	}
	if s.Draft.Set(keyPath, "/other"); has() || s.KeyChecked("/no/key", nil) {
		t.Error("another key has the problem, too")
	}
}

// Texts that name keys of the screen have others for lines and the page.
func TestWords_NameNoKeysOfTheScreen(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	for _, code := range []string{"config.no-masters", "config.no-workers"} {
		f := event.NewFault(event.ClassUsage, code, nil)
		screen, _ := Words(p, "", f)
		plain, _ := Words(p, "plain", f)
		if !strings.Contains(screen, "press ") || strings.Contains(plain, "press ") {
			t.Errorf("%q, %q", screen, plain)
		}
	}
	f := event.NewFault(event.ClassUsage, "config.host-twice", nil, "value", "192.0.2.1")
	screen, _ := Words(p, "", f)
	if plain, _ := Words(p, "plain", f); plain != screen {
		t.Errorf("%q, want %q", plain, screen)
	}
}
