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

// named returns the names of machines that pass a filter.
func named(s *Session, filter string) string {
	var out []string
	for _, m := range s.Draft.Machines {
		if s.Matches(m, filter) {
			out = append(out, m.Name)
		}
	}
	return strings.Join(out, " ")
}

func TestSession_EtcdStaysOnSomeMachine(t *testing.T) {
	s := New()
	s.AddMachines(s.ReadMachines("m1 192.0.2.1 master\ne1 192.0.2.2 etcd\nw1 192.0.2.3 worker").Entries)
	if s.ToggleRole([]int{0}, bundle.Etcd) {
		t.Error("the control plane got etcd, though another machine has it")
	}
	if !s.RemoveMachines([]int{1}) || !s.Draft.Machines[0].Has(bundle.Etcd) || named(s, "") != "m1 w1" {
		t.Errorf("%+v", s.Draft.Machines)
	}
	if _, ok := s.Undo(i18n.NewPrinter(i18n.English)); !ok || named(s, "") != "m1 e1 w1" {
		t.Errorf("it is not one change: %s", named(s, ""))
	}
}

// Of several machines all get a role that not all of them have. Members of a running cluster stay as they are.
func TestToggleRole_OfSeveral(t *testing.T) {
	s := New()
	s.Join(rack(), "/rack.yaml")
	s.AddMachines(s.ReadMachines("w1 192.0.2.2 worker\nw2 192.0.2.3 master").Entries)
	roles := func() string {
		var out []string
		for _, m := range s.Draft.Machines {
			out = append(out, map[bool]string{true: "w", false: "-"}[m.Has(bundle.Worker)])
		}
		return strings.Join(out, "")
	}
	for _, want := range []string{"-ww", "---"} {
		if s.ToggleRole([]int{1, 2}, bundle.Worker); roles() != want {
			t.Errorf("workers: %s, want %s", roles(), want)
		}
	}
	if s.ToggleRole([]int{0}, bundle.Worker); roles() != "---" {
		t.Error("a member was changed")
	}
	if s.RemoveNamed([]string{"m1", "w2"}); named(s, "") != "m1 w1" {
		t.Errorf("left: %s", named(s, ""))
	}
}

func TestEditMachine_ChangesAllOrNothing(t *testing.T) {
	s := New()
	s.AddMachines(s.ReadMachines("m1 ops@192.0.2.1\nw1 root@192.0.2.2").Entries)
	s.Draft.Set("eggo.machines", "w1: {user: root}")
	before := s.Draft.Clone()
	bad, ok := s.EditMachine(1, []string{"port=22", "ip=192.0.2.300"})
	if ok || bad.Code == "" || !s.Draft.Equal(before) {
		t.Errorf("%t, %+v, %+v", ok, bad, s.Draft.Machines)
	}
	words := []string{"worker,", "lb", "name=lb-1", "port=22", "arch=arm64"}
	if _, ok := s.EditMachine(1, words); !ok || !Edits(words) || Edits([]string{"192.0.2.9"}) {
		t.Fatal("it is no change")
	}
	m := s.Draft.Machines[1]
	if m.Name != "lb-1" || m.Port != "" || m.Arch != "arm64" || len(m.Roles) != 2 || !m.Has(bundle.LoadBalancer) ||
		!strings.HasPrefix(s.Draft.Value("eggo.machines"), "lb-1:") {
		t.Errorf("%+v, %s", m, s.Draft.Value("eggo.machines"))
	}
	if s.FindMachine("192.0.2.2") != 1 || s.FindMachine("lb-1") != 1 || s.FindMachine("w1") != -1 {
		t.Error("it is not found by its name and address")
	}
}

// A probe counts as long as the login is the same; what is found on the machines is counted once each.
func TestSession_Probes(t *testing.T) {
	s, p := New(), i18n.NewPrinter(i18n.English)
	s.AddMachines(s.ReadMachines("m1 192.0.2.1\nw1 192.0.2.2\nw2 192.0.2.3\nw3 192.0.2.4").Entries)
	s.Draft.Machines = append(s.Draft.Machines, config.Machine{Name: "x", IP: "192.0.2.300"})
	list, login := s.Unprobed(false)
	if len(list) != 4 || !login || s.Probing() != 4 || len(s.Connecting()) != 4 {
		t.Errorf("%v, %t, %d under way", list, login, s.Probing())
	}
	for i, l := range []draft.Probe{{Stage: draft.Seen, OS: "Debian GNU/Linux 13 (trixie)", Arch: "arm64", CPUs: 4,
		Memory: 8 << 30, Disk: 12 << 30, Skew: 2 * time.Second},
		{Stage: draft.Failed, Fault: event.NewFault(event.ClassAuth, "ssh.hostkey-unknown", nil)},
		{Stage: draft.Asking, Key: &draft.KeyQuestion{}}} {
		l.Machine = list[i]
		if !s.Probed(l) {
			t.Errorf("the probe of %s does not count", l.Machine.Name)
		}
	}
	if s.Draft.Machines[0].Arch != "arm64" || len(s.Asking()) != 1 || named(s, "state:seen") != "m1" ||
		named(s, "!debian !role:worker") != "x" {
		t.Errorf("%+v, %d ask, %s, %s", s.Draft.Machines[0], len(s.Asking()), named(s, "state:seen"),
			named(s, "!debian !role:worker"))
	}
	facts := Facts(p, s.Probe(list[0]))
	if len(facts) != 6 || facts[0] != "Debian 13" || !strings.Contains(facts[4], "12 GiB") {
		t.Errorf("%q", facts)
	}
	var words []string
	for _, x := range s.Tally().Counts() {
		words = append(words, x.Word)
	}
	want := []string{draft.KeyRefused, "wizard.look.asking", "wizard.look.looking", "wizard.look.seen"}
	if c := s.Tally(); !slices.Equal(words, want) || c.None != 1 {
		t.Errorf("counted %v, want %v; %d were not probed", words, want, c.None)
	}
	if list := s.ForgetRefused(); len(list) != 1 || list[0].Name != "w1" {
		t.Errorf("refused: %v", list)
	}
	if list, login := s.Unprobed(true); len(list) != 2 || login { // the refused one, and the one that was seen
		t.Errorf("again: %v, %t", list, login)
	}
	s.Draft.Set("username", "ops")
	if list, login := s.Unprobed(false); len(list) != 4 || !login {
		t.Errorf("with another login: %v, %t", list, login)
	}
}
