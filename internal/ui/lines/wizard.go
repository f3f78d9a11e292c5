package lines

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// wizard leads through the session of the guide line by line, with numbered choices.
type wizard struct {
	*conversation
	svc     backend.DraftServices
	m       *menu
	g       *guide.Session
	sought  bool        // bundles were looked for
	stored  draft.Saved // as it was kept last
	written bool        // the stored draft is in deploy.yaml

	// looks at machines go on while the person does; what they tell is said before the next question
	looking sync.WaitGroup
	probes  context.Context //nolint:containedctx // ended with the wizard
	news    chan draft.Probe
}

// What a line may say instead of an answer.
var (
	errBack  = errors.New("step before")
	errOn    = errors.New("next step")
	errAgain = errors.New("this step again")
	errDone  = errors.New("done")
)

// toStep goes to a step.
type toStep guide.Step

// Error implements error.
func (t toStep) Error() string { return "to " + string(t) }

func newWizard(m *menu, svc backend.DraftServices) *wizard {
	g := guide.New()
	g.Usual = svc.File
	return &wizard{
		svc: svc, conversation: m.conversation, m: m, g: g, news: make(chan draft.Probe, 4096),
	}
}

// newCluster asks for a new cluster and installs it, from bundles that were built just now if there are any.
func newCluster(ctx context.Context, m *menu, built ...string) error {
	w := newWizard(m, m.svc.Draft())
	w.g.Built = built
	return w.run(ctx)
}

// resume offers what was kept when the wizard was left.
func (w *wizard) resume(ctx context.Context) error {
	kept, ok := w.svc.Load()
	if !ok {
		return nil
	}
	question, ok := w.g.Offer(kept)
	if !ok {
		return nil
	}
	w.print(w.p.Msg(question))
	do, err := w.choose(ctx, w.choices("wizard.resume.go-on", "wizard.resume.new"), "wizard.resume.go-on")
	if err != nil || do != "wizard.resume.go-on" {
		return err
	}
	if w.g.Resume(kept) {
		w.g.GoTo(w.g.Index(guide.Step(kept.Step)))
	}
	for _, field := range slices.Sorted(maps.Keys(kept.Typed)) {
		// what the screen did not take has no place here, but it is not lost
		if text := kept.Typed[field]; text != "" {
			w.say("plain.typed", "text", text)
		}
	}
	return nil
}

// do asks for what the step needs.
func (w *wizard) do(ctx context.Context) error {
	switch step := w.g.Now(); step {
	case guide.MachinesStep:
		return w.machines(ctx)
	case guide.BundleStep:
		return w.chooseBundle(ctx)
	case guide.ExtraStep:
		return w.extra(ctx)
	case guide.PreflightStep:
		return w.check(ctx)
	case guide.ReviewStep:
		return w.review(ctx)
	default:
		return w.form(ctx, step)
	}
}

// run leads through the steps.
func (w *wizard) run(ctx context.Context) error {
	if err := w.resume(ctx); err != nil {
		return err
	}
	var stop context.CancelFunc
	w.probes, stop = context.WithCancel(ctx)
	defer func() { stop(); w.looking.Wait() }()
	w.say("plain.how")
	for {
		w.print("", w.t("plain.step", "at", strconv.Itoa(w.g.At+1), "of", strconv.Itoa(len(w.g.Steps)), "step",
			w.g.Now().Heading(w.p)), w.g.About(w.p, w.g.Now(), false))
		err := w.do(ctx)
		at := w.g.At
		var to toStep
		switch {
		case errors.As(err, &to):
			at = w.g.Index(guide.Step(to))
		case errors.Is(err, errBack):
			at--
		case errors.Is(err, errAgain):
		case err == nil, errors.Is(err, errOn):
			at++
		case errors.Is(err, errDone):
			return nil
		default: // the person leaves, or is gone: nothing is lost
			if e := w.keep(); e != nil {
				return e
			}
			if errors.Is(err, errLeft) || errors.Is(err, io.EOF) || ctx.Err() != nil {
				w.say("plain.kept")
			}
			return err
		}
		w.g.GoTo(min(max(at, 0), len(w.g.Steps)-1))
		if err := w.keep(); err != nil {
			return err
		}
	}
}

// keep saves the draft, without passwords unless they are to be in the file. A draft that was written is not kept until
// it is changed.
func (w *wizard) keep() error {
	now := w.g.Saved(nil)
	if w.written && guide.SameSaved(now, w.stored) {
		return nil
	}
	w.stored, w.written = now, false
	return w.svc.Save(now)
}

// change changes the draft as one step of undo.
func (w *wizard) change(do func()) { w.g.Change(do) }

// undo goes back by one change, or forth again; what it returns repeats the step.
func (w *wizard) undo(turn func(*i18n.Printer) (string, bool), word string) error {
	if what, ok := turn(w.p); ok {
		w.say(word, "what", what)
	} else {
		w.say("plain.no-undo")
	}
	return errAgain
}

// ask asks for a line. What a person may type at any question of the wizard is done here.
func (w *wizard) ask(ctx context.Context, prompt string) (string, error) {
	for {
		if err := w.tellNews(ctx); err != nil {
			return "", err
		}
		if !guide.SameSaved(w.stored, w.g.Saved(nil)) { // the user may be gone
			if err := w.keep(); err != nil {
				return "", err
			}
		}
		text, err := w.line(ctx, prompt)
		if err != nil {
			return "", err
		}
		switch narrow(text) {
		case "<":
			return "", errBack
		case ">":
			return "", errOn
		case ":u":
			return "", w.undo(w.g.Undo, "plain.undone")
		case ":r":
			return "", w.undo(w.g.Redo, "plain.redone")
		case ":p":
			w.look(true)
			if err := w.await(ctx, probePatience); err != nil {
				return "", err
			}
			return "", errAgain
		case ":s":
			return "", w.anyStep(ctx)
		case ":l":
			w.otherLang()
			return "", errAgain
		case ":q":
			return "", errLeft
		case "?":
			w.say("plain.how")
			w.help()
			continue
		}
		return text, nil
	}
}

// help prints what helps at the step.
func (w *wizard) help() {
	for _, topic := range w.g.Advice(w.p, w.g.Now()) {
		w.print(topic.Title)
		for _, x := range topic.Tips {
			line := "  " + x.Label
			if x.Label != "" && x.Text != "" {
				line += ": "
			}
			w.print(line + x.Text)
		}
	}
}

// number asks for one of numbered choices; def is taken by Enter.
func (w *wizard) number(ctx context.Context, list []choice, def string) (string, error) {
	for i, c := range list {
		w.print(strconv.Itoa(i+1) + "  " + c.text)
	}
	at := max(0, slices.IndexFunc(list, func(c choice) bool { return c.id == def }))
	for {
		text, err := w.ask(ctx, w.t("plain.pick", "default", strconv.Itoa(at+1)))
		if err != nil {
			return "", err
		}
		if text == "" {
			return list[at].id, nil
		}
		if i, ok := numbered(text, len(list)); ok {
			return list[i].id, nil
		}
		w.say("plain.no-such", "text", text)
	}
}

// wrong tells what is wrong and what to type instead.
func (w *wizard) wrong(p config.Problem) {
	text, next := guide.Words(w.p, "plain", p.Fault())
	w.complain(p.Severity, text, next)
}

// imported takes a list of machines, or a deploy.yaml in place of the draft; it can be undone.
func (w *wizard) imported(path string) {
	path = strings.TrimSpace(path)
	data, err := w.svc.Read(path)
	switch {
	case err != nil:
		w.fault(err)
		return
	case data == nil:
		w.say("plain.no-file", "file", path)
		return
	}
	if l, is := draft.ListIn(data); is {
		w.take(l)
		return
	}
	if bad, ok := w.g.Import(data, path); !ok {
		w.wrong(bad)
		return
	}
	w.say("wizard.imported", "count", strconv.Itoa(len(w.g.Draft.Machines)), "file", path)
}

// form asks for the fields of a step.
func (w *wizard) form(ctx context.Context, step guide.Step) error {
	switch {
	case step == guide.ClusterStep && len(w.g.Draft.Machines) == 0:
		w.say("plain.import")
	case step == guide.LoginStep && !w.g.Joins():
		w.g.OwnKeys = w.svc.Keys()
	}
	w.g.Check() // some defaults follow from the whole draft
	return w.fields(ctx, w.g.Fields(step)...)
}

// extra takes KEY=VALUE for every key that deploy.yaml has.
func (w *wizard) extra(ctx context.Context) error {
	for {
		text, err := w.ask(ctx, w.t("plain.extra"))
		if err != nil || text == "" {
			return err
		}
		if rest, is := strings.CutPrefix(narrow(text), "*"); is {
			for _, s := range config.Settings() {
				if s.Kind != config.Secret && strings.Contains(s.Key, strings.TrimSpace(rest)) {
					w.print("    "+s.Key+"="+w.g.Draft.Get(s.Key), "        "+guide.Hint(w.p, s.Key))
				}
			}
			continue
		}
		key, value, has := strings.Cut(text, "=")
		key, value = narrow(key), strings.TrimSpace(value)
		s, known := config.SettingOf(key)
		if !known || !has {
			w.say("plain.no-such", "text", key)
			continue
		}
		if s.Kind == config.Block && value == "|" {
			if value, err = w.block(ctx); err != nil {
				return err
			}
		}
		f := w.g.Field(key)
		value = f.Normalize(value)
		if bad, is := f.Check(value); is {
			w.wrong(bad)
			continue
		}
		w.change(func() { f.Set(value) })
	}
}

// block takes lines until one that is a dot.
func (w *wizard) block(ctx context.Context) (string, error) {
	w.say("plain.block")
	var lines []string
	for {
		text, err := w.hear(ctx)
		if err != nil {
			return "", err
		}
		if narrow(text) == "." {
			return strings.Join(lines, "\n"), nil
		}
		lines = append(lines, text)
	}
}
