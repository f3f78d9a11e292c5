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
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/config/guide"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
)

// wizard is the wizard line by line: the same draft, the same rules, numbered choices; nothing is drawn over.
type wizard struct {
	*conversation
	svc     backend.DraftServices
	m       *menu
	g       *guide.Session
	steps   []step
	at      int            // the step that is asked about
	stored  config.Draft   // as it was kept last
	found   []draft.Bundle // once they were looked for
	built   []string       // of them: built just now
	checked checkResult    // of the last preflight

	// looks at machines go on while the person does; what they tell is said before the next question
	looking sync.WaitGroup
	probes  context.Context //nolint:containedctx // ended with the wizard
	login   string          // that the machines were looked at with
	news    chan draft.Probe
	looked  map[string]draft.Probe // by address and port
	asking  []draft.Probe
}

// checkResult is what preflight has found, of which draft.
type checkResult struct {
	of               string
	errors, warnings int
}

// step is a step of the wizard.
type step struct {
	id string
	do func(ctx context.Context) error
}

// What a line may say instead of an answer.
var (
	errBack  = errors.New("step before")
	errOn    = errors.New("next step")
	errAgain = errors.New("this step again")
	errDone  = errors.New("done")
)

// toStep goes to a step by its ID.
type toStep string

// Error implements error.
func (t toStep) Error() string { return "to " + string(t) }

func newWizard(m *menu, svc backend.DraftServices) *wizard {
	g := guide.New()
	g.Usual = svc.File
	return &wizard{
		svc: svc, conversation: m.conversation, m: m, g: g, news: make(chan draft.Probe, 4096),
		looked: map[string]draft.Probe{},
	}
}

// newCluster asks for a new cluster and installs it, from bundles that were built just now if there are any.
func newCluster(ctx context.Context, m *menu, built ...string) error {
	w := newWizard(m, m.svc.Draft())
	w.built = built
	w.steps = []step{
		{"cluster", w.cluster}, {"login", w.form("login")}, {"nodes", w.machines}, {"networks", w.form("networks")},
		{"runtime", w.form("runtime")}, {"bundle", w.chooseBundle}, {"extra", w.extra}, {"preflight", w.check},
		{"review", w.review},
	}
	first := "cluster"
	if s, ok := w.svc.Load(); ok {
		w.say("wizard.resume", "cluster", s.Draft.Get("cluster-id"), "count", strconv.Itoa(len(s.Draft.Machines)),
			"when", s.When.Local().Format("2006-01-02 15:04"))
		do, err := w.choose(ctx, w.choices("wizard.resume.go-on", "wizard.resume.new"), "wizard.resume.go-on")
		if err != nil {
			return err
		}
		if do == "wizard.resume.go-on" {
			w.g.Draft, w.g.File, first = s.Draft, s.File, s.Step
			for _, field := range slices.Sorted(maps.Keys(s.Typed)) {
				// what the screen did not take has no place here, but it is not lost
				if text := s.Typed[field]; text != "" {
					w.say("plain.typed", "text", text)
				}
			}
		}
	}
	return w.run(ctx, first)
}

// run leads through the steps, from the one with that ID.
func (w *wizard) run(ctx context.Context, first string) error {
	var stop context.CancelFunc
	w.probes, stop = context.WithCancel(ctx)
	defer func() { stop(); w.looking.Wait() }()
	w.say("plain.how")
	at := w.index(first)
	for {
		w.at = at
		if s := w.steps[at]; len(w.steps) > 1 {
			w.print("", w.t("plain.step", "at", strconv.Itoa(at+1), "of", strconv.Itoa(len(w.steps)), "step",
				w.t("wizard.head."+s.id)), w.about(s.id))
		}
		err := w.steps[at].do(ctx)
		var to toStep
		switch {
		case errors.As(err, &to):
			at = w.index(string(to))
		case errors.Is(err, errBack):
			at = max(0, at-1)
		case errors.Is(err, errAgain):
		case err == nil, errors.Is(err, errOn):
			at = min(at+1, len(w.steps)-1)
		case errors.Is(err, errDone):
			return nil
		default: // the person leaves, or is gone: nothing is lost
			if e := w.keep(at); e != nil {
				return e
			}
			if !w.g.Joins() && (errors.Is(err, errLeft) || errors.Is(err, io.EOF) || ctx.Err() != nil) {
				w.say("plain.kept")
			}
			return err
		}
		if err := w.keep(at); err != nil {
			return err
		}
	}
}

// about says what a step is for, in words that fit lines.
func (w *wizard) about(id string) string {
	if key := "wizard.about." + id + ".mono"; w.p.Has(key) {
		return w.t(key)
	}
	return w.t("wizard.about." + id)
}

func (w *wizard) index(id string) int {
	return max(0, slices.IndexFunc(w.steps, func(s step) bool { return s.id == id }))
}

// keep saves the draft as it is, without passwords unless they are to stand in the file.
func (w *wizard) keep(at int) error {
	if w.g.Joins() { // of a cluster that is there
		return nil
	}
	w.stored = w.g.Draft.Clone()
	s := draft.Saved{Draft: w.g.Draft.Clone(), Step: w.steps[at].id, File: w.g.File, When: time.Now()}
	if !s.Draft.KeepSecrets {
		s.Draft = s.Draft.WithoutSecrets()
	}
	return w.svc.Save(s)
}

// change changes the draft as one step of undo.
func (w *wizard) change(do func()) {
	w.g.History.Keep(w.g.Draft)
	do()
	w.g.History.Changed(w.g.Draft)
}

// undo goes back by one change, or forth again; what it says is what becomes of the step.
func (w *wizard) undo(step func(config.Draft) (config.Draft, bool), word string) error {
	w.g.History.Keep(w.g.Draft)
	was := w.g.Draft
	to, ok := step(was)
	if !ok {
		w.say("plain.no-undo")
		return errAgain
	}
	w.g.Draft = to
	w.say(word, "what", draft.Difference(w.p, w.g.Draft, was))
	return errAgain
}

// ask asks for a line. What a person may type at any question of the wizard is done here.
func (w *wizard) ask(ctx context.Context, prompt string) (string, error) {
	for {
		if err := w.tellNews(ctx); err != nil {
			return "", err
		}
		if !w.stored.Equal(w.g.Draft) { // whoever is to answer may be gone
			if err := w.keep(w.at); err != nil {
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
			return "", w.undo(w.g.History.Undo, "plain.undone")
		case ":r":
			return "", w.undo(w.g.History.Redo, "plain.redone")
		case ":l":
			w.otherLang()
			return "", errAgain
		case ":q":
			return "", errLeft
		case "?":
			w.say("plain.how")
			continue
		}
		return text, nil
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
	text, next := w.p.Fault(p.Fault())
	w.complain(p.Severity, text, next)
}

func (w *wizard) cluster(ctx context.Context) error {
	if len(w.g.Draft.Machines) == 0 {
		w.say("plain.import")
	}
	return w.fields(ctx, w.g.Fields("cluster")...)
}

// imported takes a deploy.yaml in place of the draft; it can be undone.
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
	d, problems := config.ReadDraft(data, path)
	if d.Blank() && problems.HasErrors() {
		w.wrong(problems[0])
		return
	}
	w.g.Draft = d
	w.say("wizard.imported", "count", strconv.Itoa(len(d.Machines)), "file", path)
}

// form asks for the fields of a step.
func (w *wizard) form(step string) func(context.Context) error {
	return func(ctx context.Context) error {
		if step == "login" {
			w.g.OwnKeys = w.svc.Keys()
		}
		w.g.Check() // some defaults follow from the whole draft
		return w.fields(ctx, w.g.Fields(step)...)
	}
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
