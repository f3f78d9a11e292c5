package config

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

func machine(name, ip string, roles ...bundle.Role) Node {
	return Node{Name: name, IP: netip.MustParseAddr(ip), Port: 22, Arch: "amd64", Roles: roles}
}

const editable = `# what this is
cluster-id: c   # its name

username: root
# the first ones
masters:   # control planes
- name: m1
  ip: 192.0.2.11   # in rack 1
# m2 is old
- {name: m2, ip: 192.0.2.12}

# workers come and go
nodes:
- name: w1
  ip: 192.0.2.21
  arch: arm64
- name: w2
  ip: 192.0.2.22
  # behind w2

package-src: {type: tar.gz, x86src: ./x.tar.gz, armsrc: /a.tar.gz}
# the end
`

func TestOnlyTheLinesOfTheMachineChange(t *testing.T) {
	for name, tc := range map[string]struct {
		file      string
		add       []Node
		remove    []string
		gone, new []string // lines
	}{
		"a worker more": {editable, []Node{machine("w3", "192.0.2.23", bundle.Worker)}, nil, nil,
			[]string{"- name: w3", "  ip: 192.0.2.23", "  port: 22", "  arch: amd64"}},
		"a worker less": {editable, nil, []string{"w1"},
			[]string{"- name: w1", "  ip: 192.0.2.21", "  arch: arm64"}, nil},
		"a control plane less": {editable, nil, []string{"m1"}, []string{"- name: m1", "  ip: 192.0.2.11 # in rack 1"},
			nil},
		"a control plane that works": {editable, []Node{machine("m3", "192.0.2.13", bundle.ControlPlane, bundle.Etcd,
			bundle.Worker)}, nil, nil,
			[]string{"- name: m3", "  ip: 192.0.2.13", "  port: 22", "  arch: amd64", "- name: m3", "  ip: 192.0.2.13",
				"  port: 22", "  arch: amd64"}},
		"an etcd of its own": {"masters:\n  - {name: m1, ip: 192.0.2.11}\n",
			[]Node{machine("e1", "192.0.2.31", bundle.Etcd)}, nil, nil,
			[]string{"etcds:", "  - {name: m1, ip: 192.0.2.11, port: 22, arch: amd64}",
				"  - {name: e1, ip: 192.0.2.31, port: 22, arch: amd64}"}},
		"the newer layout": {"masters:\n- {name: m1, ip: 192.0.2.11}\ninstall: {package-source: {type: tar.gz, " +
			"srcpath: {amd64: /package-src.tar.gz}}}\n", []Node{machine("w1", "192.0.2.21", bundle.Worker)}, nil, nil,
			[]string{"workers:", "  - {name: w1, ip: 192.0.2.21, port: 22, arch: amd64}"}},
		"a list of one line": {"masters: [{name: m1, ip: 192.0.2.11}]\nnodes: [{name: w1, ip: 192.0.2.21}]\n",
			[]Node{machine("w2", "192.0.2.22", bundle.Worker)}, nil, []string{"nodes: [{name: w1, ip: 192.0.2.21}]"},
			[]string{"nodes: [{name: w1, ip: 192.0.2.21}, {name: w2, ip: 192.0.2.22, port: 22, arch: amd64}]"}},
		"an empty list": {"masters:\n- {name: m1, ip: 192.0.2.11}\nworkers: []\n",
			[]Node{machine("w1", "192.0.2.21", bundle.Worker)}, nil, []string{"workers: []"},
			[]string{"workers:", "  - {name: w1, ip: 192.0.2.21, port: 22, arch: amd64}"}},
		"the last one": {"masters:\n- {name: m1, ip: 192.0.2.11}\nworkers:\n- {name: w1, ip: 192.0.2.21}", nil,
			[]string{"w1"}, []string{"workers:", "- {name: w1, ip: 192.0.2.21}"}, []string{"workers: []"}},
		"the endpoint's": {"masters:\n- {name: m1, ip: 192.0.2.11}\n- {name: m2, ip: 192.0.2.12}\n" +
			"apiserver-endpoint: 192.0.2.11:6443 # m1\n", nil, []string{"m1"},
			[]string{"- {name: m1, ip: 192.0.2.11}", "apiserver-endpoint: 192.0.2.11:6443 # m1"},
			[]string{"apiserver-endpoint: 192.0.2.12:6443 # m1"}},
		"there already": {editable, []Node{machine("w2", "192.0.2.22", bundle.Worker)}, nil, nil, nil},
		"with another role": {editable, []Node{machine("w2", "192.0.2.22", bundle.ControlPlane, bundle.Etcd)}, nil,
			nil, []string{"- name: w2", "  ip: 192.0.2.22", "  port: 22", "  arch: amd64"}},
		"the whole as one map": {"{masters: [{name: m1, ip: 192.0.2.11}], nodes: [{name: w1, ip: 192.0.2.21}], " +
			"package-src: {type: tar.gz, x86src: /x.tar.gz}}\n", nil, []string{"w1"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tc.file, "package-src") {
				tc.file = strings.TrimSuffix(tc.file, "\n") + "\npackage-src: {type: tar.gz, x86src: /x.tar.gz}\n"
			}
			var out []byte
			var problems Problems
			var err error
			if tc.add != nil {
				out, problems, err = AddNodes([]byte(tc.file), "deploy.yaml", tc.add)
			} else {
				out, problems, err = RemoveNodes([]byte(tc.file), "deploy.yaml", tc.remove)
			}
			if err != nil || problems.HasErrors() {
				t.Fatalf("%v %+v\n%s", err, problems, out)
			}
			gone, added := lineDiff(tc.file, string(out))
			if strings.HasPrefix(tc.file, "{") {
				return // written as a whole; what it says was proved
			}
			if d := cmp.Diff(tc.gone, gone); d != "" {
				t.Errorf("lines that are gone: %s\n%s", d, out)
			}
			if d := cmp.Diff(tc.new, added); d != "" {
				t.Errorf("lines that are new: %s\n%s", d, out)
			}
		})
	}
}

// lineDiff is a diff for texts that have no line moved.
func lineDiff(a, b string) (gone, added []string) {
	count := map[string]int{}
	a, b = gaps.ReplaceAllString(a, "$1 #"), gaps.ReplaceAllString(b, "$1 #") // a comment may move to its word
	for l := range strings.Lines(b) {
		count[strings.TrimRight(l, "\n")]++
	}
	for l := range strings.Lines(a) {
		l = strings.TrimRight(l, "\n")
		if count[l]--; count[l] < 0 {
			gone = append(gone, l)
		}
	}
	for l := range strings.Lines(b) {
		l = strings.TrimRight(l, "\n")
		if count[l] > 0 {
			added = append(added, l)
			count[l]--
		}
	}
	return gone, added
}

var gaps = regexp.MustCompile(`(\S) +#`)

func TestWhatCannotBeIsRefusedWhenEdited(t *testing.T) {
	for name, f := range map[string]func() ([]byte, Problems, error){
		"the last control plane": func() ([]byte, Problems, error) {
			return RemoveNodes([]byte("masters: [{name: m1, ip: 192.0.2.11}]\n"), "f", []string{"m1"})
		},
		"the last etcd of its own": func() ([]byte, Problems, error) {
			return RemoveNodes([]byte("masters: [{name: m1, ip: 192.0.2.11}]\netcds: [{name: e1, ip: 192.0.2.31}]\n"),
				"f", []string{"e1"})
		},
		"a name twice": func() ([]byte, Problems, error) {
			return AddNodes([]byte(editable), "f", []Node{machine("w1", "192.0.2.99", bundle.Worker)})
		},
		"a load balancer": func() ([]byte, Problems, error) {
			return AddNodes([]byte(editable), "f", []Node{machine("lb", "192.0.2.99", bundle.LoadBalancer)})
		},
		"no file": func() ([]byte, Problems, error) { return AddNodes([]byte("- a\n"), "f", nil) },
	} {
		if out, problems, err := f(); err == nil && !problems.HasErrors() {
			t.Errorf("%s: accepted\n%s", name, out)
		}
	}
}

func TestTheManualsFileIsEdited(t *testing.T) {
	data, err := os.ReadFile("testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fixed := []byte(strings.Replace(string(data), "ip: 192.168.0.2 ", "ip: 192.168.0.1 ", 1))
	out, problems, err := AddNodes(fixed, "f", []Node{machine("test2", "192.168.0.6", bundle.Worker)})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	out, problems, err = RemoveNodes(out, "f", []string{"test1"})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	if !strings.Contains(string(out), "配置etcd节点的列表") || strings.Contains(string(out), "test1") ||
		!strings.Contains(string(out), "- name: test2\n  ip: 192.168.0.6\n") {
		t.Errorf("%s", out)
	}
}

func TestPathsOfBundlesBecomeAbsolute(t *testing.T) {
	out, err := AbsolutePaths([]byte(editable), "f", "/home/u")
	if err != nil || !strings.Contains(string(out),
		"{type: tar.gz, x86src: /home/u/x.tar.gz, armsrc: /a.tar.gz}\n# the end\n") {
		t.Errorf("%v\n%s", err, out)
	}
	gone, added := lineDiff(editable, string(out))
	if len(gone) != 1 || len(added) != 1 {
		t.Error(gone, added)
	}
	again, err := AbsolutePaths(out, "f", "/elsewhere")
	if err != nil || string(again) != string(out) {
		t.Errorf("%v\n%s", err, again)
	}
}

// An edited text says the same as before but for the machine, whatever the text looked like.
func FuzzEdit(f *testing.F) {
	f.Add(editable)
	f.Add("masters: [{name: m1, ip: 192.0.2.11}]\netcds: [{name: e1, ip: 192.0.2.31}]\n")
	f.Add("---\nmasters:\n  - name: m1\n    ip: 192.0.2.11\n...\n")
	f.Add("{masters: [{name: m1, ip: 192.0.2.11}]}")
	f.Fuzz(func(t *testing.T, text string) {
		was, _ := Load([]byte(text), "f")
		if was == nil {
			return
		}
		out, problems, err := AddNodes([]byte(text), "f", []Node{machine("fuzzed", "198.51.100.77", bundle.Worker)})
		if err != nil || problems.HasErrors() {
			return
		}
		is, problems := Load(out, "f")
		if is == nil || len(is.Nodes) != len(was.Nodes)+1 && !strings.Contains(text, "198.51.100.77") {
			t.Fatalf("%+v\n%s", problems, out)
		}
		back, problems, err := RemoveNodes(out, "f", []string{"fuzzed"})
		if err != nil || problems.HasErrors() {
			t.Fatalf("%v %+v\n%s", err, problems, out)
		}
		if is, _ := Load(back, "f"); is == nil || is.Endpoint != was.Endpoint || !strings.Contains(text, "fuzzed") &&
			!sameNodes(is.Nodes, was.Nodes) {
			t.Fatalf("%s\n%s", text, back)
		}
	})
}
