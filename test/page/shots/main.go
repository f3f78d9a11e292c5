// Command shots takes screenshots of the web page with a headless Chromium: of a server over the runs of a story, in
// both languages, dark and light, wide and as on a phone.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/test/page/browser"
	"github.com/eggo-k8s/eggo/test/page/site"
)

func main() {
	out := flag.String("o", filepath.Join("docs", "shots"), "directory of the screenshots")
	only := flag.String("only", "", "how the names begin of those that are taken")
	all := flag.Bool("all", false, "all pages, each in both languages, dark and light, wide and as on a phone")
	tall := flag.Int("tall", 0, "height of the window, to see more of long pages")
	flag.Parse()
	if err := run(context.Background(), *out, *only, *all, *tall); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

// shot is a page, and what is done there first.
type shot struct {
	name, path string
	do         string // JavaScript
	wait       string // until this is true
	out        bool   // nobody has logged in
	height     int
	tall       int  // height as on a phone, if it is another
	docs       bool // the documents show it
	phone      bool // as on a phone
}

// look is a language, a theme and a width.
type look struct {
	lang        string
	dark, phone bool
}

func (l look) name() string {
	out := "-" + l.lang
	if !l.dark {
		out += "-light"
	}
	if l.phone {
		out += "-phone"
	}
	return out
}

func looks(x shot, all bool) []look {
	if !all {
		return []look{{"en", true, x.phone}, {"zh", false, x.phone}}
	}
	var out []look
	for _, lang := range []string{"en", "zh"} {
		for _, dark := range []bool{true, false} {
			for _, phone := range []bool{false, true} {
				out = append(out, look{lang, dark, phone})
			}
		}
	}
	return out
}

func run(ctx context.Context, out, only string, all bool, tall int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "eggo-shots-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := site.New(ctx, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	at, err := site.Fill(ctx, s)
	if err != nil {
		return err
	}
	b, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	cookie, err := s.Login(ctx, "ann")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, x := range shots(at) {
		if !strings.HasPrefix(x.name, only) || !all && !x.docs {
			continue
		}
		x.height, x.tall = max(x.height, tall), tall
		for _, l := range looks(x, all) {
			file := filepath.Join(out, "page-"+x.name+l.name()+".webp")
			if err := take(ctx, b, s.URL, cookie, x, l, file); err != nil {
				return fmt.Errorf("%s%s: %w", x.name, l.name(), err)
			}
			fmt.Println(file)
		}
	}
	for _, line := range b.Log {
		fmt.Fprintln(os.Stderr, "console:", line)
	}
	return nil
}

func take(
	ctx context.Context, b *browser.Browser, url string, cookie *http.Cookie, x shot, l look, file string,
) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if x.out {
		cookie = &http.Cookie{Name: cookie.Name, Value: "", Secure: true}
	}
	width, height, scale := 1280, max(x.height, 800), 1.0
	if l.phone {
		width, height, scale = 390, max(x.tall, 844), 2
	}
	for _, do := range []func() error{
		func() error { return b.Cookie(ctx, url, cookie) },
		func() error { return b.Screen(ctx, width, height, scale, l.dark, l.phone) },
		func() error { return b.Language(ctx, l.lang) },
		func() error { return b.Open(ctx, url+x.path) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	if x.do != "" {
		if err := b.Eval(ctx, x.do, nil); err != nil {
			return err
		}
	}
	if x.wait != "" {
		if err := b.Wait(ctx, x.wait); err != nil {
			return err
		}
	}
	picture, err := b.Picture(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(file, picture, 0o644)
}

func shots(at site.Filled) []shot {
	board := func(c string) string { return "/clusters/" + c + "/runs/" + at.Run[c] }
	const typed = `(() => { const f = document.querySelector("form.wizard"); for (const [n, v] of Object.entries({
		name: "edge-7", server_address: "192.0.2.250",
		nodes: "192.0.2.11 control-plane\n192.0.2.[21-23] worker\n192.0.2.300"}))
		{ f.elements[n].value = v; f.elements[n].dispatchEvent(new Event("input", {bubbles: true})); } })()`
	const open = `;document.querySelectorAll("details").forEach((d) => { d.open = true; })`
	const ticks = `document.querySelector("time[data-since]").textContent !== ""`
	const understood = `!!document.querySelector("[data-table] table") && !!document.querySelector(".wrong")`
	return []shot{
		{name: "login", path: "/login", out: true},
		{name: "clusters", path: "/", docs: true, height: 560,
			wait: `document.querySelectorAll(".cluster").length > 4`},
		{name: "cluster", path: "/clusters/shanghai-2", height: 1000},
		{name: "cluster-30", path: "/clusters/rack-7"},
		{name: "cluster-100", path: "/clusters/plant"},
		{name: "board", path: board("edge-berlin"), docs: true, wait: ticks},
		{name: "board-3", path: board("lab"), wait: ticks},
		{name: "board-30", path: board("rack-7"), wait: ticks},
		{name: "board-100", path: board("plant"), wait: ticks},
		{name: "node", path: board("edge-berlin") + "?node=master-1", height: 900},
		{name: "failure", path: board("rack-7"), docs: true, phone: true, wait: `!!document.querySelector(".ask")`},
		{name: "failure", path: board("rack-7"), docs: true, wait: `!!document.querySelector(".ask")`},
		{name: "summary", path: board("shanghai-2"), wait: `!!document.querySelector(".sum")`},
		{name: "replay", path: board("shanghai-2") + "?replay=64",
			wait: `document.querySelector("progress").value > 30`},
		{name: "runs", path: "/clusters/shanghai-2/runs"},
		{name: "nodes", path: "/clusters/shanghai-2/nodes", wait: `!!document.querySelector("[data-table] table")`},
		{name: "nodes-100", path: "/clusters/plant/nodes", wait: `!!document.querySelector("[data-table] table")`},
		{name: "new", path: "/new", docs: true, do: typed, wait: understood, height: 1000},
		{name: "new-nodes", path: "/new", do: typed + `;document.querySelector("#step-nodes").scrollIntoView()`,
			wait: understood},
		{name: "new-review", path: "/new", do: typed + `;document.querySelector("#step-review").scrollIntoView()`,
			wait: understood},
		{name: "new-parts", path: "/new", do: typed + open + `;document.querySelector("#step-login").scrollIntoView()`,
			wait: understood},
		{name: "upgrade", path: "/clusters/shanghai-2/upgrade", do: open, height: 1000},
		{name: "restore", path: "/clusters/shanghai-2/backups/" + at.Backup + "/restore", height: 1100,
			do: `(() => { const f = document.querySelector("form.wizard"); f.elements.onto.value = "new";
				f.elements.onto.dispatchEvent(new Event("input", {bubbles: true})); })()`,
			wait: `!!document.querySelector("[data-table] table")`},
		{name: "import", path: "/import"},
		{name: "users", path: "/users"},
		{name: "account", path: "/account"},
		{name: "audit", path: "/audit"},
		{name: "error", path: "/clusters/none"},
		{name: "help", path: "/", do: `document.querySelector("#help").showModal()`},
	}
}
