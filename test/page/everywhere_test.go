package page_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/page/site"
)

const longWord = "a long word"

// values of others: markup, scripts as addresses, the end of what a value stands in, characters that turn text round or
// move a cursor, and a word that is longer than a window.
func values() map[string]string {
	mark := `<img src=x onerror="window.hacked=1"><b-evil onmouseover=window.hacked=2>`
	return map[string]string{
		"an address": `javascript:window.hacked=3//"onfocus=window.hacked=4 autofocus x="` + mark,
		"another address": `//evil.example/` + "\t" + `"><script>window.hacked=5</script></title></textarea></select>` +
			`</script><iframe srcdoc="<script>parent.hacked=6</script>"></iframe>` + mark + `{{.}}${hacked=7}` +
			`' onclick='window.hacked=8' style='display:none' x='` + "`" + `<base href="//evil.example">`,
		"characters": "a\u202egnp.exe\u202c \u2066x\u2069 \u200f\x1b[31m\x07\x00\x7f\u009b2J " + mark,
		longWord:     strings.Repeat("W", 10_000),
	}
}

// found is a script that lists the elements that values of other users must not create on a page.
const found = `(() => {
	const out = new Set(), width = WIDTH;
	if (window.hacked !== undefined) out.add("a script ran: " + window.hacked);
	const made = 'img, iframe, b-evil, base, style, object, embed, script:not([src^="/static/"])';
	const short = (e) => e.outerHTML.slice(0, 200);
	for (const e of document.querySelectorAll(made)) out.add("an element was made: " + short(e));
	for (const e of document.querySelectorAll("*")) {
		for (const a of e.attributes) if (/^on/.test(a.name)) out.add("a handler was made: " + short(e));
		for (const name of ["href", "action", "formAction", "src"]) {
			if (!e.hasAttribute(name) || typeof e[name] !== "string") continue;
			const u = new URL(e[name], location.href);
			if (u.origin !== location.origin) out.add("it leads elsewhere: " + short(e));
		}
		if (e.style && e.style.length && document.querySelector("main")) {
			out.add("a style was made: " + short(e));
		}
	}
	const bad = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/;
	const walk = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const n = walk.currentNode;
		if (n.parentNode.nodeName !== "TEXTAREA" && bad.test(n.data)) {
			out.add("characters that are not to be shown, in " + where(n.parentNode) + ": " +
				JSON.stringify(n.data.trim().slice(0, 60)));
		}
	}
	for (const e of document.querySelectorAll("[title], [aria-label], [placeholder], [data-confirm]")) {
		for (const name of ["title", "aria-label", "placeholder", "data-confirm"]) {
			if (bad.test(e.getAttribute(name) || "")) out.add("characters that are not to be shown, in " + name + " of " +
				where(e));
		}
	}
	function where(e) {
		const up = [];
		for (; e && e !== document.body && up.length < 5; e = e.parentElement) {
			up.unshift(e.nodeName.toLowerCase() + (e.id && e.id.length < 20 ? "#" + e.id : "") + (e.classList[0] || ""));
		}
		return up.join(" ");
	}
	if (document.querySelector("main > h1 + .problem code")?.textContent === "internal") {
		out.add("it cannot be drawn: " + document.querySelector("main > h1 + .problem").textContent.slice(0, 300));
	}
	const page = document.documentElement;
	if (page && page.scrollWidth > width && document.querySelector("main")) {
		const wide = [...document.querySelectorAll("body *")].filter((e) =>
			e.getBoundingClientRect().right > width + 1 && !e.parentElement.closest(".wide, pre, textarea"));
		out.add("it is " + page.scrollWidth + " of " + width + " pixels wide: " + wide.slice(0, 3).map(where).join("; "));
	}
	for (const d of document.querySelectorAll("dialog[open]")) {
		if (d.scrollWidth > d.clientWidth + 1) out.add("a dialog is wider than it is: " + where(d));
	}
	return [...out];
})()`

// looked looks at the page, as wide as on a desk and as on a phone, and gives what was asked for since the last look.
func (x *tab) looked(where string) []string {
	x.t.Helper()
	for _, width := range []int{1280, 390} {
		x.must(x.Screen(x.ctx, width, 900, 1, true, width < 500))
		var list []string
		x.eval(strings.Replace(found, "WIDTH", strconv.Itoa(width), 1), &list)
		for _, bad := range list {
			x.t.Errorf("%s: %s", where, bad)
		}
	}
	for _, asked := range x.Asked {
		_, at, _ := strings.Cut(asked, " ")
		u, err := url.Parse(at)
		if own, _ := url.Parse(x.url); err != nil || u.Host != own.Host && u.Scheme != "data" && u.Scheme != "blob" {
			x.t.Errorf("%s: it asked for %.200s", where, asked)
		}
	}
	for _, said := range x.Said {
		x.t.Errorf("%s: a dialog was opened: %.200s", where, said)
	}
	for _, line := range x.Log {
		if strings.Contains(line, "Security Policy") || strings.Contains(line, "exceptionDetails") {
			x.t.Errorf("%s: %.500s", where, line)
		}
	}
	asked := x.Asked
	x.Asked, x.Said, x.Log = nil, nil, nil
	return asked
}

// walk is a reader who opens every page and presses every button, with values of others in every place.
type walk struct {
	*tab
	api   *madeUp
	value string
	name  string // of the value
	asked map[string]bool
}

// at looks at a page.
func (w *walk) at(where string) {
	w.t.Helper()
	for _, a := range w.looked(w.name + ", " + where) {
		w.asked[a] = true
	}
}

func (w *walk) see(path, where string) {
	w.t.Helper()
	w.visit(path)
	w.eval(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
	w.at(where + " " + path[:min(60, len(path))])
}

// counted has the page count its requests, so that one can wait for their answers.
const counted = `(() => { if (window.idle) return; let open = 0, since = 0; const f = window.fetch;
	window.fetch = (...a) => { open++; return f(...a).finally(() => { open--; since = performance.now(); }); };
	window.idle = () => open === 0 && performance.now() - since > 60; })()`

// eval evaluates an expression on the page that is there when it is complete, which may be another one in a moment.
func (x *tab) eval(expression string, into any) {
	x.t.Helper()
	for range 20 {
		x.wait(`document.readyState === "complete"`)
		err := x.Eval(x.ctx, expression, into)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context was destroyed") {
			x.must(err)
		}
	}
	x.t.Fatal("the page does not come to rest: ", expression)
}

// fill writes the value into every field.
func (w *walk) fill(fields map[string]string) {
	w.t.Helper()
	value, err := json.Marshal(w.value)
	w.must(err)
	own, err := json.Marshal(fields)
	w.must(err)
	w.eval(`(() => { const own = `+string(own)+` || {};
		for (const f of document.querySelectorAll("input, textarea")) {
			if (f.type === "checkbox" || f.closest("dialog, [hidden]")) continue;
			f.value = own[f.name] ?? (/number|date/.test(f.type) ? f.value : Object.keys(own).length ? "" : `+
		string(value)+`);
			f.dispatchEvent(new Event("input", {bubbles: true}));
		} })()`, nil)
}

// settle waits for the answers of what was pressed, and confirms what is asked.
func (w *walk) settle(where string) {
	w.t.Helper()
	rest := `document.readyState === "complete" && (!window.idle || window.idle())`
	w.wait(rest)
	is := false
	w.eval(`!!document.querySelector("dialog[open]")`, &is)
	if !is {
		return
	}
	w.at(where + " asks")
	w.eval(`(() => { const d = document.querySelector("dialog[open]"), f = d && d.querySelector("input");
		if (!d) return; // the page was opened again
		if (f && f.offsetParent) {
			f.value = d.querySelector("#confirm-name span").textContent;
			f.dispatchEvent(new Event("input"));
		}
		const yes = d.querySelector('[value="yes"]:not([disabled])') || d.querySelector("button");
		yes.click(); })()`, nil)
	w.wait(rest)
}

// pressAll presses every button of a page.
func (w *walk) pressAll(path string, fails bool, fields map[string]string) {
	w.t.Helper()
	// n counts what there is when the page was just opened
	const all = `[...document.querySelectorAll("button, #output")].filter((b) =>
		b.offsetParent && !b.closest("dialog") && b.nodeName === "BUTTON")`
	for i, n := 0, 1; i < n; i++ {
		is := false
		w.eval(`!!window.idle && location.pathname === `+strconv.Quote(strings.Split(path, "?")[0]), &is)
		if !is || i == 0 {
			w.api.set(w.value, true, false)
			w.visit(path)
			w.api.set(w.value, true, fails)
			w.eval(counted+`;document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
			w.fill(fields)
			w.eval(all+".length", &n)
		}
		what := ""
		w.eval(`(() => { const b = `+all+`[`+strconv.Itoa(i)+`]; if (!b) return "";
			const d = b.dataset, text = b.textContent.slice(0, 30); b.disabled = false; b.click();
			return (d.api || d.load || d.do || text || "").slice(0, 60); })()`, &what)
		w.settle(path + " after " + what)
		w.at(path[:min(60, len(path))] + " after " + what)
	}
}

// valid returns a form of machines whose rules hold, so that what the server answers is shown.
func valid() map[string]string {
	out := map[string]string{}
	for name, list := range whole() {
		out[name] = list[0]
	}
	return out
}

// unscripted presses the buttons of a form without the script of the page.
func (w *walk) unscripted(path string) {
	w.t.Helper()
	off := func(is bool) {
		w.must(w.Call(w.ctx, "Emulation.setScriptExecutionDisabled", map[string]any{"value": is}, nil))
	}
	n := 1
	for i := 0; i < n; i++ {
		off(false)
		w.visit(path)
		w.fill(nil)
		off(true)
		const all = `document.querySelectorAll('main form:not([method="dialog"]) button:not([type="button"])')`
		w.eval(all+".length", &n)
		w.eval(`(() => { window.left = true; const b = `+all+`[`+strconv.Itoa(i)+`];
			b.form.noValidate = true; b.click(); })()`, nil)
		w.wait(`!window.left && document.readyState === "complete"`)
		w.at("without the script, " + path)
	}
	off(false)
}

// Nothing that comes from elsewhere, in whatever place, is more than text in a browser, and none of it makes a page
// wider than its window. Every route of the page is asked.
func TestValuesOfOthersAreTextEverywhere(t *testing.T) {
	s := begin(t)
	if testing.Short() {
		t.Skip("a browser takes long: make page-check")
	}
	api := madeUpOf(t, s)
	asked := map[string]bool{}
	all := values()
	if k, _, some := turn(t); some { // one of those with which every button is pressed
		pressed := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(n string) bool { return n == longWord })
		maps.DeleteFunc(all, func(name, _ string) bool {
			return name != pressed[k%len(pressed)] && (name != longWord || k%len(pressed) != 0)
		})
	}
	for name, value := range all {
		t.Run(name, func(t *testing.T) { walkAll(t, begin(t), api, asked, name, value) })
	}
	mux := http.NewServeMux()
	for _, route := range s.Page.Routes() {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
	}
	seen := map[string]bool{}
	for a := range asked {
		method, at, _ := strings.Cut(a, " ")
		q, err := http.NewRequestWithContext(t.Context(), method, at, nil)
		if err == nil {
			_, pattern := mux.Handler(q)
			seen[pattern] = true
		}
	}
	for _, route := range s.Page.Routes() {
		if !seen[route] {
			t.Errorf("nothing asked for %s", route)
		}
	}
}

func walkAll(t *testing.T, s *site.Site, api *madeUp, asked map[string]bool, name, value string) {
	r, err := s.Begin("rack", "deploy", time.Now())
	if err == nil {
		err = r.Write(hostile(value, value[:min(40, len(value))]))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.End()
	w := &walk{tab: open(t, s), api: api, name: name, value: value, asked: asked}
	w.login(s, "ann")
	s.Between, s.Answer = api.between, api.called
	api.set(value, true, false)
	in := url.QueryEscape(value)
	const rack = "/clusters/rack"
	board := rack + "/runs/" + r.ID()
	forms := []string{"/new", rack + "/nodes", rack + "/backups/" + url.PathEscape(value) + "/restore",
		rack + "/upgrade"}
	pages := append([]string{"/", "/import", rack, rack + "/runs", board, board + "?node=" + in, board + "?node=n2",
		board + "?replay=8", "/users", "/account", "/audit?user=" + in + "&cluster=" + in + "&action=" + in,
		rack + "/certificates", rack + "/status", rack + "/health", board + "/log?node=n2",
		"/clusters/" + url.PathEscape(value), "/" + url.PathEscape(value)}, forms...)
	for _, plain := range []bool{true, false} {
		for _, fails := range []bool{false, true} {
			api.set(value, plain, fails)
			for _, path := range pages {
				w.see(path, fmt.Sprintf("plain %t, fails %t", plain, fails))
			}
		}
	}
	if name == longWord { // it takes long to draw, and only the width of what is drawn matters
		return
	}
	for _, fails := range []bool{false, true} {
		for _, path := range slices.Concat([]string{"/import", rack, board, "/users", "/account"}, forms) {
			w.pressAll(path, fails, nil)
		}
		for _, path := range forms {
			w.pressAll(path, fails, valid())
		}
	}
	api.set(value, true, false)
	for _, path := range append(forms, rack, "/import", "/users", "/account") {
		w.unscripted(path)
	}
	for _, path := range []string{rack + "/nodes/plan", forms[2]} { // which a script sends when all is right
		q := url.Values{"nodes": {value}, "identity": {value}, "onto": {value}, "secret:password": {value}}
		w.visit(rack)
		w.eval(counted+`; void fetch(`+strconv.Quote(path)+`, {method: "POST",
			body: new URLSearchParams(`+strconv.Quote(q.Encode())+`)}).then((r) => r.json()).then((r) => {
			document.querySelector("#status").innerHTML = r.html || ""; })`, nil)
		w.settle(path)
		w.at(path)
	}
	w.must(w.Call(w.ctx, "Network.clearBrowserCookies", nil, nil))
	w.see("/login?next="+in, "")
	w.unscripted("/login?next=" + in)
}
