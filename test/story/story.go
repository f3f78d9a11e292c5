// Package story has runs for screenshots and tests: the recorded installation that the demo plays, with as many nodes
// as are wanted.
package story

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Recorded is the install that the demo plays.
func Recorded() ([]event.Record, error) {
	z, err := gzip.NewReader(bytes.NewReader(assets.DemoRun()))
	if err != nil {
		return nil, err
	}
	var out []event.Record
	for r := journal.NewReader(z, "install.jsonl"); ; {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
}

// Pattern is the machine of which there are more.
const Pattern = "worker-2"

// Many is the recorded install with so many workers more, each a little later than the one before: what the recorded
// one did, they do too.
func Many(list []event.Record, n int) []event.Record {
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	late := map[int]time.Duration{}
	for i := range n {
		late[i] = time.Duration(rnd.IntN(45000)) * time.Millisecond
	}
	var out []event.Record
	for _, r := range list {
		if plan, ok := r.Event.(event.PlanMade); ok {
			r.Event = more(plan, n)
			out = append(out, r)
			continue
		}
		out = append(out, r)
		for i := range n {
			if e, ok := as(r.Event, name(i)); ok {
				out = append(out, event.Record{Time: r.Time.Add(late[i]), Event: e})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b event.Record) int { return a.Time.Compare(b.Time) })
	for i := range out {
		out[i].Seq = uint64(i + 1)
	}
	return out
}

func name(i int) string { return fmt.Sprintf("worker-%d", i+3) }

func more(p event.PlanMade, n int) event.PlanMade {
	hosts, steps := slices.Clone(p.Hosts), slices.Clone(p.Steps)
	for i := range n {
		for _, h := range p.Hosts {
			if h.Name == Pattern {
				h.Name, h.Addr = name(i), fmt.Sprintf("192.168.%d.%d", (i+16)/250, (i+16)%250)
				hosts = append(hosts, h)
			}
		}
		for _, s := range p.Steps {
			if s.Host == Pattern {
				s.ID, s.Host, s.Title = of(s.ID, name(i)), name(i), titled(s.Title, name(i))
				steps = append(steps, s)
			}
		}
	}
	p.Hosts, p.Steps = hosts, steps
	return p
}

func of(step, host string) string { return strings.TrimSuffix(step, "/"+Pattern) + "/" + host }

func titled(m event.Msg, host string) event.Msg {
	m.Args = maps.Clone(m.Args)
	for k, v := range m.Args {
		m.Args[k] = strings.ReplaceAll(v, Pattern, host)
	}
	return m
}

// as is what happened to the recorded machine, happening to another; false when it happened elsewhere.
func as(e event.Event, host string) (event.Event, bool) {
	mine := func(step string) bool { return strings.HasSuffix(step, "/"+Pattern) }
	switch e := e.(type) {
	case event.HostState:
		ok := e.Host == Pattern
		e.Host = host
		return e, ok
	case event.StepStarted:
		ok := mine(e.Step)
		e.Step = of(e.Step, host)
		return e, ok
	case event.StepRetry:
		ok := mine(e.Step)
		e.Step = of(e.Step, host)
		return e, ok
	case event.StepEnded:
		ok := mine(e.Step)
		e.Step = of(e.Step, host)
		return e, ok
	case event.Output:
		ok := e.Host == Pattern
		e.Host, e.Step = host, of(e.Step, host)
		return e, ok
	case event.Progress:
		ok := e.Host == Pattern
		e.Host, e.Step = host, of(e.Step, host)
		return e, ok
	}
	return nil, false
}

// Full is the failure of a machine whose disk is full.
func Full(r event.Record, host string) []event.Record {
	step := "infrastructure.packages/" + host
	f := event.NewFault(event.ClassFailed, "node.command-failed", nil, "status", "100", "command",
		"apt-get install -y --no-install-recommends containerd runc conntrack socat").On(host)
	f.Cause = "E: Sub-process /usr/bin/dpkg returned an error code (1)"
	var out []event.Record
	add := func(e event.Event) {
		r.Seq++
		out = append(out, event.Record{Seq: r.Seq, Time: r.Time, Event: e})
	}
	for _, l := range []string{"Preparing to unpack .../09-containerd_1.6.20~ds1-1+deb12u1_amd64.deb ...",
		"Unpacking containerd (1.6.20~ds1-1+deb12u1) ...",
		"dpkg: error processing archive 09-containerd_1.6.20~ds1-1+deb12u1_amd64.deb (--unpack):",
		" cannot copy extracted data for './usr/bin/containerd': No space left on device",
		"Errors were encountered while processing:", "E: Sub-process /usr/bin/dpkg returned an error code (1)"} {
		add(event.Output{Host: host, Step: step, Stream: "stderr", Line: l})
	}
	add(event.StepAsked{Step: step, Try: 1, Fault: *f})
	return out
}
