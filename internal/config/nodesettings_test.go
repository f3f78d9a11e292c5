package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestLabelsAndTaintsOfNodes(t *testing.T) {
	for name, c := range map[string]struct {
		nodes string // what is below eggo.nodes
		want  string // problems, "LINE:CODE"
	}{
		"nothing":           {"{}", ""},
		"labels":            {"{m0: {labels: {disk: ssd, example.com/rack: r7, on: true, n: 007, none: }}}", ""},
		"a role":            {"{m0: {labels: {node-role.kubernetes.io/edge: ''}}}", ""},
		"zones":             {"{m0: {labels: {topology.kubernetes.io/zone: a, topology.kubernetes.io/region: b}}}", ""},
		"for admins":        {"{m0: {labels: {node-restriction.kubernetes.io/tenant: a}}}", ""},
		"load balancers":    {"{m0: {labels: {node.kubernetes.io/exclude-from-external-load-balancers: ''}}}", ""},
		"taints":            {"{m0: {taints: ['a=edge:NoSchedule', 'a:NoExecute', 'a.b/c=:PreferNoSchedule']}}", ""},
		"a key":             {"{m0: {labels: {-x: a}}}", "11:config.label"},
		"a key with a sign": {"{m0: {labels: {'a=b': c}}}", "11:config.label"},
		"a value":           {"{m0: {labels: {a: 'b c'}}}", "11:config.label-value"},
		"a long value":      {"{m0: {labels: {a: " + strings.Repeat("x", 64) + "}}}", "11:config.label-value"},
		"a list":            {"{m0: {labels: [a]}}", "11:config.want-map"},
		"a map":             {"{m0: {labels: {a: {b: c}}}}", "11:config.want-value"},
		"twice":             {"{m0: {labels: {a: b, a: c}}}", "11:config.duplicate-key"},
		"host name":         {"{m0: {labels: {kubernetes.io/hostname: x}}}", "11:config.label-reserved"},
		"a domain below":    {"{m0: {labels: {kubelet.kubernetes.io/x: y}}}", "11:config.label-reserved"},
		"k8s":               {"{m0: {labels: {autoscaler.k8s.io/x: y}}}", "11:config.label-reserved"},
		"our own role":      {"{m0: {labels: {node-role.kubernetes.io/master: ''}}}", "11:config.label-reserved"},
		"our own":           {"{m0: {labels: {eggo.isula.org/x: ''}}}", "11:config.label-reserved"},
		"a domain like it":  {"{m0: {labels: {notkubernetes.io/x: y}}}", ""},
		"no effect":         {"{m0: {taints: ['a=b']}}", "11:config.taint"},
		"another effect":    {"{m0: {taints: ['a=b:Never']}}", "11:config.taint"},
		"taint of a node":   {"{m0: {taints: ['node.kubernetes.io/not-ready:NoSchedule']}}", "11:config.taint-reserved"},
		"taint of a role": {"{m0: {taints: ['node-role.kubernetes.io/master:NoSchedule']}}",
			"11:config.taint-reserved"},
		"two of a kind":   {"{m0: {taints: ['a=b:NoSchedule', 'a=c:NoSchedule']}}", "11:config.taint-twice"},
		"a word too many": {"{m0: {annotations: {}}}", "11:config.unknown-key"},
		"nobody":          {"{m9: {labels: {a: b}}}", "11:config.node-unknown"},
		"all at once": {"{m0: {labels: {-x: a, k8s.io/y: b}, taints: [z]}, m9: {}}",
			"11:config.label 11:config.label-reserved 11:config.taint 11:config.node-unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := Load([]byte(minimal+"eggo:\n  nodes: "+c.nodes+"\n"), "f")
			if codes(ps) != c.want {
				t.Errorf("%q, want %q", codes(ps), c.want)
			}
			rendered(t, ps)
		})
	}
	_, ps := Load([]byte(minimal+"etcds: [{name: e0, ip: 192.168.0.7}]\neggo: {nodes: {e0: {labels: {a: b}}}}\n"), "f")
	if codes(ps) != "11:config.node-no-kubelet" {
		t.Errorf("a machine without a kubelet: %s", dump(ps))
	}
	rendered(t, ps)
}

func TestLabelsAreText(t *testing.T) {
	c, ps := Load([]byte(minimal+"eggo: {nodes: {m0: {labels: {on: true, n: 007, none: , e: ''}, "+
		"taints: ['d=e:NoSchedule', 'f:NoExecute']}}}\n"), "f")
	if c == nil {
		t.Fatal(dump(ps))
	}
	want := NodeSettings{Labels: map[string]string{"on": "true", "n": "007", "none": "", "e": ""},
		Taints: []Taint{{"d", "e", "NoSchedule"}, {"f", "", "NoExecute"}}}
	if got := c.Eggo.Nodes["m0"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := want.Taints[0].String() + " " + want.Taints[1].String(); got != "d=e:NoSchedule f:NoExecute" {
		t.Error(got)
	}
}

// A machine that joins has its labels and taints in eggo.nodes, beside what is there; one that is removed has none.
func TestAddNodeSettings(t *testing.T) {
	base := "cluster-id: c\nprivate-key-path: /k\npackage-src: {x86src: /b.tar.gz}\n" +
		"masters: [{name: m1, ip: 192.0.2.1}]\nnodes: [{name: w1, ip: 192.0.2.2}]\n"
	more := map[string]NodeSettings{"w1": {Labels: map[string]string{"disk": "ssd", "on": "true"},
		Taints: []Taint{{"d", "new", "NoSchedule"}}}}
	for name, c := range map[string]struct {
		eggo string
		want NodeSettings
	}{
		"no eggo": {"", more["w1"]},
		"others":  {"eggo:\n  hostname: set # why\n  nodes:\n    m1: {labels: {a: b}}\n", more["w1"]},
		"some": {"eggo: {nodes: {w1: {labels: {old: x, disk: hdd}, taints: ['d=old:NoSchedule', 'e:NoExecute']}}}\n",
			NodeSettings{Labels: map[string]string{"old": "x", "disk": "ssd", "on": "true"},
				Taints: []Taint{{"e", "", "NoExecute"}, {"d", "new", "NoSchedule"}}}},
	} {
		out, ps, err := AddNodeSettings([]byte(base+c.eggo), "f", more)
		is, _ := Load(out, "f")
		if err != nil || is == nil || !reflect.DeepEqual(is.Eggo.Nodes["w1"], c.want) {
			t.Errorf("%s: %v %s\n%s", name, err, dump(ps), out)
			continue
		}
		if _, there := is.Eggo.Nodes["m1"]; there != (name == "others") {
			t.Errorf("%s: %+v", name, is.Eggo.Nodes)
		}
		out, ps, err = RemoveNodes(out, "f", []string{"w1"})
		if is, _ = Load(out, "f"); err != nil || is == nil || len(is.Eggo.Nodes["w1"].Labels) > 0 || len(ps) > 1 {
			t.Errorf("%s, removed: %v %s\n%s", name, err, dump(ps), out)
		}
	}
}

// Lists of machines that join say labels and taints by name.
func TestLabelsOfAList(t *testing.T) {
	nodes, said, err := LoadNodes([]byte("workers:\n- {name: w7, ip: 192.0.2.7}\n"+
		"eggo: {nodes: {w7: {labels: {a: b}}}}\n"), "f")
	if err != nil || len(nodes) != 1 || said["w7"].Labels["a"] != "b" {
		t.Errorf("%v %v %v", nodes, said, err)
	}
	for text, code := range map[string]string{
		"eggo: {nodes: {w7: {labels: {k8s.io/a: b}}}}\n": "config.label-reserved",
		"eggo: {hostname: set}\n":                        "config.unknown-key",
	} {
		if _, _, err := LoadNodes([]byte("workers: [{name: w7, ip: 192.0.2.7}]\n"+text), "f"); err == nil ||
			!strings.Contains(err.Error(), code) {
			t.Errorf("%s%v", text, err)
		}
	}
}

// Labels of nodes that only one of two files has do not make them different clusters; those of others do.
func TestLabelsMakeAnotherCluster(t *testing.T) {
	load := func(more string) *Cluster {
		c, ps := Load([]byte("cluster-id: c\nprivate-key-path: /k\npackage-src: {x86src: /b.tar.gz}\n"+
			"masters: [{name: m1, ip: 192.0.2.1}]\n"+more), "f")
		if c == nil {
			t.Fatal(dump(ps))
		}
		return c
	}
	was := load("nodes: [{name: w0, ip: 192.0.2.9}]\n")
	joined := load("nodes: [{name: w0, ip: 192.0.2.9}, {name: w1, ip: 192.0.2.2}]\n" +
		"eggo: {nodes: {w1: {labels: {a: b}}}}\n")
	other := load("nodes: [{name: w0, ip: 192.0.2.9}]\neggo: {nodes: {m1: {labels: {a: b}}}}\n")
	if !SameBesideNodes(was, joined) || SameBesideNodes(was, other) {
		t.Errorf("%v %v", SameBesideNodes(was, joined), SameBesideNodes(was, other))
	}
}
