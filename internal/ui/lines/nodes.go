package lines

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/config/machines"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// probePatience limits how long the next question waits for probes; later results are printed before later questions.
const probePatience = 5 * time.Second

// machines reads lines with machines, or changes to those that are there, until an empty line; then it probes them.
func (w *wizard) machines(ctx context.Context) error {
	for shown := -1; ; {
		if n := len(w.g.Draft.Machines); n != shown || n <= 20 { // a long list is shown when it has changed
			w.listMachines("")
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
	w.look(false)
	return w.await(ctx, probePatience)
}

// machineLine does what a line says: @FILE, /FILTER, -MACHINES, MACHINES with roles or settings, or new machines.
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
	if filter, is := strings.CutPrefix(text, "/"); is {
		w.listMachines(filter)
		return
	}
	if names, is := strings.CutPrefix(text, "-"); is && !strings.HasPrefix(names, " ") {
		if w.g.RemoveMachines(w.changeable(names)) {
			w.say("wizard.nodes.etcd-default")
		}
		return
	}
	if words := strings.Fields(text); len(words) > 1 && net.ParseIP(words[0]) == nil && guide.Edits(words[1:]) &&
		len(w.find(words[0])) > 0 {
		for _, i := range w.changeable(words[0]) {
			if bad, ok := w.g.EditMachine(i, words[1:]); !ok {
				w.wrong(bad)
				return
			}
		}
		return
	}
	w.take(machines.Read(text))
}

// take adds machines, and prints what was not understood.
func (w *wizard) take(l machines.List) {
	if names := l.Names(); len(names) > 0 {
		w.say("wizard.nodes.lookup", "count", strconv.Itoa(len(names)), "host", names[0])
		l = l.Resolve(w.probes, w.svc.Lookup)
		if w.probes.Err() != nil {
			return
		}
	}
	l = w.g.Joinable(l)
	for _, b := range l.Rejected {
		w.complain(event.Error, w.p.Msg(b.Why), guide.UnreadNext(w.p, b.Why))
	}
	x := w.g.AddMachines(l.Entries)
	x.Fresh = 0 // the list shows them
	w.print(guide.AddedWords(w.p, x)...)
	for _, m := range draft.ImportRemarks(l) {
		w.print(w.p.Msg(m))
	}
}

// find returns the machines that are meant: several by their numbers in the list, such as 2, 4 or 2-5,7, or one by its
// name or address.
func (w *wizard) find(text string) []int {
	text = strings.TrimSpace(text)
	if list, ok := w.byNumber(text); ok {
		return list
	}
	if i := w.g.FindMachine(text); i >= 0 {
		return []int{i}
	}
	return nil
}

// byNumber returns the machines of numbers and ranges of numbers, each once.
func (w *wizard) byNumber(text string) (list []int, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, several := strings.Cut(part, "-")
		from, ok := numbered(first, len(w.g.Draft.Machines))
		to := from
		if several && ok {
			to, ok = numbered(last, len(w.g.Draft.Machines))
		}
		if !ok {
			return nil, false
		}
		for i := from; i <= to; i++ {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// changeable returns the machines that are meant and may be changed, and prints which may not.
func (w *wizard) changeable(text string) []int {
	list := w.find(text)
	if len(list) == 0 {
		w.say("plain.no-such", "text", text)
	}
	return slices.DeleteFunc(list, func(i int) bool {
		m := w.g.Draft.Machines[i]
		if w.g.Member(m) {
			w.say("plain.member", "name", m.Name)
		}
		return w.g.Member(m)
	})
}

// listMachines prints the machines that pass a filter.
func (w *wizard) listMachines(filter string) {
	for i, m := range w.g.Draft.Machines {
		if !w.g.Matches(m, filter) {
			continue
		}
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
		if w.g.Member(m) || w.g.Probe(m) != nil {
			_, state := w.g.MachineState(w.p, i)
			line += "  " + state
		}
		w.print(event.Clean(line))
	}
}

// look begins to probe the machines that were not probed with this login; again also those whose probe ended.
func (w *wizard) look(again bool) {
	list, _ := w.g.Unprobed(again)
	d := w.g.Draft.Clone()
	for _, m := range list {
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

// await waits for the looks that go on, as long as there is patience, and tells what they found.
func (w *wizard) await(ctx context.Context, patience time.Duration) error {
	end := time.NewTimer(patience)
	defer end.Stop()
	if w.g.Probing() > 0 {
		w.say("plain.looking", "count", strconv.Itoa(w.g.Probing()))
	}
	for late := false; w.g.Probing() > 0 && !late; {
		select {
		case l := <-w.news:
			w.hearOf(l)
		case <-end.C:
			late = true
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(w.g.Asking()) > 0 && (w.g.Probing() == 0 || late) {
			if err := w.tellNews(ctx); err != nil {
				return err
			}
		}
	}
	if n := w.g.Probing(); n > 0 {
		w.say("plain.looking-on", "count", strconv.Itoa(n))
	}
	return w.tellNews(ctx)
}

// tellNews prints what probes have found since, and asks about unknown host keys of all machines at once.
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
	list := w.g.Asking()
	if len(list) == 0 {
		return nil
	}
	var keys []ask.HostKey
	for _, l := range list {
		keys = append(keys, backend.KeyOf(l))
	}
	groups, of := ask.GroupKeys(keys)
	trusted, err := w.hostKeys(ctx, groups, w.svc.KnownHosts)
	for i, l := range list {
		w.g.SetProbe(draft.Probe{Machine: l.Machine, Stage: draft.LogIn})
		l.Key.Answer(of[i] < len(trusted) && trusted[of[i]])
	}
	if err != nil {
		return err
	}
	return w.await(ctx, probePatience)
}

// hearOf takes news of a probe, and prints its result.
func (w *wizard) hearOf(l draft.Probe) {
	if !w.g.Probed(l) { // with an earlier login
		if l.Key != nil {
			l.Key.Answer(false)
		}
		return
	}
	name := event.Clean(l.Machine.Name)
	switch l.Stage {
	case draft.Failed:
		text, next := guide.Words(w.p, "plain", l.Fault)
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
	case draft.Asking, draft.Reaching, draft.LogIn, draft.Inspecting:
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
