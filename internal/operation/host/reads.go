package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Reads of the screens and the line interface: inspections, directories, deploy.yaml, bundles.

// Read inspects, and asks its questions on the screen.
func (h *Host) Read(ctx context.Context, q backend.Query, front ask.Asker) (backend.Answer, error) {
	base := h.located(q.Base())
	asks := h.asking(front, base.Source.Cluster)
	defer h.learn(base.Source.Cluster, asks)
	deps := h.Deps()
	deps.Asker, deps.Unattended = asks, false
	answer, err := answerOf(ctx, q, base, deps)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, err
}

func answerOf(ctx context.Context, q backend.Query, base request.Common, deps operation.Deps) (backend.Answer, error) {
	switch q := q.(type) {
	case backend.Status:
		st, err := operation.Status(ctx, base, deps)
		if err != nil {
			return nil, err
		}
		return func(p *i18n.Printer) document.Document { return present.Status(p, st) }, nil
	case backend.Plan:
		of := request.With(q.Request, base)
		var failed []event.Finding // steps: a node that does not answer
		deps.Sink = watcher(func(e event.Event) {
			if x, is := e.(event.StepEnded); is && x.Fault != nil && x.Outcome == event.Failed {
				failed = append(failed, event.Finding{Host: x.Fault.Node, Severity: event.Error, Fault: *x.Fault})
			}
		})
		would, err := operation.Plan(ctx, of, deps)
		if would == nil {
			return nil, err
		}
		found := would.Findings
		if f := event.AsFault(err); f != nil && f.Code == "run.failed" {
			found = append(slices.Clone(found), failed...)
		}
		return func(p *i18n.Printer) document.Document {
			out := append(present.Bundles(p, would.Bundles), present.Findings(p, found)...)
			if err != nil { // the findings tell why nothing can be planned
				return out
			}
			return append(out, present.Plan(p, of.Call().Verb, would)...)
		}, err
	case backend.Inventory:
		list, err := operation.Inventory(ctx, base, q.Purge, deps)
		if err != nil {
			return nil, err
		}
		return func(p *i18n.Printer) document.Document { return present.Inventory(p, list...) }, nil
	}
	panic("a query that nobody answers")
}

// located returns a request with the absolute path of its deploy.yaml.
func (h *Host) located(c request.Common) request.Common {
	if c.Source.Cluster == "" {
		c.Source.File = h.Path(cmp.Or(c.Source.File, UsualConfig(h.Getenv)))
	}
	return c
}

// List reads a directory: directories first, then the files with one of the suffixes, the newest first.
func (h *Host) List(_ context.Context, dir string, suffix []string) (string, []backend.Entry, error) {
	path := h.Path(dir)
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", nil, event.NewFault(event.ClassUsage, "state.read", err)
	}
	var dirs, files []backend.Entry
	for _, e := range entries {
		i, err := os.Stat(filepath.Join(path, e.Name())) // links too
		switch {
		case err != nil || strings.HasPrefix(e.Name(), ".") && e.Name() != ".eggo":
		case i.IsDir():
			dirs = append(dirs, backend.Entry{Name: e.Name(), Dir: true})
		case i.Mode().IsRegular() && slices.ContainsFunc(suffix,
			func(s string) bool { return strings.HasSuffix(e.Name(), s) }):
			files = append(files, backend.Entry{Name: e.Name(), Size: i.Size(), Changed: i.ModTime()})
		}
	}
	slices.SortStableFunc(files, func(a, b backend.Entry) int { return b.Changed.Compare(a.Changed) })
	if len(files) > 0 { // the likeliest file is first
		return path, append(files, dirs...), nil
	}
	return path, dirs, nil
}

// Check reads a deploy.yaml.
func (h *Host) Check(ctx context.Context, file string) (backend.Checked, error) {
	path := h.Path(file)
	c, problems, err := config.LoadFile(path)
	if err != nil {
		return backend.Checked{}, err
	}
	out := backend.Checked{}
	if c != nil {
		problems = append(problems, config.Unsupported(c)...)
		out.Cluster.ClusterInfo = request.ClusterInfo{Name: c.Name, Status: request.Unknown,
			Masters: len(c.With(bundle.ControlPlane)), Workers: len(c.With(bundle.Worker)), File: path}
		out.Cluster.Nodes = c.Nodes
		if all, err := operation.Clusters(ctx, h.store()); err == nil {
			for _, k := range all {
				if k.Name == c.Name {
					out.Cluster.Status = k.Status
				}
			}
		}
	}
	if c != nil {
		out.Facts = append(out.Facts, event.M("file.fact.network", "pods", c.PodCIDR.String(), "services",
			c.ServiceCIDR.String()))
		for _, b := range c.Bundles() {
			out.Facts = append(out.Facts, event.M("file.fact.bundle", "path", b.Path))
		}
	}
	out.Problems = problems
	return out, nil
}

// Bundle reads the manifest of a bundle.
func (h *Host) Bundle(_ context.Context, path string) (backend.Bundle, error) {
	a, err := bundle.Open(h.Path(path))
	if err != nil {
		return backend.Bundle{}, err
	}
	m := a.Manifest()
	out := backend.Bundle{Name: m.Name, Kubernetes: m.Kubernetes, Arch: m.Arch,
		OS: strings.TrimSpace(m.OS.ID + " " + m.OS.Release + " " + m.OS.Codename), ID: a.ID(), Size: a.Size()}
	if m.Base != nil {
		out.Base = m.Base.Name + " " + m.Base.ID
	}
	group := func(kind string) *backend.Group {
		for i := range out.Groups {
			if out.Groups[i].Kind == kind {
				return &out.Groups[i]
			}
		}
		out.Groups = append(out.Groups, backend.Group{Kind: kind})
		return &out.Groups[len(out.Groups)-1]
	}
	for _, i := range m.Images {
		g := group("images")
		g.Members = append(g.Members, backend.Member{Name: i.Name, Version: i.Platform, Size: i.Size})
		g.Size += i.Size
	}
	for _, x := range m.Members {
		kind := string(x.Kind)
		switch x.Kind {
		case bundle.Images:
			continue
		case bundle.Deb, bundle.RPM, bundle.Binary, bundle.Addon, bundle.ExtraFile, bundle.ExtraDir:
		default:
			kind = "other"
		}
		g := group(kind)
		g.Members = append(g.Members, backend.Member{Name: cmp.Or(x.Name, x.Path), Version: x.Version, Size: x.Size})
		g.Size += x.Size
	}
	return out, nil
}

// Verify checks every byte of a bundle.
func (h *Host) Verify(ctx context.Context, path string, progress func(done, total int64)) error {
	_, err := bundle.Verify(ctx, h.Path(path), progress)
	return err
}
