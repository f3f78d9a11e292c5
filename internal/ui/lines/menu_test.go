package lines

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/uitest"
)

// rack is a cluster of two machines.
func rack() request.ClusterRuns {
	return request.ClusterRuns{
		ClusterInfo: request.ClusterInfo{Name: "rack", Status: request.Installed, File: "/state/rack/deploy.yaml"},
		Nodes: []config.Node{
			{Name: "m1", IP: netip.MustParseAddr("192.0.2.1"), Roles: []bundle.Role{"master"}},
			{Name: "w1", IP: netip.MustParseAddr("192.0.2.2"), Roles: []bundle.Role{"worker"}},
		}}
}

// Machines that join are written before the run begins, once; where they cannot be, no run begins. The run is not asked
// for a password that was typed. What was entered is kept until it is written.
func TestJoiningLineByLine(t *testing.T) {
	t.Parallel()
	full := event.NewFault(event.ClassFailed, "state.write", nil)
	for name, wrong := range map[string]error{"well": nil, "on a full disk": full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, said, f := dialogueAt(i18n.English, strings.Join([]string{
				"geheim", "192.0.2.9 worker", "", // the password, a machine
				"2", // preflight cannot be: go on all the same
				"1", "y",
			}, "\n")+"\n")
			cluster := config.Draft{
				Machines: []config.Machine{{
					Name: "m1", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd, bundle.Worker},
				}},
			}.WithValues(map[string]string{
				"cluster-id": "rack", "username": "root", "package-src.x86src": "/b.tar.gz",
				"eggo.password-from": "prompt",
			})
			var did []string
			secret := ""
			svc := f.draft()
			svc.(*uitest.Draft).OnWrite = func(string, config.Draft, *i18n.Printer) error {
				did = append(did, "write")
				return wrong
			}
			svc.(*uitest.Draft).OnStart = func(_ string, d config.Draft) backend.Start {
				last := d.Machines[len(d.Machines)-1].IP
				return backend.Start{Request: request.Join{Common: request.OfCluster("rack"), List: last}}
			}
			m.svc.(*host).joining = func(request.ClusterRuns) (config.Draft, backend.DraftServices, error) {
				return cluster, svc, nil
			}
			m.svc.(*host).OnLaunch = func(ctx context.Context, s backend.Start, to ask.Asker) (request.Ref, error) {
				did = append(did, "join "+s.Request.(request.Join).List)
				secret, _ = ask.ForSecret(ctx, to, ask.Secret{ID: "password", What: event.M("ask.password")})
				return request.Ref{}, errLeft
			}
			err := m.add(t.Context(), rack())
			want, code := []string{"write", "join 192.0.2.9"}, error(errLeft)
			if wrong != nil {
				want, code = []string{"write"}, wrong
			}
			if !errors.Is(err, code) || !slices.Equal(did, want) {
				t.Errorf("%v, did %q, want %q\n%s", err, did, want, said)
			}
			if wrong == nil && secret != "geheim" {
				t.Errorf("the run is asked for %q", secret)
			}
			if f.has != (wrong != nil) || f.saved.Draft.Value("password") != "" ||
				strings.Contains(said.String(), "geheim") {
				t.Errorf("kept: %t, %v\n%s", f.has, f.saved, said)
			}
		})
	}
}

// Nothing is removed before the cluster's name was typed, and it was shown what would be.
func TestNothingIsRemovedUnlessTheNameIsTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		do    func(m *menu) error
		typed []string
		want  request.Request
	}{
		{"a node", func(m *menu) error { return m.remove(t.Context(), rack()) }, []string{"9", "2", "n"},
			request.Delete{Common: request.OfCluster("rack"), Names: []string{"w1"}, Drain: request.DrainTimeout}},
		{"all", func(m *menu) error { return m.cleanup(t.Context(), rack()) }, []string{"y"},
			request.Cleanup{Common: request.OfCluster("rack"), Purge: true}},
	} {
		for _, typed := range []string{"rack", "rick", ""} {
			t.Run(c.name+" "+typed, func(t *testing.T) {
				t.Parallel()
				m, said, f := dialogueAt(i18n.English, strings.Join(append(slices.Clone(c.typed), typed), "\n")+"\n")
				m.svc.(*host).OnRead = func(context.Context, backend.Query, ask.Asker) (backend.Answer, error) {
					if len(f.begun) > 0 {
						t.Error("it is shown afterwards")
					}
					return func(*i18n.Printer) document.Document {
						return document.Document{document.Text("what would be done")}
					}, nil
				}
				_ = c.do(m)
				if typed != "rack" {
					says(t, said.String(), "what would be done")
					if len(f.begun) > 0 {
						t.Errorf("%+v began\n%s", f.begun, said)
					}
					return
				}
				if len(f.begun) != 1 || !equalCalls(f.begun[0].Request, c.want) {
					t.Errorf("%+v began, want %+v\n%s", f.begun, c.want, said)
				}
			})
		}
	}
}

// equalCalls says whether two requests are the same to whoever types them.
func equalCalls(a, b request.Request) bool {
	x, errX := request.Encode(a)
	y, errY := request.Encode(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// A deploy.yaml with errors is not installed, whatever is typed; one without is, after a yes.
func TestAFileIsReviewedLineByLine(t *testing.T) {
	t.Parallel()
	checked := backend.Checked{Cluster: request.ClusterRuns{
		ClusterInfo: request.ClusterInfo{Name: "rack", Status: request.Unknown},
		Nodes:       rack().Nodes}}
	for _, errs := range []int{1, 0} {
		m, said, f := dialogueAt(i18n.English, "/x/deploy.yaml\n1\ny\n")
		m.svc.(*host).OnList = func(context.Context, string, []string) (string, []backend.Entry, error) {
			return "/x", nil, nil
		}
		m.svc.(*host).OnCheck = func(_ context.Context, path string) (backend.Checked, error) {
			got := checked
			if errs > 0 {
				got.Problems = config.Problems{{Line: 3, Key: "masters", Severity: event.Error, Code: "config.cidr",
					Args: map[string]string{"value": "x"}}}
			}
			return got, nil
		}
		_ = m.file(t.Context())
		if begun := len(f.begun) == 1; begun == (errs > 0) {
			t.Errorf("%d errors, begun: %v\n%s", errs, begun, said)
		}
		if errs == 0 && f.begun[0].Request.Base().Source.File != "/x/deploy.yaml" {
			t.Errorf("%+v", f.begun)
		}
	}
}
