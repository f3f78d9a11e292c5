package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Case is a command that is timed.
type Case struct {
	Name    string
	Skip    string   // why it cannot be run here
	Command []string // is run by itself, not by a shell
	Env     []string
	Dir     string // its working directory
	Prepare func() error
	Out     string // file or directory whose size is told
	Link    Conditions
	Rounds  int  // at most so many; 0: all
	Floor   bool // the ratios of the section are to this one
	Serves  bool // needs the server, whose own work is told then
}

// Sample is one run of a case.
type Sample struct {
	Wall, CPU time.Duration // CPU is user and system time of the command and all that it started
	RSS       int64         // bytes: the largest process of them at its largest
	Served    Served
	Out       int64 // bytes
	Failed    string
}

// longest is how long a command may take.
const longest = 15 * time.Minute

// run runs a case once. What the command writes is kept for the case that it fails. A failure of the command is part of
// the sample; the error is one of the benchmark.
//
// The peak memory that the kernel tells of a child begins with that of the process that starts it (it is inherited up
// to exec), so this one has to stay small: all that is large is done in children.
func (c *Case) run(ctx context.Context, server string, settle func()) (*Sample, error) {
	if c.Prepare != nil {
		if err := c.Prepare(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if settle != nil {
		settle()
	}
	if _, err := tell(ctx, server, c.Link); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	said := &tail{}
	cmd.Stdout, cmd.Stderr = io.Discard, said
	begin := time.Now()
	err := cmd.Run()
	s := &Sample{Wall: time.Since(begin)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		s.Failed = exit.Error() + ": " + said.lastLine()
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.RSS = r.Maxrss << 10
	}
	if s.Served, err = tell(ctx, server, Conditions{}); err != nil {
		return nil, err
	}
	s.Out, err = sizeOf(c.Out)
	return s, err
}

// tail keeps the end of what a command says.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(p), nil
}

func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	line := lines[len(lines)-1]
	return line[:min(len(line), 160)]
}

// tell gives the server the conditions and gets what it did before.
func tell(ctx context.Context, server string, c Conditions) (Served, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return Served{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/bench", bytes.NewReader(text))
	if err != nil {
		return Served{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Served{}, err
	}
	defer resp.Body.Close()
	var out Served
	return out, json.NewDecoder(resp.Body).Decode(&out)
}

// sizeOf is the size of a file, or of all below a directory; 0 if it is not there.
func sizeOf(path string) (int64, error) {
	if path == "" {
		return 0, nil
	}
	var n int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			n += st.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return n, err
}

// Section is cases that are run in turns, round for round, so that what else the machine does meets all alike.
type Section struct {
	Title string
	Note  string
	Cases []*Case
	// Settle is called before each run, so that what the one before left to be done is not done at the cost of this
	// one; may be nil.
	Settle func()
}

// Results are the samples of the cases.
type Results map[*Case][]*Sample

// Run runs all rounds of a section.
func (s *Section) Run(ctx context.Context, server string, rounds int, log func(format string, args ...any)) (Results,
	error) {
	out := Results{}
	for round := range rounds {
		for _, c := range s.Cases {
			if c.Skip != "" || c.Rounds > 0 && round >= c.Rounds {
				continue
			}
			x, err := c.run(ctx, server, s.Settle)
			if err != nil {
				return out, err
			}
			if x.Failed != "" {
				log("%s, round %d: %s", c.Name, round+1, x.Failed)
			} else {
				log("%s, round %d: %.2f s", c.Name, round+1, x.Wall.Seconds())
			}
			out[c] = append(out[c], x)
		}
	}
	return out, nil
}
