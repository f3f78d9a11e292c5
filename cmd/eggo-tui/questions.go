package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/remote"
)

// greeter asks, and is told how many nodes have been logged in to.
type greeter interface {
	asker
	expect(n int)
	met(ctx context.Context, n int)
}

// questions asks a person all that the run of a prepared session would want to know, for the run has nobody to ask. The
// menu and the command line both come by here, before a run is a process of its own; nothing is locked or changed.
func (s *session) questions(ctx context.Context, a greeter, j *job) error {
	var err error
	if s.files, err = (store.Dir{Root: s.root}).Open(ctx, s.cluster.Name); err != nil {
		return err
	}
	if err := s.files.Journal().Free(); err != nil { // it would be found out after all the questions
		return err
	}
	s.dir, s.looks = s.files.Dir(), true
	if err := s.loadSaved(); err != nil {
		return err
	}
	s.bus = event.NewBus(time.Now, &collector{})
	defer s.close()
	if j.only != nil {
		if err := j.only(ctx, s); err != nil {
			return err
		}
	}
	if s.stages() {
		if err := s.askSigners(ctx); err != nil {
			return err
		}
	}
	if err := s.greet(ctx, a, j.more); err != nil || j.ask == nil {
		return err
	}
	return j.ask(ctx, s)
}

// asked is --host-keys of the run of a session whose questions were asked.
func (s *session) asked() string {
	if s.policy == remote.AcceptNew {
		return "accept-new"
	}
	return "strict"
}

// greet logs in once to every node that the run talks to: keys and passphrases are asked for, and wrong passwords come to light, before
// anything begins. A node that cannot be reached is the run's to tell.
func (s *session) greet(ctx context.Context, a greeter, more []config.Node) error {
	nodes := append(append([]config.Node(nil), s.cluster.Nodes...), more...)
	a.expect(len(nodes))
	faults := make(chan *event.Fault, len(nodes))
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(func() {
			_, err := s.connect(ctx, n)
			a.met(ctx, len(nodes))
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
		if strings.HasPrefix(f.Code, "ssh.hostkey") && f.Code != "ssh.hostkey-changed" || strings.HasPrefix(f.Code, "ssh.key-file") || f.Code == "ssh.no-credentials" {
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
