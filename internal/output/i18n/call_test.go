package i18n

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestAnAdvisedOperationIsSaidAsTheFrontEndSaysIt: the log has the operation, the front end its command line; a log of
// before has the command line itself.
func TestAnAdvisedOperationIsSaidAsTheFrontEndSaysIt(t *testing.T) {
	p := NewPrinter(English)
	m := event.Calling("next.resume", event.Call{Verb: "deploy", Cluster: "rack"})
	if got, want := p.Msg(m), p.T("next.resume", "command", "eggo-tui deploy rack"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Command = func(c event.Call) string { return "eggo " + c.Verb + " --id " + c.Cluster }
	if got, want := p.Msg(m), p.T("next.resume", "command", "eggo deploy --id rack"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := p.Msg(m.With("command", "as it was")), p.T("next.resume", "command", "as it was"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
