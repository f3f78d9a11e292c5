package phases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/clients"
	"github.com/eggo-k8s/eggo/internal/phases/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
)

// maxManifest bounds a manifest from the network, in bytes.
const maxManifest = 16 << 20

// judgeURLs fetches the manifests that deploy.yaml names by URL, on this machine: the nodes need no way there, and what cannot be had is told
// before anything is touched.
func (r *run) judgeURLs(ctx context.Context) []event.Finding {
	var out []event.Finding
	for _, url := range r.Manifests() {
		if !config.IsURL(url) {
			continue
		}
		data, err := fetchManifest(ctx, url)
		if err == nil {
			_, err = clients.ParseManifests(data)
		}
		if err != nil {
			f := event.NewFault(event.ClassPreflight, "preflight.manifest", err, "url", url)
			out = append(out, event.Finding{Severity: event.Error, Fault: *f})
			continue
		}
		r.mu.Lock()
		r.fetched[url] = data
		r.mu.Unlock()
	}
	return out
}

func fetchManifest(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("more than %d MiB", maxManifest>>20)
	}
	return data, err
}

// readAddon reads a manifest: from the bundle, or what preflight fetched.
func (r *run) readAddon(b Bundle, name string) ([]byte, error) {
	if config.IsURL(name) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fetched[name], nil
	}
	at, _ := r.AddonMember(b.Manifest(), name) // preflight has found it
	f, err := b.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, event.NewFault(event.ClassBundle, "addon.unreadable", err, "addon", name)
	}
	return data, nil
}

// repoPackages installs what deploy.yaml asks of the machine's own repositories. What came with it is recorded, and leaves at a cleanup.
func (r *run) repoPackages(n config.Node) *engine.Step {
	s := plan.Step(plan.PhaseInfra, "repo-packages", n.Name, []string{plan.ID(plan.PhaseInfra, "packages", n.Name)})
	s.Timeout = 30 * time.Minute
	names := r.Listed(n, "repo")
	s.Check = r.Ask(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		out, err := nd.Query(ctx, repoProgram(r.Fact(n.Name))+repoLib+"repo_missing "+quoteAll(names)+"\n[ ! -e "+node.Dir+"/repo-known ] || echo cut off\n")
		return out == "", err
	})
	s.Apply = r.On(n.Name, func(ctx context.Context, nd *node.Node) error {
		_, err := nd.Change(ctx, node.Change{Desc: event.M("change.repo-packages", "packages", strings.Join(names, " ")), Script: repoInstall(r.Fact(n.Name), names)})
		return err
	})
	return s
}

// repoProgram says which package manager is the machine's own: that of its family, whatever programs of another lie on it.
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

func repoInstall(f *facts.Facts, names []string) string {
	return node.Accounts + repoProgram(f) + repoLib + "repo_install " + quoteAll(names) + "\n"
}

// repoLib speaks to the package manager of the machine with the machine's own repositories. The list of what was there before is kept until
// what is new is recorded, so that an installation that was cut off is recorded by the next one.
const repoLib = `
export DEBIAN_FRONTEND=noninteractive LC_ALL=C NEEDRESTART_MODE=l
repo_list() {
  if [ $repo_pm = apt ]; then dpkg-query -W -f '${db:Status-Status} ${Package}\n' | awk '$1=="installed" {print $2}' | sort -u
  else rpm -qa --qf '%{NAME}.%{ARCH}\n' | grep -v '^gpg-pubkey[.]' | sort -u; fi
}
repo_missing() {
  repo_list >/dev/null
  for p in "$@"; do
    if [ $repo_pm = apt ]; then repo_list | grep -qxF "$p" || echo "$p"
    else rpm -q --quiet "$p" || rpm -q --quiet --whatprovides "$p" || echo "$p"; fi
  done
}
repo_record() {
  kind=package; [ $repo_pm = apt ] || kind=rpm
  repo_list | while IFS= read -r p; do grep -qxF "$p" $D/repo-known || rec $kind "$p" absent; done
  newcomers
  rm -f $D/repo-known
}
repo_install() {
  [ -e $D/repo-known ] || { repo_list >$D/repo-known.new; mv $D/repo-known.new $D/repo-known; }
  census
  s=0
  if [ $repo_pm = apt ]; then
    apt-get -q -o DPkg::Lock::Timeout=600 update && apt-get -q -y --no-remove -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold install "$@" || s=$?
  elif command -v dnf >/dev/null 2>&1; then dnf -y install "$@" || s=$?
  else yum -y install "$@" || s=$?; fi
  repo_record
  return $s
}
`
