package fetch

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// accept looks at the status and makes the file stand where the body begins.
func (d *download) accept(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		return d.begin(resp)
	case code == http.StatusPartialContent:
		return d.goOn(resp)
	case code == http.StatusRequestedRangeNotSatisfiable:
		if err := d.restart(); err != nil {
			return err
		}
		return d.transient("fetch.refused", nil, "status", resp.Status)
	case code == http.StatusNotFound || code == http.StatusGone:
		return d.fault("fetch.not-found", nil, "status", resp.Status)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return d.fault("fetch.denied", nil, "status", resp.Status)
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests ||
		code >= 500:
		d.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
		return d.transient("fetch.refused", nil, "status", resp.Status)
	}
	return d.fault("fetch.refused", nil, "status", resp.Status)
}

// begin takes a whole body.
func (d *download) begin(resp *http.Response) error {
	// First the length: the page that a portal puts in the way of everything must not cost what an earlier run has got.
	if t := d.s.Size; t >= 0 && resp.ContentLength >= 0 && resp.ContentLength != t {
		return d.fault("fetch.size", nil, "got", decimal(resp.ContentLength), "want", decimal(t))
	}
	if d.s.Size < 0 && resp.ContentLength > d.s.Limit {
		return d.fault("fetch.too-large", nil, "limit", decimal(d.s.Limit))
	}
	if err := d.restart(); err != nil {
		return err
	}
	d.length = resp.ContentLength
	d.etag, d.modified = validators(resp.Header)
	if d.s.SHA256 == "" {
		return nil
	}
	o := origin{URL: hashURL(d.url), ETag: d.etag, Modified: d.modified, Total: d.total()}
	if o.Total >= 0 && o.Total < minOrigin {
		return d.c.Cache.removeOrigin(d.s.SHA256)
	}
	return d.c.Cache.writeOrigin(d.s.SHA256, o)
}

// goOn takes the rest of a body, if it is the rest of ours.
func (d *download) goOn(resp *http.Response) error {
	h := resp.Header.Get("Content-Range")
	r, ok := parseContentRange(h)
	total := d.total()
	etag, _ := validators(resp.Header)
	switch {
	case !ok || r.first != d.w.n || d.w.n == 0:
		ok = false
	case total >= 0 && (r.last >= total || r.total >= 0 && r.total != total):
		ok = false
	case etag != "" && d.etag != "" && etag != d.etag:
		ok = false
	case resp.ContentLength >= 0 && resp.ContentLength != r.last-r.first+1:
		ok = false
	}
	if !ok {
		if err := d.restart(); err != nil {
			return err
		}
		return d.transient("fetch.network", fmt.Errorf("not the range that was asked for: %.100q", h))
	}
	if total < 0 {
		d.length = r.total
	}
	return nil
}

// contentRange is what a 206 carries: bytes first to last, of total (-1: not said).
type contentRange struct{ first, last, total int64 }

// parseContentRange reads "bytes 5-9/10" or "bytes 5-9/*" (RFC 9110, 14.4).
func parseContentRange(h string) (contentRange, bool) {
	unit, rest, ok := strings.Cut(h, " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, false
	}
	span, all, ok := strings.Cut(rest, "/")
	first, last, ok2 := strings.Cut(span, "-")
	if !ok || !ok2 {
		return contentRange{}, false
	}
	r := contentRange{total: -1}
	var ok3 bool
	r.first, ok = digits(first)
	r.last, ok2 = digits(last)
	if ok3 = all == "*"; !ok3 {
		r.total, ok3 = digits(all)
	}
	if !ok || !ok2 || !ok3 || r.last < r.first || r.total >= 0 && r.last >= r.total {
		return contentRange{}, false
	}
	return r, true
}

func digits(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// validators are what another request may name in If-Range: a strong entity tag, or a time of modification so long
// before the answer that no second change can hide in the same second (RFC 9110, 8.8.2.2).
func validators(h http.Header) (etag, modified string) {
	if e := h.Get("ETag"); strongETag(e) {
		etag = e
	}
	lm := h.Get("Last-Modified")
	m, e1 := http.ParseTime(lm)
	at, e2 := http.ParseTime(h.Get("Date"))
	if e1 == nil && e2 == nil && httpDate(lm) && at.Sub(m) >= time.Minute {
		modified = lm
	}
	return etag, modified
}

func httpDate(s string) bool {
	_, err := http.ParseTime(s)
	return err == nil && len(s) <= maxValidator
}

// retryAfter reads seconds or a date; 0 is "as you like".
func retryAfter(h string, now time.Time) time.Duration {
	if n, ok := digits(h); ok {
		return time.Duration(min(n, int64(maxAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(h); err == nil {
		return min(max(t.Sub(now), 0), maxAfter)
	}
	return 0
}
