package wizard

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
)

// An address that was typed and not yet added is added by going on; what is no machine stays where it was typed, over
// every step.
func TestAHalfTypedMachineIsNotLost(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 100, 32)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.1")
	uitest.Keys(t, a, "ctrl+n")
	if len(p.g.Draft.Machines) != 1 || p.g.Draft.Machines[0].IP != "10.0.0.1" {
		t.Fatalf("%v", p.g.Draft.Machines)
	}
	uitest.Keys(t, a, "ctrl+p")
	uitest.Has(t, a, "node-1", "10.0.0.1", "ready")
	uitest.Keys(t, a, "a")
	uitest.Type(t, a, "10.0.0.[2-")
	uitest.Keys(t, a, "ctrl+p", "ctrl+n")
	uitest.Has(t, a, "10.0.0.[2-")
	uitest.Keys(t, a, "esc", "a")
	uitest.Type(t, a, "4]")
	uitest.Keys(t, a, "enter")
	if len(p.g.Draft.Machines) != 4 {
		t.Fatalf("%v", p.g.Draft.Machines)
	}
	uitest.Keys(t, a, "ctrl+v")
	uitest.Drive(t, a, tea.PasteMsg{Content: "db-1 10.0.0.9 etcd\nwhat is this\n"})
	uitest.Keys(t, a, "ctrl+n", "ctrl+p")
	uitest.Has(t, a, "db-1 10.0.0.9 etcd", "what is this")
	uitest.Keys(t, a, "ctrl+s")
	uitest.Has(t, a, "cannot parse 1 line")
	uitest.Keys(t, a, "esc", "p")
	uitest.Has(t, a, "what is this")
}

// What is typed is kept at once: a terminal that dies between two steps takes nothing along. A wizard that was only
// looked at is no draft.
func TestADraftIsKeptAsItIsTyped(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 100, 32)
	if w.has {
		t.Error("nothing was typed, and something was kept")
	}
	uitest.Type(t, a, "prod")
	if !w.has || w.saved.Draft.Get("cluster-id") != "prod" {
		t.Errorf("%v %+v", w.has, w.saved)
	}
}

// Where letters are typed the help has the keys that do something, and ? opens it in a field that has no use for one; a
// path may have it.
func TestKeysWhereLettersAreTyped(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 120, 40)
	uitest.Type(t, a, "prod?")
	uitest.Has(t, a, "Keys", "next field", "Ctrl+X  中文", "Ctrl+T  toggle mouse capture", "Ctrl+_  undo",
		"Ctrl+Z  suspend to the shell",
		"Ctrl+L  redraw", "previous word, next word")
	uitest.Lacks(t, a, "  u  undo", "  M  toggle", "F1")
	uitest.Keys(t, a, "esc")
	if got := p.g.Draft.Get("cluster-id"); got != "prod" {
		t.Error(got)
	}
	uitest.Keys(t, a, "ctrl+x")
	uitest.Has(t, a, "灰色的内容是默认值")
	uitest.Keys(t, a, "f2")
	uitest.Has(t, a, "Grey values are defaults")
	uitest.Keys(t, a, "ctrl+n", "down")
	uitest.Type(t, a, "/root/k?")
	uitest.Has(t, a, "/root/k?", "Ctrl+G help")
	uitest.Keys(t, a, "ctrl+g")
	uitest.Has(t, a, "any key closes this")
}

// A private key's file that cannot be read is told where it is typed, and the step is not done.
func TestAKeyFileIsLookedAt(t *testing.T) {
	wo := &world{files: map[string]string{}}
	svc := wo.services()
	svc.DraftServices.(*uitest.Draft).OnKeyFile = func(path string) *event.Fault {
		if path == "/root/good" {
			return nil
		}
		return event.NewFault(event.ClassAuth, "ssh.key-file", context.Canceled, "file", path)
	}
	p := New(t.Context(), svc)
	a := ui.New(p, ui.Options{Lang: i18n.English})
	uitest.Drive(t, a, tea.WindowSizeMsg{Width: 120, Height: 40})
	uitest.Run(t, a, a.Init())
	uitest.Keys(t, a, "ctrl+n", "down")
	uitest.Type(t, a, "/root/ba")
	uitest.Has(t, a, "✘ The SSH key /root/ba cannot be used", "Specify the path of a private key")
	uitest.Keys(t, a, "ctrl+n")
	uitest.Has(t, a, "✘ SSH access")
	uitest.Keys(t, a, "ctrl+p", "ctrl+u")
	uitest.Lacks(t, a, "cannot be used")
	uitest.Type(t, a, "/root/good")
	uitest.Lacks(t, a, "cannot be used")
}

// Keys of machines that were never met are not passed by: who goes on has them before him, once.
func TestNobodyPassesByTheKeysOfNewMachines(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 80, 24)
	w.strangers = true
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[1-2]")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "2 unknown host keys: Ctrl+F to review fingerprints", "2 unknown host key", "Ctrl+F host keys")
	uitest.Lacks(t, a, "2 checking")
	uitest.Keys(t, a, "ctrl+n")
	uitest.Has(t, a, "2 unknown host keys", "▸ Networking")
	uitest.Keys(t, a, "enter", "ctrl+p", "ctrl+n")
	uitest.Lacks(t, a, "2 unknown host keys")
	uitest.Keys(t, a, "ctrl+p", "a", "ctrl+f")
	uitest.Has(t, a, "0 of 2 trusted")
	uitest.Keys(t, a, "y")
	if w.keys != 2 {
		t.Errorf("%d keys", w.keys)
	}
}

// A draft that needs a password and has none says where to type it; a source that is wrong says which.
func TestAPasswordThatIsMissingIsNamed(t *testing.T) {
	e := &frame.Env{P: i18n.NewPrinter(i18n.English)}
	text, next := faultWords(e, event.NewFault(event.ClassUsage, "usage.secret",
		errors.New("there is no terminal to ask at"), "what", "prompt"))
	if !strings.Contains(text, "is missing") || !strings.Contains(next, "in the step SSH access") {
		t.Error(text, next)
	}
	text, next = faultWords(e, event.NewFault(event.ClassUsage, "usage.secret", errors.New("PW is not set"), "what",
		"env:PW"))
	if !strings.Contains(text, "env:PW: PW is not set") || strings.Contains(next, "step SSH access") {
		t.Error(text, next)
	}
}

// How far a look came is told in its word: a login that is refused is no machine that cannot be reached.
func TestALookSaysHowFarItCame(t *testing.T) {
	for code, want := range map[string]string{"ssh.auth": "wizard.look.refused",
		"ssh.hostkey-changed": "wizard.look.key-refused", "ssh.sudo-password": "wizard.look.no-sudo",
		"usage.secret": "wizard.look.password", "ssh.key-missing": "wizard.look.no-key"} {
		if got := draft.FailedWord(event.NewFault(event.ClassAuth, code, nil)); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
	if got := draft.FailedWord(event.NewFault(event.ClassFailed, "ssh.unreachable", nil)); got != "wizard.look.failed" {
		t.Error(got)
	}
}

// The table shows where etcd will run: where no machine is left for it, on the control planes. What is wrong with a
// machine is told once, errors first.
func TestTheTableShowsWhatTheFileMeans(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 80, 24)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "127.0.0.[2-3]")
	uitest.Keys(t, a, "enter", "enter", "g", "w", "e")
	uitest.Has(t, a, "etcd runs on the control planes", "E 1 etcd")
	if !p.g.Draft.Machines[0].Has(bundle.Etcd) {
		t.Error(p.g.Draft.Machines)
	}
	uitest.Keys(t, a, "l")
	if n := strings.Count(uitest.Screen(a), "127.0.0.2 is an address that other machines cannot reach"); n != 1 {
		t.Errorf("%d times:\n%s", n, uitest.Screen(a))
	}
	uitest.Has(t, a, "node-1: Debian 12  amd64  4 CPUs  8.0 GiB  52 GiB free")
}

// Steps are told as done when they are: preflight has passed for the draft as it is.
func TestPreflightIsDoneWhenItHasPassed(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 120, 40)
	threeNodes(t, a)
	w.slow = true
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "file to write", "▸ Preflight")
	w.slow = false
	uitest.Keys(t, a, "ctrl+p", "r", "ctrl+n")
	uitest.Has(t, a, "file to write", "✔ Preflight")
}

// TestAListThatHasJustBegunIsNoError: the step of the machines shows no error before somebody has left it without any.
func TestAListThatHasJustBegunIsNoError(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 120, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "No machines yet")
	uitest.Lacks(t, a, "1 error")
	uitest.Keys(t, a, "ctrl+p")
	uitest.Has(t, a, "1 error")
}

// TestASearchForBundlesIsNoError: while bundles are searched nobody knows that one is missing.
func TestASearchForBundlesIsNoError(t *testing.T) {
	_, p, _ := open(t, i18n.English, false, 120, 40)
	p.g.Bundles, p.g.LookingForBundles = nil, true
	if at := p.g.Standing(guide.BundleStep); at.Errors != 0 || !at.Busy {
		t.Errorf("while it searches: %+v", at)
	}
}
