package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
)

// launch begins a run in a process of its own (see apart.go). What it would ask for – passwords, passphrases, keys of machines that are
// contacted for the first time – is asked before, for nobody may be there later.
func (d *desk) launch(ctx context.Context, st backend.Start, ask backend.Asker) (backend.Ref, error) {
	none := backend.Ref{}
	if st.Soon {
		if err := d.after(ctx, st.Of, ask); err != nil {
			return none, err
		}
	}
	screen := newScreenAsker(ask).knowing(d.answered(st.Of))
	env := *d.env
	env.Stdin, env.Stdout, env.Stderr, env.Ask = strings.NewReader(""), io.Discard, io.Discard, screen
	o := runOptions{file: st.File, id: st.Of, output: "plain", state: d.state}
	if st.Again {
		var last runOptions
		last.carry(d.lastFlags(st.Of))
		o.signers = last.signers
	}
	s, err := prepare(ctx, &env, o, st.Verb)
	if err != nil {
		return none, err
	}
	var more []config.Node
	for _, n := range st.Greet {
		if x, ok := greeted(n); ok {
			more = append(more, x)
		}
	}
	if err := s.questions(ctx, screen, &job{more: more}); err != nil {
		d.remember(s.cluster.Name, nil)
		return none, err
	}
	d.remember(s.cluster.Name, screen.answers())
	ask.Doing(event.M("launch.begin"))
	args := []string{st.Verb}
	if st.Of != "" {
		args = append(args, "--id", st.Of)
	} else {
		args = append(args, "--file", s.file)
	}
	if d.state != "" {
		args = append(args, "--state-dir", d.state)
	}
	args = append(args, st.Args...)
	if st.Again {
		args = append(args, d.lastFlags(st.Of)...)
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	// The signals stay the menu's: it ends, and the run continues.
	p, err := startApart(nil, d.env.Args[0], args, "/", answers{Secrets: screen.answers(), HostKeys: s.asked(), OnFailure: "ask"})
	if err != nil {
		return none, err
	}
	p.letGo()
	return p.ref, nil
}

// lastFlags are those of a cluster's last run that hold for who goes on with it; what becomes of failures the board decides.
func (d *desk) lastFlags(cluster string) []string {
	store, err := journal.At(d.root(), cluster)
	if err != nil {
		return nil
	}
	run, err := store.Latest("")
	if err != nil || run == "" {
		return nil
	}
	for rec, err := range journal.Read(store.RunDir(run)) {
		e, ok := rec.Event.(event.RunStarted)
		if err != nil || !ok {
			break
		}
		o := runOptions{}
		o.carry(e.Flags)
		o.failure = ""
		return o.carried()
	}
	return nil
}

// soonMost is how long a run that is about to end is waited for: it closes its log after its last event, and gives its lock back then.
const soonMost = 30 * time.Second

// after waits until the cluster's run has ended. One that does not is told by whoever wants its lock.
func (d *desk) after(ctx context.Context, cluster string, ask backend.Asker) error {
	store, err := journal.At(d.root(), cluster)
	if err != nil {
		return err
	}
	ask.Doing(event.M("launch.soon"))
	for end := time.Now().Add(soonMost); store.Busy() && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func greeted(n backend.Node) (config.Node, bool) {
	ip, err := parseAddr(n.Addr)
	return config.Node{Name: n.Name, IP: ip, Port: 22, Arch: n.Arch}, err == nil
}
