package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/gofrs/flock"
)

// The names in a stage beside the members, which stand under membersDir.
const (
	membersDir = "members"
	subsetsDir = "images"
	markerName = "complete.json"
)

// marker is written last, when everything else is on the disk.
type marker struct {
	Archive   string `json:"archive_id"`
	Size      int64  `json:"archive_size"`
	Modified  int64  `json:"archive_mtime_ns"`
	ImagesSum string `json:"images_sha256,omitempty"`
}

// Stage unpacks a bundle under dir/<ID of the bundle>/ in one pass that verifies everything as Verify does. The stage
// counts only when its marker is there, which is written last: one that was cut off is made again. A finished one is
// used again after a check of sizes, if the archive's size and time are the same. Two processes may stage the same
// bundle: the second waits for the first. The stage of a difference is that of the full bundle, made from its base,
// which is looked for among what is staged in dir and then among WithBases. The space that it takes is known beforehand
// and looked for before a byte is written; a try that fails leaves nothing. No other process prunes the stage until
// Release, or makes it again: where a copy of the same bundle finds it in use it is verified as it is, and refused with
// "bundle.stage-damaged". Faults beside those of Verify: "bundle.no-space", "bundle.write", "bundle.base-missing",
// "bundle.base-damaged".
func Stage(ctx context.Context, path, dir string, progress func(done, total int64), opts ...Option) (*Staged, error) {
	g := stager{ctx: ctx, dir: dir, progress: progress, opts: gather(opts)}
	s, err := g.stage(path)
	return s, inFile(path, err)
}

// Finished says whether Stage would use what it has under dir again, for a bundle that is not a difference: then every
// byte of the file was verified when it had the size and the time that it has now.
func Finished(path, dir string) bool {
	a, err := open(context.Background(), path)
	if err != nil || a.manifest.Base != nil || a.manifest.placement() != nil {
		return false
	}
	g := stager{ctx: context.Background(), dir: dir}
	return g.reuse(a) != nil
}

// stager makes one stage, and others for it when the bundle is a difference.
type stager struct {
	ctx      context.Context
	dir      string
	progress func(done, total int64)
	opts     options
	busy     []string // the IDs whose bases are being looked for
}

func (g *stager) stage(path string) (_ *Staged, err error) {
	a, err := open(g.ctx, path)
	if err != nil {
		return nil, err
	}
	need, _ := a.manifest.unpacked()
	defer func() { err = g.opts.full(err, g.dir, need) }()
	if err := g.opts.admit(a.manifest, SumsText(a.text, a.manifest)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return nil, storeFault(err, "")
	}
	var base *Staged
	if a.manifest.Base != nil {
		// The base is found before our own lock is taken: no process ever holds two.
		s, err := g.finished(a)
		if s != nil || err != nil {
			return s, err
		}
		if base, err = g.base(a); err != nil {
			return nil, err
		}
	}
	unlock, err := g.lock(a.ID())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if base != nil {
		defer base.Release()
	}
	s := g.reuse(a)
	if s == nil {
		if s, err = g.renew(a, base); err != nil {
			return nil, err
		}
	}
	return g.use(s)
}

// lock waits for the lock of one stage.
func (g *stager) lock(id string) (unlock func(), err error) {
	lock := flock.New(filepath.Join(g.dir, id+".lock"), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(g.ctx, lockPoll); err != nil {
		if g.ctx.Err() != nil {
			return nil, g.ctx.Err()
		}
		return nil, storeFault(err, "")
	}
	return func() { lock.Unlock() }, nil //nolint:errcheck // released with the process in any case
}

func (g *stager) finished(a *Archive) (*Staged, error) {
	unlock, err := g.lock(a.ID())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s := g.reuse(a); s != nil {
		return g.use(s)
	}
	return nil, nil
}

// renew makes a stage in the place of one that is not what it would be. One that somebody uses stays as it is: it is
// verified then.
func (g *stager) renew(a *Archive, base *Staged) (*Staged, error) {
	l := flock.New(filepath.Join(g.dir, a.ID()+".use"), flock.SetPermissions(0o600))
	alone, err := l.TryLock()
	if err != nil {
		return nil, storeFault(err, "")
	}
	if !alone {
		return g.verified(a)
	}
	defer l.Unlock() //nolint:errcheck // released with the process in any case
	return g.make(a, base)
}

// verified is the stage of a that is there, when every byte of it is right.
func (g *stager) verified(a *Archive) (*Staged, error) {
	s, mk := readStage(g.dir, a.ID())
	if s == nil {
		return nil, fault("bundle.stage-damaged", nil, "dir", filepath.Join(g.dir, a.ID()))
	}
	s.opts = g.opts
	done, total := int64(0), int64(0)
	for _, e := range s.manifest.Members {
		total += e.Size
	}
	tick := func(n int64) {
		if done += n; g.progress != nil {
			g.progress(done, total)
		}
	}
	for _, e := range s.manifest.Members {
		want := e.SHA256
		if e.Kind == Images {
			want = mk.ImagesSum
		}
		sum, err := s.hash(g.ctx, e.Path, tick)
		if g.ctx.Err() != nil {
			return nil, g.ctx.Err()
		}
		if err != nil || sum != want {
			return nil, fault("bundle.stage-damaged", err, "dir", s.dir, "member", e.Path)
		}
	}
	return s, nil
}

// hash is a member's sum as it is on the disk.
func (s *Staged) hash(ctx context.Context, member string, tick func(n int64)) (string, error) {
	f, err := s.Open(member)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for err == nil && ctx.Err() == nil {
		var n int64
		n, err = io.CopyN(h, f, 1<<20)
		tick(n)
	}
	if !errors.Is(err, io.EOF) {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// make unpacks; what it wrote is gone when it fails. What an earlier try left is removed before the space is counted.
func (g *stager) make(a *Archive, base *Staged) (_ *Staged, err error) {
	home := filepath.Join(g.dir, a.ID())
	if err := os.RemoveAll(home); err != nil {
		return nil, storeFault(err, "")
	}
	need, _ := a.manifest.unpacked()
	if base != nil {
		images, _ := a.manifest.Member(a.manifest.ImagesPath())
		need += images.Carried // beside the whole, until that is put together
	}
	if err := g.opts.room(g.dir, need); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = g.opts.full(err, g.dir, need)
			_ = os.RemoveAll(home) // what cannot be removed is no stage: it has no marker
		}
	}()
	if err := os.MkdirAll(filepath.Join(home, membersDir), 0o700); err != nil {
		return nil, storeFault(err, "")
	}
	root, err := os.OpenRoot(filepath.Join(home, membersDir))
	if err != nil {
		return nil, storeFault(err, "")
	}
	defer root.Close()
	mk := marker{Archive: a.ID(), Size: a.size, Modified: a.modified.UnixNano()}
	if base != nil {
		mk.ImagesSum, err = g.complete(a, base, home, root)
	} else {
		var r *reading
		if r, err = pass(g.ctx, a.path, g.progress, rootSink{root}, g.opts); err == nil {
			mk.ImagesSum, err = r.report.ImagesSum, sameText(a, r)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := writeMarker(home, mk); err != nil {
		return nil, storeFault(err, markerName)
	}
	return &Staged{dir: home, manifest: a.manifest.Full(), imagesSum: mk.ImagesSum, opts: g.opts}, nil
}

// sameText makes sure that what was read is what was opened before.
func sameText(a *Archive, r *reading) error {
	if !bytes.Equal(a.text, r.text) {
		return fault("bundle.changed", nil)
	}
	return nil
}

func writeMarker(home string, mk marker) error {
	data, err := json.Marshal(mk)
	if err != nil {
		return err
	}
	return writeFileSync(filepath.Join(home, markerName), data)
}

// reuse returns the finished stage of a, or nil when there is none that can be trusted. A difference is content with
// what another archive of the same ID made.
func (g *stager) reuse(a *Archive) *Staged {
	s, mk := readStage(g.dir, a.ID())
	if s == nil || a.manifest.Base == nil && (mk.Size != a.size || mk.Modified != a.modified.UnixNano()) {
		return nil
	}
	if g.progress != nil {
		g.progress(a.size, a.size)
	}
	s.opts = g.opts
	return s
}

// readStage opens a finished stage in dir after a check of sizes; nil when there is none.
func readStage(dir, id string) (*Staged, marker) {
	home := filepath.Join(dir, id)
	var mk marker
	data, err := os.ReadFile(filepath.Join(home, markerName))
	if err != nil || json.Unmarshal(data, &mk) != nil || mk.Archive != id {
		return nil, mk
	}
	text, err := os.ReadFile(filepath.Join(home, membersDir, ManifestName))
	if err != nil || ID(text) != id {
		return nil, mk
	}
	m, err := ParseManifest(text)
	if err != nil {
		return nil, mk
	}
	for _, e := range m.Members {
		st, err := os.Lstat(filepath.Join(home, membersDir, filepath.FromSlash(e.Path)))
		if err != nil || !st.Mode().IsRegular() || st.Size() != e.Size {
			return nil, mk
		}
	}
	return &Staged{dir: home, manifest: m, imagesSum: mk.ImagesSum}, mk
}

// rootSink writes members below a directory that no path can leave.
type rootSink struct{ root *os.Root }

func (r rootSink) create(member string) (io.Writer, func() error, error) {
	if d := path.Dir(member); d != "." {
		if err := r.root.MkdirAll(d, 0o700); err != nil {
			return nil, nil, storeFault(err, member)
		}
	}
	f, err := r.root.OpenFile(member, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, storeFault(err, member)
	}
	return f, func() error {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return storeFault(err, member)
		}
		return nil
	}, nil
}
