package remote

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// An upload whose script was killed says nothing: it is told with its status and tried again. One that says why is not.
func TestAnUploadThatEndsWithoutAWord(t *testing.T) {
	up := &transfer{up: shell.Upload{Path: "/opt/f"}}
	for _, c := range []struct {
		is    shell.Result
		cause string
		again bool
	}{
		{shell.Result{Status: 137}, "exit status 137", true},
		{shell.Result{Status: 84, Stdout: []byte("short 7 100\n")}, "exit status 84 short 7 100", true},
		{shell.Result{Status: 81, Stderr: []byte("f: Read-only file system\n")}, "f: Read-only file system", false},
	} {
		f := event.AsFault(up.broken(c.is))
		if f.Code != "ssh.upload-failed" || f.Cause != c.cause || f.Retry != c.again {
			t.Errorf("%+v: %+v", c.is, f)
		}
	}
}
