package server

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// ListInput selects a page of the list of clusters.
type ListInput struct {
	problem.Page
	Ready bool `query:"ready" doc:"Only those that are ready."`
}

type listOutput struct{ Body problem.List[Cluster] }

// CreateInput is the request that creates a cluster.
type CreateInput struct {
	Body struct {
		clusterspec.Cluster
		Options RunOptions `json:"options,omitempty"`
	}
}

// UpdateInput is the request that sets the nodes of a cluster.
type UpdateInput struct {
	InCluster
	Matching
	Purge bool `query:"purge" doc:"Images and data of the nodes that are removed go, too."`
	Body  struct {
		Facts
		Nodes        []clusterspec.Node    `json:"nodes" maxItems:"1000" nullable:"false"`
		LoadBalancer *clusterspec.Balancer `json:"load_balancer,omitempty" doc:"That of the cluster; another one only while no run has touched a node."`
		SSH          *clusterspec.SSH      `json:"ssh,omitempty" doc:"How the nodes are logged in to, only while no run has touched a node. What it does not say stays; a key or a password replaces both."`
		Options      RunOptions            `json:"options,omitempty"`
	}
}

type importInput struct {
	Body struct {
		Name       string `json:"name" maxLength:"64" minLength:"1"`
		Kubeconfig string `json:"kubeconfig,omitempty" maxLength:"1048576" doc:"Of a cluster that the state directory does not have: it can only be viewed."`
	}
}

type deleteInput struct {
	InCluster
	Matching
	Machines string `query:"machines" enum:"clean,keep" default:"clean" doc:"clean: Kubernetes is removed from the nodes. keep: they stay as they are."`
	Purge    bool   `query:"purge" doc:"Images and data are removed, too."`
	TakeOver uint64 `query:"take_over" doc:"As in the options of other operations." maximum:"9007199254740992"`
}

// clusters are the routes of the clusters themselves.
func (s *Server) clusters(api huma.API) {
	op := func(id, method, path, summary string, status int) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status,
			Tags: []string{"clusters"}}
	}
	s.ListClusters = add(s, api, op("list-clusters", "GET", "/clusters", "List clusters", 200), access.Authenticated,
		s.list)
	s.CreateCluster = add(s, api, op("create-cluster", "POST", "/clusters", "Create a cluster", 202), access.Administer,
		s.create, func(i *CreateInput) (string, string) { return i.Body.Name, "" })
	take := op("import-cluster", "POST", "/clusters:import", "Import a cluster", 202)
	take.Errors = []int{http.StatusNotFound} // the state directory does not have it
	add(s, api, take, access.Administer, s.take,
		func(i *importInput) (string, string) { return i.Body.Name, "" })
	const one = "/clusters/{cluster}"
	s.GetCluster = add(s, api, op("get-cluster", "GET", one, "Get a cluster", 200), access.View, s.get)
	s.UpdateCluster = add(s, api, op("update-cluster", "PUT", one, "Set the nodes of a cluster", 202),
		access.Administer, s.update)
	add(s, api, op("delete-cluster", "DELETE", one, "Delete a cluster", 202), access.Administer, s.remove,
		func(i *deleteInput) (string, string) { return "", "machines=" + i.Machines })
}

func (s *Server) get(ctx context.Context, _ access.Grant, in *InCluster) (*shown, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusOK), nil
}

// list returns the clusters that the caller may see.
func (s *Server) list(ctx context.Context, who access.Grant, in *ListInput) (*listOutput, error) {
	var seen []*manager.View
	for _, v := range s.Manager.Clusters() {
		role, err := s.Access.RoleOf(ctx, who.Caller(), v.Name)
		if err != nil {
			return nil, err
		}
		if role.May(access.View) && (!in.Ready || v.State.Ready()) {
			seen = append(seen, v)
		}
	}
	out := &listOutput{}
	out.Body.Items = []Cluster{}
	some, next := paged(seen, in.Page, func(v *manager.View) string { return v.Name }, strings.Compare)
	for _, v := range some {
		out.Body.Items = append(out.Body.Items, s.show(ctx, *v))
	}
	out.Body.Next = next
	return out, nil
}

// create checks all that is wrong at once, keeps what the runs need, and begins.
func (s *Server) create(ctx context.Context, who access.Grant, in *CreateInput) (*shown, error) {
	c := in.Body.Cluster
	files, text, err := s.deploy(c, s.Runs.Dir(filepath.Base(filepath.Clean("/"+c.Name))))
	if err != nil {
		return nil, err
	}
	p, err := in.Body.Options.parameters()
	if err == nil {
		err = p.Valid(manager.Create)
	}
	if err != nil {
		return nil, err
	}
	want, err := raw(runs.Wanted{Server: c.ServerAddress, Deploy: text, Nodes: c.Nodes,
		LoadBalancer: c.LoadBalancer})
	if err != nil {
		return nil, err
	}
	request, err := raw(p)
	if err != nil {
		return nil, err
	}
	if err := s.askedFor(ctx, c.Name, text, true, in.Body.Options.Secrets); err != nil {
		return nil, err
	}
	v, err := s.Manager.Create(ctx, c.Name, manager.Request{By: who.Name(), Wanted: want, Request: request,
		Prepare: func() error {
			s.Runs.SetSecrets(c.Name, who.Name(), in.Body.Options.Secrets)
			return s.written(c.Name, files)
		}})
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusAccepted), nil
}

// deploy is the deploy.yaml of a new cluster, with the files that it names, which are to be in a directory, or all that
// is wrong.
func (s *Server) deploy(c clusterspec.Cluster, dir string) (files map[string]string, text string, err error) {
	list := s.Rules.Create(c)
	files = map[string]string{}
	keep := into(files, dir)
	paths := loginFiles(c.SSH, keep)
	for i, r := range c.Registries {
		at := "registry-" + strconv.Itoa(i+1) + "-"
		paths.Registries = append(paths.Registries, clusterspec.RegistryFiles{
			Password: keep(at+"password", r.Password), CA: keep(at+"ca.crt", r.CA)})
	}
	yaml, more, err := s.Rules.Deploy(c, paths, filepath.Join(dir, "deploy.yaml"))
	if err != nil {
		return nil, "", err
	}
	return files, string(yaml), findings(together(list, more))
}

// together are what the rules of the server find wrong, and what those of deploy.yaml do: but nothing twice, and of the
// machines no more than the former.
func together(list, more []clusterspec.Finding) []clusterspec.Finding {
	if len(list) == 0 {
		return more
	}
	out := slices.Clone(list)
	for _, m := range more {
		if !strings.HasPrefix(m.Location, "body.nodes") && !strings.HasPrefix(m.Location, "body.load_balancer") &&
			!slices.ContainsFunc(list, func(f clusterspec.Finding) bool { return f.Location == m.Location }) {
			out = append(out, m)
		}
	}
	return out
}

// into keeps texts by the names of their files, which are to be in a directory, and gives their paths.
func into(files map[string]string, dir string) func(name, text string) string {
	return func(name, text string) string {
		if text == "" {
			return ""
		}
		files[name] = text
		return filepath.Join(dir, name)
	}
}

// loginFiles are the files of what logs in to the nodes.
func loginFiles(s clusterspec.SSH, keep func(name, text string) string) clusterspec.Files {
	return clusterspec.Files{Key: keep("ssh-key", s.Key), Password: keep("ssh-password", s.Password),
		SudoPassword: keep("sudo-password", s.SudoPassword), KnownHosts: keep("known_hosts", s.KnownHosts)}
}

// written writes files of a cluster.
func (s *Server) written(cluster string, files map[string]string) error {
	for name, text := range files {
		if err := s.Runs.Keep(cluster, name, text); err != nil {
			return err
		}
	}
	return nil
}

// take imports a cluster.
func (s *Server) take(ctx context.Context, who access.Grant, in *importInput) (*shown, error) {
	q := manager.Request{By: who.Name()}
	text := in.Body.Kubeconfig
	if text != "" {
		if err := runs.Importable([]byte(text)); err != nil {
			return nil, err
		}
		q.Prepare = func() error { return s.Runs.Keep(in.Body.Name, "kubeconfig", text) }
	}
	v, err := s.Manager.Import(ctx, in.Body.Name, text != "", q)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusAccepted), nil
}

// update sets the nodes. Of a cluster that no run has touched yet they are replaced.
func (s *Server) update(ctx context.Context, who access.Grant, in *UpdateInput) (*shown, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	was, lb, err := s.Runs.Machines(ctx, in.Cluster)
	if err != nil {
		return nil, err
	}
	w := wanted(v.Record)
	w.Nodes = in.Body.Nodes
	files := map[string]string{}
	wrong := s.Rules.Update(was, in.Body.Nodes, w.Server)
	switch {
	case was != nil:
		wrong = append(wrong, s.Rules.Beside(was, w.Nodes, lb, in.Body.LoadBalancer)...)
		wrong = append(wrong, in.Body.SSH.Stays()...)
	case len(wrong) == 0 && !v.Kubeconfig:
		w.LoadBalancer = cmp.Or(in.Body.LoadBalancer, w.LoadBalancer)
		wrong = append(s.Rules.Balancer(w.LoadBalancer, w.Nodes, w.Server), in.Body.SSH.Wrong()...)
		if len(wrong) > 0 {
			break
		}
		if w.Deploy, wrong, err = s.replaced(in.Cluster, w, in.Body.SSH, files); err != nil {
			return nil, err
		}
	}
	nodes := func(p *runs.Parameters) error { p.Nodes, p.Purge = true, in.Purge; return nil }
	return s.begin(ctx, in.Cluster, manager.Update, in.Matching, in.Body.Options, &w, nodes, who, manager.Request{
		Check: func(r manager.Record) error { // what is wrong was found out about the cluster that was read
			if r.Revision != v.Revision {
				return revised(in.Cluster)
			}
			return findings(wrong)
		},
		Prepare: func() error { return s.written(in.Cluster, files) }})
}

// replaced is what a cluster that has no deploy.yaml of its own is to be created with: the machines that are wanted,
// and how they are logged in to, nil: as it was said. files gets what that comes to.
func (s *Server) replaced(
	cluster string, w runs.Wanted, login *clusterspec.SSH, files map[string]string,
) (string, []clusterspec.Finding, error) {
	if w.Deploy == "" { // of the command line
		return "", nil, event.NewFault(event.ClassLocked, "manager.no-config", nil, "cluster", cluster)
	}
	to := clusterspec.Machines{Nodes: w.Nodes, Balancer: w.LoadBalancer, SSH: login}
	if login != nil {
		to.Files = loginFiles(*login, into(files, s.Runs.Dir(cluster)))
	}
	text, wrong, err := s.Rules.Replaced([]byte(w.Deploy), to, s.Runs.File(cluster))
	return string(text), wrong, err
}

// begin begins an operation of a cluster that exists. more adds to the parameters; q has what is checked and prepared
// when the operation is possible.
func (s *Server) begin(
	ctx context.Context, name string, k manager.Kind, m Matching, o RunOptions, w *runs.Wanted,
	more func(*runs.Parameters) error, who access.Grant, q manager.Request,
) (*shown, error) {
	revision, err := m.revision(name)
	if err == nil {
		err = s.Runs.Here(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	p, err := o.parameters()
	if err == nil && more != nil {
		if err = s.Manager.Possible(ctx, name, k, revision); err == nil {
			err = more(&p)
		}
	}
	if err == nil {
		err = p.Valid(k)
	}
	if err == nil {
		err = s.trusted(ctx, name, p)
	}
	if err == nil {
		err = s.ofOperation(ctx, name, k, o.Secrets, w, p.Seeded)
	}
	if err != nil {
		return nil, err
	}
	q.By, q.Revision, q.Final = who.Name(), revision, p.Seeded
	if q.Request, err = raw(p); err != nil {
		return nil, err
	}
	if w != nil {
		if q.Wanted, err = raw(w); err != nil {
			return nil, err
		}
	}
	if prepare, undo := q.Prepare, q.Undo; o.Secrets != nil {
		q.Prepare = func() error {
			s.Runs.SetSecrets(name, who.Name(), o.Secrets)
			if prepare == nil {
				return nil
			}
			return prepare()
		}
		q.Undo = func() error {
			s.Runs.DropSecrets(name)
			if undo == nil {
				return nil
			}
			return undo()
		}
	}
	v, err := s.Manager.Begin(ctx, name, k, q)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, v, http.StatusAccepted), nil
}

// remove deletes a cluster: from its machines, or from the server alone.
func (s *Server) remove(ctx context.Context, who access.Grant, in *deleteInput) (*shown, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if in.Machines == "keep" {
		revision, err := in.revision(in.Cluster)
		if err != nil {
			return nil, err
		}
		v, err = s.Manager.Forget(ctx, in.Cluster, manager.Request{By: who.Name(), Revision: revision})
		if err != nil {
			return nil, err
		}
		return s.answer(ctx, v, http.StatusOK), nil
	}
	if v.Kubeconfig { // nothing of ours is on its machines
		return nil, event.NewFault(event.ClassUsage, "manager.kubeconfig-only", nil, "cluster", in.Cluster)
	}
	purge := func(p *runs.Parameters) error {
		p.Purge = in.Purge
		return nil
	}
	return s.begin(ctx, in.Cluster, manager.Delete, in.Matching, RunOptions{TakeOver: in.TakeOver}, nil, purge, who,
		manager.Request{})
}
