package phases_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

var updatePlans = flag.Bool("update", false, "write testdata/plans")

// outline is a plan as text: its phases, and a line for each step in the order of the plan, with how many steps end
// before it and a hash of which. Those are the steps behind all needs, so that a plan that says the same order with
// other dependencies and barriers is the same.
func outline(p *engine.Plan) string {
	var b strings.Builder
	for _, h := range p.Hosts {
		fmt.Fprintf(&b, "host %s %s %s\n", h.Name, h.Addr, strings.Join(h.Roles, ","))
	}
	fmt.Fprintf(&b, "hosts may be left out: %t\n", p.Spare != nil)
	for _, ph := range p.Phases {
		fmt.Fprintf(&b, "phase %s %s [%s]\n", ph.ID, ph.Title.Key, letters("BA", ph.Before != nil, ph.After != nil))
	}
	before := closures(p)
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%s %s@%s", s.ID, s.Phase, s.Host)
		for _, word := range []string{s.Lane, s.Limit} {
			if word != "" {
				fmt.Fprint(&b, " ", word)
			}
		}
		if s.Timeout != 0 {
			fmt.Fprint(&b, " ", s.Timeout)
		}
		if r := s.Retry; r != (engine.Retry{}) {
			fmt.Fprintf(&b, " %d/%s/%s", r.Tries, r.Delay, r.MaxDelay)
		}
		if s.Optional {
			fmt.Fprint(&b, " optional")
		}
		if what, _, _ := strings.Cut(s.ID, "/"); s.Title.Key != "step."+what {
			fmt.Fprint(&b, " ", s.Title.Key)
		}
		ids := slices.Sorted(maps.Keys(before[s.ID]))
		sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
		set := letters("WCAVU", s.When != nil, s.Check != nil, s.Apply != nil, s.Verify != nil, s.Undo != nil)
		fmt.Fprintf(&b, " [%s] %d %s\n", set, len(ids), hex.EncodeToString(sum[:4]))
	}
	return b.String()
}

// letters are those of which it is so.
func letters(of string, so ...bool) string {
	out := ""
	for i, yes := range so {
		if yes {
			out += of[i : i+1]
		}
	}
	return out
}

// closures are, for each step, all steps that have to end before it starts.
func closures(p *engine.Plan) map[string]map[string]bool {
	needs, steps := map[string][]string{}, map[string]bool{}
	for _, b := range p.Barriers {
		needs[b.ID] = b.Needs
	}
	for _, s := range p.Steps {
		needs[s.ID], steps[s.ID] = s.Needs, true
	}
	out := map[string]map[string]bool{}
	var follow func(id string) map[string]bool
	follow = func(id string) map[string]bool {
		if out[id] == nil {
			out[id] = map[string]bool{}
			for _, n := range needs[id] {
				if steps[n] {
					out[id][n] = true
				}
				maps.Copy(out[id], follow(n))
			}
		}
		return out[id]
	}
	for id := range needs {
		follow(id)
	}
	return out
}

// untitled are the titles of steps and phases that a language lacks.
func untitled(p *engine.Plan) (out []string) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		said := i18n.NewPrinter(lang)
		add := func(key string) {
			if word := string(lang) + " " + key; !said.Has(key) && !slices.Contains(out, word) {
				out = append(out, word)
			}
		}
		for _, ph := range p.Phases {
			add(ph.Title.Key)
		}
		for _, s := range p.Steps {
			add(s.Title.Key)
		}
	}
	return out
}

// outlined are the plans of one cluster. The nodes of leavers leave it one plan each.
func outlined(t *testing.T, c *config.Cluster, limit string, leavers ...string) map[string]*engine.Plan {
	t.Helper()
	hooks := func(kinds ...string) (out []phases.Hook) {
		for _, kind := range kinds {
			out = append(out, phases.Hook{Type: kind, Name: "a.sh"}, phases.Hook{Type: kind, Name: "b.sh"})
		}
		return out
	}
	around, each := hooks(phases.ClusterPreHook, phases.ClusterPostHook), hooks(phases.PreHook, phases.PostHook)
	env := func(h []phases.Hook) phases.Env {
		return phases.Env{
			Cluster: c, Now: time.Now, StateDir: t.TempDir(), Emit: func(event.Event) error { return nil }, Hooks: h,
		}
	}
	limited := func(e phases.Env) *engine.Plan {
		e.Limit = []string{limit}
		return phases.Deploy(e)
	}
	preflight, _ := phases.Preflight(env(nil))
	restore, err := phases.Restore(env(nil), &phases.SnapshotFile{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*engine.Plan{
		"deploy":              phases.Deploy(env(nil)),
		"deploy-hooks":        phases.Deploy(env(slices.Concat(around, each))),
		"deploy-limit":        limited(env(around)),
		"deploy-dry":          phases.DryRun(env(around), phases.Deploy),
		"deploy-limit-dry":    phases.DryRun(env(nil), limited),
		"cleanup":             phases.Cleanup(env(nil), false),
		"cleanup-hooks-purge": phases.Cleanup(env(slices.Concat(around, each)), true),
		"cleannodes":          phases.CleanNodes(env(around), c.Nodes[:1], true),
		"preflight":           preflight,
		"snapshot":            phases.Snapshot(env(nil), ""),
		"restore":             restore,
	}
	for _, name := range leavers {
		var l phases.Leaving
		stay := *c
		stay.Nodes = nil
		for _, n := range c.Nodes {
			if n.Name == name {
				l.Nodes = append(l.Nodes, n)
			} else {
				stay.Nodes = append(stay.Nodes, n)
			}
		}
		e := env(each)
		e.Cluster = &stay
		out["delete-"+name] = phases.Delete(e, l)
		out["delete-dry-"+name] = phases.DryRun(e, func(e phases.Env) *engine.Plan { return phases.Delete(e, l) })
		e.Hooks = nil
		l.Drain, l.Purge = time.Hour, true
		out["delete-nohooks-"+name] = phases.Delete(e, l)
	}
	return out
}

// everything has what adds steps to a plan, or takes some away.
func everything(c *config.Cluster) {
	c.Eggo.Hostname, c.DNS.Type, c.KubeletServing, c.NetworkPlugin = "set", "binary", true, "calico"
	c.Packages = map[bundle.Role][]config.Package{}
	for _, role := range []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.LoadBalancer} {
		list := []config.Package{{Name: "jq", Type: "repo"}}
		for _, schedule := range []string{"prejoin", "postjoin", "precleanup", "postcleanup"} {
			for _, name := range []string{"1.sh", "2.sh"} {
				list = append(list, config.Package{Name: name, Type: "shell", Schedule: schedule,
					Timeout: 30 * time.Second})
			}
		}
		c.Packages[role] = list
	}
}

// The plans are those of the files: what is done, in what order, how often and for how long, and what waits for what.
// After a change that is meant: go test ./internal/phases -run TestPlansAreWhatTheyWere -args -update
func TestPlansAreWhatTheyWere(t *testing.T) {
	const top = "cluster-id: sim\nusername: root\nprivate-key-path: /root/.ssh/id_rsa\n" +
		"network: {podcidr: 10.200.0.0/16, plugin: flannel}\npackage-src: {type: tar.gz, x86src: /bundle.tar.gz}\n"
	list := func(key, prefix string, count, first int) string {
		out := key + ":\n"
		for i := range count {
			out += fmt.Sprintf("- {name: %s%d, ip: 192.0.2.%d, port: 22, arch: amd64}\n", prefix, i+1, first+i)
		}
		return out
	}
	single := list("masters", "m", 1, 11) + list("nodes", "m", 1, 11)
	three := list("masters", "m", 3, 11) + list("nodes", "w", 2, 21) +
		"loadbalance: {name: lb, ip: 192.0.2.41, port: 22, arch: amd64, bind-port: 8443}\n"
	separate := list("masters", "m", 2, 11) + list("nodes", "w", 1, 21) + list("etcds", "e", 3, 31)
	for name, shape := range map[string]struct {
		text    string
		change  func(*config.Cluster)
		limit   string
		leavers []string
		plans   []string // none: all
	}{
		"one":   {single, nil, "m1", nil, []string{"deploy", "deploy-hooks", "cleanup", "restore"}},
		"three": {three, nil, "w1", []string{"w1", "m3"}, nil},
		"apart": {separate, nil, "m1", []string{"e3"},
			[]string{"deploy", "cleanup", "restore", "snapshot", "delete-e3"}},
		"everything": {three, everything, "w2", []string{"w2"}, []string{
			"deploy", "deploy-hooks", "deploy-limit", "cleanup", "cleanup-hooks-purge", "delete-w2",
		}},
		"docker": {single, func(c *config.Cluster) { c.Runtime = "docker" }, "m1", nil, []string{"deploy", "cleanup"}},
		"isulad": {single, func(c *config.Cluster) { c.Runtime = "isulad" }, "m1", nil, []string{"deploy"}},
	} {
		c, problems := config.Load([]byte(top+shape.text), "deploy.yaml")
		if problems.HasErrors() {
			t.Fatalf("%+v", problems)
		}
		if shape.change != nil {
			shape.change(c)
		}
		for what, p := range outlined(t, c, shape.limit, shape.leavers...) {
			if len(shape.plans) > 0 && !slices.Contains(shape.plans, what) {
				continue
			}
			t.Run(name+"-"+what, func(t *testing.T) {
				if err := p.Validate(); err != nil {
					t.Fatal(err)
				}
				if missing := untitled(p); len(missing) > 0 {
					t.Errorf("there is no %s", strings.Join(missing, ", "))
				}
				file, got := filepath.Join("testdata", "plans", name+"-"+what+".txt"), outline(p)
				if *updatePlans {
					put(t, file, got)
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
