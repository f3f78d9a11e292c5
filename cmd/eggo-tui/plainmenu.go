package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
)

// plainMenu is the menu line by line, for screen readers and serial lines: numbered choices, nothing is drawn over. Runs are processes of their
// own here too.
func plainMenu(ctx context.Context, d *desk) error {
	env := *d.env
	d.env = &env // its language may change
	m := &plainDesk{desk: d, talker: newTalker(d.env)}
	m.say("plain.welcome")
	for {
		err := m.interruptible(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF), errors.Is(err, errQuit):
			return nil
		case err != nil && !errors.Is(err, errLeft):
			m.fault(err)
		}
	}
}

// interruptible is a turn that an interrupt ends as q does: it leads back to the menu, and from there out.
func (m *plainDesk) interruptible(ctx context.Context) error {
	if m.env().Interrupts == nil {
		return m.turn(ctx)
	}
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, end := m.env().Interrupts.begin()
	defer end()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-turn.Done():
		}
	}()
	err := m.turn(turn)
	switch {
	case turn.Err() == nil || ctx.Err() != nil:
		return err
	case m.idle:
		return errQuit
	}
	return errLeft
}

// plainDesk is the desk with the person at it.
type plainDesk struct {
	*desk
	*talker
	idle bool // the menu waits for an answer
}

// errQuit leaves the program.
var errQuit = errors.New("quit")

// plainEntry is an entry of the menu: of one of some clusters, or of none.
type plainEntry struct {
	id  string
	of  []jumphost.Cluster
	why string // it cannot be done now, a key of i18n
	do  func(ctx context.Context, c jumphost.Cluster) error
}

// turn shows the menu once and does what is chosen.
func (m *plainDesk) turn(ctx context.Context) error {
	clusters, err := m.clusters(ctx)
	if err != nil {
		return err
	}
	list := m.entries(clusters)
	m.print("")
	for i, x := range list {
		line := fmt.Sprintf("%2d  %s", i+1, m.t("menu."+x.id))
		if len(x.of) == 1 {
			line += ": " + event.Clean(x.of[0].Name)
		}
		if x.why != "" {
			line += " (" + m.t("plain.not-now") + ": " + m.t(x.why) + ")"
		}
		m.print(line)
	}
	for {
		m.idle = true
		text, err := m.line(ctx, m.t("plain.menu"))
		m.idle = err != nil
		if err != nil {
			return err
		}
		switch text = narrow(text); text {
		case "q":
			return errQuit
		case "l":
			m.otherLang()
			return nil
		case "?":
			for i, x := range list {
				m.print(fmt.Sprintf("%2d  %s: %s", i+1, m.t("menu."+x.id), m.t("menu."+x.id+".what")))
			}
			continue
		case "":
			text = "1"
		}
		i, ok := numbered(text, len(list))
		if !ok {
			m.say("plain.no-such", "text", text)
			continue
		}
		if x := list[i]; x.why != "" {
			m.print(m.t(x.why))
			continue
		}
		return m.choice(ctx, list[i])
	}
}

// choice does an entry, of the cluster that is meant.
func (m *plainDesk) choice(ctx context.Context, x plainEntry) error {
	if len(x.of) <= 1 {
		c := jumphost.Cluster{}
		if len(x.of) == 1 {
			c = x.of[0]
		}
		return x.do(ctx, c)
	}
	m.say("menu.which")
	var names []choice
	for _, c := range x.of {
		names = append(names, choice{c.Name, event.Clean(c.Name) + ": " + m.t("menu.status."+c.Said())})
	}
	name, err := m.choose(ctx, names, names[0].id)
	if err != nil {
		return err
	}
	return x.do(ctx, x.of[slices.IndexFunc(x.of, func(c jumphost.Cluster) bool { return c.Name == name })])
}

// entries are those of the menu on the screen: first what is likeliest.
func (m *plainDesk) entries(clusters []jumphost.Cluster) []plainEntry {
	with := func(fits func(jumphost.Cluster) bool) []jumphost.Cluster {
		return slices.DeleteFunc(slices.Clone(clusters), func(c jumphost.Cluster) bool { return !fits(c) })
	}
	one := func(id string, of []jumphost.Cluster, why string, do func(context.Context, jumphost.Cluster) error) plainEntry {
		x := plainEntry{id: id, of: of, do: do}
		if len(of) == 0 {
			x.why = why
		}
		return x
	}
	free := func(id string, do func(context.Context) error) plainEntry {
		return plainEntry{id: id, do: func(ctx context.Context, _ jumphost.Cluster) error { return do(ctx) }}
	}
	running := with(func(c jumphost.Cluster) bool { return c.Status == jumphost.Running })
	known := with(func(c jumphost.Cluster) bool { return c.File != "" })
	idle := with(func(c jumphost.Cluster) bool {
		return c.File != "" && c.Status != jumphost.Running && c.Status != jumphost.Removed
	})
	stopped := with(jumphost.Cluster.Broken)
	why := "menu.why.no-cluster"
	if len(running) > 0 {
		why = "menu.why.busy"
	}
	back := "watch"
	if asks := with(func(c jumphost.Cluster) bool { return c.Said() == jumphost.Waiting }); len(asks) > 0 { // what waits for somebody comes first
		back = "decide"
		running = append(asks, slices.DeleteFunc(running, func(c jumphost.Cluster) bool { return c.Said() == jumphost.Waiting })...)
	}
	watch := one(back, running, "menu.why.none-runs", func(ctx context.Context, c jumphost.Cluster) error {
		return plainWatch(ctx, m.desk, m.talker, c.Runs[0].Ref, 0)
	})
	none := "menu.why.none-stopped"
	if len(with(func(c jumphost.Cluster) bool { return c.File == "" && c.Tried == "" && c.Status == jumphost.Failed })) > 0 {
		none = "menu.why.not-begun"
	}
	resume := one("resume", stopped, none, m.resume)
	rest := []plainEntry{
		free("install", m.install), free("file", m.file), resume, one("add", idle, why, m.add), one("remove", idle, why, m.remove), {id: "upgrade", why: "menu.why.upgrade"},
		one("cleanup", idle, why, m.cleanup), one("status", known, "menu.why.no-cluster", m.status), free("bundle", m.bundle), free("runs", m.runs),
	}
	first := rest[0]
	switch {
	case len(running) > 0:
		first = watch
	case len(stopped) > 0:
		first = resume
	case len(known) > 0:
		first = rest[7]
	}
	if !slices.ContainsFunc(clusters, func(c jumphost.Cluster) bool { return len(c.Runs) > 0 }) {
		rest[9].why = "menu.why.no-run"
	}
	return append([]plainEntry{first}, slices.DeleteFunc(rest, func(x plainEntry) bool { return x.id == first.id })...)
}
