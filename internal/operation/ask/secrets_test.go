package ask

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// front answers secrets in turn, and counts the questions.
type front struct {
	answers []string
	asked   int
}

// Ask implements Asker.
func (f *front) Ask(_ context.Context, q Question) (Answer, error) {
	if _, is := q.(Secret); !is {
		return Answer{Trusted: []bool{true}}, nil
	}
	f.asked++
	return Answer{Secret: f.answers[(f.asked-1)%len(f.answers)]}, nil
}

// A file or a variable that has nothing but blanks and line breaks holds no secret. Otherwise only its last line break
// is dropped.
func TestWithStored_Blank(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{"": "", "\n": "", "\r\n": "", " ": "", " \n\n": "", "x\n": "x",
		" x \r\n": " x "} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &front{answers: []string{"typed"}}
		a := WithStored(f, func(string) string { return strings.TrimRight(text, "\r\n") })
		for _, from := range []string{"file:" + file, "env:NAME"} {
			got, err := ForSecret(t.Context(), a, Secret{From: from})
			if got != want && err == nil || f.asked > 0 || (err == nil) != (want != "") {
				t.Errorf("%q in %s: %q %v", text, from, got, err)
			}
		}
		if got, err := ForSecret(t.Context(), a, Secret{From: "prompt"}); got != "typed" || err != nil {
			t.Error(got, err)
		}
		if _, err := ForSecret(t.Context(), a, Secret{From: "vault:x"}); err == nil {
			t.Error("an unknown source is no error")
		}
	}
}

// Each secret is asked for once; a blank one again, unless blanks are kept.
func TestMemory_AsksOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers []string
		blank   bool
		asked   int
		kept    map[string]string
	}{
		{[]string{"x"}, false, 1, map[string]string{"password": "x", "sudo": "known"}},
		{[]string{" ", "x"}, false, 2, map[string]string{"password": "x", "sudo": "known"}},
		{[]string{"", "x"}, true, 1, map[string]string{"password": "", "sudo": "known"}},
	} {
		f := &front{answers: c.answers}
		m := Remember(f, map[string]string{"sudo": "known"})
		m.Blank = c.blank
		for _, id := range []string{"password", "sudo", "password", "password"} {
			if _, err := ForSecret(t.Context(), m, Secret{ID: id, From: "prompt"}); err != nil {
				t.Error(err)
			}
		}
		if f.asked != c.asked || !maps.Equal(m.Secrets(), c.kept) {
			t.Errorf("%q: asked %d times, kept %q", c.answers, f.asked, m.Secrets())
		}
		f.asked = 0
		for range 2 { // the run reads it itself
			_, _ = ForSecret(t.Context(), m, Secret{ID: "bastion", From: "env:X"})
		}
		if f.asked != 2 || len(m.Secrets()) != 2 {
			t.Errorf("asked %d times, kept %q", f.asked, m.Secrets())
		}
	}
}

// What was answered before is not asked; a blank answer is none.
func TestWithAnswers_OfNobody(t *testing.T) {
	t.Parallel()
	a := WithAnswers(Nobody{}, map[string]string{"password": "x", "sudo": " \n"})
	if got, err := ForSecret(t.Context(), a, Secret{ID: "password"}); got != "x" || err != nil {
		t.Error(got, err)
	}
	for _, asker := range []Asker{a, nil} {
		if _, err := ForSecret(t.Context(), asker, Secret{ID: "sudo"}); !errors.Is(err, ErrNobody) {
			t.Error(err)
		}
		if yes, err := Trusts(t.Context(), asker, Signer{}); yes || !errors.Is(err, ErrNobody) {
			t.Error(yes, err)
		}
		Tell(t.Context(), asker, LoggedIn{})
	}
	if yes, err := Trusts(t.Context(), a, HostKeys{Keys: []HostKey{{}}}); yes || err != nil {
		t.Error("an unknown host key:", yes, err)
	}
	if yes, err := Trusts(t.Context(), WithAnswers(&front{}, nil), Signer{}); !yes || err != nil {
		t.Error(yes, err)
	}
}
