package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a build.
type Options struct {
	Dir  string // cache directory; DefaultDir if empty
	Spec *Spec  // what to make
	// architectures of the files (amd64, arm64); the machine's own if empty. Images are made for both, always.
	Arches []string
	Report func(Progress) // is told how far the build is; may be nil. Called from one goroutine at a time.
}

// State of a step.
type State string

// The states. Running comes repeatedly, with Line set, while a step talks.
const (
	Waiting State = "waiting" // for another build of the same cache
	Running State = "running"
	Done    State = "done"
	Present State = "present" // was there already
)

// Progress is one report of a build.
type Progress struct {
	Step, Steps int
	Title       string
	State       State
	Line        string        // what the step's program says at the moment
	Elapsed     time.Duration // of the step
	Total       time.Duration // of the build
}

// job makes one or several files, or one image.
type job struct {
	id, title string
	recipe    string // changes when the recipe does
	more      string // the recipe that makes this and more, "" if there is none: what it made does as well
	run       func(ctx context.Context, b *builder) (made, error)
	needs     []string // URLs or an image name, for listing
}

// made lists, relative to the cache directory, what a job made; shared files are rewritten by several jobs.
type made struct{ files, shared []string }

type builder struct {
	dir, tmp, host, goCommand, goVersion string
	spec                                 *Spec
	debian                               *debian
	indexes                              map[string]map[string]*debPackage // of the repositories, by architecture
	line                                 func(string)
}

// allArches are the architectures that can be asked for.
var allArches = [...]string{"amd64", "arm64"}

// Build makes what the spec names and is not there yet. What is there stays; an interrupted build leaves nothing half
// done.
func Build(ctx context.Context, o Options) error {
	start := time.Now()
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	jobs, dir, err := plan(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if made, err := allThere(ctx, dir, o.Spec, jobs); made || err != nil {
		for i, j := range jobs {
			if err == nil {
				o.Report(Progress{Step: i + 1, Steps: len(jobs), Title: j.title, State: Present,
					Total: time.Since(start)})
			}
		}
		return err
	}
	l, err := lock(ctx, dir, func() { o.Report(Progress{Steps: len(jobs), State: Waiting}) })
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	if err := removeLeftovers(dir); err != nil {
		return err
	}
	b, err := newBuilder(ctx, dir, o.Spec)
	if err != nil {
		return err
	}
	built := 0
	for i, j := range jobs {
		p := Progress{Step: i + 1, Steps: len(jobs), Title: j.title}
		did, err := b.step(ctx, j, start, p, o.Report)
		if err != nil {
			return fmt.Errorf("%s: %w", j.title, err)
		}
		if did {
			built++
		}
	}
	if built == 0 {
		return nil
	}
	return prune(dir)
}

// allThere says whether nothing is to be made: then nobody waits for a long build of something else in the same cache.
func allThere(ctx context.Context, dir string, spec *Spec, jobs []job) (bool, error) {
	b, err := newBuilder(ctx, dir, spec)
	if err != nil {
		return false, err
	}
	for _, j := range jobs {
		if !b.made(j) {
			return false, nil
		}
	}
	return true, nil
}

// step does one job unless its stamp says that it is done, and says whether it did.
func (b *builder) step(ctx context.Context, j job, start time.Time, p Progress, report func(Progress)) (did bool,
	err error) {
	began := time.Now()
	var mu sync.Mutex
	tell := func(s State, line string) {
		mu.Lock()
		defer mu.Unlock()
		p.State, p.Line, p.Elapsed, p.Total = s, line, time.Since(began), time.Since(start)
		report(p)
	}
	if b.made(j) {
		tell(Present, "")
		return false, nil
	}
	tell(Running, "")
	last := newLine(func(l string) { tell(Running, l) })
	defer last.stop()
	b.line = last.set
	tmp, err := os.MkdirTemp(b.dir, "tmp-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	b.tmp = tmp
	m, err := j.run(ctx, b)
	if err != nil {
		return false, err
	}
	if err := finish(b.dir, j.id, b.key(j.id, j.recipe), m.files, m.shared...); err != nil {
		return false, err
	}
	last.stop()
	tell(Done, "")
	return true, nil
}

// silence is how long a step may say nothing before what it said last is said again: linkers are mute.
const silence = 5 * time.Second

// line passes on what a step says, and repeats it in silence.
type line struct {
	lines chan string
	once  sync.Once
	ended chan struct{}
}

func newLine(tell func(string)) *line {
	l := &line{lines: make(chan string), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		tick := time.NewTicker(silence)
		defer tick.Stop()
		said := "working"
		for {
			select {
			case s, ok := <-l.lines:
				if !ok {
					return
				}
				said = s
				tick.Reset(silence)
			case <-tick.C:
			}
			tell(said)
		}
	}()
	return l
}

func (l *line) set(s string) { l.lines <- s }

// stop returns when nothing more will be told; it may be called again.
func (l *line) stop() {
	l.once.Do(func() { close(l.lines) })
	<-l.ended
}

// made reports whether what a job makes is there.
func (b *builder) made(j job) bool {
	return fresh(b.dir, j.id, b.key(j.id, j.recipe)) || j.more != "" && fresh(b.dir, j.id, b.key(j.id, j.more))
}

// key names everything that a job's bytes depend on.
func (b *builder) key(id, recipe string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{id, recipe, b.goVersion}, "\n")))
	return hex.EncodeToString(sum[:])
}

func newBuilder(ctx context.Context, dir string, spec *Spec) (*builder, error) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("the go command is needed to build what upstream publishes: %w", err)
	}
	b := &builder{dir: dir, host: runtime.GOARCH, goCommand: goCommand, spec: spec,
		indexes: map[string]map[string]*debPackage{}, line: func(string) {}}
	v, err := b.goRun(ctx, dir, b.host, "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	b.goVersion = strings.TrimSpace(string(v))
	b.debian, err = newDebian(ctx, filepath.Join(dir, debianDir), spec.OS.Codename)
	return b, err
}

// plan lists the jobs for a spec.
func plan(o Options) ([]job, string, error) {
	if o.Spec == nil {
		return nil, "", errors.New("no spec")
	}
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, "", err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	arches := o.Arches
	if len(arches) == 0 {
		arches = []string{runtime.GOARCH}
	}
	var jobs []job
	for _, a := range arches {
		if !slices.Contains(allArches[:], a) {
			return nil, "", fmt.Errorf("unknown architecture %q: amd64 or arm64", a)
		}
		files, err := fileJobs(o.Spec.URLs(a))
		if err != nil {
			return nil, "", err
		}
		jobs = append(jobs, files...)
		if o.Spec.suite {
			jobs = append(jobs, suiteJob(o.Spec.Kubernetes, a), busyboxJob(a))
		}
	}
	images, err := imageJobs(o.Spec, arches)
	return unique(append(jobs, images...)), dir, err
}

// unique drops jobs that several architectures have in common.
func unique(jobs []job) []job {
	seen := map[string]bool{}
	out := jobs[:0]
	for _, j := range jobs {
		if !seen[j.id] {
			seen[j.id] = true
			out = append(out, j)
		}
	}
	return out
}

// Item is one thing that the upstream serves for a spec.
type Item struct {
	Name string // URL or image name
	File string // its file in the cache directory; for an image that of the tag
	Size int64  // bytes; -1 if it is not there. For an image, of all its blobs.
}

// List says what the spec needs and what of it is there.
func List(o Options) ([]Item, error) {
	jobs, dir, err := plan(o)
	if err != nil {
		return nil, err
	}
	var out []Item
	for _, j := range jobs {
		for _, n := range j.needs {
			it := Item{Name: n, Size: -1}
			if strings.Contains(n, "://") {
				p, err := urlPath(n)
				if err != nil {
					return nil, err
				}
				it.File = filepath.Join(dir, p)
				if st, err := os.Stat(it.File); err == nil {
					it.Size = st.Size()
				}
			} else if it.File, err = refPath(dir, n); err != nil {
				return nil, err
			} else {
				it.Size = imageSize(dir, n)
			}
			out = append(out, it)
		}
	}
	return out, nil
}
