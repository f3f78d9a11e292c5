package guide

import (
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Tone is how a state is emphasized. Good is only what was checked and has no error.
type Tone int

// The tones.
const (
	Neutral Tone = iota
	Idle
	Busy
	Good
	Warn
	Bad
	Current // the step that the user is at
	Accent  // it stands out, but has no state
)

// Unprobed returns the machines that are to be probed with the login of the draft, and marks them as being probed.
// again forgets the results of probes that ended. login reports that the login changed: probes that are under way
// count for nothing.
func (s *Session) Unprobed(again bool) (list []config.Machine, login bool) {
	if now := draft.LoginText(s.Draft); now != s.login || s.probes == nil {
		s.login, s.probes, login = now, map[string]*draft.Probe{}, true
	}
	if again {
		for k, l := range s.probes {
			if l.Stage == draft.Failed || l.Stage == draft.Seen {
				delete(s.probes, k)
			}
		}
	}
	for _, m := range s.Fresh() {
		if _, wrong := config.CheckMachine("ip", m.IP); wrong || m.IP == "" || s.Probe(m) != nil {
			continue
		}
		s.SetProbe(draft.Probe{Machine: m, Stage: draft.Reaching})
		list = append(list, m)
	}
	return list, login
}

// Probe returns what is known of a machine; nil if it was not probed.
func (s *Session) Probe(m config.Machine) *draft.Probe { return s.probes[draft.MachineKey(m)] }

// SetProbe replaces what is known of a machine.
func (s *Session) SetProbe(l draft.Probe) { s.probes[draft.MachineKey(l.Machine)] = &l }

// Probed takes the result of a probe and reports whether it counts: probes with an earlier login do not. A machine
// whose architecture was not entered gets the one that was found; undo keeps it.
func (s *Session) Probed(l draft.Probe) bool {
	if s.Probe(l.Machine) == nil {
		return false
	}
	s.SetProbe(l)
	for i := range s.Draft.Machines {
		m := &s.Draft.Machines[i]
		if l.Stage == draft.Seen && draft.MachineKey(*m) == draft.MachineKey(l.Machine) && m.Arch == "" &&
			l.Arch == "arm64" {
			s.Snapshot()
			m.Arch = l.Arch
			s.history.keep(s.Draft)
		}
	}
	return true
}

// Probing returns how many machines are being probed, without those that wait for the user.
func (s *Session) Probing() int {
	n := 0
	for _, l := range s.probes {
		switch l.Stage {
		case draft.Failed, draft.Seen, draft.Asking:
		default:
			n++
		}
	}
	return n
}

// Connecting returns the machines to which there is no connection yet.
func (s *Session) Connecting() []config.Machine {
	var out []config.Machine
	for _, l := range s.probes {
		if l.Stage == draft.Reaching || l.Stage == draft.LogIn {
			out = append(out, l.Machine)
		}
	}
	return out
}

// Asking returns the probes that wait for a decision about a host key.
func (s *Session) Asking() []*draft.Probe {
	var out []*draft.Probe
	for _, m := range s.Draft.Machines {
		if l := s.Probe(m); AsksKey(l) {
			out = append(out, l)
		}
	}
	return out
}

// AsksKey reports whether a probe waits for a decision about a host key.
func AsksKey(l *draft.Probe) bool { return l != nil && l.Stage == draft.Asking && l.Key != nil }

// ForgetRefused forgets the probes of machines whose host keys were refused, and returns these machines.
func (s *Session) ForgetRefused() []config.Machine {
	var out []config.Machine
	for key, l := range s.probes {
		if l.Stage == draft.Failed && l.Fault != nil && l.Fault.Code == "ssh.hostkey-unknown" {
			delete(s.probes, key)
			out = append(out, l.Machine)
		}
	}
	return out
}

// State returns the state of a probe in words; wrong is the number of errors in the settings of the machine.
func State(p *i18n.Printer, l *draft.Probe, wrong int) (Tone, string) {
	switch {
	case wrong > 0:
		return Bad, errorCount(p, wrong+l.Errors())
	case l == nil:
		return Idle, p.T("wizard.look.none")
	}
	switch l.Stage {
	case draft.Asking:
		return Warn, p.T("wizard.look.asking")
	case draft.Failed:
		return Bad, p.T(draft.FailedWord(l.Fault))
	case draft.Seen:
		if n := l.Errors(); n > 0 {
			return Bad, errorCount(p, n)
		}
		return Good, p.T("wizard.look.seen")
	}
	return Busy, p.T("wizard.look." + string(l.Stage))
}

func errorCount(p *i18n.Printer, n int) string { return p.T("wizard.errors", "count", itoa(n)) }

// MachineState returns the state of a machine of the draft.
func (s *Session) MachineState(p *i18n.Printer, i int) (Tone, string) {
	m := s.Draft.Machines[i]
	if s.Member(m) {
		return Idle, p.T("wizard.look.member")
	}
	wrong, _ := s.WrongMachine(i).Count()
	return State(p, s.Probe(m), wrong)
}

// Tally counts machines by their state; each is in one. Those that failed are also counted by word.
type Tally struct {
	Failed, Errors, Asking, Probing, Ready, None int
	FailedBy                                     map[string]int
}

// Tally counts the machines that are probed.
func (s *Session) Tally() Tally {
	c := Tally{FailedBy: map[string]int{}}
	wrong := map[int]bool{}
	for _, x := range s.Problems {
		if i := machineOf(x.Key); i >= 0 && x.Severity == event.Error {
			wrong[i] = true
		}
	}
	for i, m := range s.Draft.Machines {
		if s.Member(m) {
			continue
		}
		l := s.Probe(m)
		switch {
		case l != nil && l.Stage == draft.Failed:
			c.Failed++
			c.FailedBy[draft.FailedWord(l.Fault)]++
		case wrong[i] || l.Errors() > 0:
			c.Errors++
		case l == nil:
			c.None++
		case l.Stage == draft.Seen:
			c.Ready++
		case l.Stage == draft.Asking:
			c.Asking++
		default:
			c.Probing++
		}
	}
	return c
}

// Count counts the machines in a state.
type Count struct {
	Tone Tone
	Word string // a key of i18n
	N    int
}

// Counts returns the counts that are not zero, the most severe first.
func (c Tally) Counts() []Count {
	var list []Count
	for _, word := range []string{draft.Unreachable, draft.AuthFailed, draft.NoPassword, draft.NoKey,
		draft.KeyRefused, draft.NoSudo} {
		list = append(list, Count{Bad, word, c.FailedBy[word]})
	}
	list = append(list, Count{Bad, "wizard.nodes.errors", c.Errors}, Count{Warn, "wizard.look.asking", c.Asking},
		Count{Busy, "wizard.look.looking", c.Probing}, Count{Good, "wizard.look.seen", c.Ready})
	var out []Count
	for _, x := range list {
		if x.N > 0 {
			out = append(out, x)
		}
	}
	return out
}

// Facts returns what was found on a machine, the most important first; nothing unless it was inspected.
func Facts(p *i18n.Printer, l *draft.Probe) []string {
	if l == nil || l.Stage != draft.Seen {
		return nil
	}
	name, _, _ := strings.Cut(strings.ReplaceAll(l.OS, "GNU/Linux ", ""), " (")
	var out []string
	add := func(text string, known bool) {
		if known && text != "" {
			out = append(out, text)
		}
	}
	add(event.Clean(name), true)
	add(event.Clean(l.Arch), true)
	add(p.T("wizard.fact.cpus", "count", itoa(l.CPUs)), l.CPUs > 0)
	add(Size(l.Memory), l.Memory > 0)
	add(p.T("wizard.fact.disk", "size", Size(l.Disk)), l.Disk > 0)
	skew := l.Skew.Round(clockUnit)
	add(p.T("wizard.fact.clock", "skew", skew.String()), skew.Abs() >= time.Second)
	return out
}

// clockUnit is the unit in which the difference of a clock is shown.
const clockUnit = 100 * time.Millisecond

// Size returns a number of bytes of memory or disks: without tenths where they mean nothing.
func Size(n int64) string {
	if n >= 10<<30 {
		return strconv.FormatInt((n+1<<29)>>30, 10) + " GiB"
	}
	return report.Size(n)
}
