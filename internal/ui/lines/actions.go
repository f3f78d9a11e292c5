package lines

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What the entries of the menu lead to, line by line.

// begin begins a run in a process of its own and tells of it.
func (m *menu) begin(ctx context.Context, st backend.Start, to ask.Asker) error {
	ref, err := m.svc.Launch(ctx, st, to)
	if err != nil {
		return err
	}
	return watch(ctx, m.svc, m.conversation, ref, 0)
}

// show shows what a query has to say; that something is not well is no error.
func (m *menu) show(ctx context.Context, q backend.Query) error {
	answer, err := m.svc.Read(ctx, q, m.conversation)
	if answer != nil { // beside an error it is what was found all the same
		for _, l := range answer(m.p).Lines() {
			m.print(l.Text())
		}
	}
	return err
}

// demo tells the run that the program carries with it to be shown.
func (m *menu) demo(ctx context.Context) error {
	b, err := m.svc.Demo(ctx)
	if err != nil {
		return err
	}
	m.say("demo.note")
	return stayed(newRunView(m.conversation, b).follow(ctx))
}

func (m *menu) install(ctx context.Context) error { return newCluster(ctx, m) }

func (m *menu) status(ctx context.Context, c request.ClusterRuns) error {
	return m.show(ctx, backend.Status{Common: request.OfCluster(c.Name)})
}

func (m *menu) resume(ctx context.Context, c request.ClusterRuns) error {
	switch {
	case c.File == "": // nothing was touched yet: what was to be installed is shown again
		return m.review(ctx, c.Tried)
	case c.Leaves() && c.Runs[0].Verb == "cleanup":
		return m.cleanup(ctx, c)
	case c.Leaves():
		return m.remove(ctx, c)
	}
	return m.begin(ctx, backend.Resume(c.Name), m.conversation)
}

// file takes the path of a deploy.yaml.
func (m *menu) file(ctx context.Context) error {
	path, err := m.path(ctx, m.svc.Usual(), ".yaml", ".yml")
	if err != nil {
		return err
	}
	return m.review(ctx, path)
}

// path asks for a file, by the number of one that was found here or by its path; a directory shows what is in it.
func (m *menu) path(ctx context.Context, usual string, suffix ...string) (string, error) {
	dir := ""
	for {
		at, found, err := m.svc.List(ctx, dir, suffix)
		if err != nil {
			return "", err
		}
		var list []string
		if dir == "" && usual != "" {
			list = append(list, usual)
		}
		for _, e := range found {
			if p := filepath.Join(at, e.Name); !e.Dir && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
		if len(list) == 0 {
			m.say("files.none", "suffix", strings.Join(suffix, " "))
		}
		for i, p := range list {
			m.print(fmt.Sprintf("%2d  %s", i+1, event.Clean(p)))
		}
		text, err := m.line(ctx, m.t("plain.path"))
		if err != nil {
			return "", err
		}
		if i, ok := numbered(text, len(list)); ok {
			return list[i], nil
		}
		switch {
		case text == "" || narrow(text) == "q":
			return "", errLeft
		case strings.HasSuffix(text, "/"):
			dir = text
			continue
		}
		return m.svc.Path(text), nil
	}
}

// review shows what a deploy.yaml says and what is wrong with it, and installs it.
func (m *menu) review(ctx context.Context, path string) error {
	got, err := m.svc.Check(ctx, path)
	if err != nil {
		return err
	}
	lines := []string{event.Clean(path)}
	if c := got.Cluster; c.Name != "" {
		word := m.t("menu.status." + c.Said())
		if c.Status == request.Unknown {
			word = m.t("file.new")
		}
		lines = append(lines, event.Clean(c.Name)+": "+word)
		for _, f := range got.Facts {
			lines = append(lines, event.Clean(m.p.Msg(f)))
		}
		for _, n := range c.Nodes {
			lines = append(lines, "  "+m.node(n))
		}
	}
	m.print(lines...)
	for _, x := range got.Problems {
		text, next := m.p.Fault(x.Fault())
		m.complain(x.Severity, fmt.Sprintf("%d:%d %s: %s", x.Line, x.Col, x.Key, text), next)
	}
	if errors, warnings := got.Problems.Count(); errors > 0 {
		m.say("file.problems", "errors", strconv.Itoa(errors), "warnings", strconv.Itoa(warnings))
		return errLeft
	}
	if len(got.Problems) == 0 {
		m.say("file.fine")
	}
	deploy := request.Deploy{Common: request.OfFile(path)}
	for {
		do, err := m.choose(ctx, m.choices("file.do", "file.plan", "plain.back"), "plain.back")
		switch {
		case err != nil || do == "plain.back":
			return err
		case do == "file.plan":
			m.fault(m.show(ctx, backend.Plan{Request: deploy}))
			continue
		}
		m.say("file.sure.what", "count", strconv.Itoa(len(got.Cluster.Nodes)))
		if yes, err := m.sure(ctx, m.t("file.sure", "cluster", got.Cluster.Name)); err != nil || !yes {
			return err
		}
		return m.begin(ctx, backend.Start{Request: deploy}, m.conversation)
	}
}

// node is a machine of a cluster in a line.
func (m *menu) node(n config.Node) string {
	var roles []string
	for _, r := range n.RoleNames() {
		if m.p.Has("ui.role." + r) {
			r = m.t("ui.role." + r)
		}
		roles = append(roles, r)
	}
	return event.Clean(n.Name + "  " + n.IP.String() + "  " + strings.Join(roles, ", "))
}

// remove asks which nodes leave, shows what will be done, and has the cluster's name typed.
func (m *menu) remove(ctx context.Context, c request.ClusterRuns) error {
	m.say("remove.choose", "cluster", c.Name)
	for i, n := range c.Nodes {
		m.print(fmt.Sprintf("%2d  %s", i+1, m.node(n)))
	}
	var names []string
	for len(names) == 0 {
		text, err := m.line(ctx, m.t("plain.remove"))
		if err != nil {
			return err
		}
		if text = narrow(text); text == "" || text == "q" {
			return errLeft
		}
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;、", r) }) {
			i, ok := numbered(word, len(c.Nodes))
			if !ok {
				i = slices.IndexFunc(c.Nodes, func(n config.Node) bool {
					return n.Name == word || n.IP.String() == word
				})
			}
			if i < 0 {
				m.say("plain.no-such", "text", word)
				names = nil
				break
			}
			if name := c.Nodes[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	purge, err := m.sure(ctx, m.t("plain.purge"))
	if err != nil {
		return err
	}
	q := request.Delete{
		Common: request.OfCluster(c.Name), Names: names, Drain: request.DrainTimeout, Purge: purge,
	}
	if err := m.show(ctx, backend.Plan{Request: q}); err != nil {
		return err
	}
	m.say("remove.sure", "names", strings.Join(names, ", "))
	return m.destroy(ctx, c, backend.Start{Request: q})
}

// cleanup shows what will go, and has the cluster's name typed.
func (m *menu) cleanup(ctx context.Context, c request.ClusterRuns) error {
	purge, err := m.sure(ctx, m.t("plain.purge"))
	if err != nil {
		return err
	}
	of := request.OfCluster(c.Name)
	// what cannot be seen can be cleaned up all the same
	m.fault(m.show(ctx, backend.Inventory{Common: of, Purge: purge}))
	m.say("cleanup.sure", "cluster", c.Name, "count", strconv.Itoa(len(c.Nodes)))
	if purge {
		m.say("cleanup.purge")
	}
	return m.destroy(ctx, c, backend.Start{Request: request.Cleanup{Common: of, Purge: purge}})
}

func (m *menu) destroy(ctx context.Context, c request.ClusterRuns, start backend.Start) error {
	yes, err := m.wants(ctx, m.t("cleanup.type", "cluster", c.Name), c.Name)
	if err != nil {
		return err
	}
	if !yes {
		m.say("plain.nothing-done")
		return errLeft
	}
	return m.begin(ctx, start, m.conversation)
}

// bundle shows what is in one, and verifies it.
func (m *menu) bundle(ctx context.Context) error {
	path, err := m.path(ctx, "", ".tar.gz", ".tgz")
	if err != nil {
		return err
	}
	b, err := m.svc.Bundle(ctx, path)
	if err != nil {
		return err
	}
	for _, f := range [][2]string{{"bundle.name", b.Name}, {"bundle.kubernetes", b.Kubernetes}, {"bundle.arch", b.Arch},
		{"bundle.os", b.OS}, {"bundle.size", report.Size(b.Size)}, {"bundle.base", b.Base}, {"bundle.id", b.ID}} {
		if f[1] != "" {
			m.print(m.t(f[0]) + ": " + event.Clean(f[1]))
		}
	}
	for _, g := range b.Groups {
		m.print(fmt.Sprintf("%s: %d, %s", m.t("bundle.group."+g.Kind), len(g.Members), report.Size(g.Size)))
		for _, x := range g.Members {
			if strings.Contains(x.Name, "@sha256:") { // the same image by its digest: nothing to listen to
				continue
			}
			m.print("  " + event.Clean(x.Name+"  "+x.Version) + "  " + report.Size(x.Size))
		}
	}
	if yes, err := m.sure(ctx, m.t("plain.verify")); err != nil || !yes {
		return err
	}
	err = m.svc.Verify(ctx, path, func(done, total int64) {
		m.waits(event.M("bundle.verifying", "part", strconv.FormatInt(100*done/max(1, total), 10)))
	})
	if err == nil {
		m.say("bundle.verified")
	}
	return err
}

// runsAPage is how many runs are listed unless more are asked for.
const runsAPage = 20

// runs lists the runs of all clusters, newest first, and opens one: as it ended, or played again.
func (m *menu) runs(ctx context.Context) error {
	clusters, err := m.svc.Clusters(ctx)
	if err != nil {
		return err
	}
	var all []request.Run
	for _, c := range clusters {
		all = append(all, c.Runs...)
	}
	slices.SortStableFunc(all, func(a, b request.Run) int { return strings.Compare(b.Run, a.Run) })
	every := all
	for from := 0; ; {
		for i, r := range all[from:min(from+runsAPage, len(all))] {
			m.print(fmt.Sprintf("%2d  %s", from+i+1, m.run(r)))
		}
		if len(all) == 0 {
			m.say("plain.no-match")
		}
		text, err := m.line(ctx, m.t("plain.runs"))
		if err != nil {
			return err
		}
		text = narrow(text)
		if text == "q" || text == "" && from+runsAPage >= len(all) {
			return errLeft
		}
		if text == "" {
			from += runsAPage
			continue
		}
		if want, ok := strings.CutPrefix(text, "/"); ok { // / alone shows all again
			from, all = 0, slices.DeleteFunc(slices.Clone(every), func(r request.Run) bool {
				return !strings.Contains(strings.ToLower(m.run(r)+" "+r.Status+" "+r.Verb),
					strings.ToLower(strings.TrimSpace(want)))
			})
			continue
		}
		replay := 0.0
		if rest, ok := strings.CutPrefix(text, "p"); ok {
			text, replay = strings.TrimSpace(rest), 8
		}
		i, ok := numbered(text, len(all))
		if !ok {
			m.say("plain.no-such", "text", text)
			continue
		}
		if all[i].Status == request.Running {
			replay = 0
		}
		if err := watch(ctx, m.svc, m.conversation, all[i].Ref, replay); err != nil &&
			!errors.Is(err, errLeft) {
			return err
		}
	}
}

// run is one in a line.
func (m *menu) run(r request.Run) string {
	when := "-"
	if !r.At.IsZero() {
		when = r.At.Local().Format("2006-01-02 15:04")
	}
	verb := event.Clean(r.Verb)
	if m.p.Has("menu.verb." + r.Verb) {
		verb = m.t("menu.verb." + r.Verb)
	}
	word := m.t("menu.status." + r.Said())
	if r.Status == request.Installed || r.Status == request.Removed {
		word = m.t("menu.run.well")
	}
	line := when + "  " + event.Clean(r.Cluster) + "  " + verb + ": " + word
	if r.Took > 0 {
		line += ", " + report.Short(r.Took)
	}
	if r.Fault != nil {
		text, _ := m.p.Fault(r.Fault)
		line += ": " + event.Clean(text)
	}
	return line
}
