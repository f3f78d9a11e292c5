package packages

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// FromRepositories installs what deploy.yaml asks of the machine's own repositories. What came with it is recorded, and
// leaves at a cleanup.
func (r *Packages) FromRepositories(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "repo-packages", n.Name, []string{plan.ID(plan.PhaseInfra, "packages", n.Name)})
	s.Timeout = 30 * time.Minute
	names := r.Listed(n, "repo")
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, repoProgram(r.Fact(n.Name))+repoLib+"repo_missing "+shell.QuoteAll(names)+"\n[ ! -e "+
			node.Dir+"/repo-known ] || echo cut off\n")
		return out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.repo-packages", "packages",
			strings.Join(names, " ")), Script: InstallScript(r.Fact(n.Name), names)})
		return err
	})
	return s
}

// repoProgram says which package manager is the machine's own: that of its family, whatever programs of another lie on
// it.
func repoProgram(f *facts.Facts) string {
	p := packagerFor(f)
	switch {
	case p == nil: // a system that we do not know
		return "if command -v apt-get >/dev/null 2>&1; then repo_pm=apt; else repo_pm=dnf; fi\n"
	case p.kind() == bundle.RPM:
		return "repo_pm=dnf\n"
	}
	return "repo_pm=apt\n"
}

// InstallScript installs packages from a machine's own repositories.
func InstallScript(f *facts.Facts, names []string) string {
	return node.Accounts + repoProgram(f) + repoLib + "repo_install " + shell.QuoteAll(names) + "\n"
}

// repoLib speaks to the package manager of the machine with the machine's own repositories. The list of what was there
// before is kept until what is new is recorded, so that an installation that was cut off is recorded by the next one.
//
//go:embed repositories.sh
var repoLib string
