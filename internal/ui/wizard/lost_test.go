package wizard

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
)

// Two machines behind one address are both there, and what is the matter with them is told at the second; what was said
// of a machine that is there already is not dropped, and what says nothing new is said.
func TestTheSameAddressIsNotDropped(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	for _, line := range []string{"gate-1 10.0.0.5:2201", "gate-2 10.0.0.5:2202 worker"} {
		uitest.Type(t, a, line)
		uitest.Keys(t, a, "enter")
	}
	uitest.Has(t, a, "10.0.0.5:2201", "10.0.0.5:2202", "gate-1 also has the address 10.0.0.5")
	if n := len(p.g.Draft.Machines); n != 2 {
		t.Fatalf("%d machines", n)
	}
	uitest.Type(t, a, "10.0.0.6")
	uitest.Keys(t, a, "enter")
	uitest.Type(t, a, "db 10.0.0.6 etcd arm64")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "1 machine changed")
	if m := p.g.Draft.Machines[2]; m.Name != "db" || m.Arch != "arm64" || !m.Has(bundle.Etcd) ||
		len(p.g.Draft.Machines) != 3 {
		t.Errorf("what was said was dropped: %+v", m)
	}
	uitest.Type(t, a, "10.0.0.6")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "already in the list, unchanged: 10.0.0.6")
}

// A word that nobody knows is the name where a name stands, and else nothing: the line stays, and what is the matter
// says which part of it.
func TestAWordThatIsNothing(t *testing.T) {
	for _, x := range []struct{ line, want string }{
		{"10.0.0.1 wroker", "“wroker” is not a role or architecture; did you mean worker?"},
		{"matser 10.0.0.1", "did you mean master?"},
		{"10.0.0.1 worker database", "“database” is not a role, architecture or port"},
		{"web 10.0.0.1 db", "“db” is not a role, architecture or port, and the name is already web"},
		{"10.0.0.1 amd46", "did you mean amd64?"},
		{"10.0.0.300", "“10.0.0.300” is not a valid IP address: 300 is greater than 255"},
		{"10.0.0.1/24", "“10.0.0.1/24” is a network, not a machine's address"},
		{"web 10.0.0.[3-1]", "The range 3-1 is reversed"},
		{"10.0.0.1 10.0.0.2 worker", "“10.0.0.2” is a second address"},
		{"10.0.0.1 22 2222", "“2222” is not a role, architecture or port"},
		{"10.0.0.1 color=red", "Unknown key “color” in “color=red”"},
		{"half", "Cannot resolve half: no such host"},
	} {
		a, p, _ := open(t, i18n.English, false, 140, 40)
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Type(t, a, x.line)
		uitest.Keys(t, a, "enter")
		uitest.Has(t, a, x.want, x.line)
		if len(p.g.Draft.Machines) > 0 {
			t.Errorf("%q made %v", x.line, p.g.Draft.Machines)
		}
	}
	for line, want := range map[string]string{
		"web-1 10.0.0.1 worker": "web-1", "10.0.0.1 name=wroker": "wroker", "worker1 10.0.0.1": "worker1",
		"master-02 10.0.0.1 lb":     "master-02",
		"10.0.0.1 web\n10.0.0.2 db": "web db", "ip,name,role\n10.0.0.1,web,worker": "web",
	} {
		list := machines.Read(line)
		var names []string
		for _, m := range list.Entries {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != want || len(list.Rejected) > 0 {
			t.Errorf("%q: %q, want %q: %v", line, got, want, list.Rejected)
		}
	}
	if l := machines.Read("10.0.0.1 edge\n10.0.0.2 edge\n"); len(l.Entries) > 0 || len(l.Rejected) != 2 {
		t.Errorf("a word that several lines share is no name: %v", l)
	}
}

// burst gives keys as a terminal does that has them all at once: what the commands of a key say comes after the keys
// that follow it.
func burst(t *testing.T, a *ui.App, keys ...string) {
	t.Helper()
	var all []tea.Cmd
	for _, k := range keys {
		_, c := a.Update(uitest.Press(k))
		all = append(all, c)
	}
	for _, c := range all {
		uitest.Run(t, a, c)
	}
}

func letters(text string) []string { return strings.Split(text, "") }

// Letters that are typed right after a key go where the key leads, not to other keys.
func TestLettersRightAfterAKey(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 120, 40)
	threeNodes(t, a)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "The bundle contains everything")
	before := p.g.Draft.Clone()
	burst(t, a, append([]string{"a"}, letters("/usr/jar")...)...)
	uitest.Has(t, a, "/usr/jar")
	if !before.Equal(p.g.Draft) {
		t.Error("the letters were taken for keys")
	}
	uitest.Keys(t, a, "esc", "ctrl+p", "ctrl+n", "a")
	uitest.Has(t, a, "/usr/jar")

	a, _, w := open(t, i18n.English, false, 120, 40)
	w.files["duet.yaml"] = "cluster-id: duet\nmasters: [{name: a, ip: 192.0.2.1}]\n"
	threeNodes(t, a)
	uitest.Keys(t, a, "esc")
	burst(t, a, append(append([]string{"i"}, letters("duet.yaml")...), "enter")...)
	uitest.Has(t, a, "1 machine read from duet.yaml")
}

// A terminal that dies in the middle of a line takes nothing along: what stands in the fields is offered again with the
// draft.
func TestWhatStandsInAFieldOutlivesTheTerminal(t *testing.T) {
	for field, into := range map[string][]string{"machine": {"ctrl+n", "ctrl+n"},
		"machines": {"ctrl+n", "ctrl+n", "ctrl+v"}, "bundle": {"ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "a"}} {
		a, _, w := open(t, i18n.English, false, 120, 40)
		uitest.Keys(t, a, into...)
		uitest.Type(t, a, "/half of it")
		if !w.has || w.saved.Typed[field] != "/half of it" {
			t.Errorf("%s: %+v", field, w.saved)
			continue
		}
		b := ui.New(New(context.Background(), w.services()), ui.Options{Lang: i18n.English})
		uitest.Drive(t, b, tea.WindowSizeMsg{Width: 100, Height: 32})
		uitest.Run(t, b, b.Init())
		uitest.Has(t, b, "Unfinished draft")
		uitest.Keys(t, b, "c")
		uitest.Has(t, b, "/half of it")
	}
}

// A password in a line of an inventory is kept where passwords are to be kept, and nowhere else.
func TestADraftKeepsNoPasswordOfALine(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for field, into := range map[string][]string{"machine": nil, "machines": {"ctrl+v"}} {
			a, p, w := open(t, i18n.English, false, 120, 40)
			p.g.Draft.KeepSecrets = keep
			uitest.Keys(t, a, append([]string{"ctrl+n", "ctrl+n"}, into...)...)
			uitest.Drive(t, a, tea.PasteMsg{Content: "web 10.0.0.1 ansible_password=geheim ansible_port=22"})
			want := "web 10.0.0.1 ansible_password= ansible_port=22"
			if keep {
				want = "web 10.0.0.1 ansible_password=geheim ansible_port=22"
			}
			if w.saved.Typed[field] != want {
				t.Errorf("%s, passwords kept %v: %q", field, keep, w.saved.Typed)
			}
			uitest.Has(t, a, "ansible_password=geheim")
		}
	}
}

// What was typed in the last moment is kept when the page is closed, as it is when the terminal is gone; what became a
// file is not.
func TestTheLastMomentIsKept(t *testing.T) {
	wo := &world{files: map[string]string{}}
	svc := wo.services()
	svc.After = func(time.Duration, tea.Msg) tea.Cmd { return nil } // the clock stands still
	p := New(context.Background(), svc)
	a := ui.New(p, ui.Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 32})
	uitest.Run(t, a, a.Init())
	p.Close()
	if wo.has {
		t.Error("nothing was typed, and something is kept")
	}
	uitest.Type(t, a, "prod")
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.")
	p.Close()
	if wo.saved.Draft.Get("cluster-id") != "prod" || wo.saved.Typed["machine"] != "10.0.0." {
		t.Errorf("%+v", wo.saved)
	}
}

// Several paths that are pasted among the bundles are all looked at.
func TestSeveralPathsArePasted(t *testing.T) {
	var got []string
	wo := &world{files: map[string]string{}}
	svc := wo.services()
	svc.DraftServices.(*uitest.Draft).OnBundles = func(_ context.Context, paths []string, _ func(draft.Bundle)) {
		got = append(got, paths...)
	}
	a := ui.New(New(context.Background(), svc), ui.Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 100, Height: 32})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Drive(t, a, tea.PasteMsg{Content: "/srv/a.tar.gz\r/srv/b.tar.gz\r\n /srv/c.tar.gz\n"})
	if !slices.Equal(got, []string{"/srv/a.tar.gz", "/srv/b.tar.gz", "/srv/c.tar.gz"}) {
		t.Errorf("%q", got)
	}
}
