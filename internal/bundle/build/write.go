package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/pack"
	"github.com/eggo-k8s/eggo/internal/bundle/sbom"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func number(n int) string { return strconv.Itoa(n) }

// write fetches what the bundles need and writes them.
func (b *builder) write(ctx context.Context, plans []*plan) ([]Bundle, error) {
	out := make([]Bundle, len(plans))
	return out, retried(func() error { return b.writeAll(ctx, plans, out) })
}

// retried does a step again that failed for nothing but damaged files of the cache. What rotted there is only found
// while it is read, and is gone from there then: it is fetched again.
func retried(step func() error) error {
	const rotten = 4
	for try := 1; ; try++ {
		err := step()
		if err == nil || try == rotten || slices.ContainsFunc(fetch.Faults(err),
			func(f *event.Fault) bool { return f.Code != "fetch.cache-damaged" }) {
			return err
		}
	}
}

// whole reads a file of the cache to its end, so that its sum is checked. err is what came of reading it; if the file
// is damaged, that is why.
func whole(f io.Reader, err error) error {
	if _, end := io.Copy(io.Discard, f); end != nil {
		return end
	}
	return err
}

// writeAll writes the bundles side by side that are not in out yet. Those that are there already and are what they
// should be are left.
func (b *builder) writeAll(ctx context.Context, plans []*plan, out []Bundle) error {
	var writing []*writing
	for i, p := range plans {
		if out[i].Path != "" {
			continue
		}
		if done, ok := p.unchanged(ctx); ok {
			if err := p.writeBill(); err != nil {
				return err
			}
			out[i] = done
			b.tell(Event{Kind: Unchanged, Arch: p.arch, File: done.Path, Total: done.Size, SHA256: done.SHA256})
			continue
		}
		w, err := p.begin(ctx, &out[i])
		if err != nil {
			return err
		}
		defer w.pack.Abort()
		writing = append(writing, w)
	}
	if len(writing) == 0 {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return b.fill(ctx, cancel, writing)
}

// writing is one bundle on its way.
type writing struct {
	*plan
	pack *pack.Writer
	out  *Bundle

	mu   sync.Mutex
	tail map[string]func() error // by sha256: brings it into the cache, once
	errs []error
}

func (p *plan) begin(ctx context.Context, out *Bundle) (*writing, error) {
	w := &writing{plan: p, out: out, tail: map[string]func() error{}}
	var err error
	w.pack, err = pack.Create(ctx, p.layout, pack.Options{Path: p.file, PartSize: p.PartSize, Sums: !p.NoSums,
		Progress: func(done, total int64) {
			p.tell(Event{Kind: Packing, Arch: p.arch, What: filepath.Base(p.file), Done: done, Total: total})
		}})
	if err != nil {
		return nil, err
	}
	for _, blob := range p.layout.Deflated() {
		c, ok := p.holder(blob.SHA256, hasGet)
		if !ok {
			return nil, errors.New("no source for " + blob.SHA256) // a mistake of plan
		}
		w.tail[blob.SHA256] = sync.OnceValue(func() error {
			if _, ok := p.Cache.Find(blob.SHA256, blob.Size); ok {
				return nil
			}
			return c.get(ctx, p)
		})
	}
	return w, nil
}

// fill fetches everything at once. What goes wrong is collected; then nothing gets its name.
func (b *builder) fill(ctx context.Context, cancel func(), all []*writing) error {
	var finishing errgroup.Group
	ends := make([]error, len(all))
	for i, w := range all {
		finishing.Go(func() error { ends[i] = w.finish(ctx); return nil })
	}
	var fetching errgroup.Group
	var poolErr error
	fetching.Go(func() error {
		poolErr = b.pool().All(ctx, b.jobs(ctx, all), b.Connections)
		return nil
	})
	for _, w := range all {
		fetching.Go(func() error { w.bringTail(); return nil })
	}
	_ = fetching.Wait()
	errs := []error{poolErr}
	for _, w := range all {
		errs = append(errs, w.errs...)
	}
	if err := joined(errs); err != nil {
		cancel()
		_ = finishing.Wait()
		return err
	}
	_ = finishing.Wait()
	return joined(ends)
}

// joined joins errors; the context's own counts only if there is no other.
func joined(errs []error) error {
	var real []error
	var ended error
	for _, e := range errs {
		switch {
		case e == nil:
		case errors.Is(e, context.Canceled):
			ended = e
		default:
			real = append(real, e)
		}
	}
	if len(real) == 0 {
		return ended
	}
	return errors.Join(real...)
}

// pool is a client for all architectures: what it fetches begins with one of them.
func (b *builder) pool() *fetch.Client {
	c := b.client("")
	tell := c.Progress
	c.Progress = func(p fetch.Progress) {
		arch, what, ok := strings.Cut(p.What, ": ")
		if !ok {
			tell(p)
			return
		}
		p.What = what
		b.tell(b.progress(arch, p))
	}
	return c
}

// jobs are the blobs that go straight to their places.
func (b *builder) jobs(ctx context.Context, all []*writing) []fetch.Job {
	var jobs []fetch.Job
	for _, w := range all {
		for _, blob := range w.layout.Stored() {
			src, isBlob := w.blobs[blob.SHA256]
			if c, ok := w.holder(blob.SHA256, hasSource); ok && !isBlob {
				src = *c.source
			}
			src.What = w.arch + ": " + src.What
			sink, ok := w.pack.Sink(blob.SHA256)
			if !ok {
				continue
			}
			jobs = append(jobs, fetch.Job{Source: src, Sinks: func() []fetch.Sink {
				return []fetch.Sink{sink}
			}, Done: func(fetch.Blob) {
				if err := w.check(ctx, blob.SHA256); err != nil {
					w.fail(err)
					return
				}
				if err := sink.Close(); err != nil {
					w.fail(err)
				}
			}})
		}
	}
	return jobs
}

// check looks at what was fetched, as each member with these bytes asks for it.
func (p *plan) check(ctx context.Context, sha256 string) error {
	var errs []error
	for _, c := range p.contents[sha256] {
		if c.check != nil {
			errs = append(errs, c.check(ctx, p))
		}
	}
	for _, li := range p.pinned[sha256] {
		errs = append(errs, p.checkImage(ctx, li))
	}
	return errors.Join(errs...)
}

func (w *writing) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// bringTail gets everything that is compressed into the cache.
func (w *writing) bringTail() {
	const connections = 4
	var g errgroup.Group
	g.SetLimit(connections)
	for _, blob := range w.layout.Deflated() {
		bring := w.tail[blob.SHA256]
		g.Go(func() error {
			if err := bring(); err != nil {
				w.fail(err)
			}
			return nil
		})
	}
	_ = g.Wait()
}

// open opens what is compressed, as soon as it is there. If it never comes the bundle is not finished: who is told of
// the reason ends ctx.
func (w *writing) open(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	if err := w.tail[sha256](); err != nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.Cache.Open(fetch.Blob{SHA256: sha256, Size: w.contents[sha256][0].member.Size})
}

func (w *writing) finish(ctx context.Context) error {
	res, err := w.pack.Finish(ctx, w.open)
	if err != nil {
		return err
	}
	if err := w.writeBill(); err != nil {
		return err
	}
	*w.out = Bundle{Arch: w.arch, Path: w.file, Size: res.Size, SHA256: res.SHA256, Took: time.Since(w.start)}
	if w.PartSize > 0 {
		for _, x := range res.Parts {
			w.out.Parts = append(w.out.Parts, x.Path)
		}
	}
	w.remember(res)
	w.tell(Event{Kind: Built, Arch: w.arch, File: w.file, Total: res.Size, SHA256: res.SHA256, Took: w.out.Took})
	return nil
}

// writeBill puts a copy of the bill of materials beside the bundle, where scanners find it.
func (p *plan) writeBill() error {
	e, ok := p.manifest.Member(bundle.SBOMName)
	if !ok {
		return nil
	}
	file := strings.TrimSuffix(p.file, ".tar.gz") + sbom.Suffix
	c, _ := p.holder(e.SHA256, hasData)
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, c.data) {
		return nil
	}
	if err := renameio.WriteFile(file, c.data, 0o644); err != nil {
		return writeFault(err, file)
	}
	return nil
}

// note is what is remembered of a finished bundle, so that it is known again.
type note struct {
	ID       string          `json:"id"` // of the bundle
	PartSize int64           `json:"part_size"`
	Epoch    int64           `json:"epoch"`
	Sums     bool            `json:"sums"`
	Runtime  string          `json:"runtime"` // whose rules the images were held to
	Bundle   Bundle          `json:"bundle"`
	Text     []byte          `json:"sums_text,omitempty"` // of NAME.tar.gz.sha256
	Record   json.RawMessage `json:"record"`
}

func (p *plan) note() note {
	return note{ID: sumOf(p.text), PartSize: p.PartSize, Epoch: p.epoch().Unix(), Sums: !p.NoSums,
		Runtime: p.spec.Runtime}
}

func (p *plan) noteKey() (string, error) {
	path, err := filepath.Abs(p.file)
	return sumOf([]byte(path)), err
}

// remember keeps the note; without it the next build only writes the bundle again.
func (w *writing) remember(res *pack.Result) {
	key, err := w.noteKey()
	if err != nil {
		return
	}
	record, err := res.Record()
	if err != nil {
		return
	}
	n := w.note()
	n.Bundle, n.Record = *w.out, record
	if n.Sums {
		if n.Text, err = os.ReadFile(w.file + ".sha256"); err != nil {
			return
		}
	}
	if text, err := json.Marshal(n); err == nil {
		_ = w.Cache.SetNote(key, text)
	}
}

// unchanged says whether the bundle is there already, as an earlier build wrote it.
func (p *plan) unchanged(ctx context.Context) (Bundle, bool) {
	key, err := p.noteKey()
	if err != nil {
		return Bundle{}, false
	}
	text, ok := p.Cache.Note(key)
	var n note
	if !ok || json.Unmarshal(text, &n) != nil {
		return Bundle{}, false
	}
	want := p.note()
	if n.ID != want.ID || n.PartSize != want.PartSize || n.Epoch != want.Epoch || n.Sums != want.Sums ||
		n.Runtime != want.Runtime {
		return Bundle{}, false
	}
	if same, err := pack.Same(ctx, p.Out, n.Record); err != nil || !same {
		return Bundle{}, false
	}
	if old, err := os.ReadFile(p.file + ".sha256"); n.Sums && (err != nil || !bytes.Equal(old, n.Text)) {
		if len(n.Text) == 0 || renameio.WriteFile(p.file+".sha256", n.Text, 0o644) != nil {
			return Bundle{}, false
		}
	}
	for i, x := range n.Bundle.Parts { // the directory may have been written in another way
		n.Bundle.Parts[i] = filepath.Join(p.Out, filepath.Base(x))
	}
	n.Bundle.Unchanged, n.Bundle.Path, n.Bundle.Took = true, p.file, time.Since(p.start)
	return n.Bundle, true
}

// progress turns what the fetcher tells into an event.
func (b *builder) progress(arch string, p fetch.Progress) Event {
	e := Event{Kind: Fetching, Arch: arch, What: p.What, URL: p.URL, Done: p.Done, Total: p.Total, Cached: p.Cached}
	switch {
	case p.Retry != nil:
		e.Kind, e.Fault = Retrying, p.Retry
	case p.Waiting:
		e.Kind = Waiting
	case p.Finished:
		e.Kind = Fetched
	}
	return e
}
