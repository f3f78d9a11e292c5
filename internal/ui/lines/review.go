package lines

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// chooseBundle lists the bundles for each architecture, and reads numbers and paths.
func (w *wizard) chooseBundle(ctx context.Context) error {
	if !w.sought {
		w.sought = true
		w.findBundles(ctx, w.g.BundlePaths()...)
	}
	w.g.Check()
	for _, arch := range w.g.Arches() {
		if err := w.bundleOf(ctx, arch); err != nil {
			return err
		}
	}
	return w.fields(ctx, w.g.Field("eggo.bundles"))
}

// findBundles opens and verifies what is in the usual places and at the paths.
func (w *wizard) findBundles(ctx context.Context, paths ...string) {
	w.say("wizard.bundle.looking")
	w.svc.Bundles(ctx, paths, func(b draft.Bundle) {
		switch {
		case b.Verified || b.Fault != nil:
			w.g.FoundBundle(b)
			if b.Fault != nil {
				text, next := w.p.Fault(b.Fault)
				w.complain(event.Warning, b.Path+": "+text, next)
			}
		case b.Done > 0 && b.Size > 0:
			w.waits(event.M("plain.proving", "path", event.Clean(b.Path), "percent",
				strconv.FormatInt(100*b.Done/b.Size, 10)))
		}
	})
}

// listBundles prints the bundles of an architecture and returns their paths.
func (w *wizard) listBundles(arch string) (paths []string) {
	for _, b := range w.g.Bundles {
		if b.Fault != nil || b.Manifest == nil || b.Manifest.Arch != arch {
			continue
		}
		paths = append(paths, b.Path)
		_, state := guide.BundleState(w.p, b)
		w.print(fmt.Sprintf("%2d  %s  Kubernetes %s  %s  %s", len(paths), event.Clean(b.Path),
			event.Clean(b.Manifest.Kubernetes), event.Clean(guide.System(b.Manifest)), state))
		if b.Signed.Key != "" {
			w.print("    " + event.Clean(w.p.Msg(b.Signed)))
		}
	}
	if len(paths) == 0 {
		w.say("plain.no-bundle", "arch", arch)
	}
	return paths
}

func (w *wizard) bundleOf(ctx context.Context, arch string) error {
	key := config.BundleKey(arch)
	fit := w.listBundles(arch)
	if w.g.Draft.Value(key) == "" && len(fit) > 0 {
		first := max(0, slices.IndexFunc(fit, func(path string) bool { return slices.Contains(w.g.Built, path) }))
		w.change(func() { w.g.Draft.Set(key, fit[first]) })
	}
	for _, b := range w.g.Bundles {
		if b.Path == w.g.Draft.Value(key) {
			w.against(b.Manifest)
		}
	}
	for {
		now := cmp.Or(w.g.Draft.Value(key), w.t("wizard.unset"))
		text, err := w.ask(ctx, w.t("plain.bundle", "arch", arch)+" ["+now+"]:")
		if err != nil || text == "" {
			return err
		}
		if text == "-" {
			w.change(func() { w.g.Draft.Set(key, "") })
			return nil
		}
		if i, ok := numbered(text, len(fit)); ok {
			text = fit[i]
		}
		a, err := bundle.Open(w.svc.Path(text))
		if err == nil {
			err = bundle.CheckArch(a.Manifest(), arch)
		}
		if err != nil {
			w.fault(err)
			continue
		}
		w.change(func() { w.g.Draft.Set(key, w.svc.Path(text)) })
		w.against(a.Manifest())
		return nil
	}
}

// against prints what is wrong with a bundle for the machines and the settings.
func (w *wizard) against(m *bundle.Manifest) {
	if m == nil {
		return
	}
	for _, r := range w.g.Against(w.p, "plain", m) {
		w.complain(r.Severity, r.Text, r.Next)
	}
}

// checkKey checks the file of the private key.
func (w *wizard) checkKey() {
	if file, check := w.g.KeyToCheck(); check && file != "" {
		w.g.KeyChecked(file, w.svc.KeyFile(file))
	}
}

// check prints the problems of the draft or, if it has none, what preflight finds, and asks what to do about it.
func (w *wizard) check(ctx context.Context) error {
	if err := w.await(ctx, probePatience); err != nil {
		return err
	}
	w.checkKey()
	if w.g.Check(); w.g.Problems.HasErrors() {
		for _, p := range w.g.Problems {
			w.wrong(p)
		}
		n, _ := w.g.Problems.Count()
		w.say("wizard.preflight.invalid", "count", strconv.Itoa(n))
		var list []choice
		if to, some := w.g.FirstWrong(); some {
			list = append(list, choice{"to " + string(to), w.t("plain.fix-step", "step", to.Title(w.p))})
		}
		_, err := w.afterwards(ctx, list)
		return err
	}
	ok := w.preflightNow(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ok {
		w.say("wizard.preflight.passed", "count", strconv.Itoa(len(w.g.Draft.Machines)))
		return nil
	}
	fixes, do := w.fixes()
	id, err := w.afterwards(ctx, fixes)
	if err != nil {
		return err
	}
	if do[id] != nil {
		do[id]()
		return errAgain
	}
	return nil
}

// fixes returns what can be done about causes that block the installation, on all machines that have them.
func (w *wizard) fixes() (list []choice, do map[string]func()) {
	do = map[string]func(){}
	for i, c := range w.g.Preflight.Causes {
		if c.Severity != event.Error {
			continue
		}
		text, _ := w.p.Fault(&c.Findings[0].Fault)
		names := c.Hosts()
		if len(names) > 1 {
			text = w.t("wizard.cause", "count", strconv.Itoa(len(names)), "text", text)
		}
		fix := w.g.FixOf(c.Findings)
		id := "to " + string(fix.To)
		if fix.Changes() {
			id = strconv.Itoa(i)
			do[id] = func() { w.g.Apply(fix) }
		}
		if fix.Word != "" && !slices.ContainsFunc(list, func(c choice) bool { return c.id == id }) {
			list = append(list, choice{id, w.t("plain.fix", "do", w.t(fix.Word), "what", event.Clean(text))})
		}
		names = w.g.Removable(names)
		if out := "without " + strings.Join(names, " "); len(names) > 0 && do[out] == nil {
			do[out] = func() { w.g.RemoveNamed(names) }
			list = append(list, choice{out, w.t("ui.fail.skip", "node",
				event.Clean(strings.Join(report.Ranges(names), ", ")))})
		}
	}
	return list, do
}

// preflightNow runs preflight of the draft, prints what it finds, and reports whether it passed.
func (w *wizard) preflightNow(ctx context.Context) (ok bool) {
	var mu sync.Mutex
	total := strconv.Itoa(len(w.g.Draft.Machines))
	w.g.StartPreflight()
	f := &w.g.Preflight
	w.svc.Preflight(ctx, w.g.Draft.Clone(), w.g.Target(), func(c draft.Check) {
		mu.Lock()
		defer mu.Unlock()
		f.Take(c)
		switch {
		case c.Machine != "":
			done, linked := f.Progress()
			w.waits(event.M("wizard.preflight.busy", "done", strconv.Itoa(done), "total", total, "linked",
				strconv.Itoa(linked)))
		case c.Total > 0:
			w.waits(event.M("wizard.preflight.bundle", "file", event.Clean(c.Bundle), "percent",
				strconv.FormatInt(100*c.Done/c.Total, 10)))
		}
		if c.Fault != nil {
			w.fault(c.Fault)
		}
	})
	mu.Lock()
	defer mu.Unlock()
	f.Take(draft.Check{End: true})
	for _, c := range f.Causes {
		w.cause(c)
	}
	if n := f.Count(event.Error); n > 0 {
		w.say("wizard.preflight.failed", "count", strconv.Itoa(n))
	}
	ok = w.g.Passed()
	if f.Fault != nil && f.Count(event.Error) == 0 { // it could not be made, and says nothing
		*f = guide.Preflight{}
	}
	return ok
}

// afterwards asks what to do about what was found: one of the proposals, look again, or go on all the same.
func (w *wizard) afterwards(ctx context.Context, list []choice) (string, error) {
	list = append(list, w.choices("wizard.key.again", "plain.on")...)
	id, err := w.number(ctx, list, list[0].id)
	if to, is := strings.CutPrefix(id, "to "); is && err == nil {
		return "", toStep(guide.Step(to))
	}
	if id == "wizard.key.again" && err == nil {
		return "", errAgain
	}
	return id, err
}

// review shows the file, what is other than on the disk and what will be done, as the person likes, and does with it
// what the person says.
func (w *wizard) review(ctx context.Context) error {
	file := w.g.Target()
	w.preview(ctx)
	for {
		words := w.choicesNow()
		w.say("plain.will-be", "file", file, "count", strconv.Itoa(len(w.g.Fresh())))
		for _, b := range w.g.Bundles {
			if b.Signed.Key != "" && w.g.Chosen(b.Path) {
				w.print(event.Clean(w.p.Msg(b.Signed)))
			}
		}
		do, err := w.number(ctx, w.choices(words...), "plain.show")
		if err != nil {
			return err
		}
		switch do {
		case "wizard.key.to-preflight":
			return toStep(guide.PreflightStep)
		case "plain.show":
			w.print(strings.TrimRight(draft.Masked(w.g.Text(w.p)), "\n"))
		case "plain.diff":
			w.diff(file)
		case "plain.plan":
			w.planned(ctx, file)
		case "plain.change":
			return w.anyStep(ctx)
		case "plain.leave":
			return errLeft
		case "wizard.key.write":
			if err := w.put(file); err != nil {
				w.fault(err)
				continue
			}
			w.say("wizard.written", "file", file)
			return errDone
		case "wizard.key.join":
			if len(w.g.Fresh()) == 0 {
				return toStep(guide.MachinesStep)
			}
			if yes, err := w.confirmed(ctx); err != nil {
				return err
			} else if yes {
				return w.letJoin(ctx)
			}
		default:
			if done, err := w.install(ctx, file); done || err != nil {
				return err
			}
		}
	}
}

// choicesNow returns what can be done with the draft as it is, and prints its problems.
func (w *wizard) choicesNow() []string {
	show := []string{"plain.show", "plain.diff", "plain.plan", "plain.change", "plain.leave"}
	if w.g.Check(); w.g.Problems.HasErrors() {
		for _, p := range w.g.Problems {
			w.wrong(p)
		}
		return []string{"plain.change", "plain.show", "plain.diff", "plain.leave"}
	}
	var words []string
	for _, a := range w.g.Actions() {
		words = append(words, string(a))
		if a == guide.ToPreflight {
			_, errors, _ := w.g.Checks()
			w.complain(event.Error, w.t("wizard.run.failed", "count", strconv.Itoa(errors)), "")
		}
	}
	if x, is := w.g.SinglePoint(w.p); is {
		w.complain(x.Severity, x.Text, x.Next)
	}
	if len(words) == 0 { // nothing joins yet
		words = []string{string(guide.Join)}
	}
	return append(words, show...)
}

// confirmed prints what is about to be done, with the doubts about it, and asks whether to do it.
func (w *wizard) confirmed(ctx context.Context) (bool, error) {
	title, about := w.g.Confirm()
	for _, m := range append([]event.Msg{about}, w.g.Doubts()...) {
		w.print(w.p.Msg(m))
	}
	return w.sure(ctx, w.p.Msg(title))
}

// anyStep asks for the step to go to, and names those that have errors.
func (w *wizard) anyStep(ctx context.Context) error {
	var list []choice
	for i, t := range w.g.Steps {
		text := t.Title(w.p)
		if tone, word, _ := w.g.StepState(w.p, i); tone == guide.Bad || tone == guide.Warn {
			text += ": " + word
		}
		list = append(list, choice{string(t), text})
	}
	id, err := w.number(ctx, list, list[0].id)
	if err != nil {
		return err
	}
	return toStep(guide.Step(id))
}

// put writes deploy.yaml, or the list of the machines that join. The draft is forgotten: it has become that.
func (w *wizard) put(file string) error {
	if err := w.svc.Write(file, w.g.Draft, w.p); err != nil {
		return err
	}
	w.stored, w.written = w.g.Saved(nil), true
	return w.svc.Forget()
}

func (w *wizard) diff(file string) {
	disk, err := w.svc.Read(file)
	if err != nil {
		w.fault(err)
		return
	}
	sentence, _, lines := w.g.Diff(w.p, w.g.OnDisk(disk, w.p), w.g.Text(w.p))
	if sentence != "" {
		w.print(sentence)
	}
	w.print(draft.Changed(lines)...)
}

// planned tells what would be done, machine by machine.
func (w *wizard) planned(ctx context.Context, file string) {
	w.say("wizard.plan.busy")
	list, err := w.svc.Plan(ctx, w.g.Draft.Clone(), file)
	if err != nil {
		w.fault(err)
		return
	}
	if len(list) == 0 {
		w.say("wizard.plan.nothing")
	}
	for _, n := range guide.PlanRows(w.p, list) {
		line := n.Name
		for _, x := range []string{n.Address, n.Count, n.Upload} {
			if x != "" {
				line += "  " + x
			}
		}
		w.print(line)
		for _, text := range n.Changes {
			w.print("  " + text)
		}
	}
}

// install writes deploy.yaml and installs what it says, in a process of its own.
func (w *wizard) install(ctx context.Context, file string) (done bool, err error) {
	yes, err := w.confirmed(ctx)
	if err != nil || !yes {
		return false, err
	}
	if err := w.put(file); err != nil {
		w.fault(err)
		return false, nil
	}
	w.say("wizard.written", "file", file)
	err = w.m.begin(ctx, w.svc.Start(file, w.g.Draft), ask.WithAnswers(w.conversation, draft.Secrets(w.g.Draft)))
	if err != nil {
		return true, err
	}
	return true, errDone
}

// add lets machines join a cluster: the wizard's table over the cluster's own deploy.yaml.
func (m *menu) add(ctx context.Context, c request.ClusterRuns) error {
	cluster, svc, err := m.svc.Joining(c)
	if err != nil {
		return err
	}
	w := newWizard(m, svc)
	w.g.Join(cluster, c.File)
	return w.run(ctx)
}

// letJoin begins the join of the machines that are new.
func (w *wizard) letJoin(ctx context.Context) error {
	if err := w.put(w.g.File); err != nil {
		return err
	}
	with := ask.WithAnswers(w.conversation, draft.Secrets(w.g.Draft))
	err := w.m.begin(ctx, w.svc.Start(w.g.File, w.g.Draft), with)
	if err != nil {
		return err
	}
	return errDone
}
