package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Certificate in one place.
type Certificate struct {
	Node     string    `json:"node,omitempty" doc:"Empty: the control host."`
	Name     string    `json:"name"`
	NotAfter time.Time `json:"not_after,omitzero"`
	CA       bool      `json:"ca,omitempty"`
	State    string    `json:"state" doc:"ok, soon, expired, other (than the control host's), absent, silent, unreachable, no-login."`
	At       string    `json:"at" doc:"The file that it is in, or the address that shows it."`
}

type CertificatesInput struct {
	InCluster
	Nodes bool `query:"nodes" doc:"The nodes are asked, too. This takes seconds."`
}

type StatusInput struct{ InCluster }

type certificatesOutput struct {
	Body struct {
		Expires time.Time `json:"expires,omitzero" doc:"When the first certificate expires, CAs aside."`
		problem.List[Certificate]
	}
}

// InspectInput contains the secrets that are stored nowhere.
type InspectInput struct {
	InCluster
	Body struct {
		Secrets map[string]string `json:"secrets,omitempty" doc:"password, sudo: what deploy.yaml says is asked for. They are not kept."`
	}
}

// Drift of a cluster, and how its parts are.
type StatusOutput struct {
	Body struct {
		Healthy bool         `json:"healthy" doc:"Nothing below is wrong."`
		Drift   []string     `json:"drift" doc:"How the cluster differs from its deploy.yaml." nullable:"false"`
		Unknown *Fault       `json:"unknown,omitempty" doc:"Why the API server could not be asked."`
		Nodes   []StatusNode `json:"nodes" nullable:"false"`
		Etcd    []EtcdMember `json:"etcd" doc:"The members." nullable:"false"`
		Loads   []Workload   `json:"workloads" doc:"Those of the system." nullable:"false"`
	}
}

// StatusNode is a node, as it and the API server tell.
type StatusNode struct {
	Name       string          `json:"name"`
	Address    string          `json:"address"`
	Roles      []string        `json:"roles" nullable:"false"`
	Reached    bool            `json:"reached"`
	Fault      *Fault          `json:"fault,omitempty" doc:"Why it was not reached."`
	Ready      bool            `json:"ready"`
	Reason     string          `json:"reason,omitempty"`
	Conditions []NodeCondition `json:"conditions,omitempty" doc:"Conditions that impair a ready node, too."`
	Kubelet    string          `json:"kubelet,omitempty"`
	Parts      []NodeComponent `json:"components" doc:"What it runs, with state and version." nullable:"false"`
}

// NodeCondition is a condition of a node, other than Ready, that impairs it.
type NodeCondition struct {
	Type    string    `json:"type" doc:"DiskPressure, MemoryPressure, PIDPressure or NetworkUnavailable."`
	Since   time.Time `json:"since"`
	Message string    `json:"message,omitempty" doc:"In the words of the kubelet."`
}

// NodeComponent is a service that a node runs.
type NodeComponent struct {
	Name    string `json:"name"`
	State   string `json:"state" doc:"As systemd reports it: active, inactive, failed; unready: runs without answering."`
	Version string `json:"version,omitempty"`
}

// EtcdMember is a member of etcd.
type EtcdMember struct {
	Node    string   `json:"node"`
	Healthy bool     `json:"healthy"`
	Leader  bool     `json:"leader"`
	Learner bool     `json:"learner"`
	Version string   `json:"version,omitempty"`
	DBBytes int64    `json:"db_bytes,omitempty" doc:"Size of its database in bytes."`
	Alarms  []string `json:"alarms,omitempty"`
	Error   string   `json:"error,omitempty" doc:"Why it did not answer."`
}

// Workload is a DaemonSet or a Deployment of the system.
type Workload struct {
	Kind  string `json:"kind"`
	Name  string `json:"name" doc:"With its namespace."`
	Ready int32  `json:"ready"`
	Want  int32  `json:"want"`
}

// life are the routes that say how a cluster is in the long run.
func (s *Server) life(api huma.API) {
	op := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: "GET", Path: "/clusters/{cluster}/" + path, Summary: summary,
			Errors: []int{http.StatusConflict}, Tags: []string{"inspection"}} // no run has begun to install it
	}
	s.ListCertificates = add(s, api, op("list-certificates", "certificates",
		"List the certificates, with their ends"), access.View, s.certificates)
	s.GetStatus = add(s, api, op("get-status", "status",
		"Inspect nodes, components, etcd and drift. This takes seconds"), access.View, s.status)
	asked := func(id, path, summary string) huma.Operation {
		o := op(id, path, summary)
		o.Method = http.MethodPost // a secret is in no URL
		return o
	}
	s.InspectCertificates = add(s, api, asked("inspect-certificates", "certificates",
		"List the certificates of the nodes, too, with secrets to log in to them"), access.View,
		func(ctx context.Context, _ access.Grant, in *InspectInput) (*certificatesOutput, error) {
			return s.certificatesOf(ctx, in.Cluster, true, in.Body.Secrets)
		})
	s.InspectStatus = add(s, api, asked("inspect-status", "status",
		"Inspect the status, with secrets to log in to the nodes"), access.View,
		func(ctx context.Context, _ access.Grant, in *InspectInput) (*StatusOutput, error) {
			return s.statusOf(ctx, in.Cluster, in.Body.Secrets)
		})
}

// own is the cluster's own deploy.yaml as a source, of a cluster that has one in the state directory.
func (s *Server) own(ctx context.Context, cluster string) (request.Common, error) {
	v, err := s.Manager.Cluster(cluster)
	if err != nil {
		return request.Common{}, err
	}
	if v.Kubeconfig {
		return request.Common{}, event.NewFault(event.ClassUsage, "manager.kubeconfig-only", nil, "cluster", cluster)
	}
	nodes, err := s.Runs.Nodes(ctx, cluster)
	if err == nil && nodes == nil {
		err = event.NewFault(event.ClassLocked, "manager.no-config", nil, "cluster", cluster)
	}
	return request.OfCluster(cluster), err
}

func (s *Server) certificates(
	ctx context.Context, _ access.Grant, in *CertificatesInput,
) (*certificatesOutput, error) {
	return s.certificatesOf(ctx, in.Cluster, in.Nodes, nil)
}

func (s *Server) certificatesOf(
	ctx context.Context, cluster string, nodes bool, secrets map[string]string,
) (*certificatesOutput, error) {
	c, err := s.own(ctx, cluster)
	if err != nil {
		return nil, err
	}
	rows, err := operation.Certificates(ctx, c, !nodes, s.asking(secrets))
	if err != nil {
		return nil, ofNodes(err)
	}
	out := &certificatesOutput{}
	b := &out.Body
	b.Items = []Certificate{}
	for _, r := range rows {
		b.Items = append(b.Items, Certificate{event.Clean(r.Node), event.Clean(r.Name), r.NotAfter,
			r.Authority, r.State, event.Clean(r.At)})
		if end := r.NotAfter; !r.Authority && !end.IsZero() && (b.Expires.IsZero() || end.Before(b.Expires)) {
			b.Expires = end
		}
	}
	return out, nil
}

func (s *Server) status(ctx context.Context, _ access.Grant, in *StatusInput) (*StatusOutput, error) {
	return s.statusOf(ctx, in.Cluster, nil)
}

func (s *Server) statusOf(ctx context.Context, cluster string, secrets map[string]string) (*StatusOutput, error) {
	c, err := s.own(ctx, cluster)
	if err != nil {
		return nil, err
	}
	st, err := operation.Status(ctx, c, s.asking(secrets))
	if err != nil {
		return nil, ofNodes(err)
	}
	out, words := &StatusOutput{}, problem.From(ctx)
	b := &out.Body
	b.Healthy, b.Unknown = st.Healthy, faultOf(ctx, st.Unknown)
	b.Drift, b.Nodes, b.Etcd, b.Loads = []string{}, []StatusNode{}, []EtcdMember{}, []Workload{}
	for _, d := range st.Drift {
		b.Drift = append(b.Drift, words.Msg(d))
	}
	for _, n := range st.Nodes {
		node := StatusNode{Name: n.Node, Address: n.Address, Roles: append([]string{}, n.Roles...), Reached: n.Reached,
			Fault: faultOf(ctx, n.Fault), Ready: n.Ready, Reason: n.Why, Kubelet: n.Kubelet, Parts: []NodeComponent{}}
		for _, c := range n.Conditions {
			node.Conditions = append(node.Conditions, NodeCondition(c))
		}
		for _, c := range n.Components {
			node.Parts = append(node.Parts, NodeComponent(c))
		}
		b.Nodes = append(b.Nodes, node)
	}
	for _, m := range st.Etcd {
		b.Etcd = append(b.Etcd, EtcdMember(m))
	}
	for _, w := range st.Workloads {
		b.Loads = append(b.Loads, Workload(w))
	}
	return out, nil
}
