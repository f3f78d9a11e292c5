package stand

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Try is how one run of eggo-tui ended.
type Try struct {
	Code int
	Out  string // stdout and stderr as they came
	Took time.Duration
}

// Has says whether all the words are in the output.
func (t Try) Has(words ...string) error {
	var missing []error
	for _, w := range words {
		if !strings.Contains(t.Out, w) {
			missing = append(missing, fmt.Errorf("%q is not said", w))
		}
	}
	return errors.Join(missing...)
}

// Running is an eggo-tui that was started; its state directory may be another than the stand's, as on another jump
// host.
type Running struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	began time.Time
	state string
}

// Start starts eggo-tui with a state directory; state "" is the stand's.
func (s *Stand) Start(ctx context.Context, state string, args ...string) (*Running, error) {
	if state == "" {
		state = s.State()
	}
	r := &Running{state: state, began: time.Now()}
	r.cmd = s.Command(ctx, s.Program("eggo-tui"), append(args, "--state-dir", state)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	return r, r.cmd.Start()
}

// Signal sends the program a signal.
func (r *Running) Signal(sig syscall.Signal) error { return r.cmd.Process.Signal(sig) }

// Wait waits for the end of the program. One that a signal ended has the code -1.
func (r *Running) Wait() (Try, error) {
	err := r.cmd.Wait()
	t := Try{Code: r.cmd.ProcessState.ExitCode(), Out: r.out.String(),
		Took: time.Since(r.began).Round(100 * time.Millisecond)}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	return t, err
}

// Try runs eggo-tui to its end; state "" is the stand's state directory.
func (s *Stand) Try(ctx context.Context, state string, args ...string) (Try, error) {
	r, err := s.Start(ctx, state, args...)
	if err != nil {
		return Try{}, err
	}
	return r.Wait()
}

// Vary writes another deploy.yaml made from the text of one: pairs of old and new text, each of which must be there.
func (s *Stand) Vary(base, name string, pairs ...string) (string, error) {
	data, err := os.ReadFile(base)
	if err != nil {
		return "", err
	}
	text := string(data)
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			return "", fmt.Errorf("%s has no %q", base, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	path := filepath.Join(s.Dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// Runs are the records of all runs of a cluster, oldest first. The last line of a log may be cut off: its run was
// killed.
func Runs(state, cluster string) ([][]event.Record, error) {
	dirs, err := os.ReadDir(filepath.Join(state, cluster, "runs"))
	if err != nil {
		return nil, err
	}
	var all [][]event.Record
	for _, d := range dirs {
		data, err := os.ReadFile(filepath.Join(state, cluster, "runs", d.Name(), "events.jsonl"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var run []event.Record
		for line := range bytes.Lines(data) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			r, err := event.Decode(line)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", d.Name(), err)
			}
			run = append(run, r)
		}
		all = append(all, run)
	}
	return all, nil
}

// When watches the event logs of a cluster until enough says so of all records, and says whether it did before the
// program ended.
func (r *Running) When(ctx context.Context, cluster string, enough func([][]event.Record) bool) (bool, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// Looked at before the logs: what an ended program wrote is all there.
		ended := r.ended()
		runs, err := Runs(r.state, cluster)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if enough(runs) {
			return true, nil
		}
		if ended {
			return false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// ended says whether the program has ended and waits to be waited for.
func (r *Running) ended() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		return true
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(after, []byte("Z"))
}

// Each runs a command line on the nodes n1 to nN and gives what each printed.
func (s *Stand) Each(ctx context.Context, n int, line string) ([]string, error) {
	var out []string
	for k := 1; k <= n; k++ {
		text, err := s.Lab.Run(ctx, fmt.Sprintf("n%d", k), line)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out, nil
}

// PID of the program.
func (r *Running) PID() int { return r.cmd.Process.Pid }
