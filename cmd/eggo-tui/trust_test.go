package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// decided answers a question about a signer.
type decided struct {
	operationtest.User
	yes   bool
	asked []ask.Signer
}

// Ask implements ask.Asker.
func (d *decided) Ask(ctx context.Context, q ask.Question) (ask.Answer, error) {
	s, is := q.(ask.Signer)
	if !is {
		return d.User.Ask(ctx, q)
	}
	d.asked = append(d.asked, s)
	return ask.Answer{Trusted: []bool{d.yes}}, nil
}

// signedBundle is a bundle, signed, and a deploy.yaml that names it.
func signedBundle(t *testing.T) (file, deploy, fingerprint string) {
	t.Helper()
	dir := t.TempDir()
	file, deploy = filepath.Join(dir, "b.tar.gz"), filepath.Join(dir, "deploy.yaml")
	pair, err := sign.Generate("me", nil)
	must(t, err, pair.Save(filepath.Join(dir, "key")), phasestest.WriteBundle(file))
	a, err := bundle.Open(file)
	must(t, err)
	key, err := sign.Load(t.Context(), filepath.Join(dir, "key"), "", nil)
	must(t, err)
	armored, err := sign.Sign(t.Context(), key, sign.Namespace, strings.NewReader(string(a.Sums())))
	text := strings.NewReplacer("/no/such/bundle.tar.gz", file, "eggo: {password-from: prompt}\n", "").
		Replace(operationtest.Nobody)
	must(t, err, os.WriteFile(file+".sig", armored, 0o600), os.WriteFile(deploy, []byte(text), 0o600))
	return file, deploy, pair.Fingerprint()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// While no signer is known a person is asked about the key, before the run is a process of its own; a yes is kept, a no
// ends it.
func TestUserIsAskedAboutTheSigner(t *testing.T) {
	t.Parallel()
	file, deploy, fingerprint := signedBundle(t)
	for _, yes := range []bool{false, true} {
		state := t.TempDir()
		env := &environment{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Args: []string{"eggo-tui"},
			P: i18n.NewPrinter(i18n.English), Getenv: func(string) string { return "" }, Clock: operationtest.Swift{},
			State: state,
		}
		who := &decided{yes: yes}
		launch := env.host().Launch
		_, err := launch(t.Context(), backend.Start{Request: request.Deploy{Common: request.OfFile(deploy)}}, who)
		if len(who.asked) != 1 || who.asked[0].Fingerprint != fingerprint ||
			who.asked[0].Bundle != filepath.Base(file) {
			t.Fatalf("asked %+v", who.asked)
		}
		known, lerr := trust.In(state).Load()
		must(t, lerr)
		if !yes {
			if f := event.AsFault(err); f == nil || f.Code != "trust.refused" || known != nil {
				t.Errorf("%v, known: %v", err, known)
			}
			if runs, _ := filepath.Glob(filepath.Join(state, "*", "runs", "*")); len(runs) > 0 ||
				exists(filepath.Join(state, "bundles")) {
				t.Errorf("something was begun: %q", runs)
			}
			continue
		}
		if known == nil || known.List()[0].Fingerprint != fingerprint {
			t.Fatalf("%v, known: %v", err, known)
		}
		// The next one is not asked about, and another key's is refused.
		again := backend.Start{Request: request.Deploy{Common: request.OfFile(deploy)}}
		if _, err := launch(t.Context(), again, who); len(who.asked) != 1 {
			t.Errorf("asked again, %v", err)
		}
		must(t, os.Remove(file+".sig"))
		_, err = launch(t.Context(), backend.Start{Request: request.Deploy{Common: request.OfFile(deploy)}}, who)
		if f := event.AsFault(err); f == nil || f.Code != "trust.unsigned" {
			t.Error(err)
		}
	}
}

// The wizard says who signed a bundle. It unpacks none about whose signer somebody has yet to be asked, and reads none
// that would be refused.
func TestTheWizardSaysWhoSigned(t *testing.T) {
	file, _, _ := signedBundle(t)
	t.Chdir(filepath.Dir(file))
	dir, err := os.Getwd()
	must(t, err)
	file = filepath.Join(dir, filepath.Base(file))
	state := filepath.Join(t.TempDir(), "state")
	d := (&environment{Getenv: func(string) string { return "" }, State: state}).host().Draft()
	last := func() (out draft.Bundle) {
		d.Bundles(t.Context(), nil, func(b draft.Bundle) {
			if filepath.Dir(b.Path) != dir {
				t.Skipf("this machine has a bundle where the wizard looks: %s", b.Path)
			}
			out = b
		})
		return out
	}
	staged := filepath.Join(state, "bundles")
	if b := last(); b.Signed.Key != "trust.unknown-signer" || !b.Verified || bundle.Finished(file, staged) {
		t.Errorf("%+v", b)
	}
	a, err := bundle.Open(file)
	must(t, err)
	armored, err := os.ReadFile(file + ".sig")
	must(t, err)
	who, err := sign.Fits(t.Context(), armored, strings.NewReader(string(a.Sums())), sign.Namespace)
	must(t, err)
	line, err := who.AllowedLine("builder")
	must(t, err)
	_, err = trust.In(state).Add([]string{line})
	must(t, err)
	if b := last(); b.Signed.Key != "trust.signed" || b.Signed.Args["who"] != "builder" || b.Fault != nil {
		t.Errorf("%+v", b)
	}
	must(t, os.Remove(file+".sig"))
	if b := last(); b.Fault == nil || b.Fault.Code != "trust.unsigned" || b.Verified {
		t.Errorf("%+v", b)
	}
}

// A yes to a bundle's key is a no to a bundle that nobody signed, whichever comes first, and before there is a run.
func TestAYesIsANoToTheUnsigned(t *testing.T) {
	t.Parallel()
	for _, order := range [][2]string{{"signed", "unsigned"}, {"unsigned", "signed"}} {
		file, deploy, _ := signedBundle(t)
		unsigned := filepath.Join(t.TempDir(), "other.tar.gz")
		must(t, phasestest.WriteBundle(unsigned))
		paths := map[string]string{"signed": file, "unsigned": unsigned}
		text, err := os.ReadFile(deploy)
		must(t, err)
		both := strings.Replace(string(text), "x86src: "+file, "x86src: "+paths[order[0]]+", armsrc: "+paths[order[1]],
			1)
		must(t, os.WriteFile(deploy, []byte(both), 0o600))
		state, who := t.TempDir(), &decided{yes: true}
		env := &environment{
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Args: []string{"eggo-tui"},
			P: i18n.NewPrinter(i18n.English), Getenv: func(string) string { return "" }, Clock: operationtest.Swift{},
			State: state,
		}
		launch := env.host().Launch
		_, err = launch(t.Context(), backend.Start{Request: request.Deploy{Common: request.OfFile(deploy)}}, who)
		if f := event.AsFault(err); f == nil || f.Code != "trust.unsigned" || len(who.asked) != 1 {
			t.Errorf("%v: %v, asked %d", order, err, len(who.asked))
		}
		if runs, _ := filepath.Glob(filepath.Join(state, "*", "runs", "*")); len(runs) > 0 {
			t.Errorf("%v: a run was begun", order)
		}
	}
}
