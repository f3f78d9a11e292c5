package lines

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// build asks what a bundle is for, builds it, and offers to install a cluster from it.
func (m *menu) build(ctx context.Context) error {
	offer, err := m.builds.Offer(ctx)
	if err != nil {
		return err
	}
	m.say("make.about")
	what, err := m.order(ctx, offer)
	if err != nil {
		return err
	}
	m.waits(event.M("make.probing"))
	if err := m.builds.Reach(ctx, what); err != nil {
		m.say("make.no-network")
		m.fault(err)
		if yes, err := m.sure(ctx, m.t("plain.build-anyway")); err != nil || !yes {
			return err
		}
	}
	m.say("plain.building", "system", what.System, "arches", m.p.List(what.Arches), "dir", event.Clean(what.Out))
	t := &teller{conversation: m.conversation}
	end := m.builds.Build(ctx, what, t.tell)
	if ctx.Err() != nil {
		m.say("make.stopped")
		return errLeft
	}
	if len(end.Bundles) == 0 {
		m.say("make.failed")
		for i, f := range end.Faults {
			text, next := m.p.FaultIn("form", f)
			if i+1 < len(end.Faults) {
				if _, then := m.p.FaultIn("form", end.Faults[i+1]); then == next {
					next = "" // the next one has the same advice
				}
			}
			m.complain(event.Error, text+" ("+f.Code+")", next)
		}
		m.say("make.kept")
		return nil
	}
	m.built(end)
	if yes, err := m.sure(ctx, m.t("plain.build-install")); err != nil || !yes {
		return err
	}
	var files []string
	for _, b := range end.Bundles {
		files = append(files, b.Path)
	}
	return newCluster(ctx, m, files...)
}

// order asks what is to be built.
func (m *menu) order(ctx context.Context, offer backend.BuildOffer) (what backend.Build, err error) {
	var systems, arches, presets []choice
	for _, s := range offer.Systems {
		systems = append(systems, choice{s.ID, s.ID + ", Kubernetes " + s.Kubernetes + ", " + s.Runtime})
	}
	for _, a := range []string{"amd64", "arm64", "amd64 arm64"} {
		arches = append(arches, choice{a, m.p.List(strings.Fields(a))})
	}
	for _, p := range append([]string{"none"}, offer.Presets...) {
		text := p
		if key := "make.preset." + p; m.p.Has(key) {
			text += ": " + m.t(key)
		}
		presets = append(presets, choice{p, text})
	}
	m.print(m.t("make.system") + ":")
	if what.System, err = m.choose(ctx, systems, offer.Usual); err != nil {
		return what, err
	}
	m.print(m.t("make.arch") + ":")
	arch, err := m.choose(ctx, arches, offer.Arch)
	if err != nil {
		return what, err
	}
	what.Arches = strings.Fields(arch)
	m.print(m.t("make.preset") + ":")
	if what.Preset, err = m.choose(ctx, presets, "none"); err != nil {
		return what, err
	}
	if what.Preset == "none" {
		what.Preset = ""
	} else {
		m.say("bundle.cli.mirrors-carry")
	}
	what.Out, err = m.line(ctx, m.t("make.dir")+" ["+event.Clean(offer.Out)+"]:")
	switch {
	case err != nil:
	case narrow(what.Out) == "q":
		err = errLeft
	case what.Out == "":
		what.Out = offer.Out
	default:
		what.Out = m.svc.Path(what.Out)
	}
	return what, err
}

// built says what there is now, and what is done with it.
func (m *menu) built(end backend.BuildEnd) {
	m.say("make.built", "took", report.Lasted(end.Took), "fetched", report.Amount(end.Fetched))
	var files []string
	for _, b := range end.Bundles {
		files = append(files, event.Clean(b.Path))
		line := event.Clean(b.Path) + ": " + report.Size(b.Size)
		if b.Unchanged {
			line += ", " + m.t("make.unchanged")
		}
		m.print(line)
		if b.SHA256 != "" {
			m.print("  sha256 " + b.SHA256)
		}
	}
	m.say("bundle.cli.lock", "file", event.Clean(end.Lock))
	m.say("make.next.sign", "command", "eggo-bundle sign --key KEY "+strings.Join(files, " "))
	m.say("make.next.copy")
}

// teller tells of a build in lines: what is new at once, how far it is now and then.
type teller struct {
	*conversation
	said []string
	last time.Time
}

// tellEvery is how often it is said how far a build is.
const tellEvery = 10 * time.Second

func (t *teller) tell(p backend.BuildProgress) {
	for _, f := range p.Troubles {
		text, _ := t.p.Fault(f)
		t.once(t.t("bundle.cli.retry", "why", event.Clean(text)))
	}
	for _, n := range p.Notes {
		t.once(t.p.Msg(n))
	}
	for _, w := range p.Warnings {
		t.once(t.t("cli.warning") + ": " + event.Clean(t.p.Msg(w)))
	}
	if time.Since(t.last) < tellEvery {
		return
	}
	t.last = time.Now()
	row := report.Row{Label: p.Total.Label, Done: p.Total.Done, Total: p.Total.Total,
		Meter: &report.Meter{Rate: float64(p.Total.Rate)}}
	switch {
	case p.Resolving:
		row.Label = t.t("bundle.cli.resolving")
	case row.Label == "":
		row.Label = t.t("bundle.cli.total")
	}
	line := row.Sentence(t.p)
	if p.Sources > 0 {
		line += " (" + t.t("make.sources", "count", strconv.Itoa(p.Sources), "cached", strconv.Itoa(p.Cached)) + ")"
	}
	t.print(line)
}

// once says a line that was not said before.
func (t *teller) once(line string) {
	if !slices.Contains(t.said, line) {
		t.said = append(t.said, line)
		t.print(line)
	}
}
