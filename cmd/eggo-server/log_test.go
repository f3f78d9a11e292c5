package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// The log of the server says which operations begin and end, by whom, and how.
func TestOperationsAreLogged(t *testing.T) {
	var out bytes.Buffer
	say := following(slog.New(slog.NewTextHandler(&out, nil)), i18n.NewPrinter(i18n.English))
	o := manager.Operation{Kind: manager.Renew, By: "ann"}
	say("one", o, nil)
	say("one", o, &manager.Outcome{})
	say("one", o, &manager.Outcome{Fault: &event.Fault{Code: "run.failed"}})
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"begins", "outcome=ok", "outcome=run.failed"} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "cluster=one operation=renew by=ann") {
			t.Errorf("no %s in %s", want, lines[i])
		}
	}
}
