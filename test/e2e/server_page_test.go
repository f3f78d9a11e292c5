package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/lab"
	"github.com/eggo-k8s/eggo/test/page/browser"
)

// reader is a person in front of a browser that has the page of a server.
type reader struct {
	*browser.Browser
	v        *server
	ctx      context.Context
	pictures int
}

// browse opens a browser; a machine without one cannot run the scenario.
func browse(t *testing.T, v *server) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
	t.Cleanup(cancel)
	b, err := browser.Start(ctx)
	if errors.Is(err, browser.ErrNone) {
		t.Fatal("install Chromium: apt-get install chromium")
	}
	must(t, "browser", err)
	t.Cleanup(func() { _ = b.Close() })
	r := &reader{Browser: b, v: v, ctx: ctx}
	must(t, "screen", b.Screen(ctx, 1280, 900, 1, true, false))
	must(t, "language", b.Language(ctx, "en"))
	return r
}

// until waits until an expression of JavaScript is true.
func (r *reader) until(limit time.Duration, expression string) {
	r.v.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	if err := r.Wait(ctx, expression); err != nil {
		r.picture("in vain")
		r.v.t.Fatal(err, r.Log)
	}
}

func (r *reader) do(expression string) {
	r.v.t.Helper()
	must(r.v.t, expression, r.Eval(r.ctx, `void (`+expression+`)`, nil))
}

// fill writes into a field, as one who types does.
func (r *reader) fill(field, value string) {
	r.v.t.Helper()
	text, err := json.Marshal(value)
	must(r.v.t, field, err)
	r.do(`(() => { const f = document.querySelector('[name="` + field + `"]'); f.focus(); f.value = ` + string(text) +
		`; f.dispatchEvent(new Event("input", {bubbles: true})); })()`)
}

// picture is kept where the scenario has its files.
func (r *reader) picture(what string) {
	r.v.t.Helper()
	data, err := r.Picture(r.ctx)
	must(r.v.t, "picture", err)
	r.pictures++
	file := filepath.Join(r.v.Dir, fmt.Sprintf("page-%d-%s.webp", r.pictures, what))
	must(r.v.t, "picture", os.WriteFile(file, data, 0o600))
	r.v.Say("picture: %s", file)
}

// TestServerPage: a person creates a cluster from the page. The disk of a worker fills up meanwhile: the board says
// where, what and why; the person makes room and has the step tried again on the board, and the cluster runs.
func TestServerPage(t *testing.T) {
	full(t)
	const cluster = "board"
	s := newLab(t, 3)
	before := untouched(t, s, 3)
	v := atWork(t, s)
	r := browse(t, v)
	ctx := t.Context()
	key, err := os.ReadFile(s.Lab.IdentityFile())
	must(t, "key", err)
	known, err := os.ReadFile(s.Lab.KnownHosts())
	must(t, "known hosts", err)

	s.Say("== a cluster is created from the page")
	must(t, "page", r.Open(r.ctx, "https://"+v.address+"/new"))
	r.until(time.Minute, `location.pathname === "/login" && document.readyState === "complete"`)
	r.fill("name", "ann")
	r.fill("password", "a long enough passphrase")
	r.do(`document.querySelector("form[data-login] button").click()`)
	r.until(time.Minute, `location.pathname === "/new" && document.readyState === "complete"`)
	r.fill("name", cluster)
	r.fill("server_address", "192.0.2.250")
	r.fill("key", string(key))
	r.fill("known_hosts", string(known))
	r.fill("nodes", "n1 "+address(t, s, "n1")+" control-plane\nn2 "+address(t, s, "n2")+" worker\nn3 "+
		address(t, s, "n3")+" worker\n")
	r.fill("bundle:"+runtime.GOARCH, s.Bundle)
	r.do(`document.querySelector('[name="allow_unsigned"]').click()`)
	r.until(time.Minute, `document.querySelectorAll("[data-table] tbody tr").length === 3 &&
		!document.querySelector(".wrongs li")`)
	r.picture("form")
	r.do(`document.querySelector('[data-do="send"]').click()`)
	r.until(time.Minute, `location.pathname === "/clusters/`+cluster+`" && document.readyState === "complete"`)

	s.Say("== the disk of n2 fills up")
	await(t, s, cluster, 5*time.Minute, "packages are installed on n2", func(run []event.Record) bool {
		return slices.ContainsFunc(run, func(r event.Record) bool {
			e, is := r.Event.(event.StepStarted)
			return is && e.Step == "infrastructure.packages/n2"
		})
	})
	out, err := s.FillDisk(ctx, "n2")
	must(t, "fill the disk", err)
	s.Say("n2's disk is full:\n%s", out)
	r.until(time.Minute, `!!document.querySelector('a[href*="/runs/"]')`)
	r.do(`document.querySelector('a[href*="/runs/"]').click()`)
	r.until(time.Minute, `location.pathname.includes("/runs/") && document.readyState === "complete"`)
	r.until(5*time.Minute, `!!document.querySelector(".ask.open [data-decide=retry]")`)
	r.until(time.Minute, `document.querySelector(".ask.open").textContent.includes("The disk is full") &&
		document.querySelector(".ask.open h2").textContent.includes("n2") && document.title.startsWith("(")`)
	run := await(t, s, cluster, 10*time.Minute, "all that runs on n2 is asked about", func(run []event.Record) bool {
		return len(asked(run, "n2")) > 0 && len(asked(run, "n2")) == running(run, "n2")
	})
	r.picture("full")
	must(t, "phone", r.Screen(r.ctx, 390, 844, 2, false, true))
	r.picture("full-phone")
	must(t, "screen", r.Screen(r.ctx, 1280, 900, 1, true, false))

	s.Say("== room is made, and what failed is tried again")
	must(t, "free the disk", s.FreeDisk(ctx, "n2"))
	wanted := asked(run, "n2")
	for i := range wanted {
		r.until(time.Minute, `(() => { const b = document.querySelector(".ask.open [data-decide=retry]");
			return !!b && !b.disabled; })()`)
		r.do(`document.querySelector(".ask.open [data-decide=retry]").click()`)
		await(t, s, cluster, time.Minute, "the decision",
			func(run []event.Record) bool { return decisions(run, event.TryAgain) == i+1 })
	}
	r.picture("again")
	r.until(20*time.Minute, `!!document.querySelector("#sum")`)
	r.picture("summary")
	v.awaits(cluster, "Running", 5*time.Minute)
	must(t, "page", r.Open(r.ctx, "https://"+v.address+"/"))
	r.until(time.Minute, `document.querySelector(".cluster").textContent.includes("`+cluster+`")`)
	r.picture("clusters")
	s.Admin = "n1"
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "use", s.Works(ctx, 3))
	nothingHalfDone(t, s, 3)
	v.call("DELETE", "/clusters/"+cluster+"?purge=true", nil, 202, nil)
	v.gone()
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 3) })
}
