package wizard

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// A host name is looked up, and its address shown; one that nobody knows stays where it was typed.
func TestHostNamesAreLookedUp(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "ops@web1.example.com:2222 worker")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "web1.example.com resolves to 10.0.0.7", "10.0.0.7:2222")
	if m := p.g.Draft.Machines[0]; m.Name != "web1" || m.IP != "10.0.0.7" || !m.Has(bundle.Worker) {
		t.Errorf("%+v", m)
	}
	if p.g.Draft.Value("username") != "ops" {
		t.Errorf("the user is %q", p.g.Draft.Value("username"))
	}
	uitest.Type(t, a, "db.example.com")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "Cannot resolve db.example.com: no such host", "Check the name", "db.example.com")
	if len(p.g.Draft.Machines) != 1 {
		t.Errorf("%v", p.g.Draft.Machines)
	}
}

// Of an inventory what is understood is taken, and a name that nobody knows stands in the block.
func TestAnInventoryIsPasted(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Drive(t, a, tea.PasteMsg{Content: "[kube_control_plane]\nm1 ansible_host=10.0.0.1 ansible_user=root\n" +
		"[kube_node]\nw1 ansible_host=10.0.0.2 ansible_user=ops ansible_password=hunter2\ndb.example.com\n" +
		"[bastion]\ngate ansible_host=192.0.2.1\n"})
	uitest.Has(t, a, "2 machines added", "2 machines are reached through bastion 192.0.2.1", "1 password not imported",
		"Cannot resolve db.example.com")
	if n := machinesOf(p); n.area.Value() != "db.example.com bastion=192.0.2.1 role=worker" || n.mode != pasting {
		t.Errorf("%q is left", n.area.Value())
	}
	if got := p.g.Draft.Value("eggo.bastion"); got != `"192.0.2.1"` {
		t.Errorf("bastion: %s", got)
	}
	if got := p.g.Draft.Value("eggo.machines"); got != "w1: {user: ops}" {
		t.Errorf("logins: %q", got)
	}
	if strings.Contains(string(p.g.Draft.YAML()), "hunter2") {
		t.Error("a password was taken")
	}
}

// A file with machines may be any of those that are pasted.
func TestAnInventoryIsImported(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 140, 40)
	w.files["/hosts.csv"] = "name,ip,role\nm1,10.0.0.1,master\nw1,10.0.0.2,worker\n"
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+o")
	uitest.Type(t, a, "/hosts.csv")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "2 machines added", "m1", "w1")
	if len(p.g.Draft.Machines) != 2 {
		t.Errorf("%v", p.g.Draft.Machines)
	}
}

// A node that joins is logged in to as the cluster's nodes are, or it says so.
func TestANodeThatJoinsHasNoLoginOfItsOwn(t *testing.T) {
	w := &world{files: map[string]string{}, written: map[string]config.Draft{}}
	a, p := openAdd(t, w, i18n.English)
	uitest.Type(t, a, "ops@10.0.0.20")
	uitest.Keys(t, a, "enter")
	uitest.Has(t, a, "“ops” differs from the other nodes' login", "ops@10.0.0.20")
	uitest.Keys(t, a, "ctrl+u")
	uitest.Type(t, a, "root@10.0.0.20")
	uitest.Keys(t, a, "enter")
	if len(p.g.Draft.Machines) != 2 {
		t.Errorf("%v", p.g.Draft.Machines)
	}
}

// What is typed while a name is looked up stays, and so does what is typed when the page was left meanwhile.
func TestTypingWhileANameIsLookedUp(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "web1.example.com")
	_, answer := a.Update(uitest.Press("enter"))
	uitest.Has(t, a, "Resolving 1 host name: web1.example.com")
	uitest.Type(t, a, " worker")
	uitest.Run(t, a, answer)
	n := machinesOf(p)
	if got := n.line.Value(); got != "web1.example.com worker" || len(p.g.Draft.Machines) != 1 {
		t.Errorf("the line is %q, machines %v", got, p.g.Draft.Machines)
	}
	_, answer = a.Update(uitest.Press("enter"))
	uitest.Keys(t, a, "esc")
	uitest.Run(t, a, answer)
	if len(p.g.Draft.Machines) != 1 || p.g.Draft.Machines[0].Has(bundle.Worker) {
		t.Errorf("an answer that nobody waits for changed %v", p.g.Draft.Machines)
	}
}

// A table from a spreadsheet with a mistake in a row: the others are taken, the row stays with all that it says, and
// its password is kept nowhere.
func TestATableWithAMistake(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 140, 40)
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Drive(t, a, tea.PasteMsg{Content: "name\tip\track\trole\tpassword\nm1\t10.0.0.1\tR7\tmaster\thunter2\n" +
		"w1\t10.0.0.300\t\tworker\thunter2\n"})
	uitest.Has(t, a, "1 machine added", "300 is greater than 255", "2 passwords not imported")
	if n := machinesOf(p); n.area.Value() != "name=w1 10.0.0.300 role=worker" {
		t.Errorf("%q is left", n.area.Value())
	}
	if len(p.g.Draft.Machines) != 1 || strings.Contains(strings.Join(append(typed(w), p.g.Draft.Value("eggo.machines")),
		" "), "hunter2") {
		t.Errorf("%v %v", p.g.Draft.Machines, w.saved)
	}
	uitest.Drive(t, a, tea.PasteMsg{Content: "\nhost,user,password\nweb1.example.com,ops,hunter2\n"})
	if got := strings.Join(typed(w), " "); strings.Contains(got, "hunter2") || len(p.g.Draft.Machines) != 2 {
		t.Errorf("%q is kept, machines %v", got, p.g.Draft.Machines)
	}
}

func typed(w *world) (out []string) {
	for _, text := range w.saved.Typed {
		out = append(out, text)
	}
	return out
}

// A deploy.yaml with a mistake is told as one, and no list of machines is made of its words.
func TestADeployYamlWithAMistakeIsNoList(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 140, 40)
	w.files["/deploy.yaml"] = "cluster-id: x\nmasters:\n- name: m1\n\tip: 10.0.0.1\n"
	uitest.Keys(t, a, "ctrl+n", "ctrl+n", "ctrl+o")
	uitest.Type(t, a, "/deploy.yaml")
	uitest.Keys(t, a, "enter")
	if len(p.g.Draft.Machines) > 0 || machinesOf(p).area.Value() != "" {
		t.Errorf("%v %q", p.g.Draft.Machines, machinesOf(p).area.Value())
	}
}
