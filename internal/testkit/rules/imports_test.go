package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/eggo-k8s/eggo/"

// heights lists the packages of internal and the layer in which each stands: one imports those of lower layers
// only. A new one has to be added here and to dependencies, which is the moment to think about where it stands.
// docs/architecture.md draws the picture.
func heights() map[string]int {
	return map[string]int{
		"internal/run":    1,
		"internal/bundle": 2, "internal/remote": 2,
		"internal/output":    3,
		"internal/config":    4,
		"internal/phases":    5,
		"internal/operation": 6,
		"internal/ui":        7, "internal/server": 7, "internal/operator": 7,
		"internal/testkit": 8,
	}
}

// dependencies lists what each of these packages may import of the lower layers, and the same of those of their
// subpackages that may import less, or more. A row holds for what is beneath its package and has no row of its own;
// what is beneath one row may import each other.
var dependencies = map[string][]string{
	"internal/run":          {},
	"internal/run/event":    {},
	"internal/run/engine":   {"internal/run/event"},
	"internal/run/journal":  {"internal/run/event"},
	"internal/run/state":    {"internal/run/event"},
	"internal/run/control":  {"internal/run/event"},
	"internal/run/exitcode": {"internal/run/event"},
	"internal/run/scratch":  {},

	"internal/bundle":          {"internal/bundle/nodepath", "internal/bundle/schema", "internal/run/event"},
	"internal/bundle/nodepath": {},
	"internal/bundle/schema":   {},

	"internal/remote":       {"internal/remote/shell", "internal/run/event", "internal/run/scratch"},
	"internal/remote/shell": {},

	"internal/output":          {},
	"internal/output/i18n":     {"internal/run/event"},
	"internal/output/document": {"internal/run/event"},
	"internal/output/report": {"internal/output/document", "internal/output/i18n", "internal/run/event",
		"internal/run/state"},
	"internal/output/cli": {"internal/output/document", "internal/output/i18n", "internal/output/spelling",
		"internal/run/event"},
	"internal/output/redact":    {},
	"internal/output/spelling":  {},
	"internal/output/plaintext": {},

	// i18n: the comments of the template, and what the keys mean
	"internal/config": {"internal/output/i18n", "internal/output/plaintext", "internal/output/spelling",
		"internal/bundle", "internal/bundle/nodepath", "internal/bundle/schema", "internal/run/event"},
	"internal/config/machines": {"internal/config", "internal/output/plaintext", "internal/bundle",
		"internal/run/event"},
	"internal/config/draft": {"internal/config", "internal/config/machines", "internal/output/i18n", "internal/bundle",
		"internal/run/event"},
	"internal/config/guide": {"internal/config", "internal/config/draft", "internal/config/machines",
		"internal/output/i18n", "internal/output/plaintext", "internal/output/redact", "internal/output/report",
		"internal/bundle", "internal/run/event"},

	"internal/phases": {"internal/phases/pki", "internal/config", "internal/bundle", "internal/bundle/nodepath",
		"internal/remote/shell", "internal/run/engine", "internal/run/event", "internal/run/scratch", "assets"},
	"internal/phases/pki": {"internal/run/event"},

	"internal/operation": {"internal/operation/ask", "internal/operation/backup", "internal/operation/desired",
		"internal/phases", "internal/phases/pki", "internal/config", "internal/output/redact", "internal/bundle",
		"internal/bundle/nodepath", "internal/remote", "internal/remote/shell", "internal/run/engine",
		"internal/run/event", "internal/run/journal", "internal/run/control", "internal/run/state",
		"internal/run/exitcode", "internal/run/scratch"},
	"internal/operation/ask":     {"internal/config", "internal/run/event"}, // front ends implement it
	"internal/operation/backup":  {"internal/run/event"},
	"internal/operation/desired": {"internal/config", "internal/bundle", "internal/run/event"}, // no input or output
	"internal/operation/present": {"internal/operation", "internal/phases", "internal/config",
		"internal/output/document", "internal/output/i18n", "internal/output/report", "internal/bundle",
		"internal/remote/shell", "internal/run/event"},
	// what host implements; front ends import it without the rest of operation
	"internal/operation/host/backend": {"internal/operation/ask", "internal/config", "internal/config/draft",
		"internal/config/machines", "internal/output/document", "internal/output/i18n", "internal/run/event",
		"internal/run/state"},
	"internal/operation/host": {"internal/operation", "internal/operation/ask", "internal/operation/host/backend",
		"internal/operation/present", "internal/phases", "internal/config", "internal/config/draft",
		"internal/output/document", "internal/output/i18n", "internal/bundle", "internal/remote", "internal/run/event",
		"internal/run/journal", "internal/run/state"},

	"internal/ui": {"internal/operation/host/backend", "internal/operation/ask", "internal/config",
		"internal/config/draft", "internal/config/guide", "internal/config/machines", "internal/output/document",
		"internal/output/i18n", "internal/output/plaintext", "internal/output/redact", "internal/output/report",
		"internal/bundle", "internal/run/event", "internal/run/state"},
	"internal/ui/lines": {"internal/operation/host/backend", "internal/operation/ask", "internal/config",
		"internal/config/draft", "internal/config/guide", "internal/config/machines", "internal/output/document",
		"internal/output/i18n", "internal/output/plaintext", "internal/output/report", "internal/bundle",
		"internal/run/event", "internal/run/state"},

	"internal/server": {"internal/server/access", "internal/server/manager", "internal/server/problem",
		"internal/server/route", "internal/operation", "internal/operation/ask", "internal/phases/pki",
		"internal/run/event", "internal/run/scratch"},
	"internal/server/access":  {"internal/run/event"},
	"internal/server/manager": {"internal/run/event"},
	"internal/server/problem": {"internal/output/i18n", "internal/run/event"},
	"internal/server/route":   {"internal/server/access", "internal/server/problem", "internal/run/event"},
	"internal/server/listen":  {"internal/server/problem", "internal/run/event"},
	"internal/server/account": {"internal/server/access", "internal/server/database", "internal/server/problem",
		"internal/server/route", "internal/run/event"},
	"internal/server/database": {"internal/run/event"},
	// calls the methods of the API in its process; logs are reduced and said as on a terminal
	"internal/server/page": {"internal/server", "internal/server/access", "internal/server/account",
		"internal/server/manager", "internal/server/problem", "internal/operation/host/backend", "internal/config",
		"internal/config/draft", "internal/config/guide", "internal/config/machines", "internal/output/i18n",
		"internal/output/report", "internal/bundle", "internal/run/event", "internal/run/state"},

	"internal/operator": {"api", "internal/operation", "internal/phases", "internal/config", "internal/output/i18n",
		"internal/bundle", "internal/run/event", "internal/run/journal"},

	"internal/testkit":         nil, // anything: what tests share
	"internal/testkit/rules":   {},
	"internal/testkit/ptytest": {},

	"api":    {}, // the objects of the operator: others import them
	"assets": {},
	"cmd":    nil, // anything: here all is wired together
	"test":   nil, // anything: tests and their tools
}

// within lists, for a package inside a layer, the packages of its layer that it may import. One that is not here may
// import all of them; a new one beneath internal/phases has to be added.
var within = map[string][]string{
	"internal/phases/pki":               {},
	"internal/phases/node":              {},
	"internal/phases/node/input":        {"internal/phases/node"},
	"internal/phases/node/facts":        {"internal/phases/node"},
	"internal/phases/node/layout":       {"internal/phases/node"},
	"internal/phases/node/systemd":      {},
	"internal/phases/node/wait":         {"internal/phases/node"},
	"internal/phases/plan":              {"internal/phases/node/wait"},
	"internal/phases/component/rolling": {},
	"internal/phases/takeover":          {},
	"internal/phases/node/inventory": {"internal/phases/node/input", "internal/phases/node/facts",
		"internal/phases/node"},
	"internal/phases/component/balancer": {"internal/phases/node", "internal/phases/node/layout",
		"internal/phases/node/systemd", "internal/phases/plan", "internal/phases/component/clients",
		"internal/phases/node/input"},
	"internal/phases/payload/hooks": {"internal/phases/node", "internal/phases/node/input", "internal/phases/plan",
		"internal/phases/payload"},
	"internal/phases/payload/host": {"internal/phases/node", "internal/phases/node/facts",
		"internal/phases/node/layout", "internal/phases/plan", "internal/phases/node/inventory",
		"internal/phases/payload"},
	"internal/phases/payload": {"internal/phases/node/input", "internal/phases/node/inventory",
		"internal/phases/node/facts", "internal/phases/node/layout", "internal/phases/node"},
	"internal/phases/component/certs": {"internal/phases/node/input", "internal/phases/node/inventory"},
	"internal/phases/component/clients": {"internal/phases/component/certs", "internal/phases/node/input",
		"internal/phases/node/layout", "internal/phases/node", "internal/phases/node/inventory",
		"internal/phases/node/wait"},
	"internal/phases/upgrade/drain": {"internal/phases/component/clients", "internal/phases/node/layout"},
	"internal/phases/remove": {"internal/phases/component/clients", "internal/phases/upgrade/drain",
		"internal/phases/node/inventory", "internal/phases/node/input", "internal/phases/plan",
		"internal/phases/node/wait"},
	"internal/phases/upgrade": {"internal/phases/component/clients", "internal/phases/upgrade/drain",
		"internal/phases/component/driver", "internal/phases/node/input", "internal/phases/node/layout",
		"internal/phases/node", "internal/phases/node/inventory", "internal/phases/plan", "internal/phases/node/wait"},
	"internal/phases/remove/cleanup": {"internal/phases/node/inventory", "internal/phases/node",
		"internal/phases/node/input", "internal/phases/plan"},
	"internal/phases/component/controlplane": {"internal/phases/component/clients", "internal/phases/component/driver",
		"internal/phases/plan", "internal/phases/node/input", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/wait"},
	"internal/phases/component/join": {"internal/phases/component/clients", "internal/phases/component/driver",
		"internal/phases/plan", "internal/phases/node/input", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/node/facts", "internal/phases/node/wait"},
	"internal/phases/component/driver": {"internal/phases/node", "internal/phases/plan"},
	"internal/phases/component/driver/start": {"internal/phases/component/driver", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/component/rolling", "internal/phases/node/wait"},
	"internal/phases/component/driver/binary": {"internal/phases/component/driver",
		"internal/phases/component/driver/start", "internal/phases/node", "internal/phases/node/input",
		"internal/phases/plan", "internal/phases/node/inventory", "internal/phases/payload",
		"internal/phases/component/certs", "internal/phases/component/rolling", "internal/phases/node/layout",
		"internal/phases/node/systemd", "internal/phases/node/wait"},
	"internal/phases/component/driver/kubeadm": {"internal/phases/component/driver",
		"internal/phases/component/driver/binary", "internal/phases/component/driver/start",
		"internal/phases/component/clients", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/payload", "internal/phases/plan",
		"internal/phases/component/rolling", "internal/phases/node/wait"},
	"internal/phases/component/etcd": {"internal/phases/component/driver", "internal/phases/component/clients",
		"internal/phases/node/input", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/payload", "internal/phases/plan",
		"internal/phases/component/rolling", "internal/phases/node/wait"},
	"internal/phases/preflight": {"internal/phases/node/input", "internal/phases/node/facts",
		"internal/phases/node/layout", "internal/phases/node", "internal/phases/node/inventory",
		"internal/phases/upgrade/objects", "internal/phases/payload", "internal/phases/plan",
		"internal/phases/takeover"},
	"internal/phases/upgrade/objects": {"internal/phases/component/clients"},
	"internal/phases/takeover/foreign": {"internal/phases/component/clients", "internal/phases/node",
		"internal/phases/takeover"},
	"internal/phases/payload/packages": {"internal/phases/node", "internal/phases/node/facts",
		"internal/phases/node/input", "internal/phases/plan", "internal/phases/node/inventory",
		"internal/phases/payload"},
	"internal/phases/component/addons": {"internal/phases/component/clients", "internal/phases/component/driver",
		"internal/phases/node/input", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/payload", "internal/phases/plan",
		"internal/phases/node/wait"},
	"internal/phases/status": {"internal/phases/component/addons", "internal/phases/component/balancer",
		"internal/phases/component/clients", "internal/phases/component/driver", "internal/phases/node/input",
		"internal/phases/component/etcd", "internal/phases/node/layout", "internal/phases/node",
		"internal/phases/node/inventory", "internal/phases/payload/runtimes", "internal/phases/node/systemd"},
	"internal/phases/payload/runtimes": {"internal/phases/node", "internal/phases/node/facts",
		"internal/phases/node/layout", "internal/phases/node/systemd", "internal/phases/node/wait",
		"internal/phases/plan", "internal/phases/component/rolling", "internal/phases/payload"},
}

// more is what a package within a layer may import besides its layer.
var more = map[string][]string{
	"internal/server/manager/clusterspec": {"internal/config", "internal/bundle", "internal/output/spelling"},
	"internal/server/manager/records":     {"internal/server/database"},
	"internal/server/manager/runs": {"internal/config", "internal/run/journal", "internal/operation",
		"internal/operation/desired", "internal/operation/request", "internal/operation/store", "internal/phases/pki",
		"internal/run/state"},
	"internal/server/manager/upkeep": {"internal/operation/request", "internal/phases/pki"},
	"internal/operator/runner": {"internal/operation/ask", "internal/run/exitcode",
		"internal/run/state"}, // the status of an Operation has sentences
	"internal/operation/desired":      {"internal/operation/request"},
	"internal/operator/cluster":       {"internal/operation/desired", "internal/phases/pki"},
	"internal/operator/state":         {"internal/phases/pki"},
	"internal/operation/host/backend": {"internal/operation/request"},
	"internal/bundle/build":           {"assets"}, // the default spec's keyring
	"internal/ui/lines":               {"internal/operation/request"},
	"internal/ui/pages":               {"internal/operation/request"},
	"internal/output/report/building": {"internal/bundle/build"},
	// what can be built, and how far it is
	"internal/operation/host/builds": {"assets", "internal/output/report", "internal/output/report/building"},
}

// only names packages of other modules that one layer alone, or one package of a layer, may import.
var only = map[string][]string{
	// sign: SSHSIG; clusterspec, pool: whether a key can be read; no connections
	"golang.org/x/crypto/ssh": {"internal/remote", "internal/bundle/sign",
		"internal/server/manager/clusterspec", "internal/operator/pool"},
	"charm.land/":                    {"internal/ui"},
	"github.com/skeema/knownhosts":   {"internal/remote"},
	"k8s.io/":                        {"internal/phases", "internal/operator", "api"},
	"sigs.k8s.io/controller-runtime": {"internal/operator"},
	"helm.sh/":                       {"internal/bundle/addon"},
	"go.etcd.io/":                    {"internal/phases", "internal/operation/backup"}, // a scratch etcd on this host
	"github.com/google/go-container": {"internal/bundle"},
	"github.com/sassoftware/":        {"internal/bundle/rpm"},
	"github.com/spf13/":              {"cmd", "internal/output/cli"},
	"golang.org/x/term":              {"cmd", "internal/output/cli"},
	"al.essio.dev/pkg/shellescape":   {"internal/remote/shell"},
	"modernc.org/":                   {"internal/server/database"},
	"golang.org/x/crypto/argon2":     {"internal/server/account"},
	"github.com/coreos/go-oidc":      {"internal/server/account/sso"},
	"golang.org/x/oauth2":            {"internal/server/account/sso"},
	"github.com/zitadel/":            {"internal/server/account/sso"}, // the provider of the tests
}

// onlyWithin names, for modules that a layer may import, the packages of that layer that may: each has a client of them
// or understands what one answers. Others ask those.
var onlyWithin = map[string]map[string][]string{
	"internal/phases": {
		"k8s.io/": {"internal/phases/component/addons", "internal/phases/component/certs",
			"internal/phases/component/clients", "internal/phases/upgrade/drain",
			"internal/phases/component/driver/kubeadm", "internal/phases/component/etcd",
			"internal/phases/takeover/foreign", "internal/phases/component/join", "internal/phases/upgrade/objects",
			"internal/phases/remove", "internal/phases/status", "internal/phases/takeover",
			"internal/phases/upgrade"},
		"go.etcd.io/": {"internal/phases/component/clients", "internal/phases/component/etcd"},
	},
}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports",
		module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var list []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// layer returns the longest key of dependencies that is the path or a directory above it; for a path beneath none of
// them the first directory, or the first two under internal.
func layer(path string) string {
	longest := ""
	for key := range dependencies {
		if (path == key || strings.HasPrefix(path, key+"/")) && len(key) > len(longest) {
			longest = key
		}
	}
	if longest != "" {
		return longest
	}
	parts := strings.SplitN(path, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// top returns the first two directories of a path: one of the packages of internal, when it is beneath them.
func top(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// height returns the layer of a path beneath internal, 0 for others.
func height(path string) int {
	return heights()[top(path)]
}

// forTests reports whether a layer has tests and their tools only.
func forTests(layer string) bool {
	return layer == "test" || strings.HasPrefix(layer, "internal/testkit")
}

// crossing says why a package may not import another, or "".
func crossing(from, to string) string {
	inside, own := strings.CutPrefix(to, module)
	if !own {
		for prefix, owners := range only {
			mine := slices.Contains(owners, layer(from)) || slices.Contains(owners, strings.TrimPrefix(from, module))
			if strings.HasPrefix(to, prefix) && !mine && !forTests(layer(from)) {
				return "only " + strings.Join(owners, " and ") + " may"
			}
		}
		for prefix, few := range onlyWithin[layer(from)] {
			if strings.HasPrefix(to, prefix) && !slices.Contains(few, from) {
				return "of its layer only " + strings.Join(few, ", ") + " may"
			}
		}
		return ""
	}
	allowed, known := dependencies[layer(from)]
	list, bound := within[from]
	switch {
	case !known:
		return layer(from) + " is not in the picture: add it to heights and dependencies"
	case strings.HasPrefix(inside, "internal/phases/component/driver/") && from != "internal/phases" &&
		!strings.HasPrefix(from, "internal/phases/component/driver/"): // one driver may stand on another
		return "package phases alone chooses a driver"
	case layer(inside) == "cmd" || layer(inside) == "test" && layer(from) != "test":
		return "nothing may import " + layer(inside)
	case forTests(layer(inside)) && !forTests(layer(from)):
		return "only tests may import " + inside
	case height(from) > 0 && height(inside) >= height(from) && top(inside) != top(from):
		return top(from) + " imports only what is of a lower layer than its own"
	case bound && layer(inside) == layer(from) && !slices.Contains(list, inside):
		return "inside the layer the dependencies do not point that way"
	case allowed == nil || layer(inside) == layer(from):
		return ""
	case slices.Contains(allowed, layer(inside)) || slices.Contains(more[from], inside):
		return ""
	}
	return "the dependencies do not point that way"
}

func TestImportsPointOneWay(t *testing.T) {
	list := packages(t)
	if len(list) < 10 {
		t.Fatalf("go list named %d packages only", len(list))
	}
	seen := map[string]bool{}
	for _, p := range list {
		from := strings.TrimPrefix(p.ImportPath, module)
		seen[layer(from)], seen[from] = true, true
		_, bound := within[from]
		if strings.HasPrefix(from, "internal/phases/") && !bound {
			t.Errorf("%s is beneath internal/phases but not in within", from)
		}
		for _, to := range p.Imports {
			if why := crossing(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
	for p := range heights() {
		if _, known := dependencies[p]; !known {
			t.Errorf("%s is in heights but not in dependencies", p)
		}
	}
	for r := range dependencies {
		if strings.HasPrefix(r, "internal/") && height(r) == 0 {
			t.Errorf("%s is in dependencies but in no layer", r)
		}
		if !seen[r] {
			t.Errorf("%s is in dependencies but not in the module", r)
		}
	}
	for p := range within {
		if !seen[p] {
			t.Errorf("%s is in within but not in the module", p)
		}
	}
}

// The rules themselves, tried on dependencies that must not be.
func TestACrossingIsSeen(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"internal/run/engine", module + "internal/run/event", true},
		{"internal/run/engine", module + "internal/phases", false},
		{"internal/run/engine", "context", true},
		{"internal/ui/runview", module + "internal/ui/theme", true},
		{"internal/ui/runview", module + "internal/remote", false},
		{"internal/ui", module + "internal/run/engine", false},
		{"internal/ui", module + "internal/phases", false},
		{"internal/run/event", module + "internal/output/i18n", false},
		{"internal/testkit/remotetest", module + "internal/remote", true},
		{"internal/remote", module + "internal/run/engine", false},
		{"internal/phases/node", module + "internal/remote", false},
		{"internal/phases", "golang.org/x/crypto/ssh", false},
		{"internal/phases/node", module + "internal/run/event", true},
		{"internal/phases/node", module + "internal/phases", false},
		{"internal/phases", module + "internal/phases/node", true},
		{"internal/phases", module + "internal/phases/component/clients", true},
		{"internal/testkit/phasestest", module + "internal/phases", true},
		{"internal/phases/node/facts", module + "internal/phases/node", true},
		{"internal/phases/node/facts", module + "internal/phases/node/inventory", false},
		{"internal/phases/node/inventory", module + "internal/phases", false},
		{"internal/phases/component/clients", module + "internal/phases/component/certs", true},
		{"internal/phases/component/certs", module + "internal/phases/component/clients", false},
		{"internal/phases/payload", module + "internal/phases/component/rolling", false},
		{"internal/phases/component/rolling", module + "internal/phases/node/inventory", false},
		{"internal/phases", module + "internal/phases/component/driver/binary", true},
		{"internal/phases/component/driver/binary", module + "internal/phases/component/driver/start", true},
		{"internal/phases/component/join", module + "internal/phases/component/driver/binary", false},
		{"internal/operation", module + "internal/phases/component/driver/binary", false},
		{"internal/phases/component/etcd", module + "internal/phases/component/driver", true},
		{"internal/phases/component/etcd", module + "internal/phases/component/driver/binary", false},
		{"internal/phases/node", "k8s.io/api/core/v1", false},
		{"internal/phases/component/clients", "k8s.io/client-go/kubernetes", true},
		{"internal/phases/component/driver/binary", "k8s.io/client-go/kubernetes", false},
		{"internal/phases", "k8s.io/api/core/v1", false},
		{"internal/phases", "go.etcd.io/etcd/client/v3", false},
		{"internal/phases/component/etcd", "go.etcd.io/bbolt", true},
		{"internal/remote", "golang.org/x/crypto/ssh/agent", true},
		{"internal/output/report", "charm.land/lipgloss/v2", false},
		{"internal/operation/host/backend", "charm.land/bubbletea/v2", false},
		{"internal/operation/host/backend", module + "internal/ui/frame", false},
		{"internal/operation/host/backend", module + "internal/operation/request", true},
		{"internal/operation/host/backend", module + "internal/config/draft", true},
		{"internal/config/draft", module + "internal/operation/host/backend", false},
		{"internal/ui/lines", module + "internal/config/draft", true},
		{"internal/ui/lines", module + "internal/operation/request", true},
		{"internal/ui/lines", module + "internal/operation", false},
		{"internal/ui/lines", module + "internal/ui/wizard", false},
		{"internal/ui/lines", module + "internal/remote", false},
		{"internal/ui/lines", "github.com/spf13/cobra", false},
		{"internal/ui/lines", "golang.org/x/term", false},
		{"internal/bundle/build", module + "assets", true},
		{"internal/bundle", module + "assets", false},
		{"internal/operation", module + "internal/output/i18n", false},
		{"internal/operation", module + "internal/ui", false},
		{"internal/operation", "github.com/spf13/cobra", false},
		{"internal/ui/pages", module + "internal/operation/request", true},
		{"internal/ui/pages", module + "internal/operation", false},
		{"internal/testkit/new", module + "internal/phases", true},
		{"internal/testkit/new", "k8s.io/api/core/v1", true},
		{"internal/testkit/new", "sigs.k8s.io/controller-runtime/pkg/envtest", true},
		{"api/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", true},
		{"api/v1", "sigs.k8s.io/controller-runtime/pkg/scheme", false},
		{"api/v1", module + "internal/run/event", false},
		{"internal/testkit/rules", module + "internal/phases", false},
		{"internal/phases", module + "internal/testkit/new", false},
		{"cmd/eggo-tui", module + "internal/testkit/ptytest", false},
		{"test/page", module + "internal/testkit/new", true},
		{"internal/run/new", module + "internal/bundle", false},
		{"internal/run/new", module + "internal/output/i18n", false},
		{"internal/bundle/new", module + "internal/remote", false},
		{"internal/config", module + "internal/phases", false},
		{"internal/server", module + "internal/ui", false},
		{"internal/ui", module + "internal/server/problem", false},
		{"internal/operator/state", module + "internal/operation", true},
		{"internal/operator/state", "sigs.k8s.io/controller-runtime/pkg/client", true},
		{"internal/operator/runner", module + "internal/output/i18n", true},
		{"internal/operator/state", module + "internal/server/manager", false},
		{"internal/operator/pool", "golang.org/x/crypto/ssh", true},
		{"internal/operator/state", "golang.org/x/crypto/ssh", false},
		{"internal/operator/state", module + "internal/ui", false},
		{"internal/operation", module + "internal/operator/state", false},
		{"internal/operation", "sigs.k8s.io/controller-runtime/pkg/client", false},
		{"internal/server", "k8s.io/api/core/v1", false},
		{"internal/new", module + "internal/run/event", false},
		{"internal/output/report", module + "test/lab", false},
		{"cmd/eggo-tui", module + "internal/remote", true},
		{"cmd/eggo-tui", module + "test/lab", false},
		{"test/e2e", module + "internal/remote", true},
	} {
		if why := crossing(c.from, c.to); (why == "") != c.ok {
			t.Errorf("%s → %s: %q, want allowed %v", c.from, c.to, why, c.ok)
		}
	}
}
