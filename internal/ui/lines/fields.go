package lines

import (
	"cmp"
	"context"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
)

// field is a question for one value.
type field struct {
	key    string // of its words
	now    string // what holds
	kind   config.Kind
	picks  []string
	hidden func() bool // nil: never
	check  func(string) (config.Problem, bool)
	set    func(string) // "" takes away what was said
}

// setting is the field of a key of deploy.yaml.
func (w *wizard) setting(key string) field {
	s, _ := config.SettingOf(key)
	f := field{key: key, now: w.draft.Get(key), kind: s.Kind, picks: s.Choices}
	if s.Kind == config.YesNo {
		f.picks = []string{"false", "true"}
	}
	if s.Applies != nil {
		f.hidden = func() bool { return !s.Applies(w.draft.Get) }
	}
	f.check = func(v string) (config.Problem, bool) { return config.CheckValue(key, v) }
	f.set = func(v string) { w.draft.Set(key, v) }
	return f
}

// settings are the fields of a step.
func (w *wizard) settings(step string) []field {
	var out []field
	for _, s := range config.SettingsOf(step) {
		out = append(out, w.setting(s.Key))
	}
	return out
}

// fieldOf is the place of a key among the fields, which has to be there.
func fieldOf(list []field, key string) int {
	return slices.IndexFunc(list, func(f field) bool { return f.key == key })
}

// fields asks for values; Enter keeps what holds, - takes away what was said.
func (w *wizard) fields(ctx context.Context, list ...field) error {
	for _, f := range list {
		if f.hidden != nil && f.hidden() {
			continue
		}
		if err := w.one(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// hint says what to type, "" if there are no words for it.
func (w *wizard) hint(key string) string {
	if w.p.Has("wizard.hint." + key) {
		return w.t("wizard.hint." + key)
	}
	return ""
}

// name of a field; a key without words is its own.
func (w *wizard) name(key string) string {
	if w.p.Has("wizard.field." + key) {
		return w.t("wizard.field." + key)
	}
	return key
}

func (w *wizard) one(ctx context.Context, f field) error {
	if hint := w.hint(f.key); hint != "" {
		w.print(hint)
	}
	if len(f.picks) > 0 {
		w.print(w.name(f.key) + ":")
		var list []choice
		for _, c := range f.picks {
			text := c
			if w.p.Has("wizard.value." + c) {
				text = w.t("wizard.value." + c)
			}
			list = append(list, choice{c, text})
		}
		v, err := w.number(ctx, list, f.now)
		if err == nil && v != f.now {
			w.change(func() { f.set(v) })
		}
		return err
	}
	for {
		var text string
		var err error
		if f.kind == config.Secret {
			if err := w.tellNews(ctx); err != nil {
				return err
			}
			word := "plain.secret-none"
			if f.now != "" {
				word = "plain.secret-kept"
			}
			text, err = w.secret(ctx, w.name(f.key)+" ("+w.t(word)+"):")
		} else {
			text, err = w.ask(ctx, w.name(f.key)+" ["+cmp.Or(f.now, w.t("wizard.unset"))+"]:")
		}
		switch {
		case err != nil:
			return err
		case text == "":
			return nil
		case text == "-":
			w.change(func() { f.set("") })
			return nil
		case f.kind == config.Secret && text == "<":
			return errBack
		}
		if f.kind != config.Path && f.kind != config.Secret && f.kind != config.Block {
			text = narrow(text)
		}
		if f.check != nil {
			if bad, is := f.check(text); is {
				w.wrong(bad)
				continue
			}
		}
		w.change(func() { f.set(text) })
		return nil
	}
}
