package uitest

import (
	"fmt"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// part of a run: a step on each of some nodes, one after another; without nodes it is done on the control host.
type part struct {
	phase, what string
	hosts       []event.Host
	took        int // seconds, on each
}

// upgradeParts are those of a hop; only of the first one the soak is long.
func upgradeParts(all []event.Host, soak int) []part {
	masters := all[:3]
	return []part{{"preflight", "facts", all, 1}, {"snapshot", "save", nil, 3},
		{"infrastructure", "send-images", all, 8}, {"etcd", "start", masters, 6},
		{"control-plane", "turn", masters, 25},
		{"soak", "watch", nil, soak}, {"commit", "turn", masters, 15}, {"nodes", "turn", all, 40},
		{"addons", "coredns", nil, 8}, {"check", "nodes", nil, 2}}
}

// upgradePlan is the plan of the run, and its parts with the IDs that their phases have there.
func upgradePlan() (made event.PlanMade, parts []part) {
	for i := range 5 {
		made.Hosts = append(made.Hosts, event.Host{Name: fmt.Sprintf("node-%d", i+1),
			Addr: fmt.Sprintf("192.0.2.%d", i+11), Roles: []string{"worker"}})
		if i < 3 {
			made.Hosts[i].Roles = []string{"control-plane", "etcd"}
		}
	}
	for _, hop := range []struct {
		version, prefix string
		soak            int
	}{{"v1.35.4", "", 600}, {"v1.36.1", "v1.36.1:", 60}} {
		for _, p := range upgradeParts(made.Hosts, hop.soak) {
			made.Phases = append(made.Phases, event.Phase{ID: hop.prefix + p.phase,
				Title: event.M("phase.upgrade."+p.phase, "version", hop.version)})
			title := event.M("step." + p.phase + "." + p.what)
			if p.hosts == nil {
				p.hosts = []event.Host{{}}
			}
			p.phase = hop.prefix + p.phase
			for _, h := range p.hosts {
				made.Steps = append(made.Steps, event.Step{ID: p.id(h), Phase: p.phase, Host: h.Name, Title: title})
			}
			parts = append(parts, p)
		}
	}
	return made, parts
}

// Upgrade is a run that upgrades three control planes and two workers over two versions, as far as it is after so many
// seconds. After 400 the first version is soaked; after 1000 the control planes come to the second one, of which the
// second does not start and is reverted, which ends the run.
func Upgrade(seconds int) []event.Record {
	var out []event.Record
	at := 0
	add := func(e event.Event) {
		if at <= seconds {
			out = append(out, event.Record{Seq: uint64(len(out) + 1), Time: Start.Add(time.Duration(at) * time.Second),
				Event: e})
		}
	}
	made, parts := upgradePlan()
	add(event.RunStarted{Run: "20261121T020000Z-upgrade", Cluster: "rack-7", Verb: "upgrade", Version: "v1"})
	add(made)
	for _, h := range made.Hosts {
		add(event.HostState{Host: h.Name, State: "connected"})
	}
	failed := false
	for _, p := range parts {
		if !failed {
			add(event.PhaseStarted{Phase: p.phase})
		}
		for _, h := range p.hosts {
			switch {
			case failed:
				add(event.StepEnded{Step: p.id(h), Outcome: event.Blocked})
				continue
			case p.phase == "v1.36.1:control-plane" && h.Name == "node-2":
				failed = true
			}
			add(event.StepStarted{Step: p.id(h), Try: 1})
			end := at + p.took
			for i := 0; p.what == "watch" && at+30 <= end; i++ {
				add(event.Notice{Step: p.id(h), Text: event.M("notice.soak", "rounds", fmt.Sprint(1+3*i), "left",
					(time.Duration(end-at) * time.Second).String(), event.Until,
					Start.Add(time.Duration(end)*time.Second).Format(time.RFC3339))})
				at += 30
			}
			at = end
			ended := event.StepEnded{Step: p.id(h), Outcome: event.Changed, Took: time.Duration(p.took) * time.Second}
			if failed {
				add(event.Notice{Step: p.id(h), Host: h.Name, Text: event.M("notice.upgrade-reverting", "component",
					"kube-apiserver", "node", h.Name)})
				ended.Outcome = event.Failed
				ended.Fault = event.NewFault(event.ClassFailed, "upgrade.reverted", nil, "component", "kube-apiserver",
					"log", "(error: unknown flag: --no-such-flag)").On(h.Name)
				ended.Fault.Cause = "kube-apiserver.service is failed"
			}
			add(ended)
		}
		if !failed {
			add(event.PhaseEnded{Phase: p.phase, Outcome: event.Changed})
		}
	}
	add(event.PhaseEnded{Phase: "v1.36.1:control-plane", Outcome: event.Failed})
	add(event.RunEnded{Outcome: event.Failed,
		Fault: event.NewFault(event.ClassFailed, "run.failed", nil, "count", "1")})
	return out
}

func (p part) id(h event.Host) string {
	if h.Name == "" {
		return p.phase + "." + p.what
	}
	return p.phase + "." + p.what + "/" + h.Name
}
