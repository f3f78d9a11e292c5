// Package page_test tests the web page with a server over the runs of a story. What needs a browser runs where there is
// a Chromium.
package page_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/page/site"
)

// visitor is somebody who reads the page, in a language.
type visitor struct {
	t      *testing.T
	s      *site.Site
	cookie *http.Cookie
	lang   string
	last   string // the ID of the last event, where a browser opens a stream again
}

func begin(t *testing.T) *site.Site {
	t.Helper()
	s, err := site.New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func visit(t *testing.T, s *site.Site, name, lang string) *visitor {
	t.Helper()
	v := &visitor{t: t, s: s, lang: lang}
	if name != "" {
		var err error
		if v.cookie, err = s.Login(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// answer to a request.
type answer struct {
	status int
	header http.Header
	text   string
	packed int // bytes that were sent
}

func (v *visitor) send(method, path string, form url.Values) answer {
	v.t.Helper()
	q, err := http.NewRequestWithContext(v.t.Context(), method, v.s.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	q.Header.Set("Accept-Language", v.lang)
	q.Header.Set("Accept-Encoding", "gzip")
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.cookie != nil {
		q.AddCookie(v.cookie)
	}
	client := *v.s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(q)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	out := answer{res.StatusCode, res.Header, string(raw), len(raw)}
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			v.t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			v.t.Fatal(err)
		}
		out.text = string(text)
	}
	return out
}

func (v *visitor) get(path string) answer { v.t.Helper(); return v.send("GET", path, nil) }

// has wants texts in an answer.
func (v *visitor) has(a answer, status int, texts ...string) {
	v.t.Helper()
	if a.status != status {
		v.t.Errorf("%d, want %d\n%s", a.status, status, a.text)
	}
	for _, x := range texts {
		if !strings.Contains(a.text, x) {
			v.t.Errorf("no %q in\n%s", x, a.text)
		}
	}
}

// Who has not logged in is led to the login, and back; the login leads nowhere else.
func TestTheLogin(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "", "en")
	a := v.get("/clusters/one?x=1")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/login?next=%2Fclusters%2Fone%3Fx%3D1" {
		t.Error(a.status, a.header)
	}
	v.has(v.get("/login?next=%2Fclusters%2Fone"), 200, `data-then="/clusters/one"`, "Log in")
	for _, elsewhere := range []string{"https://evil.example/", "//evil.example/", `/\evil.example/`, "javascript:x"} {
		v.has(v.get("/login?next="+url.QueryEscape(elsewhere)), 200, `data-then="/"`)
	}
	v.has(v.get("/live"), 401, "access.unauthenticated")
	v.has(v.send("POST", "/new/draft", url.Values{}), 401, "access.unauthenticated")
	if a := v.get("//evil.example/?lang=zh"); strings.HasPrefix(a.header.Get("Location"), "//") {
		t.Error("it leads elsewhere:", a.header.Get("Location"))
	}
}

// Every page is there in both languages, and nothing on it is the key of a sentence.
func TestEveryPageInBothLanguages(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second, Fails: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Updating"); err != nil {
		t.Fatal(err)
	}
	backup, _, err := s.Backup(t.Context(), "rack", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key := regexp.MustCompile(`>[^<]*\b(page|ui|wizard|menu|fault|key)\.[a-z-]+(\.[a-z-]+)*[^<]*<`)
	board := "/clusters/rack/runs/" + r.ID()
	for lang, words := range map[string][]string{"en": {"Clusters", "New cluster", "Filter"},
		"zh": {"集群", "新建集群", "筛选"}} {
		v := visit(t, s, "ann", lang)
		v.has(v.get("/"), 200, words...)
		for _, path := range []string{"/", "/new", "/import", "/clusters/rack",
			"/clusters/rack/runs", "/clusters/rack/nodes", "/clusters/rack/backups/" + backup + "/restore",
			"/clusters/rack/upgrade", board,
			board + "?node=worker-1", board + "?node=", board + "?replay=8", "/users", "/account", "/audit",
			"/login"} {
			a := v.get(path)
			v.has(a, 200, `<html lang="`+map[string]string{"en": "en", "zh": "zh-Hans"}[lang]+`">`)
			if m := key.FindString(a.text); m != "" && !strings.Contains(m, "deploy.yaml") {
				t.Errorf("%s in %s: %s", path, lang, m)
			}
			if strings.Contains(a.text, "(?)") || strings.Contains(a.text, "ZgotmplZ") ||
				strings.Contains(a.text, "%!") {
				t.Errorf("%s in %s has something unfilled", path, lang)
			}
		}
		v.has(v.get("/clusters/none"), 404, "manager.unknown")
	}
	v := visit(t, s, "ann", "en")
	a := v.get("/?lang=zh")
	if a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Set-Cookie"), "eggo_lang=zh;") {
		t.Error(a.status, a.header)
	}
}

// What is loaded until the first page is drawn is less than 100 KB, and a browser keeps most of it.
func TestTheFirstPaintIsSmall(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "plant", "deploy", site.Moment{More: 95, At: 94 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "plant", "Updating"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "ann", "en")
	loaded := regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`)
	for _, path := range []string{"/login", "/", "/new", "/import", "/users", "/account", "/audit", "/clusters/plant",
		"/clusters/plant/nodes", "/clusters/plant/upgrade", "/clusters/plant/runs", "/clusters/plant/runs/" + r.ID()} {
		a := v.get(path)
		sum := a.packed
		for _, m := range loaded.FindAllStringSubmatch(a.text, -1) {
			file := v.get(m[1])
			if file.status != 200 || !strings.Contains(file.header.Get("Cache-Control"), "immutable") {
				t.Error(m[1], file.status, file.header)
			}
			sum += file.packed
		}
		t.Logf("%s: %d bytes, %d of them the page", path, sum, a.packed)
		if sum > 100_000 {
			t.Errorf("%s takes %d bytes", path, sum)
		}
	}
}

// A page does not wait for an API server that does not answer. Its script asks again, and waits.
func TestAnAPIServerThatIsSilent(t *testing.T) {
	s := begin(t)
	s.Hold = make(chan struct{})
	if _, err := s.Play(t.Context(), "rack", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "ann", "en")
	a := v.get("/clusters/rack")
	v.has(a, 200, "Waiting for the API server", "data-later", "192.168.0.15", "/upgrade", "/status")
	if strings.Contains(a.text, "v1.34.2") {
		t.Error("it answered")
	}
	close(s.Hold)
	v.has(v.get("/clusters/rack?wait"), 200, "v1.34.2", "state:not-ready", "role:worker")
}

// Pages load nothing from elsewhere, and have neither scripts nor styles of their own.
func TestThePolicy(t *testing.T) {
	s := begin(t)
	v := visit(t, s, "ann", "en")
	inline := regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:`)
	elsewhere := regexp.MustCompile(`(?:src|href|action)="(?:https?:)?//`)
	for _, path := range []string{"/", "/login", "/new", "/users", "/account", "/audit"} {
		a := v.get(path)
		policy := a.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
			t.Error(policy)
		}
		for _, bad := range []*regexp.Regexp{inline, elsewhere} {
			if m := bad.FindString(a.text); m != "" {
				t.Errorf("%s: %s", path, m)
			}
		}
		if !strings.Contains(a.header.Get("Cache-Control"), "no-store") {
			t.Error(path, a.header)
		}
	}
}

// A viewer is offered nothing that he may not do, and is refused where he asks all the same.
func TestWhatAViewerSees(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second, Fails: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Updating"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "vera", "en")
	for _, path := range []string{"/", "/clusters/rack", "/clusters/rack/runs/" + r.ID()} {
		a := v.get(path)
		v.has(a, 200)
		for _, bad := range []string{"/new", "/cancel", `class="may-operate"`, "DELETE"} {
			if strings.Contains(a.text, bad) {
				t.Errorf("%s offers %s", path, bad)
			}
		}
	}
	for _, path := range []string{"/new", "/import", "/users", "/audit", "/clusters/rack/nodes"} {
		v.has(v.get(path), 403, "access.denied")
	}
	for _, path := range []string{"/new", "/new/draft", "/new/check", "/clusters/rack/nodes",
		"/clusters/rack/backups/x/restore", "/clusters/rack/backups/x/restore/draft",
		"/clusters/rack/nodes/draft", "/clusters/rack/nodes/plan"} {
		v.has(v.send("POST", path, url.Values{"name": {"x"}, "nodes": {"192.0.2.1"}}), 403, "access.denied")
	}
}

// Who has a role on one cluster alone sees that one, and decides about its failures.
func TestWhoHasOneCluster(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second, Fails: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Play(t.Context(), "other", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	for name, state := range map[string]string{"rack": "Updating", "other": "Running"} {
		if err := s.Reach(t.Context(), name, state); err != nil {
			t.Fatal(err)
		}
	}
	v := visit(t, s, "rosa", "en")
	for _, path := range []string{"/", "/account"} {
		a := v.get(path)
		v.has(a, 200, "rack")
		if strings.Contains(a.text, "other<") || strings.Contains(a.text, `"/new"`) {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	v.follow("/live", func(m message) bool { return len(m.Order["clusters"]) == 1 })
	v.has(v.get("/clusters/rack"), 200, "/cancel")
	board := "/clusters/rack/runs/" + r.ID()
	v.has(v.get(board), 200, `class="may-operate"`, `data-decide="retry"`)
	v.has(v.get("/clusters/other"), 404, "manager.unknown")
	if a := visit(t, s, "vera", "en").get(board); strings.Contains(a.text, "may-operate") {
		t.Error("a viewer may operate")
	}
}

// message of a stream.
type message struct {
	Parts []struct{ ID, In, HTML string }
	Order map[string][]string
	Over  bool
}

// follow reads the messages of a stream until enough says so.
func (v *visitor) follow(path string, enough func(message) bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, "GET", v.s.URL+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Accept-Language", v.lang)
	if v.last != "" {
		q.Header.Set("Last-Event-ID", v.last)
	}
	q.AddCookie(v.cookie)
	res, err := v.s.Client().Do(q)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		text, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || text == "{}" { // a sign of life
			continue
		}
		var m message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			v.t.Fatal(err)
		}
		if enough(m) {
			return
		}
	}
	v.t.Fatal("the stream ended: ", lines.Err())
}

// The board shows what the log says, as it is written: a failure comes to the front, is decided, and the run ends.
func TestTheBoardFollowsTheRun(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second, Fails: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Updating"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "otto", "en")
	base := "/clusters/rack/runs/" + r.ID()
	v.has(v.get(base), 200, "worker-1: action required", "The disk is full.", "No space left on device", "may-operate")
	step := "infrastructure.packages/worker-1"
	now := r.Last()
	n := 0
	v.follow(base+"/live?node=worker-1", func(m message) bool {
		switch n++; n {
		case 1:
			text := ""
			for _, p := range m.Parts {
				text += p.HTML
			}
			if !strings.Contains(text, `id="node"`) || len(m.Order["asks"]) != 1 || len(m.Order["nodes"]) != 6 {
				t.Errorf("%v\n%s", m.Order, text)
			}
			rec := event.Record{Seq: now.Seq + 1, Time: now.Time, Event: event.StepDecided{Step: step,
				Decision: event.TryAgain}}
			if err := r.Write([]event.Record{rec, {Seq: now.Seq + 2, Time: now.Time, Event: event.StepStarted{
				Step: step, Try: 2}}}); err != nil {
				t.Fatal(err)
			}
		default:
			gone := false
			for _, p := range m.Parts {
				gone = gone || p.ID == "f-"+step && p.HTML == ""
			}
			if !gone {
				return false
			}
			if len(m.Parts) > 6 {
				t.Errorf("%d parts are sent again", len(m.Parts))
			}
			return true
		}
		return false
	})
	end := event.Record{Seq: now.Seq + 3, Time: now.Time, Event: event.RunEnded{Outcome: event.Failed}}
	v.follow(base+"/live", func(m message) bool {
		if end.Seq > 0 {
			if err := r.Write([]event.Record{end}); err != nil {
				t.Fatal(err)
			}
			r.End()
			end.Seq = 0
		}
		return m.Over
	})
	v.has(v.get(base), 200, "The run on cluster rack failed", "data-over")
	v.has(v.get(base+"/log?node=worker-1"), 200, "No space left on device")
	v.has(v.get(base+"/log?node=worker-77"), 404, "page.no-node")
}

// A replay begins where the reader is, and ends.
func TestAReplay(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
	v := visit(t, s, "vera", "zh")
	base := "/clusters/rack/runs/" + r.ID()
	for path, last := range map[string]string{"?replay=64&from=1000": "", "?replay=64&from=0": "1000"} {
		v.last = last
		v.follow(base+"/live"+path, func(m message) bool {
			for _, p := range m.Parts {
				if p.ID == "head" && strings.Contains(p.HTML, `value="0"`) {
					t.Error(path, "begins at the beginning")
				}
			}
			return len(m.Parts) > 0
		})
	}
	v.last = ""
	v.follow(base+"/live?replay=64&from=99999999", func(m message) bool { return m.Over })
}
