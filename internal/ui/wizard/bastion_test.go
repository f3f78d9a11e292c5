package wizard

import (
	"context"
	"fmt"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// behind is the question about the key of a machine behind the bastion.
func behind(m config.Machine) draft.Probe {
	return draft.Probe{Machine: m, Stage: draft.Asking, Key: &draft.KeyQuestion{Node: m.Name, Addr: m.IP + ":22",
		Type: "ssh-ed25519", Fingerprint: "SHA256:own" + m.IP, Answer: func(bool) {}}}
}

// The key of a bastion is shown once, with how many machines need it. When it is accepted, the keys of the machines
// behind it follow by themselves as soon as all are known.
func TestABastionIsShownOnce(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		a, p, w := open(t, lang, false, 80, 24)
		w.gate = 40
		uitest.Keys(t, a, "ctrl+n", "ctrl+n")
		uitest.Type(t, a, "10.0.1.[101-140]")
		uitest.Keys(t, a, "enter")
		if lang == i18n.English {
			uitest.Has(t, a, "1 unknown host key: Ctrl+F")
		}
		uitest.Keys(t, a, "up")
		uitest.Has(t, a, map[i18n.Lang]string{i18n.English: "unknown host key of bastion 192.0.2.200:22",
			i18n.Chinese: "跳板机 192.0.2.200:22 的主机密钥未知"}[lang])
		uitest.Keys(t, a, "ctrl+f")
		if lang == i18n.Chinese {
			uitest.Has(t, a, "跳板机", "40 台机器经由此跳板机", "192.0.2.200:22", "1-1/1")
		} else {
			uitest.Has(t, a, "1 unknown host key", "bastion", "used for 40 machines", "192.0.2.200:22", "1-1/1")
		}
		uitest.Keys(t, a, "y")
		if w.keys != 40 {
			t.Errorf("%d machines have the answer", w.keys)
		}
		for i, m := range p.g.Draft.Machines {
			if i == 39 {
				uitest.Lacks(t, a, "1-1/1", "/40")
			}
			uitest.Drive(t, a, behind(m))
		}
		uitest.Has(t, a, "10.0.1.101:22", "/40")
	}
}

// One machine asks about the bastion for all: the keys behind it come together all the same, when all are known.
func TestTheKeysBehindABastionComeTogether(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 120, 40)
	w.gate = 5
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.1.[101-105]")
	uitest.Keys(t, a, "enter")
	for _, m := range p.g.Draft.Machines[:4] {
		uitest.Drive(t, a, draft.Probe{Machine: m, Stage: draft.Reaching})
	}
	uitest.Keys(t, a, "ctrl+f")
	uitest.Has(t, a, "used for 5 machines")
	uitest.Keys(t, a, "y")
	if w.keys != 1 {
		t.Errorf("%d machines have the answer", w.keys)
	}
	uitest.Drive(t, a, behind(p.g.Draft.Machines[4]))
	uitest.Lacks(t, a, "SHA256:own10.0.1.105", "1-1/1")
	for _, m := range p.g.Draft.Machines[:4] {
		uitest.Drive(t, a, behind(m))
	}
	uitest.Has(t, a, "10.0.1.101:22", "10.0.1.105:22", "1-5/5")
}

// A key that is pressed meanwhile answers no question that nobody has seen: the keys wait to be asked for.
func TestNoQuestionAppearsUnderTheFingers(t *testing.T) {
	a, p, w := open(t, i18n.English, false, 140, 40)
	w.gate = 1
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "10.0.1.101")
	uitest.Keys(t, a, "enter", "ctrl+f", "y")
	uitest.Type(t, a, "1")
	uitest.Drive(t, a, behind(p.g.Draft.Machines[0]))
	uitest.Lacks(t, a, "SHA256:own")
	uitest.Has(t, a, "1 unknown host key: ")
}

// Keys that preflight does not know are one cause, however many machines there are, in words of the wizard.
func TestUnknownKeysAreOneCause(t *testing.T) {
	a, p, _ := open(t, i18n.English, false, 140, 40)
	svc := p.svc.DraftServices.(*uitest.Draft)
	svc.OnPreflight = func(_ context.Context, d config.Draft, _ string, tell func(draft.Check)) {
		for i, m := range d.Machines {
			tell(draft.Check{Machine: m.Name, Finding: &event.Finding{Host: m.Name, Severity: event.Error,
				Fault: *event.NewFault(event.ClassAuth, "ssh.hostkey-unknown", nil, "addr", m.IP+":22", "type",
					"ssh-ed25519", "fingerprint", fmt.Sprint("SHA256:", i), "key", fmt.Sprint("ssh-ed25519 AAAA", i),
					"file", "/var/lib/eggo/prod/known_hosts").On(m.Name)}})
		}
		tell(draft.Check{End: true})
	}
	uitest.Keys(t, a, "ctrl+n", "ctrl+n")
	uitest.Type(t, a, "192.168.1.[101-140]")
	uitest.Keys(t, a, "enter", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n", "ctrl+n")
	uitest.Has(t, a, "40 machines, for example: node-1: the host key of 192.168.1.101:22 is unknown", "node-[1-40]",
		"Press Enter to review the fingerprints.")
	uitest.Lacks(t, a, "--host-keys", "cause 1 of 2")
}
