package lines

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// interruptible is a turn that an interrupt ends as q does: it leads back to the menu, and from there out.
func (m *menu) interruptible(ctx context.Context) error {
	if m.term.Interrupts == nil {
		return m.turn(ctx)
	}
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	stop, end := m.term.Interrupts()
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

// menu is the menu line by line, for screen readers and serial lines: numbered choices, nothing is drawn over.
type menu struct {
	*conversation
	svc    Services
	builds backend.Builds // nil: this program cannot build bundles
	idle   bool           // the menu waits for an answer
}

// errQuit leaves the program.
var errQuit = errors.New("quit")

// entry is an entry of the menu: of one of some clusters, or of none.
type entry struct {
	id  string
	key string // what is typed for it
	of  []request.ClusterRuns
	why string // it cannot be done now, a key of i18n
	do  func(ctx context.Context, c request.ClusterRuns) error
}

// turn shows the menu once and does what is chosen.
func (m *menu) turn(ctx context.Context) error {
	clusters, err := m.svc.Clusters(ctx)
	if err != nil {
		return err
	}
	list := m.entries(clusters)
	m.print("")
	for _, x := range list {
		line := fmt.Sprintf("%2s  %s", x.key, m.t("menu."+x.id))
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
		text, err := m.line(ctx, m.t("plain.menu", "default", list[0].key))
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
			for _, x := range list {
				m.print(fmt.Sprintf("%2s  %s: %s", x.key, m.t("menu."+x.id), m.t("menu."+x.id+".what")))
			}
			continue
		case "":
			text = list[0].key
		}
		i := slices.IndexFunc(list, func(x entry) bool { return x.key == strings.TrimSuffix(text, ".") })
		if i < 0 {
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
func (m *menu) choice(ctx context.Context, x entry) error {
	if len(x.of) <= 1 {
		c := request.ClusterRuns{}
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
	return x.do(ctx, x.of[slices.IndexFunc(x.of, func(c request.ClusterRuns) bool { return c.Name == name })])
}

// entries are those of the menu on the screen: first what is likeliest.
func (m *menu) entries(clusters []request.ClusterRuns) []entry {
	free := func(do func(context.Context) error) func(context.Context, request.ClusterRuns) error {
		return func(ctx context.Context, _ request.ClusterRuns) error { return do(ctx) }
	}
	follow := func(ctx context.Context, c request.ClusterRuns) error {
		return watch(ctx, m.svc, m.conversation, c.Runs[0].Ref, 0)
	}
	does := map[string]func(context.Context, request.ClusterRuns) error{
		"watch": follow, "decide": follow, "install": free(m.install), "file": free(m.file), "resume": m.resume,
		"add": m.add, "remove": m.remove,
		"cleanup": m.cleanup, "status": m.status, "bundle": free(m.bundle), "runs": free(m.runs),
		"build": free(m.build), "demo": free(m.demo), "upgrade": m.upgrade, "upgrade-on": m.upgradeOn,
		"upgrade-back": m.upgradeBack,
	}
	var out []entry
	for _, o := range backend.MenuEntries(clusters) {
		if o.ID == "build" && m.builds == nil {
			o.Why = "menu.why.later"
		}
		out = append(out, entry{id: o.ID, key: o.Key(), of: o.Of, why: o.Why, do: does[o.ID]})
	}
	return out
}
