package remote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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

// What limits a slow upload is said once: the node, if a processor was busy with it, else the network.
func TestExplain_SlowUploads(t *testing.T) {
	for _, c := range []struct {
		sent int64
		took time.Duration
		done string
		want string
	}{
		{60 << 20, 30 * time.Second, "done 132 2", "notice.upload-node map[busy:1.3 cpus:2 node:n1 rate:2.0 MiB/s " +
			"size:60.0 MiB took:30s]"},
		{60 << 20, 30 * time.Second, "done 9 2", "notice.upload-network map[busy:0.0 cpus:2 node:n1 rate:2.0 MiB/s " +
			"size:60.0 MiB took:30s]"},
		{60 << 20, 9 * time.Second, "done 132 2", ""},
		{600 << 20, 30 * time.Second, "done 132 2", ""},
		{60 << 20, 30 * time.Second, "done", ""},
		{60 << 20, 30 * time.Second, "done 201 2", ""},
		{60 << 20, 30 * time.Second, "done x 2", ""},
		{60 << 20, 30 * time.Second, "done 0 0", ""},
	} {
		var said []string
		h := &Host{target: Target{Name: "n1"}, opt: Options{Emit: func(e event.Event) {
			n := e.(event.Notice)
			said = append(said, fmt.Sprint(n.Text.Key, " ", n.Text.Args))
		}}}
		up := &transfer{h: h}
		for range 2 {
			up.explain(c.sent, c.took, words([]byte(c.done)))
		}
		if got := strings.Join(said, "\n"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// The shells of nodes say how busy the processors were.
func TestWriteScript_SaysHowBusyTheNodeWas(t *testing.T) {
	for _, sh := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(sh[0]); err != nil {
			continue
		}
		path := filepath.Join(t.TempDir(), "f")
		c := exec.CommandContext(t.Context(), sh[0], append(sh[1:], "-c", hashLib+writeScript)...)
		c.Env = append(os.Environ(), "path="+path, "size=3", "mode=600", "wait=5", "from=0",
			"sha=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond, func() { _, _ = in.Write([]byte("abc")); _ = in.Close() }) // some ticks
		out, err := c.Output()
		if err != nil || !regexp.MustCompile(`^done \d+ [1-9]\d*\n$`).Match(out) {
			t.Errorf("%s: %q %v", sh[0], out, err)
		}
	}
}
