package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
)

// launch begins a run in a process of its own (see apart.go). What it would ask for – passwords, passphrases, keys of machines that are
// contacted for the first time – is asked before, for nobody may be there later.
func (d *desk) launch(ctx context.Context, st jumphost.Start, ask jumphost.Asker) (jumphost.Ref, error) {
	none := jumphost.Ref{}
	if st.Soon {
		if err := d.after(ctx, st.Of, ask); err != nil {
			return none, err
		}
	}
	screen := newScreenAsker(ask).knowing(d.answered(st.Of))
	env := *d.env
	env.Stdin, env.Stdout, env.Stderr, env.Ask = strings.NewReader(""), io.Discard, io.Discard, screen
	o := runOptions{file: st.File, id: st.Of, output: "plain", state: d.state}
	s, err := prepare(ctx, &env, o, st.Verb)
	if err != nil {
		return none, err
	}
	if err := s.greet(ctx, screen, st.Greet); err != nil {
		d.remember(s.cluster.Name, nil)
		return none, err
	}
	d.remember(s.cluster.Name, screen.answers())
	ask.Doing(event.M("launch.begin"))
	args := []string{apartVerb, st.Verb}
	if st.Of != "" {
		args = append(args, "--id", st.Of)
	} else {
		args = append(args, "--file", s.file)
	}
	if d.state != "" {
		args = append(args, "--state-dir", d.state)
	}
	if s.policy == remote.Ask { // all that could be asked was
		args = append(args, "--host-keys", "strict")
	}
	args = append(append(args, "--on-failure", "ask"), st.Args...)
	if st.Again {
		args = append(args, d.lastFlags(st.Of)...)
	}
	return d.apart(ctx, args, apartInput{Secrets: screen.answers()})
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
func (d *desk) after(ctx context.Context, cluster string, ask jumphost.Asker) error {
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

// apart starts the process and waits until it says which run it is.
func (d *desk) apart(ctx context.Context, args []string, in apartInput) (jumphost.Ref, error) {
	none := jumphost.Ref{}
	broken := func(err error) error { return event.NewFault(event.ClassFailed, "launch.process", err) }
	self, err := d.self, error(nil)
	if self == "" {
		self, err = os.Executable()
	}
	if err != nil {
		return none, broken(err)
	}
	words, err := os.CreateTemp("", "eggo-") // what it says before it has a directory; nobody sees the name
	if err != nil {
		return none, broken(err)
	}
	defer words.Close()
	if err := os.Remove(words.Name()); err != nil {
		return none, broken(err)
	}
	said, saying, err := os.Pipe()
	if err != nil {
		return none, broken(err)
	}
	defer said.Close()
	cmd := exec.Command(self, args...) // not of ctx: it is to live on
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = words, words, []*os.File{saying}, "/"
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	saying.Close()
	if err != nil {
		return none, broken(err)
	}
	go func() { _ = cmd.Wait() }() // or it would stay as a zombie while this program lives
	if err := errors.Join(json.NewEncoder(stdin).Encode(in), stdin.Close()); err != nil {
		return none, broken(err)
	}
	type result struct {
		r   apartReport
		err error
	}
	got := make(chan result, 1)
	go func() {
		var r apartReport
		err := json.NewDecoder(said).Decode(&r)
		got <- result{r, err}
	}()
	select {
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // nothing was touched yet
		return none, ctx.Err()
	case g := <-got:
		switch {
		case g.err != nil:
			text := make([]byte, 4096)
			n, _ := words.ReadAt(text, 0)
			return none, broken(errors.New(event.Clean(strings.TrimSpace(string(text[:n])))))
		case g.r.Fault != nil:
			return none, g.r.Fault
		}
		return jumphost.Ref{Cluster: g.r.Cluster, Run: g.r.Run}, nil
	}
}

// greet logs in to every machine once: keys and passphrases are asked for, and wrong passwords come to light, before anything begins.
// A machine that cannot be reached is the run's to tell.
func (s *session) greet(ctx context.Context, screen *screenAsker, more []jumphost.Node) error {
	var err error
	if s.store, err = journal.Open(s.root, s.cluster.Name); err != nil {
		return err
	}
	s.dir, s.looks = s.store.Path(), true
	s.bus = event.NewBus(time.Now, &collector{})
	defer s.close()
	nodes := append([]config.Node(nil), s.cluster.Nodes...)
	for _, n := range more {
		if x, ok := greeted(n); ok {
			nodes = append(nodes, x)
		}
	}
	screen.expect(len(nodes))
	faults := make(chan *event.Fault, len(nodes))
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			_, err := s.connect(ctx, n)
			screen.met(len(nodes))
			if err != nil {
				faults <- event.AsFault(err)
			}
		})
	}
	all.Wait()
	close(faults)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	auth, first := 0, (*event.Fault)(nil)
	for f := range faults {
		if strings.HasPrefix(f.Code, "ssh.hostkey") || strings.HasPrefix(f.Code, "ssh.key-file") || f.Code == "ssh.no-credentials" {
			return f
		}
		if f.Class == event.ClassAuth {
			auth++
			first = f
		}
	}
	if auth == len(nodes) && auth > 0 { // a password that is wrong everywhere
		return first
	}
	return nil
}

func greeted(n jumphost.Node) (config.Node, bool) {
	ip, err := parseAddr(n.Addr)
	return config.Node{Name: n.Name, IP: ip, Port: 22, Arch: n.Arch}, err == nil
}
