package build

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// TestSpaceIsAReasonOfItsOwn: a full disk and a quota that is used up are told apart from what is not allowed.
func TestSpaceIsAReasonOfItsOwn(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.ENOSPC: "build.no-space",
		syscall.EDQUOT: "build.no-space", syscall.EACCES: "build.write"} {
		f := event.AsFault(writeFault(&fs.PathError{Op: "write", Path: "/out/x", Err: errno}, "/out/x"))
		if f.Code != want || f.Args["file"] != "/out/x" {
			t.Errorf("%v: %+v", errno, f)
		}
	}
}
