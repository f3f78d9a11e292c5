package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// NodeStatus is a node as the API server of its cluster has it.
type NodeStatus struct {
	Name     string   `json:"name"`
	Address  string   `json:"address,omitempty"`
	Roles    []string `json:"roles" nullable:"false"`
	Ready    bool     `json:"ready"`
	Known    bool     `json:"known" doc:"The API server knows it."`
	Version  string   `json:"version,omitempty"`
	Reason   string   `json:"reason,omitempty" doc:"Why it is not ready, in the words of the kubelet."`
	Schedule bool     `json:"schedulable"`
}

type nodesOutput struct{ Body problem.List[NodeStatus] }

// Finding of a check.
type Finding struct {
	Severity string `json:"severity"`
	Fault
}

type checkOutput struct {
	Body struct {
		OK       bool      `json:"ok" doc:"Nothing blocks the installation."`
		Findings []Finding `json:"findings" nullable:"false"`
		Nodes    any       `json:"nodes" doc:"The facts of the nodes."`
	}
}

type CheckInput struct {
	Body struct {
		clusterspec.Cluster
		Options RunOptions `json:"options,omitempty"`
	}
}

// PlannedNode is what would be done on a node.
type PlannedNode struct {
	Node    string   `json:"node" doc:"Empty: the control host, the API server and etcd."`
	Upload  int64    `json:"upload_bytes"`
	Changes []string `json:"changes" nullable:"false"`
}

type PlanInput struct {
	InCluster
	Body struct {
		Nodes   []clusterspec.Node `json:"nodes,omitempty" maxItems:"1000" doc:"The nodes that the cluster would have; none: those that it has."`
		Secrets map[string]string  `json:"secrets,omitempty" doc:"password, sudo: what deploy.yaml says is asked for."`
	}
}

type planOutput struct {
	Body struct {
		OK       bool          `json:"ok" doc:"Everything could be inspected, and nothing blocks the change."`
		Steps    int           `json:"steps"`
		Nodes    []PlannedNode `json:"nodes" nullable:"false"`
		Findings []Finding     `json:"findings" nullable:"false"`
	}
}

// Bundle in the server's directory.
type Bundle struct {
	Path       string `json:"path"`
	Name       string `json:"name,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	Arch       string `json:"arch,omitempty"`
	Fault      *Fault `json:"fault,omitempty"`
}

type bundlesOutput struct{ Body problem.List[Bundle] }

// reads are the routes that change nothing.
func (s *Server) reads(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary,
			Tags: []string{"inspection"}}
	}
	s.ListNodes = add(s, api, op("list-nodes", "GET", "/clusters/{cluster}/nodes", "List the nodes"), access.View,
		s.nodes)
	s.Check = add(s, api, op("check", "POST", "/check", "Check machines before there is a cluster"), access.Administer,
		s.check, func(i *CheckInput) (string, string) { return i.Body.Name, "" })
	s.Plan = add(s, api, op("plan", "POST", "/clusters/{cluster}/plan", "What a change of the nodes would do"),
		access.Operate, s.plan)
	s.ListBundles = add(s, api, op("list-bundles", "GET", "/bundles", "List the bundles of this host"),
		access.Authenticated, s.bundles)
}

// nodes asks the API server. What belongs to a cluster that is not ready is refused.
func (s *Server) nodes(ctx context.Context, _ access.Grant, in *InCluster) (*nodesOutput, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if !v.State.Ready() {
		return nil, event.NewFault(event.ClassFailed, "manager.not-ready", nil, "cluster", v.Name, "state",
			string(v.State))
	}
	api, err := s.Runs.API(v.Record)
	if err != nil {
		return nil, err
	}
	text, err := api.Do(ctx, http.MethodGet, "/api/v1/nodes", "", nil)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "manager.unreachable", err, "cluster", v.Name, "server",
			api.Server)
	}
	wanted, err := s.Runs.Nodes(ctx, v.Name)
	if err != nil {
		return nil, err
	}
	out := &nodesOutput{}
	out.Body.Items, err = nodeStatus(text, wanted)
	return out, err
}

// nodeStatus reads a NodeList. Nodes that the API server does not know, such as etcd members, follow.
func nodeStatus(text []byte, wanted []clusterspec.Node) ([]NodeStatus, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Unschedulable bool }
			Status   struct {
				NodeInfo   struct{ KubeletVersion string }
				Addresses  []struct{ Type, Address string }
				Conditions []struct{ Type, Status, Message string }
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out, known := []NodeStatus{}, map[string]bool{}
	for _, n := range list.Items {
		x := NodeStatus{Name: event.Clean(n.Metadata.Name), Known: true, Schedule: !n.Spec.Unschedulable,
			Version: event.Clean(n.Status.NodeInfo.KubeletVersion), Roles: []string{}}
		for _, a := range n.Status.Addresses {
			if a.Type == "InternalIP" && x.Address == "" {
				x.Address = event.Clean(a.Address)
			}
		}
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" {
				if x.Ready = c.Status == "True"; !x.Ready {
					x.Reason = event.Clean(c.Message)
				}
			}
		}
		if i := slices.IndexFunc(wanted, func(w clusterspec.Node) bool { return w.Name == x.Name }); i >= 0 {
			x.Roles = wanted[i].Roles
		}
		known[x.Name] = true
		out = append(out, x)
	}
	for _, w := range wanted {
		if !known[w.Name] {
			out = append(out, NodeStatus{Name: w.Name, Address: w.Address, Roles: w.Roles})
		}
	}
	return out, nil
}

// check inspects machines that are to become a cluster. What it needs is kept while it takes, and no longer.
func (s *Server) check(ctx context.Context, _ access.Grant, in *CheckInput) (*checkOutput, error) {
	c := in.Body.Cluster
	dir, remove, err := scratchDir(checkPrefix)
	if err != nil {
		return nil, err
	}
	defer remove()
	files, yaml, err := s.deploy(c, dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "deploy.yaml")
	files["deploy.yaml"] = yaml
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	common := request.OfFile(file)
	common.Trust.AllowUnsigned, common.HostKeys = in.Body.Options.Unsigned, in.Body.Options.HostKeys
	common.Accepted = clusterspec.Accepted(c.Nodes, c.LoadBalancer)
	res, err := operation.Preflight(ctx, common, s.asking(in.Body.Options.Secrets))
	if res == nil {
		return nil, ofNodes(err)
	}
	out := &checkOutput{}
	out.Body.OK, out.Body.Nodes = err == nil, res.Machines
	out.Body.Findings = s.findings(ctx, res.Findings, res.Failed, err)
	return out, nil
}

// asking are the dependencies of an operation that is told secrets, and keeps none.
func (s *Server) asking(secrets map[string]string) operation.Deps {
	d := s.Deps()
	if s.Asker != nil {
		d.Asker = s.Asker(secrets)
	}
	return d
}

// findings are those of an inspection, and what kept it from inspecting nodes. An inspection that failed has one at
// least.
func (s *Server) findings(ctx context.Context, list []event.Finding, failed []event.Fault, err error) []Finding {
	out := []Finding{}
	for _, f := range list {
		x := Finding{Severity: string(f.Severity), Fault: *faultOf(ctx, &f.Fault)}
		x.Node = cmp.Or(x.Node, f.Host)
		out = append(out, x)
	}
	if f := event.AsFault(err); f != nil && f.Code != "preflight.failed" && len(failed) == 0 {
		failed = []event.Fault{*f}
	}
	for _, f := range failed {
		out = append(out, Finding{Severity: string(event.Error), Fault: *faultOf(ctx, &f)})
	}
	return out
}

// ofNodes is an error of an operation in this process. That it cannot log in to nodes says nothing of the rights of
// the caller, and nothing of the server.
func ofNodes(err error) error {
	f := event.AsFault(err)
	if f == nil || f.Class != event.ClassAuth {
		return err
	}
	out := *f
	out.Class = event.ClassUsage
	return &out
}

// planned is the run whose dry run a plan is: the first of an update, or the creation of a cluster that no run has
// touched yet.
func (s *Server) planned(ctx context.Context, in *PlanInput) (request.Request, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	was, lb, err := s.Runs.Machines(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	w, nodes := wanted(v.Record), in.Body.Nodes
	has := machinesOf(was, lb)
	if was == nil {
		has = machinesOf(w.Nodes, w.LoadBalancer)
	}
	if err := s.familiar(ctx, in.Cluster, has, nodes, was != nil); err != nil {
		return nil, err
	}
	if nodes != nil {
		wrong := s.Rules.Update(was, nodes, w.Server)
		if was != nil {
			wrong = append(wrong, s.Rules.Beside(was, nodes, lb, nil)...)
		}
		if err := findings(wrong); err != nil {
			return nil, err
		}
	}
	switch {
	case v.Kubeconfig:
		return nil, event.NewFault(event.ClassUsage, "manager.kubeconfig-only", nil, "cluster", in.Cluster)
	case was == nil:
		if nodes != nil {
			w.Nodes = nodes
		}
		text, wrong, err := s.replaced(in.Cluster, w, nil, nil)
		if err == nil {
			err = findings(wrong)
		}
		return request.Deploy{Common: request.Common{Source: request.Source{File: s.Runs.File(in.Cluster),
			Text: []byte(text)}, Accepted: w.Accepted()}}, err
	case nodes != nil:
		next, err := s.Runs.Planned(ctx, in.Cluster, nodes)
		if err != nil || next == nil {
			break
		}
		c := next.Base()
		c.Accepted = clusterspec.Accepted(nodes, nil)
		return request.With(next, c), nil
	}
	return request.Deploy{Common: request.OfCluster(in.Cluster)}, err
}

// plan is the dry run of an update.
func (s *Server) plan(ctx context.Context, _ access.Grant, in *PlanInput) (*planOutput, error) {
	q, err := s.planned(ctx, in)
	if err != nil {
		return nil, err
	}
	res, err := operation.Plan(ctx, q, s.asking(in.Body.Secrets))
	if res == nil {
		return nil, ofNodes(err)
	}
	out := &planOutput{}
	out.Body.OK, out.Body.Steps, out.Body.Nodes = err == nil, res.Steps, []PlannedNode{}
	out.Body.Findings = s.findings(ctx, res.Findings, res.Failed, err)
	p := problem.From(ctx)
	for _, n := range res.Nodes {
		x := PlannedNode{Node: n.Node, Upload: n.Upload, Changes: []string{}}
		for _, c := range n.Changes {
			x.Changes = append(x.Changes, p.Msg(c.Desc))
		}
		out.Body.Nodes = append(out.Body.Nodes, x)
	}
	return out, nil
}

// seesSome refuses who may view no cluster at all.
func (s *Server) seesSome(ctx context.Context, who access.Grant) error {
	for _, v := range s.Manager.Clusters() {
		if role, err := s.Access.RoleOf(ctx, who.Caller(), v.Name); err != nil || role.May(access.View) {
			return err
		}
	}
	_, err := access.Check(ctx, s.Access, access.View, "")
	return err
}

// bundles are those in the server's directory, for all who may view a cluster.
func (s *Server) bundles(ctx context.Context, who access.Grant, _ *struct{}) (*bundlesOutput, error) {
	if err := s.seesSome(ctx, who); err != nil {
		return nil, err
	}
	out := &bundlesOutput{}
	out.Body.Items = []Bundle{}
	entries, err := os.ReadDir(s.Bundles)
	if err != nil && !os.IsNotExist(err) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".tar.gz") {
			continue
		}
		x := Bundle{Path: filepath.Join(s.Bundles, e.Name())}
		if m, _, err := s.Deps().Bundles.Head(x.Path); err != nil {
			x.Fault = faultOf(ctx, event.AsFault(err))
		} else {
			x.Name, x.Kubernetes, x.Arch = m.Name, m.Kubernetes, m.Arch
		}
		out.Body.Items = append(out.Body.Items, x)
	}
	return out, nil
}
