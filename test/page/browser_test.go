package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/account/sso"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/test/page/browser"
	"github.com/eggo-k8s/eggo/test/page/site"
	"github.com/eggo-k8s/eggo/test/story"
)

// tab is a browser that reads the page.
type tab struct {
	*browser.Browser
	t   *testing.T
	ctx context.Context
	url string
}

func open(t *testing.T, s *site.Site) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long: make page-check")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	b, err := browser.Start(ctx)
	if errors.Is(err, browser.ErrNone) && os.Getenv("EGGO_AXE") == "" { // make page-check is to fail
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return &tab{b, t, ctx, s.URL}
}

func (x *tab) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err, x.Log)
	}
}

func (x *tab) visit(path string) { x.t.Helper(); x.must(x.Open(x.ctx, x.url+path)) }

func (x *tab) wait(expression string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, 40*time.Second)
	defer cancel()
	x.must(x.Wait(ctx, expression))
}

// settled waits until keys decide about failures: what has just come, the page included, is not decided by a key that
// was meant for something else.
func (x *tab) settled() {
	x.t.Helper()
	x.wait(`performance.now() - Math.max(0, ...[...document.querySelectorAll("[data-came]")].map((e) =>
		Number(e.dataset.came))) > 700`)
}

func (x *tab) login(s *site.Site, name string) {
	x.t.Helper()
	cookie, err := s.Login(x.ctx, name)
	x.must(err)
	x.must(x.Cookie(x.ctx, x.url, cookie))
}

func (x *tab) press(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		x.must(x.Press(x.ctx, k))
	}
}

// quiet: nothing was refused by the policy, and no script failed.
func (x *tab) quiet() {
	x.t.Helper()
	for _, line := range x.Log {
		if strings.Contains(line, "Security Policy") || strings.Contains(line, "exceptionDetails") {
			x.t.Error(line)
		}
	}
}

// A person logs in, finds the cluster whose run waits, retries the step, and leaves, with the keyboard alone.
func TestWithTheKeyboardAlone(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 40 * time.Second}) // the disk of worker-2 is full
	if err == nil {
		err = s.Reach(t.Context(), "rack", "Updating")
	}
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.visit("/clusters/rack")
	x.wait(`document.activeElement.name === "name"`)
	x.press("a", "n", "n", "Tab")
	for _, letter := range site.Password {
		x.press(string(letter))
	}
	x.press("Enter")
	x.wait(`location.pathname === "/clusters/rack" && document.readyState === "complete"`)
	x.press("Escape")
	x.wait(`location.pathname === "/" && document.readyState === "complete" && !!document.querySelector(".cluster")`)
	x.press("j")
	x.wait(`document.activeElement.matches(".cluster .who")`)
	x.press("Enter")
	x.wait(`location.pathname === "/clusters/rack" && document.readyState === "complete"`)
	x.press("b")
	x.wait(`location.pathname.includes("/runs/") && document.readyState === "complete" &&
		!!document.querySelector(".ask [data-decide]")`)
	x.press("e")
	x.wait(`document.activeElement.matches('[data-state="asked"] .who')`)
	x.press("Enter")
	x.wait(`!!document.querySelector("#node #output")`)
	x.press("Escape")
	x.wait(`!document.querySelector("#node") && !location.search`)
	x.press("?")
	x.wait(`document.querySelector("#help").open`)
	x.press("Escape")
	x.wait(`!document.querySelector("#help").open`) // keys mean something else while it is
	x.settled()
	x.press("r")
	select {
	case d := <-r.Decided:
		if d.What != event.TryAgain || d.Step != "infrastructure.packages/worker-2" {
			t.Error(d)
		}
	case <-x.ctx.Done():
		t.Fatal("nothing was decided")
	}
	x.press("L")
	x.wait(`document.documentElement.lang === "zh-Hans"`)
	x.quiet()
}

// Markup of others does nothing in a browser either.
func TestMarkupOfOthersDoesNothing(t *testing.T) {
	s := begin(t)
	r := hostileRun(t, s)
	x := open(t, s)
	x.login(s, "ann")
	for _, path := range []string{"", "?node=" + url.QueryEscape(evil), "?node=n2"} {
		x.visit("/clusters/rack/runs/" + r.ID() + path)
		x.wait(`document.querySelectorAll("time[data-since]").length > 0`)
		hacked := ""
		x.must(x.Eval(x.ctx, `String(window.hacked)`, &hacked))
		if hacked != "undefined" {
			t.Error(path, hacked)
		}
	}
	x.quiet()
}

// violation of a rule of accessibility.
type violation struct {
	ID, Help string
	Nodes    []struct {
		HTML           string
		FailureSummary string
	}
}

// look is how a page is looked at.
type look struct {
	lang        string
	dark, phone bool
}

// looks are all of them, or those whose turn it is.
func looks(t *testing.T) (out []look) {
	t.Helper()
	for _, lang := range []string{"en", "zh"} {
		for _, dark := range []bool{true, false} {
			out = append(out, look{lang, dark, false}, look{lang, dark, true})
		}
	}
	k, n, some := turn(t)
	if !some {
		return out
	}
	n = min(n, len(out))
	var mine []look
	for i, l := range out {
		if i%n == (k-1)%n {
			mine = append(mine, l)
		}
	}
	return mine
}

// turn is the part that is tried, the kth of n, where EGGO_LOOKS says so.
func turn(t *testing.T) (k, n int, some bool) {
	t.Helper()
	text := os.Getenv("EGGO_LOOKS")
	if text == "" {
		return 0, 0, false
	}
	if _, err := fmt.Sscanf(text, "%d/%d", &k, &n); err != nil || k < 1 || n < k {
		t.Fatalf("EGGO_LOOKS is %q", text)
	}
	return k, n, true
}

// Every page follows the rules that axe-core checks, in both languages, dark and light, wide and as on a phone.
// EGGO_AXE is the path of axe.min.js (make page-check). EGGO_LOOKS=K/N: the Kth of N parts of the looks.
func TestAccessibility(t *testing.T) {
	path := os.Getenv("EGGO_AXE")
	if path == "" {
		t.Skip("EGGO_AXE names no axe.min.js: make page-check fetches it")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t)
	at, err := site.Fill(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, s, "edge-7")
	x := open(t, s)
	board := func(c string) string { return "/clusters/" + c + "/runs/" + at.Run[c] }
	pages := []string{"/", "/new", "/import", "/clusters/shanghai-2", "/clusters/rack-7", "/clusters/shanghai-2/runs",
		"/clusters/shanghai-2/nodes", "/clusters/shanghai-2/backups/" + at.Backup + "/restore",
		"/clusters/shanghai-2/upgrade", "/clusters/edge-7", "/clusters/edge-7/nodes", board("lab"),
		board("edge-berlin") + "?node=master-1", board("rack-7"), board("plant"), board("shanghai-2"),
		board("shanghai-2") + "?replay=8", "/users", "/account", "/audit", "/clusters/none", "/login"}
	for _, look := range looks(t) {
		x.must(x.Language(x.ctx, look.lang))
		width, height := 1280, 900
		if look.phone {
			width, height = 390, 844
		}
		x.must(x.Screen(x.ctx, width, height, 1, look.dark, look.phone))
		x.login(s, "ann")
		for _, path := range pages {
			if path == "/login" { // who has logged in is led on from there
				x.must(x.Call(x.ctx, "Network.clearBrowserCookies", nil, nil))
			}
			x.visit(path)
			x.must(x.Eval(x.ctx, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil))
			x.must(x.Eval(x.ctx, string(axe)+";0", nil))
			var found []violation
			x.must(x.Eval(x.ctx, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations)`, &found))
			for _, v := range found {
				for _, n := range v.Nodes[:min(2, len(v.Nodes))] {
					t.Errorf("%s %+v: %s: %s\n%.300s\n%.300s", path, look, v.ID, v.Help, n.HTML, n.FailureSummary)
				}
			}
			wide := 0
			x.must(x.Eval(x.ctx, `document.documentElement.scrollWidth`, &wide)) // innerWidth grows with it on a phone
			if wide > width {
				t.Errorf("%s %+v is %d pixels wide", path, look, wide)
			}
		}
	}
	x.quiet()
}

// With several failures, a key is about the one that is selected; where none is, it only selects one.
func TestKeysDecideAboutTheSelectedFailure(t *testing.T) {
	s := begin(t)
	r, err := s.Play(t.Context(), "rack", "deploy", site.Moment{At: 79 * time.Second, Fails: "worker-1"})
	if err == nil {
		err = r.Write(story.Full(r.Last(), "worker-2"))
	}
	if err == nil {
		err = s.Reach(t.Context(), "rack", "Updating")
	}
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.login(s, "rosa")
	x.visit("/clusters/rack/runs/" + r.ID())
	x.wait(`document.querySelectorAll(".ask.open").length === 2 && document.title.startsWith("(2)")`)
	x.settled()
	x.press("r")
	x.wait(`document.activeElement === document.querySelector(".ask.open")`)
	x.must(x.Eval(x.ctx, `document.querySelector('.node .who[data-node="worker-2"]').focus()`, nil))
	x.press("Enter")
	x.wait(`document.activeElement.matches("#node h2") && document.activeElement.textContent.includes("worker-2")`)
	x.settled()
	x.press("r")
	select {
	case d := <-r.Decided:
		if d.What != event.TryAgain || !strings.HasSuffix(d.Step, "/worker-2") {
			t.Error(d)
		}
	case <-x.ctx.Done():
		t.Fatal("nothing was decided")
	}
	x.press("Escape")
	x.wait(`!document.querySelector("#node") && document.activeElement.dataset.node === "worker-2"`)
	x.wait(`[...document.querySelectorAll(".ask [data-decide]")].every((b) =>
		b.disabled === b.dataset.step.endsWith("/worker-2"))`) // until the log says what came of it
	if len(r.Decided) > 0 {
		t.Error("more was decided")
	}
	last := r.Last()
	last.Time = last.Time.Add(time.Second)
	x.must(r.Write(story.Full(last, "worker-2"))) // it has failed again
	x.wait(`[...document.querySelectorAll(".ask [data-decide]")].every((b) => !b.disabled)`)
	x.quiet()
}

// A backup is restored with the keyboard: what is wrong is at its field, which gets the focus.
func TestARestoreFromThePage(t *testing.T) {
	s := begin(t)
	running(t, s)
	name, identity, err := s.Backup(t.Context(), "rack", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.Runner.Begin = func(r manager.Record) (*site.Run, error) {
		return s.Play(t.Context(), r.Name, "deploy", site.Moment{At: 40 * time.Second})
	}
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.login(s, "ann")
	x.visit("/clusters/rack/backups/" + name + "/restore")
	x.wait(`document.querySelector(".count").textContent !== "" &&
		document.querySelector('[name="nodes"]').offsetParent === null`)
	fill := func(field, value string) {
		t.Helper()
		text, err := json.Marshal(value)
		x.must(err)
		x.must(x.Eval(x.ctx, `(() => { const f = document.querySelector('[name="`+field+`"]'); f.focus();
			f.value = `+string(text)+`; f.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	}
	send := `document.querySelector('[data-do="send"]').focus()`
	x.must(x.Eval(x.ctx, send, nil))
	x.press("Enter")
	x.wait(`document.activeElement.name === "passphrase" && document.activeElement.matches('[aria-invalid]') &&
		document.querySelector("#" + document.activeElement.getAttribute("aria-describedby")).textContent.length > 20`)
	fill("onto", "new")
	x.wait(`document.querySelector('[name="nodes"]').offsetParent !== null`)
	fill("nodes", newMachines)
	fill("identity", strings.Replace(identity, "1", "1Q", 1))
	x.wait(`document.querySelectorAll("[data-table] tbody tr").length === 3 && // the load balancer stays
		!document.querySelector(".wrongs li")`)
	x.must(x.Eval(x.ctx, send, nil))
	x.press("Enter")
	x.wait(`document.querySelector("#confirm").open && document.activeElement.matches("#confirm input")`)
	x.press("r", "a", "c", "k", "Enter")
	x.wait(`document.activeElement.name === "identity" && document.activeElement.matches('[aria-invalid]')`)
	fill("identity", identity)
	x.wait(`!document.querySelector('[aria-invalid]')`)
	x.must(x.Eval(x.ctx, send, nil))
	x.press("Enter")
	x.wait(`document.querySelector("#confirm").open`)
	x.press("r", "a", "c", "k", "Enter")
	x.wait(`location.pathname === "/clusters/rack" && document.readyState === "complete"`)
	x.quiet()
}

// Of many things that are wrong with one field, the first are said below it, in their order; all are at the end.
func TestManyThingsAreWrongWithAField(t *testing.T) {
	s := begin(t)
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.login(s, "ann")
	x.visit("/new")
	x.must(x.Eval(x.ctx, `(() => { const f = document.querySelector('[name="nodes"]');
		f.value = Array.from({length: 40}, (_, i) => "n" + i + " 192.0.2.300 worker").join("\n");
		f.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	x.wait(`document.querySelectorAll(".wrongs li").length > 40`)
	var below []string
	x.must(x.Eval(x.ctx, `[...document.querySelectorAll('[name="nodes"] ~ .wrong')].map((e) => e.textContent)`, &below))
	if len(below) != 6 || !strings.Contains(below[3], "n0 ") || !strings.HasSuffix(below[5], " more") ||
		strings.Contains(strings.Join(below, " "), "n39") {
		t.Errorf("%q", below)
	}
	x.quiet()
}

// Where the password of the nodes is missing, its field is opened; the request is sent again with it.
func TestAPasswordThatIsAskedFor(t *testing.T) {
	s := begin(t)
	running(t, s)
	asksForPassword(t, s)
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.login(s, "vera")
	x.visit("/clusters/rack")
	x.must(x.Eval(x.ctx, `document.querySelector('[data-into="status"][data-secrets]').click()`, nil))
	x.wait(`document.activeElement.name === "secret:password" && document.activeElement.offsetParent !== null &&
		document.querySelector("#status .problem").textContent.includes("Passwords of the nodes")`)
	x.press("p", "a", "s", "s")
	x.must(x.Eval(x.ctx, `document.querySelector('[data-into="status"][data-secrets]').click()`, nil))
	x.wait(`!!document.querySelector("#status table") && !location.search`)
	x.quiet()
}

// Who removes a node is told which, and types the name of the cluster.
func TestRemovingANodeIsAsked(t *testing.T) {
	s := begin(t)
	if _, err := s.Play(t.Context(), "rack", "deploy", site.Moment{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reach(t.Context(), "rack", "Running"); err != nil {
		t.Fatal(err)
	}
	x := open(t, s)
	x.must(x.Screen(x.ctx, 1280, 800, 1, true, false))
	x.login(s, "ann")
	x.visit("/clusters/rack/nodes")
	x.must(x.Eval(x.ctx, `(() => { const f = document.querySelector("textarea");
		f.value = f.value.replace(/worker-2.*\n/, "");
		f.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	x.wait(`document.querySelector(".count").textContent === "0 to add, 1 to remove"`)
	x.must(x.Eval(x.ctx, `document.querySelector('[data-do="send"]').click()`, nil))
	x.wait(`document.querySelector("#confirm").open &&
		document.querySelector("#confirm-text").textContent.includes("worker-2")`)
	x.wait(`document.querySelector('#confirm [value="yes"]').disabled &&
		document.querySelector('#confirm [value="yes"]').textContent === "Apply changes" &&
		document.activeElement.matches("#confirm input")`)
	x.press("Enter") // without the name, nothing happens
	x.press("r", "a", "c", "k", "Enter")
	x.wait(`location.pathname === "/clusters/rack" && document.readyState === "complete"`)
	x.quiet()
}

// A person who has logged in at the provider, which is another site, is logged in at the page: a browser does not send
// the cookie of the session to where another site leads. One who has no role is told so on a page.
func TestSingleSignOnInABrowser(t *testing.T) {
	s := begin(t)
	x := open(t, s)
	url, group := withProvider(t, s)
	login := func() {
		x.must(x.Open(x.ctx, url+sso.BeginPath))
		x.wait(`!!document.querySelector('form[action="/login/username"]')`)
		x.must(x.Eval(x.ctx, `(() => { for (const n of ["username", "password"])
			document.querySelector('[name="' + n + '"]').value = "sue";
			document.querySelector("form button").click(); })()`, nil))
	}
	group.Store("others")
	login()
	x.wait(`!!document.querySelector("main h1") && document.body.textContent.includes("sue into no group") &&
		document.body.textContent.includes("Ask an administrator")`)
	group.Store("ops")
	login()
	x.wait(`location.pathname === "/" && document.body.textContent.includes("sue") ||
		location.pathname === "/login" && !location.host.startsWith("127.")`)
	at := ""
	x.must(x.Eval(x.ctx, `location.pathname`, &at))
	if at != "/" {
		t.Errorf("after the login, the browser is at %s", at)
	}
	if u, err := s.Accounts.Find(t.Context(), "sue"); err != nil || !u.Provider {
		t.Errorf("%+v %v", u, err)
	}
}
