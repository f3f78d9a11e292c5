package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Operation is what is done with a cluster, or was.
type Operation struct {
	Kind      string    `json:"kind" doc:"create, update, renew, upgrade, upgrade-back, snapshot, restore, backup, delete."`
	By        string    `json:"by,omitempty" doc:"Who asked for it."`
	Began     time.Time `json:"began"`
	Runs      []string  `json:"runs" doc:"The runs that it came to." nullable:"false"`
	Canceling bool      `json:"canceling,omitempty"`
	Found     bool      `json:"found,omitempty" doc:"The server did not begin it: the command line did."`
	Waits     []Wait    `json:"waits_for,omitempty" doc:"Failed steps of the newest run that wait for a decision."`
}

// Fault is why something is as it is.
type Fault struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"`
	Node   string `json:"node,omitempty"`
	// HostKey of ssh.hostkey-unknown.
	HostKey string `json:"host_key,omitempty" doc:"The unknown host key that the node has shown. Once its fingerprint is compared, it can be one of the host_keys of the node."`
	// TakeOver is there when another owner, or a newer copy of the files, has worked on the nodes.
	TakeOver uint64 `json:"take_over,omitempty" doc:"Another owner of the cluster, or a newer copy of its files, has worked on the nodes, up to this number. Send it as take_over to continue in its place."`
	// Errors of a run.
	Errors []Reason `json:"errors,omitempty" doc:"What preflight found, and failed steps: 100, in a list of runs 3."`
	Count  int      `json:"errors_count,omitempty" doc:"How many errors there are, at most 100."`
}

// Cluster is a cluster as the API shows it.
type Cluster struct {
	Facts
	Nodes    []clusterspec.Node    `json:"nodes" nullable:"false"`
	Balancer *clusterspec.Balancer `json:"load_balancer,omitempty"`
}

// Facts of a cluster are what only the server says. A request may have them, so that a cluster that was read can be
// sent with other nodes; they mean nothing there.
type Facts struct {
	Name      string     `json:"name" readOnly:"true"`
	State     string     `json:"state" readOnly:"true" doc:"Creating, Connecting, Updating, Unavailable, Canceling, Running, Unreachable, Destroy."`
	Ready     bool       `json:"ready" readOnly:"true" doc:"What belongs to it can be asked for."`
	Installed bool       `json:"installed,omitempty" readOnly:"true" doc:"It was Running once. Until then another creation can be asked for."`
	Since     time.Time  `json:"since" readOnly:"true"`
	Revision  uint64     `json:"revision" readOnly:"true"`
	Created   time.Time  `json:"created" readOnly:"true"`
	ViewOnly  bool       `json:"view_only,omitempty" readOnly:"true" doc:"The server has only a kubeconfig of it."`
	Operation *Operation `json:"operation,omitempty" readOnly:"true" doc:"What is going on."`
	Last      *Operation `json:"last,omitempty" readOnly:"true" doc:"What was done last."`
	Fault     *Fault     `json:"fault,omitempty" readOnly:"true" doc:"Why it is unavailable, why its API server does not answer, or how its last operation failed."`
	Continue  string     `json:"continues,omitempty" readOnly:"true" doc:"What failed and would be continued: a kind of operation. Delete and restore need an administrator."`
}

func faultOf(ctx context.Context, f *event.Fault) *Fault {
	if f == nil {
		return nil
	}
	text, next := problem.Said(problem.From(ctx), f)
	out := &Fault{Code: f.Code, Detail: text, Next: next, Node: f.Node}
	if f.Code == "ssh.hostkey-unknown" {
		out.HostKey = event.Clean(f.Args["key"])
	}
	out.TakeOver, _ = strconv.ParseUint(f.Args[event.TakeOver], 10, 64) // 0: it is no such fault
	return out
}

func operationOf(o *manager.Operation) *Operation {
	if o == nil {
		return nil
	}
	return &Operation{Kind: string(o.Kind), By: o.By, Began: o.Began, Runs: append([]string{}, o.Runs...),
		Canceling: o.Canceling, Found: o.Found}
}

// show is a cluster with the nodes that it has, or is to have where it has none yet.
func (s *Server) show(ctx context.Context, v manager.View) Cluster {
	nodes, lb, err := s.Runs.Machines(ctx, v.Name)
	if err != nil || nodes == nil {
		w := wanted(v.Record)
		if nodes, lb = w.Nodes, w.LoadBalancer; nodes == nil {
			nodes = []clusterspec.Node{}
		}
	}
	o := operationOf(v.Operation)
	if waits := s.Runs.Waits(v.Name, v.Operation.Run()); o != nil {
		o.Waits = waitsOf(ctx, waits)
	}
	return Cluster{Nodes: nodes, Balancer: lb, Facts: Facts{
		Name: v.Name, State: string(v.State), Ready: v.State.Ready(), Installed: v.EverRan, Since: v.Since,
		Revision: v.Revision, Created: v.Created, ViewOnly: v.Kubeconfig, Operation: o,
		Last: operationOf(v.Last), Fault: s.faultOfCluster(ctx, v), Continue: string(v.Continued()),
	}}
}

// wanted is what a record wants.
func wanted(r manager.Record) runs.Wanted {
	var w runs.Wanted
	if len(r.Wanted) > 0 && json.Unmarshal(r.Wanted, &w) != nil {
		return runs.Wanted{}
	}
	return w
}

func raw(v any) (json.RawMessage, error) { return json.Marshal(v) }

// InCluster is the path of a route of one cluster.
type InCluster struct {
	Cluster string `path:"cluster" doc:"The name of the cluster." maxLength:"64"`
}

// Matching is what a change may be bound to.
type Matching struct {
	IfMatch string `header:"If-Match" doc:"The ETag of the cluster that the change is meant for." maxLength:"64"`
}

// revision of If-Match; 0: any.
func (m Matching) revision(cluster string) (uint64, error) {
	text := strings.Trim(strings.TrimPrefix(m.IfMatch, "W/"), `"`)
	if text == "" || text == "*" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, revised(cluster)
	}
	return n, nil
}

// revised refuses a request that is about a cluster as it was, or was never.
func revised(cluster string) error {
	return event.NewFault(event.ClassLocked, "manager.revision", nil, "cluster", cluster)
}

// shown is the answer with one cluster.
type shown struct {
	Status   int
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     Cluster
}

func (s *Server) answer(ctx context.Context, v manager.View, status int) *shown {
	out := &shown{Status: status, ETag: fmt.Sprintf("%q", strconv.FormatUint(v.Revision, 10)), Body: s.show(ctx, v)}
	if status == http.StatusAccepted {
		out.Location = Prefix + "/clusters/" + v.Name
	}
	return out
}

// RunOptions has the options that every run takes.
type RunOptions struct {
	OnFailure string `json:"on_failure,omitempty" doc:"abort (default), skip, ask, undo, retry=N." maxLength:"16"`
	HostKeys  string `json:"host_keys,omitempty" enum:"strict,accept-new" doc:"What is done about an unknown host key."`
	Unsigned  bool   `json:"allow_unsigned,omitempty" doc:"Bundles without a signature may be installed."`
	Drain     string `json:"drain,omitempty" doc:"How long the eviction of a node's pods may take, such as 5m." maxLength:"16"`
	Force     bool   `json:"force,omitempty" doc:"Pods that cannot be evicted are left behind."`
	TakeOver  uint64 `json:"take_over,omitempty" doc:"The take_over of the fault that refused the cluster: the number of another owner's last run. This server continues in its place, and the other owner is refused from then on. Administrators only." maximum:"9007199254740992"`
	// Secrets are those that deploy.yaml does not name a source for. They are kept in memory.
	Secrets map[string]string `json:"secrets,omitempty" doc:"password, sudo: what deploy.yaml says is asked for."`
}

func (o RunOptions) parameters() (runs.Parameters, error) {
	p := runs.Parameters{OnFailure: o.OnFailure, HostKeys: o.HostKeys, Unsigned: o.Unsigned, Force: o.Force,
		TakeOver: o.TakeOver}
	var err error
	p.Drain, err = duration("drain", o.Drain)
	return p, err
}

func duration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, event.NewFault(event.ClassUsage, "api.duration", nil, "field", field, "value", text)
	}
	return d, nil
}
