package runs

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// While a run begins, a cancel ends its process. The end of the server does not.
func TestWhoEndsARunThatBegins(t *testing.T) {
	for _, c := range []struct {
		why         error
		fault, last string
	}{{manager.ErrCanceled, "run.interrupted", ""}, {nil, "", "lives"}} {
		r := runner(t)
		install(t, r)
		words, goes := filepath.Join(r.o.Data, "words"), filepath.Join(r.o.Data, "goes")
		if err := errors.Join(syscall.Mkfifo(words, 0o600), syscall.Mkfifo(goes, 0o600)); err != nil {
			t.Fatal(err)
		}
		r.o.Launcher = operation.Launcher{Root: r.o.Root, Command: func(...string) (*exec.Cmd, error) {
			return exec.Command("/bin/sh", "-c", `exec 4>"$0"; read x <"$1"; echo lives >&4`, words, goes), nil
		}}
		ctx, cancel := context.WithCancelCause(t.Context())
		started := make(chan error, 1)
		go func() {
			_, err := r.Start(ctx, record(manager.Renew, nil, Parameters{}))
			started <- err
		}()
		said, err := os.Open(words) // when the process is there
		if err != nil {
			t.Fatal(err)
		}
		cancel(c.why)
		err = <-started
		if f := (*event.Fault)(nil); c.fault == "" && !errors.Is(err, context.Canceled) ||
			c.fault != "" && (!errors.As(err, &f) || f.Code != c.fault) {
			t.Errorf("%v: %v", c.why, err)
		}
		on, err := os.OpenFile(goes, os.O_RDWR, 0) // nobody may be there any more to read it
		if err != nil {
			t.Fatal(err)
		}
		_, err = on.WriteString("\n")
		last, err2 := io.ReadAll(said)
		if err := errors.Join(err, err2, on.Close(), said.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(last)) != c.last {
			t.Errorf("%v: the last words are %q, want %q", c.why, last, c.last)
		}
	}
}
