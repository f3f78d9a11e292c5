package lines

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// upgrade asks for bundles and how a cluster is upgraded with them, shows what will be done, and does it.
func (m *menu) upgrade(ctx context.Context, c request.ClusterRuns) error {
	w, paths, err := m.upgradeWay(ctx, c)
	if err != nil {
		return err
	}
	q, err := m.upgradeOptions(ctx, c, paths)
	if err != nil {
		return err
	}
	m.say("upgrade.order")
	for i, x := range w.Order(c, q) {
		m.print(fmt.Sprintf("%2d  %s", i+1, m.p.Msg(x)))
	}
	m.say("upgrade.back")
	for _, x := range w.WayBack() {
		m.print("  " + m.p.Msg(x))
	}
	if err := m.show(ctx, backend.Plan{Request: q}); err != nil {
		return err
	}
	return m.sureUpgrade(ctx, c, "upgrade.do", w.Sure(c), backend.Start{Request: q})
}

// upgradeWay asks for bundles until they lead somewhere.
func (m *menu) upgradeWay(ctx context.Context, c request.ClusterRuns) (w backend.Way, paths []string, err error) {
	for {
		var found backend.Upgrades
		if found, paths, err = m.upgradeBundles(ctx, c); err != nil {
			return w, nil, err
		}
		if w, err = m.svc.Way(ctx, c.Name, paths); err == nil {
			for _, x := range w.Lacks(found.Arches) {
				m.complain(event.Warning, m.p.Msg(x), "")
			}
			return w, paths, nil
		}
		if ctx.Err() != nil {
			return w, nil, ctx.Err()
		}
		m.faultHere(err)
	}
}

// upgradeBundles asks for bundles, by their numbers or paths. Enter takes those of the only newer version.
func (m *menu) upgradeBundles(ctx context.Context, c request.ClusterRuns) (backend.Upgrades, []string, error) {
	m.waits(event.M("upgrade.finding"))
	var named []string
	for {
		found, err := m.svc.Upgrades(ctx, c.Name, named)
		if err != nil {
			return found, nil, err
		}
		m.print(event.Clean(c.Name + ": Kubernetes " + found.From))
		var usual, versions []string
		for i, b := range found.Bundles {
			if b.Fault != nil {
				m.fault(b.Fault)
				continue
			}
			m.print(fmt.Sprintf("%2d  %s", i+1, event.Clean(strings.Join([]string{b.Kubernetes, b.Arch, b.OS, b.Path,
				report.Size(b.Size)}, "  "))))
			if usual = append(usual, b.Path); !slices.Contains(versions, b.Kubernetes) {
				versions = append(versions, b.Kubernetes)
			}
		}
		prompt := "plain.upgrade-bundles"
		switch len(versions) {
		case 0:
			m.say("upgrade.none")
		case 1:
			prompt = "plain.upgrade-all"
		default:
			usual = nil
		}
		text, err := m.line(ctx, m.t(prompt))
		switch {
		case err != nil:
			return found, nil, err
		case narrow(text) == "q" || text == "" && len(usual) == 0:
			return found, nil, errLeft
		case text == "":
			return found, usual, nil
		}
		if list, ok := m.picked(text, found.Bundles); ok {
			return found, list, nil
		}
		named = append(named, m.svc.Path(text))
	}
}

// picked are the paths of the bundles with these numbers; false: the text is something else.
func (m *menu) picked(text string, of []backend.Found) (out []string, ok bool) {
	for _, word := range strings.FieldsFunc(narrow(text), func(r rune) bool {
		return strings.ContainsRune(" ,;、", r)
	}) {
		i, is := numbered(word, len(of))
		if !is || of[i].Fault != nil {
			return nil, false
		}
		out = append(out, of[i].Path)
	}
	return out, len(out) > 0
}

// upgradeOptions asks how it is done, if somebody wants to say that.
func (m *menu) upgradeOptions(ctx context.Context, c request.ClusterRuns, paths []string) (request.Upgrade, error) {
	o := backend.UsualUpgrade()
	m.say("plain.upgrade-usual", "soak", o.Soak, "batch", o.Batch, "drain", o.Drain)
	more, err := m.sure(ctx, m.t("plain.upgrade-options"))
	if err != nil || !more {
		q, wrong := o.Request(c.Name, paths)
		if err == nil {
			err = wrong
		}
		return q, err
	}
	for {
		for _, x := range []struct {
			id string
			to *string
		}{{"soak", &o.Soak}, {"batch", &o.Batch}, {"drain", &o.Drain}, {"window", &o.Window}, {"probe", &o.Probe}} {
			text, err := m.line(ctx, m.t("upgrade."+x.id)+" ("+m.t("upgrade."+x.id+".hint")+") ["+*x.to+"]:")
			switch {
			case err != nil:
				return request.Upgrade{}, err
			case narrow(text) == "q":
				return request.Upgrade{}, errLeft
			case text == "-":
				*x.to = ""
			case text != "":
				*x.to = text
			}
		}
		if o.Packages, err = m.sure(ctx, m.t("upgrade.packages")+"?"); err != nil {
			return request.Upgrade{}, err
		}
		if o.Force, err = m.sure(ctx, m.t("upgrade.force")+"?"); err != nil {
			return request.Upgrade{}, err
		}
		q, err := o.Request(c.Name, paths)
		if err == nil {
			return q, nil
		}
		m.faultHere(err)
	}
}

// faultHere says what is wrong with an answer, without the names of flags.
func (m *menu) faultHere(err error) {
	f := event.AsFault(err)
	text, next := m.p.FaultIn("form", f)
	m.complain(event.Error, text+" ("+f.Code+")", next)
}

// upgradeOn continues the upgrade that is under way.
func (m *menu) upgradeOn(ctx context.Context, c request.ClusterRuns) error {
	return m.upgrading(ctx, c, "upgrade.on", c.Upgrade.OnSays(), backend.UpgradeOn(c))
}

// upgradeBack takes the upgrade back that is under way.
func (m *menu) upgradeBack(ctx context.Context, c request.ClusterRuns) error {
	return m.upgrading(ctx, c, "upgrade.undo", c.Upgrade.BackSays(), backend.UpgradeBack(c))
}

// upgrading shows what is left to be done; that a node does not answer may be why the upgrade stopped.
func (m *menu) upgrading(
	ctx context.Context, c request.ClusterRuns, do string, lines []event.Msg, start backend.Start,
) error {
	m.fault(m.show(ctx, backend.Plan{Request: start.Request}))
	return m.sureUpgrade(ctx, c, do, lines, start)
}

// sureUpgrade says what comes of it and asks whether the run is to begin.
func (m *menu) sureUpgrade(
	ctx context.Context, c request.ClusterRuns, do string, lines []event.Msg, start backend.Start,
) error {
	for _, x := range lines {
		m.print(m.p.Msg(x))
	}
	if yes, err := m.sure(ctx, m.t(do+".title", "cluster", c.Name)); err != nil || !yes {
		return err
	}
	return m.begin(ctx, start, m.conversation)
}
