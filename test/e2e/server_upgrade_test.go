package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/test/e2e/stand"
	"github.com/eggo-k8s/eggo/test/lab"
)

// TestServerUpgrades: a cluster that the command line creates appears in the server by itself. An operator of it
// upgrades it by REST to another minor version, cancels that in the soak, has it reverted, and upgrades it to the end.
func TestServerUpgrades(t *testing.T) {
	full(t)
	s, ctx := newLab(t, 2), t.Context()
	before := untouched(t, s, 2)
	v := atWork(t, s, "--shared-roles")
	newer, err := s.PackVersion(ctx, "v1.35.4")
	must(t, "pack", err)

	s.Say("== the command line creates a cluster, and it appears by itself")
	file, err := s.Deploy("rest.yaml", "rest", []stand.Node{{Name: "n1", Roles: "mne"}, {Name: "n2", Roles: "n"}})
	must(t, "deploy.yaml", err)
	over := make(chan stand.Try, 1)
	go func() {
		got, err := v.Try(ctx, "", "deploy", "-f", file)
		if err != nil {
			got.Out += err.Error()
		}
		over <- got
	}()
	must(t, "Creating", stand.Until(ctx, time.Minute, "the server shows the cluster", func(context.Context) error {
		is := v.known("rest")
		if is == nil || is.State != "Creating" || is.Operation == nil {
			return fmt.Errorf("%+v", is)
		}
		return nil
	}))
	v.changing("rest")
	if got := <-over; got.Code != 0 {
		t.Fatalf("deploy ended with %d:\n%s", got.Code, tail(got.Out, 40))
	}
	v.awaits("rest", "Running", time.Minute)
	s.Admin = "n1"
	must(t, "workload", s.StartWorkload(ctx))
	must(t, "first use", s.Works(ctx, 2))
	v.wantKubelets("rest", "v1.34.2")

	s.Say("== an operator may upgrade it, with bundles of the server alone")
	v.operator("rest")
	v.refused("POST", "/clusters/rest/upgrade", map[string]any{"bundles": []string{newer}}, http.StatusForbidden,
		"access.denied")
	ours := filepath.Join(v.data, "bundles", "newer.tar.gz")
	must(t, "bundle", os.Link(newer, ours))
	var list struct {
		Items []struct{ Path, Kubernetes string }
	}
	v.call("GET", "/bundles", nil, http.StatusOK, &list)
	if len(list.Items) != 1 || list.Items[0].Path != ours || list.Items[0].Kubernetes != "v1.35.4" {
		t.Fatalf("%+v", list)
	}
	upgrade := map[string]any{"bundles": []string{ours}, "soak": "10m"}
	v.call("POST", "/clusters/rest/upgrade", upgrade, http.StatusAccepted, nil)
	v.soaks("rest")
	v.refused("POST", "/clusters/rest/renew", map[string]any{}, http.StatusConflict, "manager.busy")

	s.Say("== canceled in the soak, and reverted")
	v.call("POST", "/clusters/rest/cancel", nil, http.StatusAccepted, nil)
	v.awaits("rest", "Unavailable", 2*time.Minute)
	v.idle("n1", "n2")
	v.call("POST", "/clusters/rest/upgrade", map[string]any{"back": true}, http.StatusAccepted, nil)
	v.awaits("rest", "Running", 10*time.Minute)
	v.wantKubelets("rest", "v1.34.2")
	must(t, "use after the way back", s.Works(ctx, 2))

	s.Say("== upgraded to the end; the server is killed meanwhile")
	upgrade["soak"] = "20s"
	v.call("POST", "/clusters/rest/upgrade", upgrade, http.StatusAccepted, nil)
	v.soaks("rest")
	v.killedIn("rest", "Updating", "Running")
	v.awaits("rest", "Running", 15*time.Minute)
	v.wantKubelets("rest", "v1.35.4")
	for _, args := range [][]string{ // drained nodes do not get replicas back by themselves
		{"rollout", "restart", "deployment/web"},
		{"rollout", "status", "deployment/web", "--timeout=180s"},
	} {
		_, err := s.Kubectl(ctx, args...)
		must(t, args[1], err)
	}
	must(t, "use after the upgrade", s.Works(ctx, 2))
	must(t, "status of the command line", try(t, s, 0, "status", "--id", "rest").Has("v1.35.4"))

	s.Say("== delete")
	v.refused("DELETE", "/clusters/rest", nil, http.StatusForbidden, "access.denied")
	v.token = v.admin
	v.call("DELETE", "/clusters/rest?purge=true", nil, http.StatusAccepted, nil)
	v.gone()
	same(t, before, func() []lab.Snapshot { return snapshots(t, s, 2) })
}

// known is a cluster if the server has it.
func (v *server) known(name string) *seen {
	v.t.Helper()
	var list struct {
		Items []struct {
			Name string
			seen
		}
	}
	v.call("GET", "/clusters", nil, http.StatusOK, &list)
	for _, c := range list.Items {
		if c.Name == name {
			return &c.seen
		}
	}
	return nil
}

// operator has the calls that follow come from an operator of one cluster, until the token is admin again.
func (v *server) operator(cluster string) {
	v.t.Helper()
	const password = "another long passphrase"
	v.admin = v.token
	v.logIn("ann", "a long enough passphrase") // an API token cannot manage users
	v.call("POST", "/users", map[string]any{"name": "otto", "password": password,
		"clusters": map[string]any{cluster: "operator"}}, http.StatusCreated, nil)
	v.logIn("otto", password)
	var made struct{ Token string }
	v.call("POST", "/tokens", map[string]any{"name": "otto", "role": "operator", "cluster": cluster,
		"ends": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}, http.StatusCreated, &made)
	v.token = made.Token
}

// logIn has the calls that follow come from a user who has logged in.
func (v *server) logIn(name, password string) {
	v.t.Helper()
	v.token = ""
	cookie := v.call("POST", "/login", map[string]any{"name": name, "password": password}, http.StatusOK, nil).
		Get("Set-Cookie")
	cookie, _, _ = strings.Cut(cookie, ";")
	v.token = "cookie " + cookie
}

// soaks waits until the control plane of the upgrade in progress is watched.
func (v *server) soaks(name string) {
	v.t.Helper()
	must(v.t, "soak", stand.Until(v.t.Context(), 10*time.Minute, "the soak has begun", func(context.Context) error {
		is := v.cluster(name)
		if is.State != "Updating" {
			return fmt.Errorf("%+v", is)
		}
		runs, err := stand.Runs(v.State(), name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(runs[len(runs)-1], func(r event.Record) bool {
			n, is := r.Event.(event.Notice)
			return is && strings.HasSuffix(n.Step, "soak.watch")
		}) {
			return fmt.Errorf("not yet")
		}
		return nil
	}))
}

// wantKubelets wants the nodes, as the API server has them, to be Ready and of a version.
func (v *server) wantKubelets(name, version string) {
	v.t.Helper()
	var list struct {
		Items []struct {
			Name, Version string
			Ready         bool
		}
	}
	v.call("GET", "/clusters/"+name+"/nodes", nil, http.StatusOK, &list)
	if len(list.Items) != 2 {
		v.t.Errorf("%+v", list)
	}
	for _, n := range list.Items {
		if n.Version != version || !n.Ready {
			v.t.Errorf("%+v, want %s", n, version)
		}
	}
}
