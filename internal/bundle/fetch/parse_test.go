package fetch

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestContentRanges(t *testing.T) {
	for h, want := range map[string]contentRange{
		"bytes 5-9/10": {5, 9, 10}, "Bytes 0-0/1": {0, 0, 1}, "bytes 5-9/*": {5, 9, -1},
	} {
		if got, ok := parseContentRange(h); !ok || got != want {
			t.Errorf("%q: %+v %v", h, got, ok)
		}
	}
	for _, h := range []string{"", "bytes", "bytes */10", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes -5-9/10",
		"bytes +5-9/10", "lines 5-9/10",
		"bytes 5-9/99999999999999999999", "bytes 5-9/10 ", "bytes=5-9/10"} {
		if got, ok := parseContentRange(h); ok {
			t.Errorf("%q: %+v", h, got)
		}
	}
}

func TestValidators(t *testing.T) {
	at := func(d time.Duration) string { return time.Unix(1e9, 0).Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct{ etag, lm, date, wantTag, wantLM string }{
		{`"a"`, "", "", `"a"`, ""},
		{`W/"a"`, at(0), at(time.Hour), "", at(0)},
		{`a`, at(0), at(time.Second), "", ""},
		{"\"a\x01\"", at(0), "", "", ""},
		{`"` + strings.Repeat("a", 2000) + `"`, "yesterday", at(0), "", ""},
	} {
		tag, lm := validators(http.Header{"Etag": {tt.etag}, "Last-Modified": {tt.lm}, "Date": {tt.date}})
		if tag != tt.wantTag || lm != tt.wantLM {
			t.Errorf("%+v: %q %q", tt, tag, lm)
		}
	}
}

func TestRedact(t *testing.T) {
	for s, want := range map[string]string{
		"https://a.test/x": "https://a.test/x", "https://u:secret@a.test/x": "https://u:xxxxx@a.test/x",
		"https://u:sec%zzret@a.test/x": "https://xxxxx@a.test/x", "%zz": "%zz",
	} {
		if got := redact(s); got != want {
			t.Errorf("%q: %q", s, got)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 5-9/10", "bytes 5-9/*", "bytes */10", "bytes 9-5/10",
		"bytes 0-18446744073709551615/*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, ok := parseContentRange(s)
		if ok && (r.first < 0 || r.last < r.first || r.total != -1 && r.last >= r.total) {
			t.Errorf("%q: %+v", s, r)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	f.Add([]byte(`{"url":"` + strings.Repeat("a", 64) + `","etag":"\"x\"","total":5}`))
	f.Add([]byte(`{"url":"` + strings.Repeat("a", 64) + `","modified":"Sat, 21 Nov 2026 10:00:00 GMT","total":-1}`))
	f.Add([]byte(`{"total":1e99}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, ok := parseOrigin(data)
		if !ok {
			return
		}
		// What is read back goes into a request's header: it must be fit for one.
		if strings.ContainsAny(o.ETag+o.Modified, "\r\n\x00") || !validSum(o.URL) || o.Total < -1 {
			t.Errorf("%q: %+v", data, o)
		}
		again, err := json.Marshal(o)
		if p, ok := parseOrigin(again); err != nil || !ok && len(again) <= maxOrigin || ok && p != o {
			t.Errorf("%q became %q", data, again)
		}
	})
}

func FuzzNetrc(f *testing.F) {
	for _, s := range []string{"machine a login b password c", "machine a login \"b\\n\" # x\ndefault",
		"macdef x\nfoo\n\nmachine a", "\"", "machine"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseNetrc(s)
		if err != nil && strings.Contains(err.Error(), "\n") || err == nil && len(n.by) > len(s)/len("machine x")+1 {
			t.Errorf("%q: %v, %v", s, n, err)
		}
	})
}
