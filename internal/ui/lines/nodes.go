package lines

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// probePatience is how long the end of the looks at machines is waited for before the questions go on; what comes later
// is told later.
const probePatience = 5 * time.Second

// machines takes a line for each, a range, or changes to those that are there, until an empty line; then they are
// looked at.
func (w *wizard) machines(ctx context.Context) error {
	for shown := -1; ; {
		if n := len(w.g.Draft.Machines); n != shown || n <= 20 { // a long list is shown when it has changed
			w.listMachines()
			shown = n
		}
		text, err := w.ask(ctx, w.t("plain.machine"))
		if err != nil {
			return err
		}
		if text == "" && len(w.g.Fresh()) > 0 {
			break
		}
		w.machineLine(text)
	}
	w.look()
	return w.await(ctx, probePatience)
}

// machineLine does what a line says: @FILE, -MACHINE, MACHINE with roles or settings, or new machines.
func (w *wizard) machineLine(text string) {
	if path, is := strings.CutPrefix(text, "@"); is && !w.g.Joins() {
		w.change(func() { w.imported(path) })
		return
	}
	text = narrow(text)
	if text == "" {
		w.say("wizard.nodes.unread.next")
		return
	}
	if name, is := strings.CutPrefix(text, "-"); is && !strings.HasPrefix(name, " ") {
		if i, ok := w.machine(name); ok {
			w.change(func() {
				draft.RenameLogin(&w.g.Draft, w.g.Draft.Machines[i].Name, "")
				w.g.Draft.Machines = slices.Delete(w.g.Draft.Machines, i, i+1)
			})
		}
		return
	}
	if words := strings.Fields(text); len(words) > 1 {
		if i := w.find(words[0]); i >= 0 && net.ParseIP(words[0]) == nil && w.onlyChanges(words[1:]) {
			if _, ok := w.machine(words[0]); ok {
				w.changeMachine(i, words[1:])
			}
			return
		}
	}
	w.change(func() { w.take(machines.Read(text)) })
}

// take adds machines, and says what was not understood.
func (w *wizard) take(l machines.List) {
	if names := l.Names(); len(names) > 0 {
		w.say("wizard.nodes.lookup", "count", strconv.Itoa(len(names)), "host", names[0])
		l = l.Resolve(w.probes, w.svc.Lookup)
		if w.probes.Err() != nil {
			return
		}
	}
	if w.g.Joins() {
		l = draft.OneLogin(w.g.Draft, l)
	}
	for _, b := range l.Rejected {
		next := w.t("wizard.nodes.unread.next")
		if own, ok := w.p.Under(b.Why, "next"); ok {
			next = own
		}
		w.complain(event.Error, w.p.Msg(b.Why), next)
	}
	x := draft.AddMachines(&w.g.Draft, l.Entries, w.g.Members)
	if x.Changed > 0 {
		w.say("wizard.nodes.changed", "count", strconv.Itoa(x.Changed))
	}
	if len(x.Same) > 0 {
		w.say("wizard.nodes.same", "count", strconv.Itoa(len(x.Same)), "ip", x.Same[0])
	}
	for _, m := range draft.ImportRemarks(l) {
		w.print(w.p.Msg(m))
	}
}

// find is the machine of a name, an address or a number in the list, -1 if there is none.
func (w *wizard) find(name string) int {
	name = strings.TrimSpace(name)
	if i, ok := numbered(name, len(w.g.Draft.Machines)); ok {
		return i
	}
	return slices.IndexFunc(w.g.Draft.Machines, func(m config.Machine) bool { return m.Name == name || m.IP == name })
}

// machine is find for one that may be changed; it says why not.
func (w *wizard) machine(name string) (int, bool) {
	i := w.find(name)
	if i < 0 {
		w.say("plain.no-such", "text", name)
		return 0, false
	}
	if w.g.Members[draft.MachineKey(w.g.Draft.Machines[i])] {
		w.say("plain.member", "name", w.g.Draft.Machines[i].Name)
		return 0, false
	}
	return i, true
}

// onlyChanges says whether all words are roles or settings of a machine.
func (w *wizard) onlyChanges(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		_, role := machines.RoleOf(strings.Trim(word, ","))
		key, _, set := strings.Cut(word, "=")
		return !role && !(set && slices.Contains([]string{"name", "ip", "port", "arch"}, key))
	})
}

// changeMachine gives a machine the roles that are named, if any are, and the settings.
func (w *wizard) changeMachine(i int, words []string) {
	m := w.g.Draft.Machines[i]
	var roles []bundle.Role
	for _, word := range words {
		if r, is := machines.RoleOf(strings.Trim(word, ",")); is {
			if !slices.Contains(roles, r) {
				roles = append(roles, r)
			}
			continue
		}
		key, value, _ := strings.Cut(word, "=")
		if bad, is := config.CheckMachine(key, value); is {
			w.wrong(bad)
			return
		}
		*map[string]*string{"name": &m.Name, "ip": &m.IP, "port": &m.Port, "arch": &m.Arch}[key] = value
	}
	if len(roles) > 0 {
		m.Roles = roles
	}
	if m.Port == "22" {
		m.Port = ""
	}
	w.change(func() { w.g.Draft.Machines[i] = m })
}

func (w *wizard) listMachines() {
	for i, m := range w.g.Draft.Machines {
		var roles []string
		for _, r := range m.Roles {
			roles = append(roles, w.t("ui.role."+string(r)))
		}
		line := fmt.Sprintf("%2d  %s  %s", i+1, m.Name, m.IP)
		if m.Port != "" {
			line += ":" + m.Port
		}
		line += "  " + strings.Join(roles, ", ")
		if m.Arch != "" {
			line += "  " + m.Arch
		}
		switch l, known := w.looked[lookID(m)]; {
		case w.g.Member(m):
			line += "  " + w.t("wizard.look.member")
		case known && l.Errors() > 0:
			line += "  " + w.t("wizard.errors", "count", strconv.Itoa(l.Errors()))
		case known:
			line += "  " + w.t("wizard.look."+string(l.Stage))
		}
		w.print(event.Clean(line))
	}
}

func lookID(m config.Machine) string { return m.IP + " " + m.Port }

// look begins to look at the machines that were not looked at with this login.
func (w *wizard) look() {
	if login := draft.LoginText(w.g.Draft); login != w.login {
		w.login, w.looked, w.asking = login, map[string]draft.Probe{}, nil
	}
	d := w.g.Draft.Clone()
	for _, m := range w.g.Fresh() {
		if _, bad := config.CheckMachine("ip", m.IP); bad {
			continue
		}
		if _, begun := w.looked[lookID(m)]; begun {
			continue
		}
		w.looked[lookID(m)] = draft.Probe{Machine: m, Stage: draft.Reaching}
		w.looking.Go(func() {
			w.svc.Probe(w.probes, d, m, func(l draft.Probe) {
				select {
				case w.news <- l:
				case <-w.probes.Done():
				}
			})
		})
	}
}

// busy is how many machines are looked at, without those that wait for the person.
func (w *wizard) busy() int {
	n := 0
	for _, l := range w.looked {
		switch l.Stage {
		case draft.Failed, draft.Seen, draft.Asking:
		default:
			n++
		}
	}
	return n
}

// await waits for the looks that go on, as long as there is patience, and tells what they found.
func (w *wizard) await(ctx context.Context, patience time.Duration) error {
	end := time.NewTimer(patience)
	defer end.Stop()
	if w.busy() > 0 {
		w.say("plain.looking", "count", strconv.Itoa(w.busy()))
	}
	for late := false; w.busy() > 0 && !late; {
		select {
		case l := <-w.news:
			w.hearOf(l)
		case <-end.C:
			late = true
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(w.asking) > 0 && (w.busy() == 0 || late) {
			if err := w.tellNews(ctx); err != nil {
				return err
			}
		}
	}
	if n := w.busy(); n > 0 {
		w.say("plain.looking-on", "count", strconv.Itoa(n))
	}
	return w.tellNews(ctx)
}

// tellNews says what the looks have found since, and asks about host keys that nobody has seen before: of all machines
// at once.
func (w *wizard) tellNews(ctx context.Context) error {
	for {
		select {
		case l := <-w.news:
			w.hearOf(l)
			continue
		default:
		}
		break
	}
	if len(w.asking) == 0 {
		return nil
	}
	list := w.asking
	w.asking = nil
	var keys []backend.HostKey
	for _, l := range list {
		keys = append(keys, backend.KeyOf(&l))
	}
	groups, of := backend.GroupKeys(keys)
	trusted, err := w.HostKeys(ctx, groups, w.svc.KnownHosts)
	for i, l := range list {
		w.looked[lookID(l.Machine)] = draft.Probe{Machine: l.Machine, Stage: draft.LogIn}
		l.Key.Answer(of[i] < len(trusted) && trusted[of[i]])
	}
	if err != nil {
		return err
	}
	return w.await(ctx, probePatience)
}

// hearOf takes news of a look; its end is told.
func (w *wizard) hearOf(l draft.Probe) {
	key := lookID(l.Machine)
	if _, is := w.looked[key]; !is { // of a login that is no longer
		if l.Key != nil {
			l.Key.Answer(false)
		}
		return
	}
	w.looked[key] = l
	name := event.Clean(l.Machine.Name)
	switch l.Stage {
	case draft.Asking:
		w.asking = append(w.asking, l)
	case draft.Failed:
		text, next := w.p.Fault(l.Fault)
		w.complain(event.Error, name+": "+w.t(draft.FailedWord(l.Fault))+": "+text, next)
	case draft.Seen:
		word := "plain.seen"
		if l.Errors() > 0 {
			word = "plain.seen.errors"
		}
		w.say(word, "count", strconv.Itoa(l.Errors()), "node", name, "os", event.Clean(l.OS), "arch",
			event.Clean(l.Arch), "cpus", strconv.Itoa(l.CPUs), "memory", report.Size(l.Memory), "disk",
			report.Size(l.Disk), "skew", report.Short(max(l.Skew, -l.Skew)))
		if l.Cluster != "" {
			w.say("plain.seen.cluster", "node", name, "cluster", event.Clean(l.Cluster))
		}
		for _, f := range l.Findings {
			w.finding(f)
		}
		for i := range w.g.Draft.Machines {
			if m := &w.g.Draft.Machines[i]; lookID(*m) == key && m.Arch == "" && l.Arch == "arm64" {
				m.Arch = l.Arch
			}
		}
	case draft.Reaching, draft.LogIn, draft.Inspecting:
	}
}

func (w *wizard) finding(f event.Finding) {
	text, next := w.p.Fault(&f.Fault)
	w.complain(f.Severity, text, next)
}

// cause tells a finding once, with the machines that it was found on.
func (w *wizard) cause(c report.Cause) {
	text, next := w.p.Fault(&c.Findings[0].Fault)
	if names := c.Hosts(); len(names) > 1 {
		text = w.t("wizard.cause", "count", strconv.Itoa(len(names)), "text", text) + " (" +
			strings.Join(report.Ranges(names), ", ") + ")"
	}
	w.complain(c.Severity, text, next)
}
