package wizard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// helps are words of what helps at each step.
func helps() map[string][]string {
	return map[string][]string{
		"cluster": {"What you need", "What is stored on this host"},
		"login":   {"How machines are accessed", "the private key entered"},
		"nodes": {"Roles", "runs the workloads", "Fault tolerance", "none can fail",
			"Debian GNU/Linux 12 (bookworm)"},
		"networks": {"Address ranges", "enough for 256 nodes", "Overlap  ", "Ports between the machines", "8472/udp"},
		"runtime":  {"Container runtimes", "• containerd", "cri-dockerd", "independent"},
		"bundle":   {"Contents of eggo-debian-bookworm-amd64.tar.gz", "CoreDNS", "v1.12.1", "3 (27.0 MiB)"},
		"preflight": {"What is checked", "swap", "What was found", "Debian GNU/Linux 12 (bookworm) amd64 (3)",
			"same as on this host"},
	}
}

// Where there is room, what helps stands beside the step or below it; where there is none, the help has it.
func TestWhatHelpsStandsBesideTheStep(t *testing.T) {
	want := helps()
	for _, size := range [][2]int{{100, 40}, {120, 40}, {200, 60}} {
		a, p, _ := open(t, i18n.English, false, size[0], size[1])
		for {
			id := string(p.steps[p.g.At].id())
			if id == "nodes" {
				uitest.Type(t, a, "192.168.0.[15-17]")
				uitest.Keys(t, a, "enter", "enter")
			}
			uitest.Fills(t, a, size[0], size[1])
			uitest.Has(t, a, want[id]...)
			if id == "review" {
				break
			}
			uitest.Keys(t, a, "ctrl+n")
		}
	}
	a, p, _ := open(t, i18n.English, false, 80, 24)
	for p.steps[p.g.At].id() != "preflight" {
		id := string(p.steps[p.g.At].id())
		if id == "nodes" {
			uitest.Type(t, a, "192.168.0.[15-17]")
			uitest.Keys(t, a, "enter", "enter")
		}
		uitest.Fills(t, a, 80, 24)
		if words := want[id]; len(words) > 0 {
			uitest.Lacks(t, a, words[0])
			uitest.Keys(t, a, "f1")
			seen := uitest.Screen(a)
			for range 40 {
				uitest.Keys(t, a, "down")
				seen += uitest.Screen(a)
			}
			if !strings.Contains(seen, words[0]) {
				t.Errorf("%s: the help lacks %q:\n%s", id, words[0], uitest.Screen(a))
			}
			uitest.Keys(t, a, "esc")
		}
		uitest.Keys(t, a, "ctrl+n")
	}
}

// A form moves together where what helps would not fit below it.
func TestAFormMakesRoomForWhatHelps(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 120, 33)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.0.[15-17]")
	uitest.Keys(t, a, "enter", "enter", "home", "l", "ctrl+n")
	uitest.Has(t, a, "Load balancer port", "Extra SANs (IP)", "Address ranges", "Ports between the machines")
}

// How many machines may fail follows from how many there are, and from what is in front of them.
func TestFaultTolerance(t *testing.T) {
	a, _, _ := open(t, i18n.English, false, 120, 50)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.0.[15-20]")
	uitest.Keys(t, a, "enter", "enter", "home", "down", "m", "down", "m")
	uitest.Has(t, a, "3 in total; 2 can fail", "3 in total; 1 can fail", "is the first control plane alone")
	uitest.Keys(t, a, "end", "l")
	uitest.Lacks(t, a, "is the first control plane alone")
}

// A click on what helps is none on the table.
func TestAClickBesideTheStep(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 200, 60)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.0.[15-17]")
	uitest.Keys(t, a, "enter", "enter", "home")
	y := 0
	for i, l := range strings.Split(uitest.Screen(a), "\n") {
		if strings.Contains(l, "192.168.0.17") {
			y = i
		}
	}
	click := func(x int) int {
		uitest.Drive(t, a, tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
		return machinesOf(p).at
	}
	if at := click(180); at != 0 {
		t.Errorf("a click beside the table goes to machine %d", at)
	}
	if at := click(60); at == 0 {
		t.Error("a click on the table goes nowhere")
	}
}

// Beside the machines that cannot be logged in to stands why, of most of them; the advice is about this screen.
func TestWhyLoginsFail(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 160, 44)
	w.codes = map[string]string{"10.0.0.1": "ssh.auth", "10.0.0.2": "ssh.no-credentials",
		"10.0.0.3": "ssh.no-credentials", "10.0.0.4": "ssh.hostkey-unknown"}
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.0.[1-4]")
	uitest.Keys(t, a, "enter", "ctrl+p")
	uitest.Has(t, a, "login failed", "node-1, node-2, node-3", "No key was found in ~/.ssh", "key refused")
	uitest.Lacks(t, a, "SSH authentication failed")
	uitest.Keys(t, a, "ctrl+n", "up", "end")
	if got := p.g.Draft.Machines[machinesOf(p).now()].IP; got != "10.0.0.4" {
		t.Fatalf("%s is chosen", got)
	}
	uitest.Has(t, a, "You refused this key. Press r to be asked again.")
	uitest.Lacks(t, a, "known_hosts", "--host-keys")
}
