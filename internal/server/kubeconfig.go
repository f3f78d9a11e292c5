package server

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
)

// namePrefix begins the groups that certificates of users are in: eggo:viewer, eggo:operator, eggo:admin. It begins the
// users as well: what a cluster gives to a User of its own, such as kube-apiserver-kubelet-client, is not for a user of
// this server with that name.
const namePrefix = "eggo:"

type fileOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type issueInput struct {
	InCluster
	Body struct {
		Hours int `json:"hours,omitempty" minimum:"1" maximum:"72" default:"8" doc:"How long it is valid. It cannot be revoked."`
	}
}

// kubeconfigs are the routes of kubeconfigs.
func (s *Server) kubeconfigs(api huma.API) {
	op := func(id, method, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/clusters/{cluster}/kubeconfig", Summary: summary,
			Tags: []string{"kubeconfig"}, Responses: kubeconfigOnly()}
	}
	get := op("get-admin-kubeconfig", "GET", "Get the administrator's kubeconfig")
	get.Errors = []int{http.StatusConflict} // the cluster was handed over
	add(s, api, get, access.Administer, s.adminKubeconfig)
	add(s, api, op("issue-kubeconfig", "POST", "Issue a kubeconfig for the caller, for some hours"), access.View,
		s.issue)
}

// adminKubeconfig gives the key to everything. That it was given is written down, though nothing is changed.
func (s *Server) adminKubeconfig(ctx context.Context, _ access.Grant, in *InCluster) (*fileOutput, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if v.Kubeconfig {
		text, err := os.ReadFile(s.Runs.Kubeconfig(v.Record))
		if err != nil {
			return nil, event.NewFault(event.ClassFailed, "state.read", err)
		}
		return &fileOutput{"application/yaml", text}, nil
	}
	k, err := operation.Kubeconfig(ctx, s.Deps().Store, request.Kubeconfig{Cluster: in.Cluster})
	if err != nil {
		return nil, err
	}
	return &fileOutput{"application/yaml", k.Text}, nil
}

// issue makes a certificate of the cluster's own CA for the caller, in the group of his role. Nothing revokes it: one
// who was disabled has its rights until it expires, or until the binding of the role is deleted, for all who have it.
func (s *Server) issue(ctx context.Context, who access.Grant, in *issueInput) (*fileOutput, error) {
	v, err := s.Manager.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Kubeconfig:
		return nil, event.NewFault(event.ClassUsage, "manager.kubeconfig-only", nil, "cluster", in.Cluster)
	case !v.State.Ready():
		return nil, event.NewFault(event.ClassFailed, "manager.not-ready", nil, "cluster", v.Name, "state",
			string(v.State))
	}
	role, err := s.Access.RoleOf(ctx, who.Caller(), in.Cluster)
	if err == nil && !role.May(access.View) { // it was taken away since
		err = access.Unknown(in.Cluster)
	}
	if err == nil {
		err = s.Runs.Here(ctx, in.Cluster)
	}
	if err != nil {
		return nil, err
	}
	api, err := s.Runs.API(v.Record)
	if err != nil {
		return nil, err
	}
	if err := bind(ctx, api, v.Name, role); err != nil {
		return nil, err
	}
	now := time.Now()
	pair, err := pki.Client(filepath.Join(filepath.Dir(s.Runs.Kubeconfig(v.Record)), "pki"), namePrefix+who.Name(),
		namePrefix+string(role), now, now.Add(time.Duration(in.Body.Hours)*time.Hour))
	if err != nil {
		return nil, err
	}
	text, err := kubeconfigOf(v.Name, api, who.Name(), pair)
	return &fileOutput{"application/yaml", text}, err
}

// bind gives the group of a role its rights in the cluster: those of Kubernetes' own roles view, edit and
// cluster-admin. It makes a binding again that was deleted to end the rights of certificates.
func bind(ctx context.Context, api *runs.API, cluster string, role access.Role) error {
	of := map[access.Role]string{access.Viewer: "view", access.Operator: "edit", access.Admin: "cluster-admin"}[role]
	name := namePrefix + string(role)
	const group = "rbac.authorization.k8s.io"
	body, err := json.Marshal(map[string]any{
		"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": name},
		"roleRef":  map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": of},
		"subjects": []any{map[string]any{"apiGroup": group, "kind": "Group", "name": name}},
	})
	if err != nil {
		return err
	}
	if _, err := api.Do(ctx, http.MethodPatch, "/apis/"+group+"/v1/clusterrolebindings/"+name+
		"?fieldManager=eggo-server&force=true", "application/apply-patch+yaml", body); err != nil {
		return event.NewFault(event.ClassFailed, "manager.unreachable", err, "cluster", cluster, "server", api.Server)
	}
	return nil
}

// kubeconfigOf is JSON, which is YAML.
func kubeconfigOf(cluster string, api *runs.API, user string, p pki.Pair) ([]byte, error) {
	current := user + "@" + cluster
	return json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": current,
		"clusters": []any{map[string]any{"name": cluster, "cluster": map[string]any{
			"server": api.Server, "certificate-authority-data": api.CA}}},
		"users": []any{map[string]any{"name": user, "user": map[string]any{
			"client-certificate-data": p.Cert, "client-key-data": p.Key}}},
		"contexts": []any{map[string]any{"name": current, "context": map[string]any{"cluster": cluster, "user": user}}},
	}, "", "  ")
}
