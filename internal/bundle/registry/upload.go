package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	// uploadStall ends a try in which no byte went out for so long; commitWait leaves the registry time to hash what it
	// got.
	uploadStall = time.Minute
	commitWait  = 15 * time.Minute
)

func (p *pusher) tell(r *repository, digest string, done, total int64, mark func(*PushProgress)) {
	e := PushProgress{Target: p.host + "/" + r.path, Digest: digest, Done: done, Total: total}
	if mark != nil {
		mark(&e)
	}
	p.o.Progress(e)
}

// count notes how a blob or manifest came to be there.
func (p *pusher) count(r *repository, digest string, size int64, mark func(*PushProgress)) {
	p.tell(r, digest, size, size, func(e *PushProgress) {
		mark(e)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case e.Uploaded:
			p.res.Uploaded++
			p.res.Bytes += size
		case e.Mounted:
			p.res.Mounted++
		default:
			p.res.Present++
		}
	})
}

// send asks the target once and returns its answer without a body, if it has one of the wanted codes.
func (p *pusher) send(ctx context.Context, r *repository, method, u string, body io.Reader, size int64,
	header map[string]string,
	want ...int) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(commitWait, func() { cancel(context.DeadlineExceeded) })
	defer watchdog.Stop()
	if body != nil {
		watchdog.Reset(uploadStall)
		body = &watched{r: body, left: size, watchdog: watchdog}
	}
	req, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	if body == nil || size == 0 {
		req.Body = http.NoBody
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := p.session(r).client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
			err = cause
		}
		return nil, err
	}
	defer resp.Body.Close()
	if err := transport.CheckError(resp, want...); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return resp, err
}

// watched puts the watchdog off while bytes go out, and for long at their end.
type watched struct {
	r        io.Reader
	left     int64
	watchdog *time.Timer
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	if w.left -= int64(n); w.left > 0 {
		w.watchdog.Reset(uploadStall)
	} else {
		w.watchdog.Reset(commitWait)
	}
	return n, err
}

// blob brings a blob to a repository.
func (p *pusher) blob(ctx context.Context, j job) error {
	d := j.part.desc
	up := &upload{p: p, job: j}
	for progress := true; progress; {
		progress = false
		err := p.try(ctx, j.to, d.Digest, func(ctx context.Context) error {
			before := up.offset
			err := up.run(ctx)
			// A registry that takes some more each time is not given up.
			if err != nil && up.offset > before && ctx.Err() == nil {
				if p.retry(err) {
					progress = true
					return nil
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// try is Client.try for something that goes to a repository of the target.
func (p *pusher) try(ctx context.Context, r *repository, what string, do func(context.Context) error) error {
	err := p.c.try(ctx, p.host+"/"+r.path+" "+what, p.host, do)
	if f, ok := isFault(err); ok && f.Code == "registry.refused" {
		return event.NewFault(event.ClassFailed, "registry.push", f.Err, "target", p.host+"/"+r.path, "what", what)
	}
	return err
}

// retry says whether another try may fix the error.
func (p *pusher) retry(err error) bool {
	_, retry := sort(err, p.c.plain(p.host))
	return retry
}

// upload is a blob on its way, over several tries.
type upload struct {
	p        *pusher
	job      job
	location string // where the registry wants the next bytes; "" before it said so
	offset   int64  // that it has
}

// run does what is left to do.
func (u *upload) run(ctx context.Context) error {
	p, r, d := u.p, u.job.to, u.job.part.desc
	if u.location != "" {
		if done, err := u.resume(ctx); done || err != nil {
			return err
		}
	}
	if u.location == "" {
		if done, err := u.begin(ctx); done || err != nil {
			return err
		}
	}
	if u.offset < d.Size {
		if err := u.patch(ctx); err != nil {
			return err
		}
	}
	to, err := url.Parse(u.location)
	if err != nil {
		return err
	}
	q := to.Query()
	q.Set("digest", d.Digest)
	to.RawQuery = q.Encode()
	if _, err := p.send(ctx, r, http.MethodPut, to.String(), nil, 0, nil, http.StatusCreated, http.StatusNoContent,
		http.StatusOK); err != nil {
		return u.forget(err)
	}
	p.count(r, d.Digest, d.Size, func(e *PushProgress) { e.Uploaded = true })
	return nil
}

// begin looks whether the blob is there, or in another repository, and opens an upload if not.
func (u *upload) begin(ctx context.Context) (done bool, err error) {
	p, r, d := u.p, u.job.to, u.job.part.desc
	_, err = p.send(ctx, r, http.MethodHead, p.c.url(r.name, "blobs", d.Digest), nil, 0, nil, http.StatusOK)
	if err == nil {
		p.count(r, d.Digest, d.Size, func(e *PushProgress) { e.Present = true })
		return true, nil
	}
	if te := (*transport.Error)(nil); !errors.As(err, &te) || te.StatusCode != http.StatusNotFound {
		return false, err
	}
	open := p.c.url(r.name, "blobs", "uploads/")
	from := ""
	if u.job.from != nil {
		from = "?" + url.Values{"mount": {d.Digest}, "from": {u.job.from.name.RepositoryStr()}}.Encode()
	}
	resp, err := p.send(ctx, r, http.MethodPost, open+from, nil, 0, nil, http.StatusAccepted, http.StatusCreated)
	if te := (*transport.Error)(nil); from != "" && errors.As(err, &te) && te.StatusCode < 500 &&
		te.StatusCode != http.StatusTooManyRequests {
		// A registry that does not know how to mount, or may not.
		resp, err = p.send(ctx, r, http.MethodPost, open, nil, 0, nil, http.StatusAccepted)
	}
	if err != nil {
		return false, err
	}
	if resp.StatusCode == http.StatusCreated {
		p.count(r, d.Digest, d.Size, func(e *PushProgress) { e.Mounted = true })
		return true, nil
	}
	return false, u.moved(resp)
}

// moved takes the place of the next bytes from an answer.
func (u *upload) moved(resp *http.Response) error {
	l := resp.Header.Get("Location")
	if l == "" {
		return errors.New("the registry does not say where to upload to")
	}
	to, err := resp.Request.URL.Parse(l)
	if err != nil {
		return errors.New("the registry says where to upload to in a way that cannot be understood")
	}
	u.location = to.String()
	return nil
}

// patch sends what the registry does not have yet, in one request.
func (u *upload) patch(ctx context.Context) error {
	p, r, d := u.p, u.job.to, u.job.part.desc
	s, err := u.job.part.archive.Section(d.Digest)
	if err != nil {
		return err
	}
	left := d.Size - u.offset
	body := &counted{r: io.NewSectionReader(s, u.offset, left), done: u.offset,
		tell: func(n int64) { p.tell(r, d.Digest, n, d.Size, nil) }}
	header := map[string]string{"Content-Type": "application/octet-stream"}
	if u.offset > 0 {
		header["Content-Range"] = fmt.Sprintf("%d-%d", u.offset, d.Size-1)
	}
	resp, err := p.send(ctx, r, http.MethodPatch, u.location, body, left, header, http.StatusAccepted,
		http.StatusNoContent, http.StatusCreated)
	if err != nil {
		return err
	}
	u.offset = d.Size
	return u.moved(resp)
}

type counted struct {
	r    io.Reader
	done int64
	tell func(int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.done += int64(n)
	c.tell(c.done)
	return n, err
}

// resume asks how much of a broken upload the registry has; one that cannot say starts again.
func (u *upload) resume(ctx context.Context) (done bool, err error) {
	p, r, d := u.p, u.job.to, u.job.part.desc
	resp, err := p.send(ctx, r, http.MethodGet, u.location, nil, 0, nil, http.StatusNoContent, http.StatusOK,
		http.StatusAccepted)
	if err != nil {
		if p.retry(err) {
			return false, err
		}
		u.location, u.offset = "", 0
		return false, nil
	}
	_, last, ok := strings.Cut(strings.TrimPrefix(resp.Header.Get("Range"), "bytes="), "-")
	n, err := strconv.ParseInt(last, 10, 64)
	if !ok || err != nil || n < 0 || n >= d.Size {
		u.location, u.offset = "", 0
		return false, nil
	}
	// "0-0" is said of nothing and of one byte.
	if u.offset = n + 1; n == 0 {
		u.offset = 0
	}
	if l := resp.Header.Get("Location"); l != "" {
		return false, u.moved(resp)
	}
	return false, nil
}

// forget drops an upload that could not be finished: the next try starts again.
func (u *upload) forget(err error) error {
	if !u.p.retry(err) {
		u.location, u.offset = "", 0
	}
	return err
}

// putManifest puts a manifest under a tag or its digest, unless it is there already.
func (p *pusher) putManifest(ctx context.Context, r *repository, id, mediaType string, raw []byte) error {
	digest := sum(raw)
	u := p.c.url(r.name, "manifests", id)
	return p.try(ctx, r, id, func(ctx context.Context) error {
		resp, err := p.send(ctx, r, http.MethodHead, u, nil, 0, map[string]string{"Accept": accept}, http.StatusOK)
		if err == nil && resp.Header.Get("Docker-Content-Digest") == digest {
			p.count(r, digest, int64(len(raw)), func(e *PushProgress) { e.Present = true })
			return nil
		}
		if te := (*transport.Error)(nil); err != nil && (!errors.As(err, &te) || te.StatusCode != http.StatusNotFound) {
			return err
		}
		header := map[string]string{"Content-Type": mediaType}
		_, err = p.send(ctx, r, http.MethodPut, u, bytes.NewReader(raw), int64(len(raw)), header, http.StatusCreated,
			http.StatusOK, http.StatusAccepted)
		if err != nil {
			return err
		}
		p.count(r, digest, int64(len(raw)), func(e *PushProgress) { e.Uploaded = true })
		return nil
	})
}
