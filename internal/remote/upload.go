package remote

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func encode(b []byte) string { return "'" + base64.StdEncoding.EncodeToString(b) + "'" }

// hashLib has the node's fastest SHA-256: openssl where it is, four times as fast as coreutils.
//
//go:embed hash.sh
var hashLib string

// inspectScript says what is there: "same", "mode" (the file is right and its permissions were not), or "part SIZE
// SHA256 ROOM" with the size in bytes and the room in KiB. The lock waits for an earlier try that the node has not
// given up yet: it may still write what it got.
//
//go:embed inspect.sh
var inspectScript string

// writeScript takes the rest of the file over its standard input, alone under the lock. Size and hash are of what is in
// the file then, so a write that failed is noticed. It prints "done BUSY CPUS": how many hundredths of a processor were
// busy on the node while the file came, and how many processors it has; "done" where that is unknown.
//
//go:embed write.sh
var writeScript string

// transfer is one upload under way.
type transfer struct {
	h    *Host
	up   shell.Upload
	env  map[string]string
	step string
	done int64
	last time.Time
}

// Upload writes a file on the node: beside its place, renamed when the sum is right.
// It does nothing when the file is there, and goes on where an earlier try broke. It reports whether the node was
// changed.
func (h *Host) Upload(ctx context.Context, up shell.Upload) (changed bool, err error) {
	if !strings.HasPrefix(up.Path, "/") || strings.HasSuffix(up.Path, "/") || strings.ContainsRune(up.Path, 0) ||
		len(up.SHA256) != 64 {
		return false, h.fault(failed("ssh.bad-command", false, nil, "what", event.Clean(up.Path)))
	}
	if err := h.enter(ctx, &h.up); err != nil {
		return false, h.fault(err)
	}
	defer h.leave(&h.up)
	p, err := h.bulk(ctx)
	if err != nil {
		return false, h.fault(err)
	}
	if p == &h.run { // whose session has the lock
		defer h.leave(&h.run)
	} else if err := h.keepLock(ctx, p.s.link); err != nil {
		return false, h.fault(err)
	}
	t := &transfer{h: h, up: up, step: h.opt.Step(ctx), env: map[string]string{
		"path": up.Path, "size": strconv.FormatInt(up.Size, 10), "sha": up.SHA256,
		"mode": strconv.FormatUint(uint64(up.Mode&0o7777), 8),
		"wait": strconv.Itoa(int((h.upOpt.Timeouts.Lease+h.opt.Timeouts.Kill)/time.Second) + 5),
	}}
	changed, err = t.run(ctx, p)
	return changed, h.fault(err)
}

// bulk returns the place of the session that uploads go through: one of their own, or the scripts' (then the caller has
// its turn) on a node that allows no second.
func (h *Host) bulk(ctx context.Context) (*place, error) {
	h.mu.Lock()
	single := h.single
	h.mu.Unlock()
	if !single {
		_, err := h.session(ctx, &h.up)
		if err == nil {
			return &h.up, nil
		}
		if event.AsFault(err).Code != "ssh.session-refused" {
			return nil, err
		}
		h.mu.Lock()
		h.single = true
		h.mu.Unlock()
	}
	if err := h.enter(ctx, &h.run); err != nil {
		return nil, err
	}
	if _, err := h.session(ctx, &h.run); err != nil {
		h.leave(&h.run)
		return nil, err
	}
	return &h.run, nil
}

// script composes one of the scripts without input.
func (t *transfer) script(text string, more ...string) []byte {
	var b strings.Builder
	b.WriteString("unset eg_m eg_p; set --\n")
	for k, v := range t.env {
		b.WriteString(k + "=" + shell.Quote(v) + "\n")
	}
	for i := 0; i+1 < len(more); i += 2 {
		b.WriteString(more[i] + "=" + shell.Quote(more[i+1]) + "\n")
	}
	b.WriteString("eval " + shell.Quote(text))
	return []byte(b.String())
}

func (t *transfer) run(ctx context.Context, p *place) (bool, error) {
	r, err := t.h.do(ctx, p, p.s, "r", newJob(nil), t.script(hashLib+inspectScript))
	if err != nil {
		return false, err
	}
	f := strings.Fields(string(r.Stdout))
	switch {
	case len(f) == 1 && f[0] == "same":
		t.progress(t.up.Size, true)
		return false, nil
	case len(f) == 1 && f[0] == "mode":
		t.progress(t.up.Size, true)
		return true, nil
	case len(f) == 1 && (f[0] == "dir" || f[0] == "isdir"):
		return false, failed("ssh.upload-"+f[0], false, nil, "path", t.up.Path)
	case len(f) == 1 && f[0] == "busy":
		return false, failed("ssh.upload-busy", true, nil, "path", t.up.Path)
	case len(f) != 4 || f[0] != "part":
		return false, t.broken(r)
	}
	src, err := t.up.Open()
	if err != nil {
		return false, failed("ssh.upload-source", false, err, "path", t.up.Path)
	}
	defer func() { _ = src.Close() }()
	have, _ := strconv.ParseInt(f[1], 10, 64)
	if have, err = t.resume(ctx, src, have, f[2]); err != nil {
		return false, err
	}
	room, err := strconv.ParseInt(f[3], 10, 64)
	partHad, _ := strconv.ParseInt(f[1], 10, 64)
	if err == nil && room*1024 < t.up.Size-partHad {
		return false, t.full(ctx, p, room*1024, t.up.Size-partHad)
	}
	return true, t.send(ctx, p, src, have)
}

// resume compares the beginning that is there with the source and says where to go on; the source stands there then.
func (t *transfer) resume(ctx context.Context, src io.ReadSeeker, have int64, sum string) (int64, error) {
	if have > 0 {
		hash := sha256.New()
		n, err := io.CopyN(hash, &stopped{ctx, src}, have)
		if ctx.Err() != nil {
			return 0, ctxFault(ctx)
		}
		if err == nil && n == have && hex.EncodeToString(hash.Sum(nil)) == sum {
			return have, nil
		}
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return 0, failed("ssh.upload-source", false, err, "path", t.up.Path)
	}
	return 0, nil
}

// stopped is a reader that ends with its context.
type stopped struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopped) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// send streams the rest of the file and waits for the node's word on the whole.
func (t *transfer) send(ctx context.Context, p *place, src io.Reader, from int64) error {
	s, j := p.s, newJob(nil)
	t.progress(from, true)
	// The clock of progress is wound by every piece that was sent.
	// While the node reads the file for its sum and syncs it, there is nothing to see, so the last round is longer with
	// the size, at 8 MiB/s.
	limit := t.h.opt.Timeouts.Progress
	var stalled atomic.Bool
	clock := time.AfterFunc(limit, func() {
		stalled.Store(true)
		s.abandon(errStalled)
	})
	defer clock.Stop()
	stop := context.AfterFunc(ctx, func() {
		if !s.kill(j) {
			s.abandon(ctx.Err())
		}
	})
	began := time.Now()
	err := s.begin("s", j, t.script(hashLib+writeScript, "from", strconv.FormatInt(from, 10)))
	if err == nil {
		err = t.pump(ctx, s, j, src, from, func() { clock.Reset(limit) })
	}
	sent := time.Since(began)
	clock.Reset(limit + time.Duration(t.up.Size>>23)*time.Second)
	var source *event.Fault
	if errors.As(err, &source) { // the source's fault; the node is waiting for more
		stop()
		_ = s.kill(j)
		return source
	}
	stop()
	r, usable, err := s.await(ctx, j)
	clock.Stop()
	if !usable {
		why := s.reason()
		t.h.discard(p)
		if stalled.Load() {
			return failed("ssh.stalled", true, nil, "path", t.up.Path, "limit", limit.String(),
				"done", strconv.FormatInt(t.done, 10), "size", strconv.FormatInt(t.up.Size, 10))
		}
		if ctx.Err() != nil {
			return ctxFault(ctx)
		}
		// What became of an upload is seen by looking, so it is lost and not unknown.
		return lostFault(why)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil && r.Status != 0 {
		return ctxFault(ctx)
	}
	if said := words(r.Stdout); r.Status == 0 && finished(said) {
		t.explain(t.up.Size-from, sent, said)
	}
	return t.verdict(ctx, p, r)
}

var errStalled = errors.New("the transfer stands still")

// pump sends the source in chunks. A write error is not told: await knows better why the session ended.
func (t *transfer) pump(ctx context.Context, s *session, j *job, src io.Reader, from int64, alive func()) error {
	next := chunk{size: t.h.opt.Chunk, least: t.h.opt.Chunk}
	var buf []byte
	id := strconv.Itoa(j.id)
	for t.done = from; t.done < t.up.Size; {
		want := int(min(int64(next.size), t.up.Size-t.done))
		if len(buf) < 64+want {
			buf = make([]byte, 64+want)
		}
		head := fmt.Appendf(buf[:0], "d %s %d\n", id, want)
		if _, err := io.ReadFull(src, buf[len(head):len(head)+want]); err != nil {
			return failed("ssh.upload-source", false, err, "path", t.up.Path)
		}
		began := time.Now()
		if err := s.send(buf[:len(head)+want], alive); err != nil {
			return nil
		}
		next.sent(time.Since(began))
		select {
		case <-j.done: // it has given up: its word follows
			return nil
		case <-ctx.Done():
			return nil
		default:
		}
		t.done += int64(want)
		t.progress(t.done, t.done == t.up.Size)
	}
	_ = s.write([]byte("e " + id + "\n"))
	return nil
}

// verdict is what the node said of the whole.
func (t *transfer) verdict(ctx context.Context, p *place, r shell.Result) error {
	f := words(r.Stdout)
	switch {
	case r.Status == 0 && finished(f):
		return nil
	case r.Status == 82:
		return failed("ssh.upload-busy", true, nil, "path", t.up.Path)
	case r.Status == 83:
		return failed("ssh.upload-changed", true, nil, "path", t.up.Path)
	case r.Status == 84 && len(f) == 3:
		n, _ := strconv.ParseInt(f[1], 10, 64)
		room, _ := strconv.ParseInt(f[2], 10, 64)
		if strings.Contains(string(r.Stderr), "o space left") || room*1024 < t.up.Size-n && len(r.Stderr) > 0 {
			return t.full(ctx, p, room*1024, t.up.Size-n)
		}
	case r.Status == 85 && len(f) == 2:
		return failed("ssh.upload-sum", false, nil, "path", t.up.Path, "want", t.up.SHA256, "got", event.Clean(f[1]))
	}
	return t.broken(r)
}

// full says that there is no room, and takes the temporary file away.
func (t *transfer) full(ctx context.Context, p *place, room, need int64) error {
	_, _ = t.h.do(ctx, p, p.s, "r", newJob(nil), t.script(`rm -f "$path.eggo-part"`))
	return failed("ssh.disk-full", false, nil, "path", t.up.Path, "free", mib(room), "need", mib(need))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// broken is for what the scripts do not foresee: a read-only file system, say. When nobody said why, as of a script
// that was killed, another try may help.
func (t *transfer) broken(r shell.Result) error {
	words := strings.Split(strings.TrimSpace(string(r.Stderr)), "\n")
	cause := words[len(words)-1]
	silent := cause == ""
	if silent {
		cause = fmt.Sprintf("exit status %d %s", r.Status, strings.TrimSpace(string(r.Stdout)))
	}
	return failed("ssh.upload-failed", silent, errors.New(strings.TrimSpace(cause)), "path", t.up.Path, "status",
		strconv.Itoa(r.Status))
}

// progress tells how far it is, a few times a second.
func (t *transfer) progress(done int64, now bool) {
	if !now && time.Since(t.last) < 250*time.Millisecond {
		return
	}
	t.last = time.Now()
	t.h.opt.Emit(event.Progress{Host: t.h.target.Name, Step: t.step, What: t.up.What, Done: done, Total: t.up.Size})
}
