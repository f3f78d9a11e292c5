package wizard

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// line is the line of the screen that has all the words; "" if none has.
func line(screen string, words ...string) string {
next:
	for l := range strings.Lines(screen) {
		for _, w := range words {
			if !strings.Contains(l, w) {
				continue next
			}
		}
		return strings.TrimRight(l, "\n")
	}
	return ""
}

// A machine that was reached and of which preflight would say an error is none that is ready: in its row, in the count,
// and in the step.
func TestMachinesWithErrorsAreNotReady(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[14-16]")
	uitest.Keys(t, a, "enter", "enter")
	uitest.Has(t, a, "2 ready", "1 with errors")
	if l := line(uitest.Screen(a), "10.0.0.14"); !strings.Contains(l, "✘ 1 error") {
		t.Errorf("the row is %q", l)
	}
	uitest.Keys(t, a, "ctrl+n")
	if l := line(uitest.Screen(a), "Nodes "); !strings.Contains(l, "✘ Nodes") || !strings.Contains(l, "1 error") ||
		strings.Contains(l, "ok") {
		t.Errorf("the step is %q", l)
	}
	uitest.Keys(t, a, "ctrl+p")
	if l := line(uitest.Screen(a), "▌", "Nodes "); !strings.Contains(l, "✘ Nodes") ||
		!strings.Contains(l, "1 error") {
		t.Errorf("where one is, the step is %q", l)
	}
}

// Machines are counted by what is the matter with them, in the words of their rows.
func TestMachinesAreCountedByWhatTheyAre(t *testing.T) {
	for lang, words := range map[i18n.Lang][]string{i18n.English: {"1 unreachable", "2 login failed", "1 no sudo"},
		i18n.Chinese: {"1 无法访问", "2 登录失败", "1 sudo 不可用"}} {
		a, p, w := open(t, lang, false, 80, 24)
		w.codes = map[string]string{"10.0.0.2": "ssh.auth", "10.0.0.3": "ssh.auth", "10.0.0.4": "ssh.sudo-password"}
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Type(t, a, "10.0.0.[2-5]")
		uitest.Keys(t, a, "enter")
		uitest.Type(t, a, "10.0.0.12")
		uitest.Keys(t, a, "enter", "enter")
		uitest.Has(t, a, words...)
		if s := p.g.Standing(guide.MachinesStep); s.Errors != 4 {
			t.Errorf("%+v", s)
		}
	}
}

// A machine whose settings are wrong is not ready, whatever it says of itself.
func TestAMachineThatIsWrongIsNotReady(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "a 10.0.0.15")
	uitest.Keys(t, a, "enter")
	uitest.Type(t, a, "a 10.0.0.16")
	uitest.Keys(t, a, "enter", "enter")
	uitest.Lacks(t, a, "2 ready")
	uitest.Has(t, a, "with errors")
}

// A step is done when what it found out is: machines that are not reached, or whose keys nobody has seen, are not.
func TestAStepIsNotDoneBeforeItsMachinesAre(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[11-12]")
	uitest.Keys(t, a, "enter", "ctrl+n")
	if l := line(uitest.Screen(a), "Nodes "); !strings.Contains(l, "✘ Nodes") || !strings.Contains(l, "1 error") {
		t.Errorf("one is not reached: %q", l)
	}
	uitest.Keys(t, a, "ctrl+p", "*", "d")
	w.strangers = true
	uitest.Type(t, a, "10.0.0.20")
	uitest.Keys(t, a, "enter", "ctrl+n", "enter")
	if l := line(uitest.Screen(a), "Nodes "); strings.Contains(l, "ok") || !strings.Contains(l, "!") {
		t.Errorf("one is not known: %q", l)
	}
	a, _, _ = open(t, i18n.English, false, 80, 24)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[12-14]")
	uitest.Keys(t, a, "enter", "ctrl+n", "enter")
	uitest.Has(t, a, "✘ Nodes 2")
}

// After a preflight that failed, what Enter does is to fix it; an install is not offered.
func TestInstallIsNotOfferedAfterAFailedPreflight(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.0.[10-11]")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "Checks every machine", "✘ 1 ")
	if l := line(uitest.Screen(a), "✘ Preflight"); !strings.Contains(l, "✘ Preflight") ||
		!strings.Contains(l, "1 error") {
		t.Errorf("the step is %q", l)
	}
	uitest.Keys(t, a, "ctrl+n")
	uitest.Has(t, a, "file to write", "✘ Preflight found 1 error")
	uitest.Lacks(t, a, "write and install")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Checks every machine")
	uitest.Keys(t, a, "ctrl+n", "enter", "y", "enter", "y")
	if len(w.ran) > 0 {
		t.Error("it is installed")
	}
	if p.steps[p.g.At].id() == "review" {
		t.Errorf("it stays where nothing is fixed")
	}
}

// A preflight with warnings only, or none for the draft as it is now, is confirmed by more than Enter.
func TestInstallWithWarningsIsConfirmed(t *testing.T) {
	a, _, w := open(t, i18n.English, false, 140, 40)
	threeNodes(t, a)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "1 warning")
	uitest.Keys(t, a, "ctrl+n", "enter")
	uitest.Has(t, a, "Install k8s-cluster now?", "1 warning")
	uitest.Keys(t, a, "enter")
	if len(w.ran) > 0 {
		t.Fatal("Enter installs over warnings")
	}
	w.slow = true
	uitest.Keys(t, a, "ctrl+p", "r", "ctrl+n", "enter")
	uitest.Has(t, a, "Install k8s-cluster now?", "Preflight has not passed")
	uitest.Keys(t, a, "enter")
	if len(w.ran) > 0 {
		t.Fatal("Enter installs without a preflight")
	}
	uitest.Keys(t, a, "enter", "y")
	if len(w.ran) != 1 {
		t.Error("it cannot be installed at all")
	}
}
