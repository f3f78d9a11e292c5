package hooks

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func script(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// What would run as root has to be the caller's own and nobody else's to write.
func TestWhichHooksAreTaken(t *testing.T) {
	dir := t.TempDir()
	good := script(t, dir, "a.sh", "true\n", 0o750)
	link := filepath.Join(dir, "link.sh")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	several := filepath.Join(dir, "several")
	script(t, several, "20.bash", "two\n", 0o700)
	script(t, several, "10.sh", "one\n", 0o750)
	mixed := filepath.Join(dir, "mixed")
	script(t, mixed, "10.sh", "one\n", 0o750)
	script(t, mixed, "README", "words\n", 0o640)
	open := filepath.Join(dir, "open")
	script(t, open, "10.sh", "one\n", 0o750)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind       string
		flag, code string
		names      string
		role       bundle.Role
	}{
		"a file":           {"", good, "", "a.sh", bundle.ControlPlane},
		"for workers":      {"", good + ",worker", "", "a.sh", bundle.Worker},
		"for etcd":         {"", good + ",etcd", "", "a.sh", bundle.Etcd},
		"a directory":      {"", several, "", "10.sh 20.bash", bundle.ControlPlane},
		"another role":     {"", good + ",boss", "hook.role", "", ""},
		"relative":         {"", "a.sh", "hook.path", "", ""},
		"absent":           {"", filepath.Join(dir, "b.sh"), "hook.unreadable", "", ""},
		"a link":           {"", link, "hook.not-regular", "", ""},
		"others write":     {"", script(t, dir, "w.sh", "true\n", 0o777), "hook.mode", "", ""},
		"the group writes": {"", script(t, dir, "g.sh", "true\n", 0o770), "hook.mode", "", ""},
		"others read":      {"", script(t, dir, "r.sh", "true\n", 0o755), "hook.mode", "", ""},
		"owner alone":      {"", script(t, dir, "o.sh", "true\n", 0o600), "", "o.sh", bundle.ControlPlane},
		"nothing in it":    {"", script(t, dir, "n.sh", "", 0o750), "hook.size", "", ""},
		"1 MiB": {"", script(t, dir, "m.sh", strings.Repeat("#", 1<<20), 0o750), "", "m.sh",
			bundle.ControlPlane},
		"more than 1 MiB":    {"", script(t, dir, "l.sh", strings.Repeat("#", 1<<20+1), 0o750), "hook.size", "", ""},
		"another ending":     {"", script(t, dir, "x.py", "true\n", 0o750), "hook.name", "", ""},
		"a name with words":  {"", script(t, dir, "a b.sh", "true\n", 0o750), "hook.name", "", ""},
		"more than scripts":  {"", mixed, "hook.name", "", ""},
		"an open directory":  {"", open, "hook.mode", "", ""},
		"an empty one":       {"", empty, "hook.empty", "", ""},
		"of a join":          {PreHook, good, "", "a.sh", ""},
		"of workers that go": {PostHook, good + ",worker", "", "a.sh", bundle.Worker},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(cmp.Or(c.kind, ClusterPreHook), c.flag)
			if c.code != "" {
				if f := event.AsFault(err); f == nil || f.Code != c.code || f.Class != event.ClassUsage {
					t.Errorf("%v, want %s", err, c.code)
				}
				return
			}
			var names []string
			for _, h := range got {
				names = append(names, h.Name)
				if h.Role != c.role || h.Type != cmp.Or(c.kind, ClusterPreHook) || len(h.Data) == 0 {
					t.Errorf("%+v", h)
				}
			}
			if err != nil || strings.Join(names, " ") != c.names {
				t.Error(names, err)
			}
		})
	}
	if os.Geteuid() == 0 {
		f := script(t, dir, "foreign.sh", "true\n", 0o750)
		if err := os.Chown(f, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(PreHook, f); event.AsFault(err) == nil ||
			event.AsFault(err).Code != "hook.owner" {
			t.Error(err)
		}
	}
}

// A hook that no machine is there for was given for nothing, and that is said before anything is touched.
func TestAHookHasAMachineToRunOn(t *testing.T) {
	nodes := []config.Node{{Name: "m1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}},
		{Name: "w1", Roles: []bundle.Role{bundle.Worker}}}
	for name, c := range map[string]struct {
		hook  input.Hook
		nodes []config.Node
		runs  bool
	}{
		"of a role":                   {input.Hook{Role: bundle.Worker}, nodes, true},
		"of a role that nobody has":   {input.Hook{Role: bundle.LoadBalancer}, nodes, false},
		"of any role":                 {input.Hook{Nodes: []string{"w1"}}, nodes, true},
		"of masters, a worker leaves": {input.Hook{Role: bundle.ControlPlane, Nodes: []string{"w1"}}, nodes, false},
		"of workers, a worker leaves": {input.Hook{Role: bundle.Worker, Nodes: []string{"w1"}}, nodes, true},
	} {
		err := Check([]input.Hook{c.hook}, c.nodes)
		if f := event.AsFault(err); (err == nil) != c.runs || err != nil &&
			(f.Code != "hook.nowhere" || f.Class != event.ClassUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
