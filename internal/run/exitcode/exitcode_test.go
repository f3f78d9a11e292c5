package exitcode_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/exitcode"
)

// The numbers are an interface that scripts rely on, so they are spelled out here once more.
var table = map[event.Class]int{
	event.ClassFailed: 1, event.ClassUsage: 2, event.ClassPartial: 3, event.ClassAuth: 4, event.ClassPreflight: 5,
	event.ClassBundle: 6, event.ClassLocked: 11, event.ClassInterrupted: 130,
}

func TestEveryClassHasItsNumber(t *testing.T) {
	for class, want := range table {
		if got := exitcode.OfClass(class); int(got) != want {
			t.Errorf("class %s exits %d, want %d", class, got, want)
		}
	}
	if got := exitcode.OfClass("something new"); got != exitcode.Failed {
		t.Errorf("an unknown class exits %d, want %d", got, exitcode.Failed)
	}
}

func TestErrorsMapThroughTheirFault(t *testing.T) {
	fault := event.NewFault(event.ClassLocked, "run.locked", nil)
	for name, tc := range map[string]struct {
		err  error
		want exitcode.Code
	}{
		"nothing":          {nil, exitcode.OK},
		"plain error":      {errors.New("x"), exitcode.Failed},
		"fault":            {fault, exitcode.Locked},
		"wrapped fault":    {fmt.Errorf("deploy: %w", fault), exitcode.Locked},
		"cancelled":        {fmt.Errorf("run: %w", context.Canceled), exitcode.Interrupted},
		"deadline is fail": {context.DeadlineExceeded, exitcode.Failed},
		"fault over cancel": {
			event.NewFault(event.ClassAuth, "ssh.auth", context.Canceled), exitcode.Auth,
		},
	} {
		if got := exitcode.Of(tc.err); got != tc.want {
			t.Errorf("%s: exit %d, want %d", name, got, tc.want)
		}
	}
}

func TestDocumentListsEveryCode(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range table {
		if !strings.Contains(string(doc), fmt.Sprintf("\n| %d |", n)) {
			t.Errorf("docs/exit-codes.md has no row for %d", n)
		}
	}
}
