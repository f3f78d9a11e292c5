//go:build faults

package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Recording says whether Provoked keeps what it gets.
const Recording = true

var known sync.Map // what this process has written down

// Provoked appends a fault to a file of this process in the directory EGGO_FAULTS, with the place in the source that
// made it, so that a test of internal/output/i18n can see that every code was provoked and reads well. What a test
// makes itself is not provoked.
func Provoked(f *Fault) {
	dir := os.Getenv("EGGO_FAULTS")
	if dir == "" {
		return
	}
	at := maker()
	if at == "" {
		return
	}
	if _, twice := known.LoadOrStore(fmt.Sprint(at, f.Code, slices.Sorted(maps.Keys(f.Args)), f.Cause != ""),
		nil); twice {
		return
	}
	args := map[string]string{}
	for k, v := range f.Args {
		args[k] = v[:min(len(v), 80)]
	}
	line, err := json.Marshal(map[string]any{
		"code": f.Code, "args": args, "cause": f.Cause != "", "at": at, "calls": len(f.Calls),
	})
	if err != nil {
		return
	}
	out, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(os.Getpid())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer out.Close()
	_, _ = out.Write(append(line, '\n'))
}

// maker is where the fault was made, "" if that is a test.
func maker() string {
	pc := make([]uintptr, 16)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch dir := filepath.Base(filepath.Dir(f.File)); {
		case strings.HasSuffix(f.File, "/event/fault.go"), strings.HasSuffix(f.File, "/config/problem.go"):
		case strings.HasSuffix(f.File, "_test.go"), strings.HasSuffix(dir, "test"):
			return ""
		default:
			return fmt.Sprintf("%s/%s:%d", dir, filepath.Base(f.File), f.Line)
		}
	}
	return ""
}
