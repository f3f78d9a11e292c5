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
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// chooseBundle lists what was found for each architecture, and takes numbers and paths.
func (w *wizard) chooseBundle(ctx context.Context) error {
	if w.found == nil {
		w.findBundles(ctx)
	}
	arches := []string{}
	for _, m := range w.g.Draft.Machines {
		if a := cmp.Or(m.Arch, "amd64"); !slices.Contains(arches, a) {
			arches = append(arches, a)
		}
	}
	for _, arch := range arches {
		if err := w.bundleOf(ctx, arch); err != nil {
			return err
		}
	}
	return w.fields(ctx, w.g.Field("eggo.bundles"))
}

// findBundles opens and proves what lies in the usual places.
func (w *wizard) findBundles(ctx context.Context) {
	w.say("wizard.bundle.looking")
	w.found = []draft.Bundle{}
	w.svc.Bundles(ctx, w.built, func(b draft.Bundle) {
		switch {
		case b.Verified || b.Fault != nil:
			w.found = append(w.found, b)
			if b.Fault != nil {
				text, next := w.p.Fault(b.Fault)
				w.complain(event.Warning, b.Path+": "+text, next)
			}
		case b.Done > 0 && b.Size > 0:
			w.Doing(event.M("plain.proving", "path", event.Clean(b.Path), "percent",
				strconv.FormatInt(100*b.Done/b.Size, 10)))
		}
	})
}

func (w *wizard) bundleOf(ctx context.Context, arch string) error {
	key := config.BundleKey(arch)
	var fit []string
	for _, b := range w.found {
		if b.Fault == nil && b.Manifest != nil && b.Manifest.Arch == arch {
			fit = append(fit, b.Path)
			w.print(fmt.Sprintf("%2d  %s  Kubernetes %s  %s  %s", len(fit), event.Clean(b.Path),
				event.Clean(b.Manifest.Kubernetes), event.Clean(strings.TrimSpace(b.Manifest.OS.ID+" "+
					cmp.Or(b.Manifest.OS.Codename, b.Manifest.OS.Release))), w.t("wizard.bundle.proven")))
			if b.Signed.Key != "" {
				w.print("    " + event.Clean(w.p.Msg(b.Signed)))
			}
		}
	}
	if len(fit) == 0 {
		w.say("plain.no-bundle", "arch", arch)
	}
	if w.g.Draft.Value(key) == "" && len(fit) > 0 {
		first := max(0, slices.IndexFunc(fit, func(path string) bool { return slices.Contains(w.built, path) }))
		w.change(func() { w.g.Draft.Set(key, fit[first]) })
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
		return nil
	}
}

// checkKey checks the file of the private key.
func (w *wizard) checkKey() {
	if file, check := w.g.KeyToCheck(); check && file != "" && w.svc.KeyFile != nil {
		w.g.KeyChecked(file, w.svc.KeyFile(file))
	}
}

// check tells all that is wrong with the draft, and, if nothing is, what preflight finds; each has what can be done
// about it.
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
		to, _ := w.g.FirstWrong()
		return w.after(ctx, choice{"to " + string(to), w.t("plain.fix-step", "step", to.Title(w.p))})
	}
	findings, ok := w.preflightNow(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ok {
		w.say("wizard.preflight.passed", "count", strconv.Itoa(len(w.g.Draft.Machines)))
		return nil
	}
	fixes, do := w.fixes(report.Causes(findings))
	id, err := w.afterwards(ctx, fixes)
	if err != nil {
		return err
	}
	if do[id] != nil {
		w.change(do[id])
		return errAgain
	}
	return nil
}

// fixes are what can be done about causes that stand in the way, on all machines that each was found on.
func (w *wizard) fixes(causes []report.Cause) (list []choice, do map[string]func()) {
	do = map[string]func(){}
	for i, c := range causes {
		if c.Severity != event.Error {
			continue
		}
		x := c.Findings[0]
		text, _ := w.p.Fault(&x.Fault)
		names := c.Hosts()
		if len(names) > 1 {
			text = w.t("wizard.cause", "count", strconv.Itoa(len(names)), "text", text)
		}
		word, change, to := draft.Fix(&w.g.Draft, w.g.Members, x)
		id := "to " + to
		switch {
		case change != nil:
			id = strconv.Itoa(i)
			do[id] = func() {
				for _, x := range c.Findings {
					if _, change, _ := draft.Fix(&w.g.Draft, w.g.Members, x); change != nil {
						change()
					}
				}
			}
			list = append(list, choice{id, w.t("plain.fix", "do", w.t(word), "what", event.Clean(text))})
		case to != "" && !slices.ContainsFunc(list, func(c choice) bool { return c.id == id }):
			list = append(list, choice{id, w.t("plain.fix", "do", w.t(word), "what", event.Clean(text))})
		}
		names = slices.DeleteFunc(names, w.memberName)
		if out := "without " + strings.Join(names, " "); len(names) > 0 && len(names) < len(w.g.Fresh()) &&
			do[out] == nil {
			do[out] = func() {
				w.g.Draft.Machines = slices.DeleteFunc(w.g.Draft.Machines,
					func(m config.Machine) bool { return slices.Contains(names, m.Name) })
			}
			list = append(list, choice{out, w.t("ui.fail.skip", "node",
				event.Clean(strings.Join(report.Ranges(names), ", ")))})
		}
	}
	return list, do
}

func (w *wizard) memberName(name string) bool {
	return slices.ContainsFunc(w.g.Draft.Machines, func(m config.Machine) bool {
		return m.Name == name && w.g.Member(m)
	})
}

// preflightNow is preflight of the draft as it is; it tells what it finds.
func (w *wizard) preflightNow(ctx context.Context) (findings []event.Finding, ok bool) {
	var mu sync.Mutex
	w.checked, ok = checkResult{}, true
	seen, linked, total := 0, 0, strconv.Itoa(len(w.g.Draft.Machines))
	w.svc.Preflight(ctx, w.g.Draft.Clone(), w.g.Target(), func(c draft.Check) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case c.Finding != nil:
			findings = append(findings, *c.Finding)
			ok = ok && c.Finding.Severity != event.Error
		case c.Machine != "":
			seen++
			w.Doing(event.M("wizard.preflight.busy", "done", strconv.Itoa(seen), "total", total, "linked",
				strconv.Itoa(max(seen, linked))))
		case c.Linked != "":
			linked++
		case c.Total > 0:
			w.Doing(event.M("wizard.preflight.bundle", "file", event.Clean(c.Bundle), "percent",
				strconv.FormatInt(100*c.Done/c.Total, 10)))
		}
		if c.Fault != nil {
			w.fault(c.Fault)
			ok = false
		}
	})
	mu.Lock()
	defer mu.Unlock()
	v := checkResult{of: w.g.Fingerprint()}
	for _, c := range report.Causes(findings) {
		w.cause(c)
		if c.Severity == event.Error {
			v.errors += len(c.Findings)
		} else {
			v.warnings += len(c.Findings)
		}
	}
	if v.errors > 0 {
		w.say("wizard.preflight.failed", "count", strconv.Itoa(v.errors))
	}
	if ok || v.errors > 0 { // one that could not be made says nothing
		w.checked = v
	}
	return findings, ok
}

// after is afterwards for one proposal.
func (w *wizard) after(ctx context.Context, c choice) error {
	_, err := w.afterwards(ctx, []choice{c})
	return err
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

// names says whether the draft installs from the bundle.
func (w *wizard) names(path string) bool {
	d := w.g.Draft
	return d.Value("package-src.x86src") == path || d.Value("package-src.armsrc") == path ||
		slices.Contains(config.Items(d.Value("eggo.bundles")), path)
}

// review shows the file, what is other than on the disk and what will be done, as the person likes, and does with it
// what the person says.
func (w *wizard) review(ctx context.Context) error {
	file := w.g.Target()
	w.preview(ctx)
	for {
		words := []string{"wizard.key.install", "wizard.key.write", "plain.show", "plain.diff", "plain.plan",
			"plain.change", "plain.leave"}
		if w.g.Check(); w.g.Problems.HasErrors() {
			for _, p := range w.g.Problems {
				w.wrong(p)
			}
			words = []string{"plain.change", "plain.show", "plain.diff", "plain.leave"}
		} else if w.checked.errors > 0 && w.checked.of == w.g.Fingerprint() {
			w.complain(event.Error, w.t("wizard.run.failed", "count", strconv.Itoa(w.checked.errors)), "")
			words[0] = "wizard.key.to-preflight"
			if w.g.Joins() {
				words = slices.Delete(words, 1, 2)
			}
		} else if w.g.Joins() {
			words = []string{"wizard.key.join", "plain.show", "plain.diff", "plain.plan", "plain.change", "plain.leave"}
		}
		w.say("plain.will-be", "file", file, "count", strconv.Itoa(len(w.g.Fresh())))
		for _, b := range w.found {
			if b.Signed.Key != "" && w.names(b.Path) {
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
			w.print(strings.TrimRight(draft.Masked(w.text()), "\n"))
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
			if yes, err := w.sure(ctx, w.t("wizard.join.title", "count", strconv.Itoa(len(w.g.Fresh())), "cluster",
				w.g.Draft.Get("cluster-id"))); err != nil || !yes {
				if err != nil {
					return err
				}
				continue
			}
			return w.letJoin(ctx)
		default:
			if done, err := w.install(ctx, file); done || err != nil {
				return err
			}
		}
	}
}

// anyStep asks which step to go back to.
func (w *wizard) anyStep(ctx context.Context) error {
	var list []choice
	for _, t := range w.g.Steps[:len(w.g.Steps)-1] {
		list = append(list, choice{string(t), t.Title(w.p)})
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

// text is the file as it will be.
func (w *wizard) text() []byte { return draft.Text(w.g.Draft, w.g.Joins(), w.p) }

func (w *wizard) diff(file string) {
	was, err := w.svc.Read(file)
	was = draft.NormalizeForDiff(was, file, w.g.Joins(), w.p)
	switch {
	case err != nil:
		w.fault(err)
	case was == nil:
		w.say("wizard.diff.new", "file", file)
	case string(was) == string(w.text()):
		w.say("wizard.diff.same")
	default:
		w.print(draft.Diff(was, w.text())...)
	}
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
	for _, n := range list {
		line := cmp.Or(event.Clean(n.Node), w.t("report.jump-host"))
		if n.Address != "" {
			line += "  " + n.Address
		}
		line += "  " + w.t("wizard.plan.count", "count", strconv.Itoa(len(n.Changes)))
		if n.Upload > 0 {
			line += "  " + w.t("wizard.plan.upload", "size", report.Size(n.Upload))
		}
		w.print(line)
		for _, c := range n.Changes {
			text := w.p.Msg(report.Sized(c.Desc))
			if !c.Exact {
				text = w.t("plan.inexact", "step", text)
			}
			w.print("  " + event.Clean(text))
		}
	}
}

// install writes deploy.yaml and installs what it says, in a process of its own.
func (w *wizard) install(ctx context.Context, file string) (done bool, err error) {
	w.say("wizard.run.about", "file", file, "count", strconv.Itoa(len(w.g.Draft.Machines)))
	switch {
	case w.checked.of != w.g.Fingerprint():
		w.say("wizard.run.unproven")
	case w.checked.warnings > 0:
		w.say("wizard.run.warned", "count", strconv.Itoa(w.checked.warnings))
	}
	yes, err := w.sure(ctx, w.t("wizard.run.title", "cluster", w.g.Draft.Get("cluster-id")))
	if err != nil || !yes {
		return false, err
	}
	if err := w.put(file); err != nil {
		w.fault(err)
		return false, nil
	}
	w.say("wizard.written", "file", file)
	err = w.m.begin(ctx, w.svc.Start(file, w.g.Draft), backend.WithAnswers(w.conversation, draft.Secrets(w.g.Draft)))
	if err != nil {
		return true, err
	}
	return true, errDone
}

// add lets machines join a cluster: the wizard's table over the cluster's own deploy.yaml.
func (m *menu) add(ctx context.Context, c backend.Cluster) error {
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
	ask := backend.WithAnswers(w.conversation, draft.Secrets(w.g.Draft))
	err := w.m.begin(ctx, w.svc.Start(w.g.File, w.g.Draft), ask)
	if err != nil {
		return err
	}
	return errDone
}
