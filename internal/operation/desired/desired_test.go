package desired

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	control  = bundle.ControlPlane
	worker   = bundle.Worker
	member   = bundle.Etcd
	balancer = bundle.LoadBalancer
)

// node returns a machine by the last part of its address.
func node(name, last string, roles ...bundle.Role) config.Node {
	return config.Node{Name: name, IP: netip.MustParseAddr("192.0.2." + last), Port: 22, Arch: "amd64", Roles: roles}
}

// rack returns a cluster with two workers and these nodes.
func rack(more ...config.Node) *config.Cluster {
	nodes := []config.Node{node("w1", "11", worker), node("w2", "12", worker)}
	return &config.Cluster{Name: "rack", Nodes: append(nodes, more...), Source: config.PackageSource{
		Bundles: map[string]string{"amd64": "/b/old"}}}
}

func m1() config.Node { return node("m1", "1", control, member) }
func m2() config.Node { return node("m2", "2", control, member) }

// changed returns a copy of a cluster after a change.
func changed(c *config.Cluster, change func(*config.Cluster)) *config.Cluster {
	out := *c
	out.Nodes = slices.Clone(c.Nodes)
	out.Eggo.Nodes = maps.Clone(c.Eggo.Nodes)
	change(&out)
	return &out
}

func without(c *config.Cluster, names ...string) *config.Cluster {
	return changed(c, func(c *config.Cluster) {
		c.Nodes = slices.DeleteFunc(c.Nodes, func(n config.Node) bool { return slices.Contains(names, n.Name) })
	})
}

// run does with a cluster what a run of the request does.
func run(t *testing.T, has State, want Wanted, q request.Request) State {
	t.Helper()
	if err := q.Validate(); err != nil {
		t.Fatal(err)
	}
	switch q := q.(type) {
	case request.Deploy:
		if has.Unfinished = false; q.Source.File != "" {
			has.Config = want.Config
		}
	case request.Join:
		has.Unfinished = false
		has.Config = changed(has.Config, func(c *config.Cluster) {
			if c.Eggo.Nodes == nil {
				c.Eggo.Nodes = map[string]config.NodeSettings{}
			}
			for _, n := range q.Nodes {
				if slices.ContainsFunc(c.Nodes, func(o config.Node) bool { return o.Name == n.Name }) {
					t.Errorf("%s joins while another node has its name", n.Name)
				}
				c.Nodes = append(c.Nodes, Joining(c, n))
				if s, is := q.Settings[n.IP.String()]; is {
					c.Eggo.Nodes[n.Name] = s
				}
			}
		})
	case request.Delete:
		has.Config = without(has.Config, q.Names...)
	case request.Upgrade:
		if !has.Upgrading {
			has.Version = want.Version
			has.Config = changed(has.Config, func(c *config.Cluster) { c.Source = want.Config.Source })
		}
		has.Upgrading = false
	default:
		t.Fatalf("%T", q)
	}
	return has
}

// The requests that bring a cluster to what is wanted, in their order; then there is no difference.
func TestCompare_RequestsUntilThereIsNoDifference(t *testing.T) {
	force := Options{Force: true}
	labels := map[string]config.NodeSettings{"w3": {Labels: map[string]string{"disk": "ssd"}}}
	newer := func(c *config.Cluster) { c.Source.Bundles = map[string]string{"amd64": "/b/new"} }
	three := func(c *config.Cluster) {
		c.Nodes, c.Eggo.Nodes = append(c.Nodes, node("w3", "13", worker)), labels
	}
	for name, c := range map[string]struct {
		has  State
		want *config.Cluster
		to   string // version
		o    Options
		runs string
	}{
		"nothing":         {has: State{Config: rack(m1())}, want: rack(m1())},
		"a new cluster":   {has: State{}, want: rack(m1()), runs: "deploy file"},
		"what broke off":  {has: State{Config: rack(m1()), Unfinished: true}, want: rack(m1()), runs: "deploy"},
		"a worker joins":  {has: State{Config: rack(m1())}, want: changed(rack(m1()), three), runs: "join w3"},
		"a worker leaves": {has: State{Config: rack(m1())}, want: without(rack(m1()), "w2"), runs: "delete w2"},
		"join continues": {has: State{Config: rack(m1()), Unfinished: true}, want: changed(rack(m1()), three),
			runs: "join w3"},
		"the only control plane is replaced": {has: State{Config: rack(m1())}, want: rack(m2()),
			runs: "join m2, delete m1"},
		"by one that etcd is not said of": {has: State{Config: rack(m1())}, want: rack(node("m2", "2", control)),
			runs: "join m2, delete m1"},
		"a machine takes the name of another": {has: State{Config: rack(m1())},
			want: changed(without(rack(m1()), "w1", "w2"), func(c *config.Cluster) {
				c.Nodes = append(c.Nodes, node("w2", "19", worker))
			}), runs: "delete w2, join w2, delete w1"},
		"an upgrade": {has: State{Config: rack(m1()), Version: "v1.34.9"}, want: changed(rack(m1()), newer),
			to: "v1.35.1", runs: "upgrade /b/new"},
		"an upgrade after all else": {has: State{Config: rack(m1()), Version: "v1.34.9", Unfinished: true},
			want: changed(rack(m2()), newer), to: "v1.35.1", runs: "join m2, delete m1, upgrade /b/new"},
		"an upgrade in progress": {has: State{Config: rack(m1()), Version: "v1.34.9", Upgrading: true},
			want: changed(changed(rack(m1()), newer), three), to: "v1.35.1",
			runs: "upgrade, join w3, upgrade /b/new"},
		"a lost node in an upgrade": {has: State{Config: rack(m1()), Upgrading: true}, o: force,
			want: changed(without(rack(m1()), "w2"), three), runs: "delete w2, upgrade, join w3"},
		"other bundles of one version": {has: State{Config: rack(m1()), Version: "v1.35.1"},
			want: changed(rack(m1()), newer), to: "v1.35.1", runs: "deploy file"},
		"settings": {has: State{Config: rack(m1()), Unfinished: true},
			want: changed(rack(m1()), func(c *config.Cluster) { c.PauseImage = "pause:3" }), runs: "deploy file"},
		"settings after an upgrade": {has: State{Config: rack(m1()), Version: "v1.34.9"}, to: "v1.35.1",
			want: changed(changed(rack(m1()), newer), func(c *config.Cluster) { c.PauseImage = "pause:3" }),
			runs: "upgrade /b/new, deploy file"},
		"labels": {has: State{Config: changed(rack(m1()), func(c *config.Cluster) {
			c.Nodes = append(c.Nodes, node("w3", "13", worker))
		})}, want: changed(rack(m1()), three), runs: "deploy file"},
		"one more role": {has: State{Config: rack(node("m1", "1", control, member))},
			want: rack(node("m1", "1", control, worker, member)), runs: "deploy file"},
		"another load balancer": {has: State{Config: rack(m1(), node("lb", "5", balancer))},
			want: rack(m1(), node("lb", "6", balancer)), runs: "deploy file"},
		"a load balancer moves to a node": {has: State{Config: rack(m1(), node("lb", "5", balancer))},
			want: rack(node("m1", "1", control, member, balancer)), runs: "deploy file"},
	} {
		t.Run(name, func(t *testing.T) {
			has, want := c.has, Wanted{Config: c.want, Version: c.to, Bundles: []string{"/b/new"},
				Source: request.OfFile("/d/deploy.yaml").Source}
			has.Name = "rack"
			var runs []string
			for range 6 {
				d, err := Compare(has, want)
				if err != nil {
					t.Fatal(err)
				}
				q := d.Next(c.o)
				if (q == nil) != d.None() {
					t.Errorf("%v with the difference %+v", q, d)
				}
				if q == nil {
					break
				}
				runs = append(runs, text(q))
				has = run(t, has, want, q)
			}
			if got := strings.Join(runs, ", "); got != c.runs {
				t.Errorf("%q, want %q", got, c.runs)
			}
		})
	}
}

// text returns a request in few words.
func text(q request.Request) string {
	words := []string{string(q.Verb())}
	switch q := q.(type) {
	case request.Join:
		for _, n := range q.Nodes {
			words = append(words, n.Name)
		}
	case request.Delete:
		words = append(words, q.Names...)
	case request.Upgrade:
		words = append(words, q.Bundles...)
	}
	if q.Base().Source.File != "" {
		words = append(words, "file")
	}
	return strings.Join(words, " ")
}

// What no sequence of runs makes of a cluster is refused, with the difference unused.
func TestCompare_WhatCannotBeDone(t *testing.T) {
	lb := node("w1", "11", worker, balancer)
	for name, c := range map[string]struct {
		has, want *config.Cluster
		from, to  string
		code      string
	}{
		"the last control plane": {has: rack(m1()), want: rack(), code: "delete.last-control-plane"},
		"the last etcd member": {has: rack(node("m1", "1", control), node("e1", "3", member)),
			want: rack(node("m1", "1", control)), code: "delete.last-etcd"},
		"the last control plane leaves before its name is taken": {has: rack(m1()),
			want: rack(node("m1", "2", control, member)), code: "delete.last-control-plane"},
		"a node that balances load": {has: changed(rack(m1()), func(c *config.Cluster) { c.Nodes[0] = lb }),
			want: without(rack(m1()), "w1"), code: "delete.balancer"},
		"another name": {has: rack(m1()), want: rack(node("m9", "1", control, member)), code: "join.other-name"},
		"a lost role": {has: rack(m1(), node("m2", "2", control, worker, member)), want: rack(m1(), m2()),
			code: "preflight.role-lost"},
		"an older version": {has: rack(m1()), want: rack(m1()), from: "v1.35.1", to: "v1.34.9",
			code: "desired.version"},
		"no version": {has: rack(m1()), want: rack(m1()), from: "v1.35.1", to: "new", code: "desired.version"},
	} {
		_, err := Compare(State{Name: "rack", Config: c.has, Version: c.from}, Wanted{Config: c.want, Version: c.to})
		if f := event.AsFault(err); f == nil || f.Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

func TestNext_Options(t *testing.T) {
	d := Difference{Cluster: "rack", Delete: []string{"w1"}}
	q := d.Next(Options{Drain: time.Hour, Force: true, Purge: true})
	if want := (request.Delete{Common: request.OfCluster("rack"), Names: []string{"w1"}, Drain: time.Hour, Force: true,
		Purge: true}); !reflect.DeepEqual(q, want) {
		t.Errorf("%+v", q)
	}
	d = Difference{Cluster: "rack", From: "v1.34.9", To: "v1.35.1", bundles: []string{"/b"}}
	for _, u := range []request.Upgrade{{}, {Drain: time.Hour, Batch: "3"}} {
		got := d.Next(Options{Upgrade: u}).(request.Upgrade)
		if u.Common, u.Bundles = request.OfCluster("rack"), d.bundles; u.Drain == 0 {
			u.Drain, u.Soak = request.DrainTimeout, request.SoakTime
		}
		if !reflect.DeepEqual(got, u) {
			t.Errorf("%+v, want %+v", got, u)
		}
	}
}

// Other nodes for a cluster change none that it has, and keep the load balancer.
func TestOf_NodesThatStay(t *testing.T) {
	has := rack(m1(), node("lb", "5", balancer))
	has.Eggo.Nodes = map[string]config.NodeSettings{"w1": {Labels: map[string]string{"a": "b"}}, "w3": {}}
	settings := map[string]config.NodeSettings{
		"192.0.2.11": {Labels: map[string]string{"x": "y"}}, "192.0.2.13": {Labels: map[string]string{"disk": "ssd"}},
	}
	want := Of(has, []config.Node{node("renamed", "11"), m1(), node("w3", "13", worker)}, settings)
	d, err := Compare(State{Name: "rack", Config: has}, Wanted{Config: want})
	if err != nil || len(d.Join) != 1 || !slices.Equal(d.Delete, []string{"w2"}) || d.Config || d.Change != nil ||
		d.Settings["192.0.2.13"].Labels["disk"] != "ssd" || len(d.Settings) != 1 {
		t.Errorf("%+v %v", d, err)
	}
	if len(has.Eggo.Nodes["w3"].Labels) > 0 || len(has.Nodes) != 4 {
		t.Error("the cluster was changed")
	}
}
