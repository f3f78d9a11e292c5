package lines

import (
	"cmp"
	"context"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/guide"
)

// fields asks for the values of fields that apply.
func (w *wizard) fields(ctx context.Context, list ...*guide.Field) error {
	for _, f := range list {
		if !f.Applies() {
			continue
		}
		if err := w.field(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// field asks for a value; Enter keeps what holds, - removes what was entered. For the name of the cluster, @FILE
// imports a file.
func (w *wizard) field(ctx context.Context, f *guide.Field) error {
	if hint := guide.Hint(w.p, f.Key); hint != "" {
		w.print(hint)
	}
	if f.Picks() {
		return w.pick(ctx, f)
	}
	for {
		text, err := w.value(ctx, f)
		switch {
		case err != nil:
			return err
		case text == "":
			return nil
		case text == "-":
			w.change(func() { f.Set("") })
			return nil
		case f.Kind == config.Secret && text == "<":
			return errBack
		}
		text = f.Normalize(text)
		if path, is := strings.CutPrefix(text, "@"); is && f.Key == "cluster-id" {
			w.change(func() { w.imported(path) })
			return nil
		}
		if bad, is := f.Check(text); is {
			w.wrong(bad)
			continue
		}
		w.change(func() { f.Set(text) })
		return nil
	}
}

// pick asks for one of the choices of a field.
func (w *wizard) pick(ctx context.Context, f *guide.Field) error {
	w.print(f.Label(w.p) + ":")
	var list []choice
	for _, c := range f.Choices {
		list = append(list, choice{c, f.Word(w.p, c)})
	}
	now := f.Effective()
	v, err := w.number(ctx, list, now)
	if err == nil && v != now {
		w.change(func() { f.Set(v) })
	}
	return err
}

// value asks for the line that is the value of a field.
func (w *wizard) value(ctx context.Context, f *guide.Field) (string, error) {
	if f.Kind != config.Secret {
		return w.ask(ctx, f.Label(w.p)+" ["+cmp.Or(f.Effective(), w.t("wizard.unset"))+"]:")
	}
	if err := w.tellNews(ctx); err != nil {
		return "", err
	}
	word := "plain.secret-none"
	if f.Value() != "" {
		word = "plain.secret-kept"
	}
	return w.secret(ctx, f.Label(w.p)+" ("+w.t(word)+"):")
}
