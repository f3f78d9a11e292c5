package wizard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// What is wrong with a machine takes the rows that the table leaves; what has no room there is marked as cut.
func TestWhatIsWrongTakesTheRowsThatAreFree(t *testing.T) {
	for machines, whole := range map[int]bool{3: true, 30: false} {
		a, p, _ := open(t, i18n.English, false, 80, 24)
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Type(t, a, fmt.Sprintf("10.1.0.[20-%d]", 19+machines))
		uitest.Keys(t, a, "enter", "enter", "g")
		var list []event.Finding
		for _, code := range []string{"preflight.other-cluster", "preflight.address"} {
			list = append(list, event.Finding{Severity: event.Error, Fault: *event.NewFault(event.ClassPreflight, code,
				nil, "cluster", "old", "ip", "10.1.0.20", "has", "192.0.2.1, 192.0.2.2").On("node-1")})
		}
		m := p.g.Draft.Machines[0]
		uitest.Drive(t, a, draft.Probe{Machine: m, Stage: draft.Seen, Findings: list})
		screen := uitest.Screen(a)
		if got := strings.Contains(screen, "(NAT) are not supported."); got != whole {
			t.Errorf("%d machines: the end of what is said is seen: %v, want %v\n%s", machines, got, whole, screen)
		}
		cut := false
		for _, l := range strings.Split(screen, "\n") {
			cut = cut || strings.HasSuffix(strings.TrimRight(l, " │"), " …")
		}
		if cut == whole {
			t.Errorf("%d machines: the last line ends with an ellipsis: %v\n%s", machines, cut, screen)
		}
	}
}

// PgUp and PgDn scroll the machines while a line is typed, and never leave the step: what is typed next would stand in
// a field of another one.
func TestAPageOfMachinesIsNoStep(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 80, 24)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	at := p.g.At
	uitest.Keys(t, a, "pgdown", "pgup")
	uitest.Type(t, a, "10.1.0.[20-79]")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "10.1.0.79")
	uitest.Lacks(t, a, "10.1.0.69")
	uitest.Keys(t, a, "pgup")
	uitest.Has(t, a, "10.1.0.69")
	uitest.Keys(t, a, "pgup", "pgup", "pgup", "pgup", "pgup", "pgup")
	uitest.Has(t, a, "10.1.0.20", "50 more below")
	uitest.Type(t, a, "fn")
	uitest.Keys(t, a, "pgdown", "ctrl+v", "pgdown", "pgup", "esc", "/", "pgdown", "pgup")
	if p.g.At != at || machinesOf(p).line.Value() != "fn" {
		t.Errorf("step %d, want %d; the line has %q", p.g.At, at, machinesOf(p).line.Value())
	}
	uitest.Keys(t, a, "esc", "a", "?")
	uitest.Has(t, a, "PgUp PgDn  page")
}

// What a paste does and what Ctrl+V opens are told apart.
func TestAPasteIsNoEditor(t *testing.T) {
	for lang, words := range map[i18n.Lang][2]string{
		i18n.English: {"Paste                       a list, one machine per line", "write a list in an editor"},
		i18n.Chinese: {"粘贴                        整个列表，每行一台机器", "在编辑框中编写列表"}} {
		a, _, _ := open(t, lang, false, 80, 24)
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Has(t, a, words[0], words[1])
	}
}
