package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestMain(m *testing.M) {
	if os.Getenv("EGGO_PACK_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// randomMembers is a bundle as builds make them, of awkward sizes: literals, packages, images.tar over blobs, some of
// them twice, then what is compressed, and the sum of images.tar.
func randomMembers(t testing.TB, r *rand.Rand, blobs store) []Member {
	t.Helper()
	var members []Member
	pick := func(make func(*rand.Rand, int) []byte) []Part {
		var parts []Part
		for range r.IntN(4) {
			b := make(r, awkward(r))
			if r.IntN(2) == 0 {
				parts = append(parts, Part{Data: b})
			} else {
				parts = append(parts, blobs.put(b))
			}
		}
		return parts
	}
	for i := range r.IntN(4) {
		members = append(members, Member{Path: fmt.Sprintf("a%d.deb", i), Stored: true, Parts: pick(noise)})
	}
	images := r.IntN(3) > 0
	if images {
		var inner []Member
		for i := range r.IntN(5) {
			inner = append(inner, Member{Path: fmt.Sprintf("blobs/%d", i), Parts: pick(noise)})
		}
		if len(inner) > 0 && r.IntN(2) == 0 {
			inner = append(inner, Member{Path: "again", Parts: inner[0].Parts})
		}
		parts, _, err := Archive(inner, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(8) == 0 {
			parts = nil
		}
		members = append(members, Member{Path: "images.tar", Stored: true, Parts: parts})
	}
	for i := range r.IntN(4) {
		members = append(members, Member{Path: fmt.Sprintf("bin/%s%d", strings.Repeat("long", r.IntN(30)), i),
			Mode: 0o755, Parts: pick(prose)})
	}
	if images {
		stored := r.IntN(4) == 0 && (len(members) == 0 || members[len(members)-1].Stored)
		parts := []Part{{SumOf: "images.tar"}, {Data: []byte("  images.tar\n")}}
		members = append(members, Member{Path: "images.tar.sha256", Stored: stored, Parts: parts})
	}
	return members
}

// feed writes a blob to its sink in writes of random length, as a bad network may bring it: with wrong bytes first, and
// cut off.
func feed(r *rand.Rand, s *Sink, data []byte) error {
	for r.IntN(3) == 0 {
		wrong := noise(r, r.IntN(len(data)+1))
		if _, err := s.Write(wrong); err != nil {
			return err
		}
		if err := s.Reset(); err != nil {
			return err
		}
	}
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(100_000))
		if r.IntN(10) == 0 {
			n = len(rest)
		}
		if _, err := s.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return s.Close()
}

// build writes a bundle with all sinks at once.
func build(ctx context.Context, l *Layout, o Options, blobs store, seed uint64) (*Result, error) {
	w, err := Create(ctx, l, o)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	g, ctx := errgroup.WithContext(ctx)
	for i, b := range l.Stored() {
		s, _ := w.Sink(b.SHA256)
		g.Go(func() error { return feed(rand.New(rand.NewPCG(seed, uint64(i))), s, blobs[b.SHA256]) })
	}
	var res *Result
	g.Go(func() error {
		var err error
		res, err = w.Finish(ctx, blobs.open)
		return err
	})
	return res, g.Wait()
}

// checkBuild holds one random bundle against the plain writer: bytes, sums, parts, record.
func checkBuild(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	blobs := store{}
	members := randomMembers(t, r, blobs)
	epoch := time.Unix(r.Int64N(2_000_000_000), 0)
	want, sums := reference(t, members, epoch, blobs)
	l, err := Plan(members, epoch)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var last int64
	o := Options{Path: filepath.Join(dir, "b.tar.gz"), Sums: r.IntN(2) == 0,
		Progress: func(done, total int64) { last = done - total }}
	switch r.IntN(9) {
	case 0, 1, 2:
		o.PartSize = int64(len(want)/(1+r.IntN(40)) + 1)
	case 3:
		o.PartSize = int64(len(want)) // exactly one
	case 4:
		for n := range int64(8) {
			if int64(len(want))%(n+2) == 0 {
				o.PartSize = int64(len(want)) / (n + 2) // exactly some
			}
		}
	}
	res, err := build(t.Context(), l, o, blobs, seed)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for i, p := range res.Parts {
		b, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) != p.Size || i < len(res.Parts)-1 && p.Size != o.PartSize || o.Sums && hexOf(b) != p.SHA256 {
			t.Errorf("part %d: %d bytes, %+v", i, len(b), p)
		}
		got = append(got, b...)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, the plain writer has %d", len(got), len(want))
	}
	if int64(len(got)) != res.Size || last != 0 || l.StoredSize() > res.Size || o.Sums && o.PartSize == 0 &&
		res.SHA256 != hexOf(want) {
		t.Errorf("%+v; progress ended at %d", res, last)
	}
	for path, sum := range res.MemberSums {
		if sums[path] != sum {
			t.Errorf("%s: %s, want %s", path, sum, sums[path])
		}
	}
	text, err := res.Record()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Same(t.Context(), dir, text); !same || err != nil {
		t.Errorf("not the same: %v %v\n%s", same, err, text)
	}
	files := len(res.Parts)
	if o.Sums {
		files++
	}
	if n := len(contents(t, dir)); n != files {
		t.Errorf("%d files in the directory, not %d", n, files)
	}
}

func TestTheFileHasTheBytesOfThePlainWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkBuild(t, seed) })
	}
}

func FuzzBuild(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkBuild)
}

// small is a bundle with one package, two layers and a program.
func small(t testing.TB, blobs store) ([]Member, *Layout) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	images, _, err := Archive([]Member{{Path: "oci-layout", Parts: []Part{{Data: []byte("{}")}}},
		{Path: "1", Parts: []Part{blobs.put(noise(r, 300_000))}},
		{Path: "2", Parts: []Part{blobs.put(noise(r, 700_000))}}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	members := []Member{
		{Path: "manifest.json", Stored: true, Parts: []Part{{Data: []byte("{}")}}},
		{Path: "p.deb", Stored: true, Parts: []Part{blobs.put(noise(r, 100_000))}},
		{Path: "images.tar", Stored: true, Parts: images},
		{Path: "kubelet", Mode: 0o755, Parts: []Part{blobs.put(prose(r, 3_000_000))}},
		{Path: "images.tar.sha256", Parts: []Part{{SumOf: "images.tar"}, {Data: []byte("  images.tar\n")}}},
	}
	l, err := Plan(members, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return members, l
}

func wantFault(t *testing.T, err error, code string, class event.Class) *event.Fault {
	t.Helper()
	f, ok := errors.AsType[*event.Fault](err)
	if !ok || f.Code != code || f.Class != class {
		t.Fatalf("%v, not the fault %s", err, code)
	}
	return f
}

func TestALayoutSaysWhatItNeeds(t *testing.T) {
	blobs := store{}
	members, l := small(t, blobs)
	want, _ := reference(t, members, time.Time{}, blobs)
	if n := len(l.Stored()); n != 3 {
		t.Errorf("%d stored blobs", n)
	}
	if n := len(l.Deflated()); n != 1 {
		t.Errorf("%d compressed blobs", n)
	}
	if l.StoredSize() < 1_100_000 || l.StoredSize() >= int64(len(want)) || l.Estimate() <= l.StoredSize() ||
		l.Total() < 4_100_000 {
		t.Error(l.StoredSize(), l.Estimate(), l.Total())
	}
}

func TestPlanRefusesWhatCannotBe(t *testing.T) {
	blob := Part{SHA256: strings.Repeat("a", 64), Size: 5}
	for name, members := range map[string][]Member{
		"stored after compressed": {{Path: "a"}, {Path: "b", Stored: true}},
		"twice":                   {{Path: "a"}, {Path: "a"}},
		"no path":                 {{Path: ""}},
		"a directory":             {{Path: "a/"}},
		"an absolute path":        {{Path: "/a"}},
		"two sizes": {{Path: "a", Parts: []Part{blob}},
			{Path: "b", Parts: []Part{{SHA256: blob.SHA256, Size: 6}}}},
		"negative":                 {{Path: "a", Parts: []Part{{SHA256: blob.SHA256, Size: -1}}}},
		"sum of nothing":           {{Path: "a", Parts: []Part{{SumOf: "b"}}}},
		"sum of what comes later":  {{Path: "a", Stored: true, Parts: []Part{{SumOf: "b"}}}, {Path: "b", Stored: true}},
		"sum of itself":            {{Path: "a", Stored: true, Parts: []Part{{SumOf: "a"}}}},
		"sum of compressed member": {{Path: "a"}, {Path: "b", Parts: []Part{{SumOf: "a"}}}},
	} {
		if _, err := Plan(members, time.Time{}); err == nil {
			t.Errorf("%s: planned", name)
		}
	}
}

func TestASinkHoldsItsBlobToItsSize(t *testing.T) {
	blobs := store{}
	members, l := small(t, blobs)
	o := Options{Path: filepath.Join(t.TempDir(), "b.tar.gz")}
	w, err := Create(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, ok := w.Sink("unknown"); ok {
		t.Error("a sink for nothing")
	}
	for i, b := range l.Stored() {
		s, _ := w.Sink(b.SHA256)
		if i == 0 {
			_, _ = s.Write(blobs[b.SHA256][:1000])
			f := wantFault(t, s.Close(), "pack.short", event.ClassFailed)
			if f.Args["blob"] != b.SHA256 || f.Args["got"] != "1000" {
				t.Error(f.Args)
			}
			_, err := s.Write(make([]byte, b.Size))
			wantFault(t, err, "pack.oversize", event.ClassFailed)
			if err := s.Reset(); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.Copy(s, bytes.NewReader(blobs[b.SHA256])); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := s.Write([]byte{1}); err == nil {
			t.Error("written after Close")
		}
		if s.Reset() == nil {
			t.Error("reset after Close")
		}
	}
	res, err := w.Finish(t.Context(), blobs.open)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(t.Context(), blobs.open); err == nil {
		t.Error("finished twice")
	}
	w.Abort()
	got, _ := os.ReadFile(o.Path)
	want, _ := reference(t, members, time.Time{}, blobs)
	if !bytes.Equal(got, want) || res.SHA256 != "" {
		t.Error("another file")
	}
}

// TestWrongBytesThatWereHashedAreForgotten: the whole blob came and was hashed before it turned out to be a wrong one.
func TestWrongBytesThatWereHashedAreForgotten(t *testing.T) {
	blobs := store{}
	members, l := small(t, blobs)
	o := Options{Path: filepath.Join(t.TempDir(), "b.tar.gz"), Sums: true}
	w, err := Create(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	seen := func(to int64) {
		for {
			w.follow.mu.Lock()
			at := w.follow.at
			w.follow.mu.Unlock()
			if at >= to {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, b := range l.Stored() {
		s, _ := w.Sink(b.SHA256)
		_, _ = s.Write(make([]byte, b.Size))
	}
	seen(l.stored)
	for _, b := range slices.Backward(l.Stored()) {
		s, _ := w.Sink(b.SHA256)
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
		_, _ = s.Write(blobs[b.SHA256])
	}
	seen(l.stored)
	for _, b := range l.Stored() {
		s, _ := w.Sink(b.SHA256)
		_ = s.Close()
	}
	res, err := w.Finish(t.Context(), blobs.open)
	if err != nil {
		t.Fatal(err)
	}
	want, sums := reference(t, members, time.Time{}, blobs)
	if res.SHA256 != hexOf(want) || res.MemberSums["images.tar"] != sums["images.tar"] {
		t.Errorf("%+v", res)
	}
}

// TestTheTailWaitsForItsBlobs: compressing goes on beside the sinks, and Open may wait for what a sink's download
// brings.
func TestTheTailWaitsForItsBlobs(t *testing.T) {
	blobs := store{}
	members, l := small(t, blobs)
	dir := t.TempDir()
	w, err := Create(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	asked, there := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		<-asked
		for _, b := range l.Stored() {
			s, _ := w.Sink(b.SHA256)
			if err := feed(rand.New(rand.NewPCG(1, 1)), s, blobs[b.SHA256]); err != nil {
				t.Error(err)
			}
		}
		close(there)
	})
	_, err = w.Finish(t.Context(), func(ctx context.Context, sum string) (io.ReadCloser, error) {
		close(asked)
		<-there
		return blobs.open(ctx, sum)
	})
	wg.Wait()
	want, _ := reference(t, members, time.Time{}, blobs)
	if err != nil || !bytes.Equal(contents(t, dir)["b.tar.gz"], want) {
		t.Error("another file", err)
	}
}

// closing fails at the end, as a reader does that verifies.
type closing struct {
	io.Reader
	err error
}

func (c closing) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if errors.Is(err, io.EOF) && c.err != nil {
		err = c.err
	}
	return n, err
}
func (closing) Close() error { return nil }

func TestABlobOfTheTailIsHeldToItsSize(t *testing.T) {
	damaged := errors.New("the cache is damaged")
	for name, c := range map[string]struct {
		change func([]byte) []byte
		end    error
		fail   func(t *testing.T, err error)
	}{
		"short": {func(b []byte) []byte { return b[1:] }, nil, func(t *testing.T, err error) {
			wantFault(t, err, "pack.short", event.ClassFailed)
		}},
		"long": {func(b []byte) []byte { return append(b, 1) }, nil, func(t *testing.T, err error) {
			wantFault(t, err, "pack.oversize", event.ClassFailed)
		}},
		"damaged": {slices.Clone[[]byte], damaged, func(t *testing.T, err error) {
			if !errors.Is(err, damaged) {
				t.Error(err)
			}
		}},
		"not there": {nil, damaged, func(t *testing.T, err error) {
			if !errors.Is(err, damaged) {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := store{}
			_, l := small(t, blobs)
			dir := t.TempDir()
			w, err := Create(t.Context(), l, Options{Path: filepath.Join(dir, "b.tar.gz")})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			_, err = w.Finish(t.Context(), func(_ context.Context, sum string) (io.ReadCloser, error) {
				if c.change == nil {
					return nil, c.end
				}
				return closing{bytes.NewReader(c.change(slices.Clone(blobs[sum]))), c.end}, nil
			})
			c.fail(t, err)
			if n := len(contents(t, dir)); n != 0 {
				t.Errorf("%d files are left", n)
			}
		})
	}
}
