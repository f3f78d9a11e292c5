package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/report"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// plainWizard is the wizard line by line: the same draft, the same rules, numbered choices; nothing is drawn over.
type plainWizard struct {
	*draftDesk
	draft config.Draft
	looks map[string]wizard.Look // by address
	mu    sync.Mutex
	err   error // the person has left
}

// plainCluster asks for a new cluster and installs it.
func plainCluster(ctx context.Context, d *desk) error {
	w := &plainWizard{draftDesk: newDraftDesk(d.env, d.state), draft: config.Draft{}.Clone(), looks: map[string]wizard.Look{}}
	defer w.close()
	if s, ok := w.load(); ok {
		w.say("wizard.resume", "cluster", s.Draft.Get("cluster-id"), "count", strconv.Itoa(len(s.Draft.Machines)), "when", s.When.Local().Format("2006-01-02 15:04"))
		if w.choose(ctx, []string{"wizard.resume.go-on", "wizard.resume.new"}) == 0 {
			w.draft = s.Draft
		}
	}
	w.say("plain.how")
	steps := []func(context.Context){
		func(ctx context.Context) { w.head("cluster"); w.values(ctx, "cluster-id") },
		func(ctx context.Context) {
			w.head("login")
			w.values(ctx, "username", "private-key-path")
			w.password(ctx)
			w.values(ctx, "eggo.bastion")
		},
		func(ctx context.Context) { w.head("nodes"); w.machines(ctx) },
		func(ctx context.Context) {
			w.head("networks")
			w.values(ctx, "network.podcidr", "service.cidr", "network.plugin", "apiserver-endpoint")
		},
		func(ctx context.Context) { w.head("runtime"); w.values(ctx, "runtime", "addons", "registry-mirrors") },
		func(ctx context.Context) { w.head("bundle"); w.chooseBundle(ctx) },
		func(ctx context.Context) { w.head("extra"); w.extra(ctx) },
		func(ctx context.Context) { w.head("preflight"); w.check(ctx) },
	}
	for {
		for i, step := range steps {
			if step(ctx); ctx.Err() != nil {
				return ctx.Err()
			}
			s := wizard.Saved{Draft: w.draft, Step: strconv.Itoa(i)}
			if !s.Draft.KeepSecrets {
				s.Draft = s.Draft.WithoutSecrets()
			}
			if err := w.save(s); err != nil {
				return err
			}
			if errors.Is(w.err, io.EOF) { // there is nobody any more
				return nil
			}
			if w.err != nil {
				return w.err
			}
		}
		if done, err := w.review(ctx, d); done || err != nil {
			return err
		}
	}
}

func (w *plainWizard) say(key string, kv ...string) {
	fmt.Fprintln(w.env.Stderr, w.env.P.T(key, kv...))
}

func (w *plainWizard) head(step string) {
	fmt.Fprintf(w.env.Stderr, "\n%s\n%s\n", w.env.P.T("wizard.head."+step), w.env.P.T("wizard.about."+step))
}

// line asks for a line; "" once the person has left.
func (w *plainWizard) line(ctx context.Context, prompt string) string {
	if w.err != nil {
		return ""
	}
	text, err := askLine(ctx, w.env, prompt)
	if err != nil {
		w.err = err
	}
	return text
}

// choose asks for one of numbered choices, the first by Enter, and gives its index.
func (w *plainWizard) choose(ctx context.Context, words []string) int {
	for i, word := range words {
		fmt.Fprintf(w.env.Stderr, "%2d  %s\n", i+1, w.env.P.T(word))
	}
	return w.number(ctx, len(words), 0)
}

// number asks for one of 1 to n; Enter is def.
func (w *plainWizard) number(ctx context.Context, n, def int) int {
	for {
		text := w.line(ctx, fmt.Sprintf("%s [%d]", w.env.P.T("plain.choose"), def+1))
		if text == "q" {
			w.err = io.EOF
		}
		if text == "" || w.err != nil {
			return def
		}
		if i, err := strconv.Atoi(text); err == nil && i >= 1 && i <= n {
			return i - 1
		}
		w.say("plain.no-such", "text", text)
	}
}

// wrong tells what is wrong and what to type instead.
func (w *plainWizard) wrong(p config.Problem) {
	text, next := w.env.P.Fault(p.Fault())
	fmt.Fprintf(w.env.Stderr, "%s: %s\n", w.env.P.T("cli."+string(p.Severity)), event.Clean(text))
	if next != "" {
		fmt.Fprintf(w.env.Stderr, "  %s\n", event.Clean(next))
	}
}

// values asks for settings; Enter keeps what holds, - takes away what was said.
func (w *plainWizard) values(ctx context.Context, keys ...string) {
	for _, key := range keys {
		for w.err == nil {
			s, _ := config.SettingOf(key)
			p := w.env.P
			prompt := p.T("wizard.field." + key)
			if len(s.Choices) > 0 {
				fmt.Fprintln(w.env.Stderr, prompt+":")
				for i, c := range s.Choices {
					fmt.Fprintf(w.env.Stderr, "%2d  %s\n", i+1, c)
				}
				w.draft.Values[key] = s.Choices[w.number(ctx, len(s.Choices), max(0, slices.Index(s.Choices, w.draft.Get(key))))]
				break
			}
			fmt.Fprintln(w.env.Stderr, p.T("wizard.hint."+key))
			text := w.line(ctx, fmt.Sprintf("%s [%s]:", prompt, w.draft.Get(key)))
			if text == "" {
				break
			}
			if text == "-" {
				delete(w.draft.Values, key)
				break
			}
			if bad, is := config.CheckValue(key, text); is {
				w.wrong(bad)
				continue
			}
			w.draft.Values[key] = text
			break
		}
	}
}

func (w *plainWizard) password(ctx context.Context) {
	if _, ok := terminal(w.env); !ok || w.err != nil {
		return
	}
	w.say("wizard.hint.password")
	text, err := askSecret(ctx, w.env, w.env.P.T("wizard.field.password")+":")
	if err != nil {
		w.err = err
	} else if text != "" {
		w.draft.Values["password"] = text
	}
}

// machines takes a line for each, or a range, until an empty one, and looks at them.
func (w *plainWizard) machines(ctx context.Context) {
	for w.err == nil {
		w.list()
		text := w.line(ctx, w.env.P.T("plain.machine"))
		if text == "" && len(w.draft.Machines) > 0 || w.err != nil {
			break
		}
		if name, is := strings.CutPrefix(text, "-"); is {
			w.draft.Machines = slices.DeleteFunc(w.draft.Machines, func(m config.Machine) bool {
				return m.Name == strings.TrimSpace(name) || m.IP == strings.TrimSpace(name)
			})
			continue
		}
		list, bad := wizard.ReadMachines(text)
		for _, b := range bad {
			w.say("wizard.nodes.unread", "line", b)
			w.say("wizard.nodes.unread.next")
		}
		wizard.AddMachines(&w.draft, list)
	}
	for _, m := range w.draft.Machines {
		if w.err != nil || ctx.Err() != nil || w.looks[m.IP].Stage == wizard.Seen {
			continue
		}
		w.probe(ctx, w.draft.Clone(), m, func(l wizard.Look) { w.looked(ctx, l) })
	}
}

func (w *plainWizard) list() {
	for _, m := range w.draft.Machines {
		var roles []string
		for _, r := range m.Roles {
			roles = append(roles, w.env.P.T("ui.role."+string(r)))
		}
		fmt.Fprintf(w.env.Stderr, "    %s  %s  %s\n", m.Name, m.IP, strings.Join(roles, ", "))
	}
}

// looked tells the end of a look, and asks about a host key.
func (w *plainWizard) looked(ctx context.Context, l wizard.Look) {
	p := w.env.P
	switch l.Stage {
	case wizard.Asking:
		yes, err := atTerminal{w.env}.hostKey(ctx, remote.HostKeyQuestion{Node: l.Machine.Name, Addr: l.Key.Addr, Type: l.Key.Type, Fingerprint: l.Key.Fingerprint})
		if err != nil {
			w.err = err
		}
		l.Key.Answer(yes)
	case wizard.Failed:
		text, next := p.Fault(l.Fault)
		fmt.Fprintf(w.env.Stderr, "%s: %s: %s\n  %s\n", l.Machine.Name, p.T("wizard.look.failed"), event.Clean(text), event.Clean(next))
	case wizard.Seen:
		w.looks[l.Machine.IP] = l
		fmt.Fprintf(w.env.Stderr, "%s: %s: %s, %s, %s\n", l.Machine.Name, p.T("wizard.look.seen"), event.Clean(l.OS), l.Arch, report.Size(l.Memory))
		for _, f := range l.Findings {
			w.finding(f)
		}
		for i := range w.draft.Machines {
			if m := &w.draft.Machines[i]; m.IP == l.Machine.IP && m.Arch == "" && l.Arch == "arm64" {
				m.Arch = l.Arch
			}
		}
	case wizard.Reaching, wizard.LogIn, wizard.Looking:
	}
}

func (w *plainWizard) finding(f event.Finding) {
	text, next := w.env.P.Fault(&f.Fault)
	fmt.Fprintf(w.env.Stderr, "%s: %s\n", w.env.P.T("cli."+string(f.Severity)), event.Clean(text))
	if next != "" {
		fmt.Fprintf(w.env.Stderr, "  %s\n", event.Clean(next))
	}
}

// chooseBundle lists what was found for each architecture, and takes a path.
func (w *plainWizard) chooseBundle(ctx context.Context) {
	w.say("wizard.bundle.looking")
	var found []wizard.Bundle
	w.bundles(ctx, nil, func(b wizard.Bundle) {
		if b.Proven || b.Fault != nil {
			found = append(found, b)
		}
	})
	arches := []string{}
	for _, m := range w.draft.Machines {
		if a := cmp.Or(m.Arch, "amd64"); !slices.Contains(arches, a) {
			arches = append(arches, a)
		}
	}
	for _, arch := range arches {
		key := config.BundleKey(arch)
		var fit []string
		for _, b := range found {
			if b.Fault == nil && b.Manifest != nil && b.Manifest.Arch == arch {
				fit = append(fit, b.Path)
				fmt.Fprintf(w.env.Stderr, "%2d  %s  Kubernetes %s  %s %s  %s\n", len(fit), event.Clean(b.Path), b.Manifest.Kubernetes, b.Manifest.OS.ID, b.Manifest.OS.Codename, w.env.P.T("wizard.bundle.proven"))
			}
		}
		if w.draft.Values[key] == "" && len(fit) > 0 {
			w.draft.Values[key] = fit[0]
		}
		for w.err == nil {
			text := w.line(ctx, w.env.P.T("plain.bundle", "arch", arch)+" ["+w.draft.Values[key]+"]:")
			if text == "" && w.draft.Values[key] != "" || w.err != nil {
				break
			}
			if text == "-" {
				delete(w.draft.Values, key)
				break
			}
			if i, err := strconv.Atoi(text); err == nil && i >= 1 && i <= len(fit) {
				text = fit[i-1]
			}
			a, err := bundle.Open(w.path(text))
			if err == nil {
				err = bundle.CheckArch(a.Manifest(), arch)
			}
			if err != nil {
				printError(w.env, err)
				continue
			}
			w.draft.Values[key] = w.path(text)
			break
		}
	}
}

// extra takes KEY=VALUE for every key that deploy.yaml has.
func (w *plainWizard) extra(ctx context.Context) {
	for w.err == nil {
		text := w.line(ctx, w.env.P.T("plain.extra"))
		if text == "" {
			return
		}
		if text == "?" {
			for _, s := range config.Settings() {
				if s.Kind != config.Secret {
					fmt.Fprintf(w.env.Stderr, "    %s=%s\n", s.Key, w.draft.Get(s.Key))
				}
			}
			continue
		}
		key, value, _ := strings.Cut(text, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if _, known := config.SettingOf(key); !known {
			w.say("plain.no-such", "text", key)
			continue
		}
		if bad, is := config.CheckValue(key, value); is {
			w.wrong(bad)
			continue
		}
		w.draft.Values[key] = value
		if value == "" {
			delete(w.draft.Values, key)
		}
	}
}

// check tells all that is wrong with the draft, and, if nothing is, what preflight finds.
func (w *plainWizard) check(ctx context.Context) {
	_, problems := w.draft.Check("deploy.yaml")
	for _, p := range problems {
		w.wrong(p)
	}
	if problems.HasErrors() || w.err != nil {
		return
	}
	errors := 0
	w.preflight(ctx, w.draft.Clone(), w.file(w.draft.Get("cluster-id")), func(c wizard.Check) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.Finding != nil {
			w.finding(*c.Finding)
			if c.Finding.Severity == event.Error {
				errors++
			}
		}
		if c.Fault != nil {
			printError(w.env, c.Fault)
			errors++
		}
	})
	if errors == 0 {
		w.say("wizard.preflight.passed", "count", strconv.Itoa(len(w.draft.Machines)))
	} else {
		w.say("wizard.preflight.failed", "count", strconv.Itoa(errors))
	}
}

// review shows the file and does with it what the person says; not done: the steps begin again with what was said.
func (w *plainWizard) review(ctx context.Context, d *desk) (done bool, err error) {
	w.head("review")
	shown := w.draft.WithoutSecrets()
	fmt.Fprintf(w.env.Stderr, "%s", shown.YAML())
	file := w.file(w.draft.Get("cluster-id"))
	words := []string{"wizard.key.install", "wizard.key.write", "plain.begin", "plain.leave"}
	if _, problems := w.draft.Check("deploy.yaml"); problems.HasErrors() {
		words = words[2:]
	}
	switch words[w.choose(ctx, words)] {
	case "plain.begin":
		if errors.Is(w.err, io.EOF) {
			return true, nil
		}
		return w.err != nil, w.err
	case "plain.leave":
		return true, w.err
	case "wizard.key.write":
		if w.err == nil {
			err = w.write(file, w.draft)
		}
		if err == nil && w.err == nil {
			w.say("wizard.written", "file", file)
			err = w.forget()
		}
		return true, cmp.Or(w.err, err)
	}
	if w.err != nil {
		return true, w.err
	}
	if err := w.write(file, w.draft); err != nil {
		return true, err
	}
	w.say("wizard.written", "file", file)
	if err := w.forget(); err != nil {
		return true, err
	}
	env := *d.env
	env.Args = []string{d.env.Args[0], "--lang", string(d.env.P.Lang()), "deploy", "--file", filepath.Clean(file)}
	if d.state != "" {
		env.Args = append(env.Args, "--state-dir", d.state)
	}
	env.Ask = knowsTyped{atTerminal{d.env}, typedSecrets(w.draft)}
	return true, execute(ctx, &env)
}

// knowsTyped answers with what was typed before, and asks at the terminal for the rest.
type knowsTyped struct {
	atTerminal
	known map[string]string
}

func (k knowsTyped) secret(ctx context.Context, id string, what event.Msg) (string, error) {
	if v := k.known[what.Key]; v != "" {
		return v, nil
	}
	return k.atTerminal.secret(ctx, id, what)
}
