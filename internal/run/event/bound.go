package event

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what an event carries, in bytes. Much of it comes from nodes, which may be hostile, so that it is cut where
// it enters: in NewFault, in Bus.Publish and in Decode.
const (
	MaxLine  = 64 << 10 // a line of output
	MaxCause = 8 << 10  // the cause of a fault
	MaxArg   = 4 << 10  // an argument of a sentence
	MaxArgs  = 32       // arguments of a sentence
	MaxName  = 1 << 10  // the name of a node, a step, a code
	MaxNext  = 1 << 16  // sentences at the end of a run, of which each node may have some
)

// Clip is Clean, and of what is longer than most bytes the beginning with an ellipsis.
func Clip(s string, most int) string {
	if len(s) > most {
		s = cutAt(s, most)
	}
	if s = Clean(s); len(s) > most { // cleaning can lengthen: an invalid byte becomes three, a newline too
		return cutAt(s, most)
	}
	return s
}

// clipCause is Clip that keeps the end too: an error that wraps others has what it comes from there.
func clipCause(s string) string {
	if len(s) > MaxCause {
		const half = (MaxCause - len(" … ")) / 2
		head, tail := s[:half], s[len(s)-half:]
		for head != "" && !utf8.RuneStart(s[len(head)]) {
			head = head[:len(head)-1]
		}
		for tail != "" && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
		s = head + " … " + tail
	}
	return Clip(s, MaxCause)
}

func cutAt(s string, most int) string {
	n := most - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// clipLines is Clip for text whose lines count.
func clipLines(s string, most int) string {
	if len(s) > most {
		s = cutAt(s, most)
	}
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, l := range lines {
		lines[i] = Clean(l)
	}
	if s = strings.Join(lines, "\n"); len(s) > most {
		return cutAt(s, most)
	}
	return s
}

// argCommand is the only argument that has lines: the script of ours that failed.
const argCommand = "command"

// okCode says whether a code is of the form that ours have: words of a-z, 0-9, - and _ with dots between, or none.
func okCode(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > 128 || s[0] == '.' || s[len(s)-1] == '.' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' || c == '.' &&
			s[i-1] == '.' {
			return false
		}
	}
	return true
}

func boundArgs(args map[string]string) map[string]string {
	if len(args) == 0 {
		return nil
	}
	names := make([]string, 0, len(args))
	for k := range args {
		names = append(names, k)
	}
	if len(names) > MaxArgs {
		slices.Sort(names)
		names = names[:MaxArgs]
	}
	out := make(map[string]string, len(names))
	for _, k := range names {
		if k == argCommand {
			out[k] = clipLines(args[k], MaxArg)
		} else {
			out[Clip(k, MaxName)] = Clip(args[k], MaxArg)
		}
	}
	return out
}

func boundMsg(m Msg) Msg {
	return Msg{Key: Clip(m.Key, MaxName), Args: boundArgs(m.Args), Call: boundCall(m.Call)}
}

func boundMsgPtr(m *Msg) *Msg {
	if m == nil {
		return nil
	}
	b := boundMsg(*m)
	return &b
}

// plain is a fault as it is in the log.
func plain(f *Fault) *Fault {
	if f == nil {
		return nil
	}
	c := Fault{
		Code: f.Code, Class: Class(Clip(string(f.Class), MaxName)), Node: Clip(f.Node, MaxName),
		Step: Clip(f.Step, MaxName),
		Args: boundArgs(f.Args), Cause: clipCause(f.Cause),
	}
	for i := range f.Calls[:min(len(f.Calls), MaxArgs)] {
		c.Calls = append(c.Calls, *boundCall(&f.Calls[i]))
	}
	if !okCode(c.Code) {
		c.Cause, c.Code = Clip(strings.Trim(c.Code+" "+c.Cause, " "), MaxCause), "internal"
	}
	return &c
}

func names(ss ...*string) {
	for _, s := range ss {
		*s = Clip(*s, MaxName)
	}
}

// normal gives e as it would be read back from the log: text cleaned and bounded, faults without their Go errors. The
// plan and the options of the run are the operator's own; see boundPlan.
func normal(e Event) Event {
	switch e := e.(type) {
	case RunStarted:
		names(&e.Run, &e.Cluster, &e.Verb, &e.Version, &e.Config)
		e.Nodes = boundList(e.Nodes, MaxName)
		return e
	case HostState:
		names(&e.Host, &e.State)
		e.Fault = plain(e.Fault)
		return e
	case Finding:
		names(&e.Host, (*string)(&e.Severity))
		e.Fault = *plain(&e.Fault)
		return e
	case PhaseStarted:
		names(&e.Phase)
		return e
	case PhaseEnded:
		names(&e.Phase, (*string)(&e.Outcome))
		e.Fault = plain(e.Fault)
		return e
	case Change:
		names(&e.Host, &e.Step)
		e.Desc = boundMsg(e.Desc)
		return e
	case Notice:
		names(&e.Host, &e.Step)
		e.Text = boundMsg(e.Text)
		return e
	case Output:
		names(&e.Host, &e.Step, &e.Stream)
		e.Line = Clip(e.Line, MaxLine)
		return e
	case Waiting:
		names(&e.Host, &e.Step, &e.Process, &e.State, &e.Lock)
		return e
	case Progress:
		names(&e.Host, &e.Step, &e.What)
		return e
	case RunEnded:
		names((*string)(&e.Outcome))
		e.Fault = plain(e.Fault)
		e.Next = slices.Clone(e.Next[:min(len(e.Next), MaxNext)])
		for i, m := range e.Next {
			e.Next[i] = boundMsg(m)
		}
		return e
	}
	return normalStep(e)
}

func normalStep(e Event) Event {
	switch e := e.(type) {
	case StepStarted:
		names(&e.Step)
		return e
	case StepRetry:
		names(&e.Step)
		e.Fault = *plain(&e.Fault)
		return e
	case StepAsked:
		names(&e.Step)
		e.Fault = *plain(&e.Fault)
		return e
	case StepDecided:
		names(&e.Step, (*string)(&e.Decision))
		return e
	case StepEnded:
		names(&e.Step, (*string)(&e.Outcome))
		e.Why, e.Fault = boundMsgPtr(e.Why), plain(e.Fault)
		return e
	case StepUndone:
		names(&e.Step, (*string)(&e.Outcome))
		e.Fault = plain(e.Fault)
		return e
	}
	return e
}

// boundPlan cleans a plan that was read, in place: a log may come from elsewhere.
func boundPlan(p PlanMade) {
	for i := range p.Phases {
		names(&p.Phases[i].ID)
		p.Phases[i].Title = boundMsg(p.Phases[i].Title)
	}
	for i := range p.Hosts {
		names(&p.Hosts[i].Name, &p.Hosts[i].Addr)
		boundNames(p.Hosts[i].Roles)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		names(&s.ID, &s.Phase, &s.Host, &s.Lane)
		s.Title = boundMsg(s.Title)
		boundNames(s.Needs)
	}
	for i := range p.Barriers {
		names(&p.Barriers[i].ID)
		boundNames(p.Barriers[i].Needs)
	}
}

func boundNames(list []string) {
	for i := range list {
		names(&list[i])
	}
}
