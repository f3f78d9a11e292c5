// Package driver says what differs between the ways in which the components of Kubernetes run: as systemd services
// (binary), or as static pods that kubeadm makes. It may import node and plan.
// What is the same with every driver is not in it: ports, packages, the container runtime and its store, the load
// balancer, the directories of the kubelet and of pods, the membership of etcd, labels, addons.
package driver

import (
	"context"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/plan"
	"github.com/eggo-k8s/eggo/internal/run/engine"
)

// Component of Kubernetes. Its text is the name that status and faults have for it, that under which it is restarted
// one node at a time (rolling.Restart), and of its binary.
type Component string

// The components.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	Kubelet           Component = "kubelet"
	Proxy             Component = "kube-proxy"
	CoreDNS           Component = "coredns" // as a service of the control planes; as pods it is an addon
)

// Work is how a component is started on a node: the functions of a step, without its place in the plan. Whoever asks
// for it may put more around Check and Apply.
type Work struct {
	Needs   []string       // steps that the driver needs beside those of the caller
	Before  []*engine.Step // steps of its own on the node, ahead of it
	Check   func(context.Context) (bool, error)
	Apply   func(context.Context) error
	Retry   engine.Retry
	Timeout time.Duration
}

// Ready waits until a component that was started works on the node.
type Ready func(context.Context, *node.Node) error

// Steps are the work's steps in the plan; the last is the one of the name, the others are the driver's own.
func (w Work) Steps(phase, what string, n config.Node, needs []string) []*engine.Step {
	before := make([]*engine.Step, 0, len(w.Before)+1)
	for _, b := range w.Before {
		one := *b
		one.Needs = slices.Concat(needs, b.Needs)
		before = append(before, &one)
	}
	s := plan.Step(phase, what, n.Name, slices.Concat(needs, w.Needs, plan.StepIDs(w.Before)))
	s.Check, s.Apply, s.Retry, s.Timeout = w.Check, w.Apply, w.Retry, w.Timeout
	return append(before, s)
}

// Formation says with whom a member of etcd that has no data begins.
type Formation struct {
	State   string            // new: they form the cluster; existing: it joins them
	Members map[string]string // URLs for peers by name
}

// Certificate is one as a node has it.
type Certificate struct {
	Name   string // in the state directory; "" for one that the node has got by itself
	Own    string // what such a one is: kubelet-client, kubelet-serving
	File   string
	Config bool // the file is a kubeconfig that holds it
	Port   int  // where it is shown; 0 nowhere
}

// Paths are places on a node that others read or write.
type Paths struct {
	Dir        string // the configuration
	CA, EtcdCA string // certificates of the authorities
	Kubeconfig string // the kubelet's own, written by it when it joins
	Theirs     string // the same of a kubelet that the original eggo has installed
	Bootstrap  string // the kubelet's until then, with the token
	Kubelet    string // its configuration
	Serving    string // what a kubelet serves with that has asked for its certificate
	AdminConf  string
	Manifests  string // of static pods
	Aside      string // where those are that were put aside
	EtcdData   string // the directory of a member's data on a node that we have installed
}

// Driver is one way of running the components. A step of another package names a Component and never a unit, a
// manifest, or a file of one.
type Driver interface {
	// What a node has of it.

	// Components are those that the node runs, in the order of their start.
	Components(n config.Node) []Component
	// Executes are the names of the bundle's binaries that services of the driver execute: they are placed by version.
	// With kubeadm the kubelet's alone.
	Executes(n config.Node) []string
	// Images are those of the bundle's, by their names, that the node's components run from; with kubeadm what `kubeadm
	// config images list` names for the version.
	Images(n config.Node, m *bundle.Manifest) []string
	// Trees are the directories whose whole content is the components' own.
	Trees(n config.Node) []node.Tree
	// Owns are files that nobody else may have on the node: units; with kubeadm static manifests.
	Owns(n config.Node) []string
	// Certificates are those that the node has.
	Certificates(n config.Node) []Certificate
	Paths() Paths
	// EtcdData is the directory of the data of a node's member, below which member/ lies: that of Paths, but on a node
	// that was imported.
	EtcdData(node string) string
	// Replaces are the files that the components of a node have, all of which may be others' on one that was imported.
	Replaces(n config.Node) ([]string, error)

	// Work. Certificates and programs are there before; the caller waits for what the component needs of others.

	// Start has a component run as deploy.yaml says. One that runs is restarted only when something of it has changed,
	// and then on one node at a time. ready returns when it works; with nil the driver asks the component's own health
	// port. With kubeadm: the manifest by `kubeadm init phase`, the old one kept beside it; etcd and the API server
	// have the kubelet's unit before them, and the images (Work.Needs); Proxy waits for the DaemonSet's pod.
	Start(c Component, n config.Node, ready Ready) Work
	// StartLocked is Start for a caller that is already the only one to restart the component, without verifying that
	// it works.
	StartLocked(ctx context.Context, c Component, n config.Node, nd *node.Node) error
	// Form tells a member of etcd, before its first start, with whom it begins. With kubeadm it is a patch of the
	// manifest.
	Form(ctx context.Context, n config.Node, nd *node.Node, f Formation) error
	// RemoveDNS stops CoreDNS for good on a node on which it ran as a service, with the files that the record has of
	// it. engine.ErrUnchanged: the record has none.
	RemoveDNS(ctx context.Context, n config.Node, nd *node.Node) error
	// Publish is what the driver has done once in a cluster when its API answers and the steps of needs are done. With
	// kubeadm: its ConfigMaps, and the DaemonSet of kube-proxy.
	Publish(needs []string) []*engine.Step

	// What runs.

	// Runs says whether all of them run now. One that is being started or stopped does not.
	Runs(ctx context.Context, nd *node.Node, cs ...Component) (bool, error)
	// Stopped says whether all of them stand still, and nothing but Resume or Start starts them again.
	Stopped(ctx context.Context, nd *node.Node, cs ...Component) (bool, error)
	// Log is the end of a component's log; LastWords is that of one that does not run, and "" while it does.
	Log(ctx context.Context, nd *node.Node, c Component) string
	LastWords(ctx context.Context, nd *node.Node, c Component) string

	// Scripts for a node.Change of the caller, who describes it.

	// Stop stops components in this order, and returns when they have ended. With kubeadm: the manifests are put aside.
	Stop(cs ...Component) string
	// Resume starts what Stop stopped, with the files that it had; it waits for nobody.
	Resume(cs ...Component) string
	// Restart restarts one with the files that it has.
	Restart(c Component) string
	// Stale has the next Start take the component for changed.
	Stale(c Component) string
	// StopAll stops whatever would start a container again: for a cleanup. With kubeadm: manifests away, then the
	// kubelet.
	StopAll() string

	// Scripts that only read, put together with others'.

	// StatusScript prints lines: unit=COMPONENT STATE (active when it runs), runs=COMPONENT FILE (of the binary; with
	// kubeadm of the image), cert=FILE PEM (lines joined by |), conf=FILE BASE64 (the certificate of a kubeconfig),
	// edited=COMPONENT FILE (one that was made on the node, and is not what it was then).
	StatusScript(n config.Node) string
	// SupportUnits are the units of systemd of all components.
	SupportUnits() []string
}
