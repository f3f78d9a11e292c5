package node

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// HookDir is where scripts of the operator's lie on a node while they are needed.
const HookDir = Dir + "/hooks"

const hookWords = 5 // last lines of a hook's output in a fault

// Hook is a script of the operator's that runs on the node as root.
type Hook struct {
	Desc    event.Msg
	Dir     string // below HookDir: the script, how it ended
	Name    string // file name; .sh or .bash
	Data    []byte
	Env     map[string]string
	Timeout time.Duration
	// Passing: nothing of the hook stays on the node, not even how it ended.
	Passing bool
}

// hookLib runs a script in a process group of its own, which ends as a whole when the time is up or the run is stopped.
// Who reads its output stops soon after its end, whatever it left behind that still holds the pipe.
//
//go:embed hook.sh
var hookLib string

// HookEnded says how a hook ended that was begun in the directory: 0 and true when it ended well; -1 and true when its
// end is not known.
func (n *Node) HookEnded(ctx context.Context, dir string) (status int, begun bool, err error) {
	d := shell.Quote(path.Join(HookDir, dir))
	out, err := n.Query(ctx, "cat "+d+"/status 2>/dev/null || if [ -e "+d+"/began ]; then echo -1; fi\n")
	if err != nil || out == "" {
		return 0, false, err
	}
	status, err = strconv.Atoi(strings.TrimSpace(out))
	return status, true, err
}

// RunHook copies the script to the node and runs it; what it prints comes as output of the node. cut is how many bytes
// of that were left out. Faults are hook.failed with the exit status and hook.timeout.
func (n *Node) RunHook(ctx context.Context, h Hook) (cut int64, err error) {
	dir := path.Join(HookDir, h.Dir)
	file := path.Join(dir, h.Name)
	put := fmt.Sprintf("mkdir -p -m 700 %[1]s %[2]s\nrm -f %[3]s\n(umask 077; head -c %[4]d >%[3]s)\nchmod 700 %[3]s\n",
		shell.Quote(HookDir), shell.Quote(dir), shell.Quote(file), len(h.Data))
	secs := int(h.Timeout.Round(time.Second).Seconds())
	res, err := n.Change(ctx, Change{Desc: h.Desc, Env: h.Env, Stdin: h.Data,
		Script: hookLib + put + fmt.Sprintf("hookrun %s %s %d\n", shell.Quote(dir), shell.Quote(file), max(1, secs))})
	if err != nil {
		return 0, err
	}
	out, err := n.Query(ctx, fmt.Sprintf("cat %[1]s/status 2>/dev/null || echo 255\n"+
		"cat %[1]s/cut 2>/dev/null || echo 0\n", shell.Quote(dir)))
	if err != nil {
		return 0, err
	}
	if h.Passing {
		if _, err := n.must(ctx, shell.Command{Quiet: true,
			Script: lib + "rm -rf " + shell.Quote(dir) + "\nrmdir " + HookDir +
				" 2>/dev/null || :\nrecorded || { rm -f $R; rmdir $D 2>/dev/null || :; }\n"}); err != nil {
			return 0, err
		}
	}
	f := strings.Fields(out)
	if len(f) != 2 {
		return 0, event.NewFault(event.ClassFailed, "hook.failed", nil, "hook", h.Name, "status", "?").On(n.Name())
	}
	cut, _ = strconv.ParseInt(f[1], 10, 64)
	if f[0] == "0" {
		return cut, nil
	}
	fault := event.NewFault(event.ClassFailed, "hook.failed", nil, "hook", h.Name, "status", f[0]).On(n.Name())
	if f[0] == "124" || f[0] == "137" {
		fault = event.NewFault(event.ClassFailed, "hook.timeout", nil, "hook", h.Name, "timeout",
			h.Timeout.String()).On(n.Name())
	}
	lines := strings.Split(strings.TrimSpace(string(res.Stdout)), "\n")
	fault.Cause = event.Clean(strings.Join(lines[max(0, len(lines)-hookWords):], "\n"))
	return cut, fault
}
