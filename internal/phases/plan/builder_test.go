package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// step is one of a phase on a host.
func step(phase, what, host string, needs ...string) *engine.Step {
	return &engine.Step{ID: name(phase, what, host), Phase: phase, Host: host, Needs: needs}
}

func name(phase, what, host string) string {
	if host == "" {
		return phase + "." + what
	}
	return phase + "." + what + "/" + host
}

func hosts(names ...string) (out []event.Host) {
	for _, n := range names {
		out = append(out, event.Host{Name: n})
	}
	return out
}

// outline is a line for each step: what it needs and which functions it has.
func outline(p *engine.Plan) (out []string) {
	for _, s := range p.Steps {
		line := s.ID + " <- " + strings.Join(s.Needs, " ")
		for name, set := range map[string]bool{"When": s.When != nil, "Check": s.Check != nil} {
			if set {
				line += " " + name
			}
		}
		words := strings.Fields(line)
		slices.Sort(words[2:])
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// phases are one that is open, one that does work, and one that waits for all.
func phases() []plan.Phase {
	return []plan.Phase{
		{ID: "look", Open: true},
		{ID: "work", CanSkip: true},
		{ID: "end", CanSkip: true, Loose: true, Needs: func(host string) []string {
			if host == "" {
				return nil
			}
			return []string{name("work", "first", host)}
		}},
	}
}

func TestWhatAStepNeeds(t *testing.T) {
	b := plan.New(plan.Options{Hosts: hosts("a", "b")}, phases()...)
	hook := step("work", "hook", "a", "look.verdict")
	b.Add(hook)
	all := b.Barrier("hooks", b.IDs("", ""))
	b.Gate(func(phase, host string) []string {
		if phase == "end" && host == "b" {
			return nil
		}
		return []string{all}
	})
	b.Add(step("look", "verdict", ""))
	list := make([]string, 1, 8) // with room: a list that steps share must not be written to
	list[0] = "look.verdict"
	for _, host := range []string{"a", "b"} {
		first := step("work", "first", host)
		first.Needs = list
		b.Add(first)
	}
	b.Gate(func(string, string) []string { return []string{"work.first/a"} })
	b.Add(step("end", "a", "a", "work.first/a"), step("end", "b", "b"), step("end", "all", "", b.IDs("work", "")...))

	p := b.Plan()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"work.hook/a <- look.verdict",
		"look.verdict <-",                                        // its phase is open
		"work.first/a <- hooks look.verdict",                     // a gate
		"work.first/b <- hooks look.verdict",                     // the same
		"end.a/a <- hooks work.first/a",                          // each once: its own, a gate, its phase's
		"end.b/b <- work.first/a work.first/b",                   // a gate, its phase's
		"end.all <- hooks work.first/a work.first/b work.hook/a", // of its phase's nothing
	}
	if diff := cmp.Diff(want, outline(p)); diff != "" {
		t.Error(diff)
	}
	if hook.Needs[0] != "look.verdict" || len(list[:2][1]) != 0 {
		t.Error("a list was written to", hook.Needs, list[:2])
	}
	if got := b.Barrier("none", nil); got != "" || len(p.Barriers) != 1 {
		t.Errorf("a barrier before nothing: %q %v", got, p.Barriers)
	}
}

func TestTheIDsOfStepsSoFar(t *testing.T) {
	b := plan.New(plan.Options{}, phases()...)
	b.Add(step("work", "x", "a"), step("work", "y", "b"), step("end", "x", "a"), step("end", "z", ""))
	for at, want := range map[[2]string]string{
		{"", ""}: "work.x/a work.y/b end.x/a end.z", {"work", ""}: "work.x/a work.y/b", {"", "a"}: "work.x/a end.x/a",
		{"end", "a"}: "end.x/a", {"look", ""}: "",
	} {
		if got := strings.Join(b.IDs(at[0], at[1]), " "); got != want {
			t.Errorf("%q: %s", at, got)
		}
	}
}

// A plan of steps that nobody declared a phase for, and needs that are not there, is refused where it is run and breaks
// nothing here.
func TestWhatIsNotThere(t *testing.T) {
	for code, s := range map[string]*engine.Step{
		"engine.unknown-phase": step("other", "x", ""), "engine.unknown-need": step("work", "x", "", "work.y"),
		"engine.unknown-host": step("work", "x", "c"), "engine.cycle": step("work", "x", "", "work.x"),
	} {
		b := plan.New(plan.Options{Hosts: hosts("a")}, phases()...)
		b.Add(s)
		if f := event.AsFault(b.Plan().Validate()); f == nil || f.Code != code {
			t.Errorf("%s: %v", code, f)
		}
	}
}

// outcome is what the engine would make of a step: why it is skipped, that it is done, the code of its fault, or that
// it was applied.
func outcome(ctx context.Context, s *engine.Step) string {
	if s.When != nil {
		if yes, why, err := s.When(ctx); err != nil || !yes {
			return "skipped " + why.Key
		}
	}
	if s.Check != nil {
		if done, err := s.Check(ctx); err != nil || done {
			return "done"
		}
	}
	for _, f := range []func(context.Context) error{s.Apply, s.Verify} {
		if f == nil {
			continue
		}
		if err := f(ctx); errors.Is(err, engine.ErrUnchanged) {
			return "unchanged"
		} else if err != nil {
			return event.AsFault(err).Code
		}
	}
	return "applied"
}

func TestStepsOfHostsThatAreSkipped(t *testing.T) {
	o := plan.Options{Hosts: hosts("a", "b", "c"), Skipped: func(host string) bool { return host != "a" }}
	for limit, want := range map[string]string{
		"": "look.x/b applied, work.x/a skipped mine, work.x/b skipped why.node-gone, work.x applied, free.x/b " +
			"applied",
		"b": "look.x/b applied, work.x/a skipped mine, work.x/b applied, work.x applied, free.x/b applied",
	} {
		o.Limit = strings.Fields(limit)
		b := plan.New(o, append(phases(), plan.Phase{ID: "free"})...)
		mine := step("work", "x", "a")
		mine.When = func(context.Context) (bool, event.Msg, error) { return false, event.M("mine"), nil }
		b.Add(step("look", "x", "b"), mine, step("work", "x", "b"), step("work", "x", ""), step("free", "x", "b"))
		var got []string
		for _, s := range b.Plan().Steps {
			got = append(got, s.ID+" "+outcome(t.Context(), s))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("limit %q: %s", limit, strings.Join(got, ", "))
		}
	}
}

// work is a step whose work is done or not, and that counts how often it was applied.
func work(phase, what, host string, done bool, applied *int, needs ...string) *engine.Step {
	s := step(phase, what, host, needs...)
	s.Check = func(context.Context) (bool, error) { return done, nil }
	s.Apply = func(ctx context.Context) error {
		if !wait.Dry(ctx) {
			*applied++
		}
		return nil
	}
	return s
}

func TestALimitKeepsToItsHosts(t *testing.T) {
	applied, skipped := 0, []string{}
	b := plan.New(plan.Options{
		Hosts: hosts("a", "b", "c"), Limit: []string{"a"}, Skipped: func(host string) bool { return host == "c" },
		Skip: func(host string) bool { skipped = append(skipped, host); return true },
	}, phases()...)
	others := b.Barrier("others", []string{"work.needed/b", "work.ready/b", "work.proof/b", "work.away/c"})
	proof := step("work", "proof", "b")
	proof.Verify = func(context.Context) error { return errors.New("no") }
	broken, away := step("work", "broken", "b"), step("work", "away", "c")
	broken.Check = func(context.Context) (bool, error) { panic("what came before it is missing") }
	away.Check = broken.Check
	b.Add(
		work("look", "x", "b", false, &applied),
		work("work", "needed", "b", false, &applied), work("work", "ready", "b", true, &applied), proof, away,
		work("work", "first", "a", false, &applied, others),
		work("work", "spare", "b", false, &applied), work("work", "done", "b", true, &applied), broken,
		work("work", "first", "b", true, &applied),
		work("end", "all", "", false, &applied, "work.spare/b"), work("end", "x", "a", false, &applied, "end.all"),
	)
	want := []string{
		"look.x/b applied",
		"work.needed/b limit.not-done", // a named host needs it
		"work.ready/b done",
		"work.proof/b limit.not-done",
		"work.away/c skipped why.node-gone", // needed, but of a host that the run continues without
		"work.first/a applied",
		"work.spare/b skipped why.not-in-limit",
		"work.done/b done",
		"work.broken/b skipped why.not-in-limit",
		"work.first/b done",
		"end.all applied", // of the jump host; it makes work.spare/b nobody's need
		"end.x/a applied",
	}
	var got []string
	for _, s := range b.Plan().Steps {
		got = append(got, s.ID+" "+outcome(t.Context(), s))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if applied != 4 || !slices.Equal(skipped, []string{"b", "b"}) {
		t.Error(applied, skipped)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	applied := 0
	var unsure []string
	o := plan.Options{
		Hosts: hosts("a"), Dry: true, Skip: func(string) bool { return true },
		Announced: func(id string) int { return len(id) % 2 },
		Emit: func(e event.Event) error {
			unsure = append(unsure, e.(event.Notice).Step+" "+e.(event.Notice).Text.Key)
			return nil
		},
	}
	after := func(context.Context, event.Outcome) error { return errors.New("of a dry run") }
	b := plan.New(o, append(phases(), plan.Phase{ID: "after", After: after})...)
	cut := func(what string, err error) *engine.Step {
		s := work("work", what, "a", false, &applied)
		s.Apply = func(context.Context) error { return err }
		return s
	}
	proof := step("work", "proof", "a")
	proof.Verify, proof.Retry = func(ctx context.Context) error {
		if !wait.Dry(ctx) {
			return errors.New("it would wait")
		}
		panic("there is no client")
	}, engine.Retry{Tries: 100}
	missing := step("work", "missing", "a")
	missing.When = func(context.Context) (bool, event.Msg, error) { panic("there is no node") }
	b.Add(
		work("look", "x", "a", false, &applied), work("work", "first", "a", false, &applied),
		work("work", "done", "a", true, &applied),
		cut("cut", wait.ErrDry), cut("cut-", wait.ErrDry), cut("fails", errors.New("it is not there")),
		cut("limit", event.NewFault(event.ClassFailed, "limit.not-done", nil)), cut("same", engine.ErrUnchanged),
		proof, missing,
	)
	p := b.Plan()
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.ID+" "+outcome(t.Context(), s))
		if s.Phase != "look" && (s.Retry.Tries != 0 || s.Undo != nil || s.Verify != nil || s.Timeout > 2*time.Minute) {
			t.Errorf("%+v", s)
		}
	}
	want := []string{
		"look.x/a applied", "work.first/a applied", "work.done/a done", "work.cut/a applied", "work.cut-/a applied",
		"work.fails/a applied", "work.limit/a limit.not-done", "work.same/a unchanged", "work.proof/a unchanged",
		"work.missing/a applied",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	hooked := func(ph engine.Phase) bool { return ph.After != nil }
	if proof.Retry.Tries != 100 || proof.Verify == nil {
		t.Error("the builder's own steps have changed: asked again, it would give another plan")
	}
	if applied != 1 || p.Spare != nil || slices.ContainsFunc(p.Phases, hooked) {
		t.Error(applied, p.Phases)
	}
	// What had announced a change before it was cut off is known; the others are not.
	if diff := cmp.Diff([]string{"work.cut/a plan.unsure", "work.fails/a plan.unsure"}, unsure); diff != "" {
		t.Error(diff)
	}
}

// made is a plan whose steps, gates and barriers the bytes choose. Every need is of a step before.
func made(data []byte, o plan.Options, applied *int) (*plan.Builder, map[string][]string) {
	o.Hosts = hosts("a", "b", "c")
	b := plan.New(o, phases()...)
	b.Add(work("look", "x", "", false, applied))
	for _, h := range []string{"a", "b", "c"} {
		b.Add(work("work", "first", h, false, applied, "look.x"))
	}
	held := map[string][]string{} // what the gates say of each step
	gates := map[string][]string{}
	for i, c := range data {
		host := []string{"", "a", "b", "c"}[c>>2&3]
		switch c & 3 {
		case 0, 1:
			s := work([]string{"look", "work", "end"}[c>>4%3], fmt.Sprint("s", i), host, c&64 != 0, applied)
			if ids := b.IDs("", ""); s.Phase != "look" {
				s.Needs = []string{ids[int(c)*7%len(ids)]}
				held[s.ID] = slices.Clone(gates[host])
			}
			b.Add(s)
		case 2:
			barrier := b.Barrier(fmt.Sprint("b", i), b.IDs("", host))
			b.Gate(func(_, on string) []string {
				if on != host {
					return nil
				}
				return []string{barrier}
			})
			gates[host] = append(gates[host], barrier)
		case 3:
			b.Add(work("end", fmt.Sprint("all", i), host, false, applied, b.IDs("work", "")...))
			held[name("end", fmt.Sprint("all", i), host)] = slices.Clone(gates[host])
		}
	}
	return b, held
}

func FuzzPlans(f *testing.F) {
	f.Add([]byte("\x00\x05\x12\x1a\x33\x16\x21"), "a")
	f.Add([]byte("\x02\x06\x0a\x0e\x03\x07\x0b\x0f\x10\x14\x18\x1c"), "")
	f.Add([]byte("the quick brown fox"), "b")
	f.Fuzz(func(t *testing.T, data []byte, limit string) {
		if len(data) > 200 {
			return
		}
		for _, dry := range []bool{false, true} {
			applied := 0
			o := plan.Options{
				Limit: strings.Fields(limit), Dry: dry, Skipped: func(host string) bool { return host == "c" },
				Emit: func(event.Event) error { return nil }, Announced: func(string) int { return 0 },
			}
			b, held := made(data, o, &applied)
			p := b.Plan()
			if err := p.Validate(); err != nil { // no cycle, no need that is not there
				t.Fatal(err)
			}
			if diff := cmp.Diff(outline(p), outline(b.Plan())); diff != "" {
				t.Error("asked again:", diff)
			}
			again, _ := made(data, o, &applied)
			if diff := cmp.Diff(outline(p), outline(again.Plan())); diff != "" {
				t.Error("made again:", diff)
			}
			for _, s := range p.Steps {
				for _, id := range held[s.ID] {
					if !slices.Contains(s.Needs, id) {
						t.Errorf("%s does not need %s", s.ID, id)
					}
				}
				before := applied
				outcome(t.Context(), s)
				outside := len(o.Limit) > 0 && s.Host != "" && !slices.Contains(o.Limit, s.Host)
				if applied > before && s.Phase != "look" && (dry || outside) {
					t.Errorf("%s was done", s.ID)
				}
			}
		}
	})
}
