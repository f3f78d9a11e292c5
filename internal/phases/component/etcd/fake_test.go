package etcd_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/component/etcd"
	"github.com/eggo-k8s/eggo/internal/phases/component/rolling"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// fake is an etcd in memory whose members are on nodes that answer scripts by a function, and a driver that runs them.
type fake struct {
	driver.Driver
	*etcd.Etcd
	env *input.Env

	mu       sync.Mutex
	list     []*pb.Member
	leader   uint64
	sick     map[string]bool          // nodes whose member refuses what it is asked, which no client tries again
	lags     map[string]time.Duration // how much later than at once a node's member answers a read
	heals    string                   // one of them that is well after it has refused once
	revision int64                    // of what is read
	idle     map[string]bool          // nodes whose member does not run
	does     []string                 // what was asked of etcd and of the driver, in order
	formed   driver.Formation
	snapshot []byte // what a member gives as its snapshot
	says     func(name, script string) string
	told     []event.Event
	api      net.Addr // of the API server, if there is one
}

// machine is a node of a fake.
type machine struct {
	*fake
	name string
	l    net.Listener
}

func (m machine) Name() string { return m.name }

func (m machine) Run(_ context.Context, c shell.Command) (shell.Result, error) {
	if m.says == nil {
		return shell.Result{}, nil
	}
	return shell.Result{Stdout: []byte(m.says(m.name, c.Script))}, nil
}

func (machine) Upload(context.Context, shell.Upload) (bool, error) { return true, nil }

func (m machine) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if strings.HasSuffix(addr, ":6443") && m.api != nil {
		return new(net.Dialer).DialContext(ctx, "tcp", m.api.String())
	}
	if !strings.HasSuffix(addr, ":2379") {
		return nil, event.NewFault(event.ClassFailed, "ssh.forward-failed", errors.New("connection refused")).On(m.name)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", m.l.Addr().String())
}

// newFake has a node with an etcd for each name, of which all are listed and run but those in absent.
func newFake(t *testing.T, names string, absent ...string) *fake {
	t.Helper()
	now := time.Now()
	f := &fake{sick: map[string]bool{}, idle: map[string]bool{}}
	f.env = &input.Env{StateDir: t.TempDir(), Now: func() time.Time { return now }, Emit: f.hear,
		Cluster: &config.Cluster{
			Name: "c", DNSDomain: "cluster.local", Endpoint: "192.0.2.1:6443",
			ServiceGateway: netip.MustParseAddr("10.32.0.1")}}
	at := netip.MustParseAddr("192.0.2.10")
	for name := range strings.FieldsSeq(names) {
		at = at.Next()
		f.env.Cluster.Nodes = append(f.env.Cluster.Nodes, config.Node{Name: name, IP: at,
			Roles: []bundle.Role{bundle.Etcd, bundle.ControlPlane}})
	}
	n, c := inventory.New(f.env, facts.Places{}), certs.New(f.env)
	cl := &clients.Clients{Env: f.env, Nodes: n, Certs: c}
	f.Etcd = etcd.New(cl, &payload.Payload{Nodes: n}, rolling.New(), f)
	if err := c.EnsurePKI(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, m := range f.env.Cluster.Nodes {
		n.SetFact(m.Name, &facts.Facts{})
		n.SetNode(m.Name, node.New(machine{f, m.Name, f.serve(t, m)}, f.hear))
		if slices.Contains(absent, m.Name) {
			f.idle[m.Name] = true
			continue
		}
		f.list = append(f.list, &pb.Member{ID: uint64(i + 1), Name: m.Name, PeerURLs: []string{layout.PeerURL(m)},
			ClientURLs: []string{layout.ClientURL(m)}})
	}
	return f
}

// serve is the listener of a node's member.
func (f *fake) serve(t *testing.T, n config.Node) net.Listener {
	t.Helper()
	pair := f.PKI().Nodes[n.Name].EtcdServer
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	s, m := grpc.NewServer(grpc.Creds(credentials.NewTLS(conf))), &member{f: f, name: n.Name}
	pb.RegisterKVServer(s, m)
	pb.RegisterMaintenanceServer(s, m)
	pb.RegisterClusterServer(s, m)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l
}

func (f *fake) hear(e event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, e)
	return nil
}

func (f *fake) note(what ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.does = append(f.does, strings.Join(what, " "))
}

// notices are the keys of what was told.
func (f *fake) notices() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, e := range f.told {
		if n, ok := e.(event.Notice); ok {
			out = append(out, n.Text.Key)
		}
	}
	return out
}

// do runs one step of etcd's phase.
func (f *fake) do(t *testing.T, id string) error {
	t.Helper()
	for _, s := range f.Steps() {
		if s.ID != id {
			continue
		}
		if s.Check != nil {
			if done, err := s.Check(t.Context()); done || err != nil {
				return err
			}
		}
		if s.Apply != nil {
			return s.Apply(t.Context())
		}
		return s.Verify(t.Context())
	}
	t.Fatal("no step", id)
	return nil
}

func (f *fake) EtcdData(string) string { return f.Paths().EtcdData }

func (f *fake) Paths() driver.Paths { return driver.Paths{EtcdData: "/var/lib/etcd/data"} }

func (f *fake) Runs(_ context.Context, nd *node.Node, _ ...driver.Component) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.idle[nd.Name()], nil
}

func (f *fake) Log(context.Context, *node.Node, driver.Component) string { return "last words" }

func (f *fake) Start(_ driver.Component, n config.Node, _ driver.Ready) driver.Work {
	return driver.Work{
		Check: func(context.Context) (bool, error) { return f.Runs(context.Background(), f.Node(n.Name)) },
		Apply: func(context.Context) error { return f.begin(n) }, Retry: engine.Retry{Tries: 1},
	}
}

func (f *fake) StartLocked(_ context.Context, _ driver.Component, n config.Node, _ *node.Node) error {
	return f.begin(n)
}

// begin starts a node's member: one that was added has a name then.
func (f *fake) begin(n config.Node) error {
	f.note("start", n.Name)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.idle, n.Name)
	for _, m := range f.list {
		if m.PeerURLs[0] == layout.PeerURL(n) {
			m.Name, m.ClientURLs = n.Name, []string{layout.ClientURL(n)}
		}
	}
	return nil
}

func (f *fake) Form(_ context.Context, n config.Node, _ *node.Node, to driver.Formation) error {
	f.note("form", n.Name, to.State)
	f.formed = to
	return nil
}

func (*fake) Stop(cs ...driver.Component) string { return "stop " + words(cs) + "\n" }

func (*fake) Resume(cs ...driver.Component) string { return "resume " + words(cs) + "\n" }

func words(cs []driver.Component) string {
	var out []string
	for _, c := range cs {
		out = append(out, string(c))
	}
	return strings.Join(out, " ")
}

// member answers for every member: they all know the same.
type member struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	f    *fake
	name string
}

func (m *member) sick() error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if !m.f.sick[m.name] {
		return nil
	}
	if m.f.heals == m.name {
		delete(m.f.sick, m.name)
		m.f.does = append(m.f.does, "heal "+m.name)
	}
	return rpctypes.ErrGRPCCorrupt
}

func (m *member) copies() []*pb.Member {
	var out []*pb.Member
	for _, x := range m.f.list {
		c := *x
		out = append(out, &c)
	}
	return out
}

func (m *member) Range(ctx context.Context, _ *pb.RangeRequest) (*pb.RangeResponse, error) {
	m.f.mu.Lock()
	lag := m.f.lags[m.name]
	m.f.mu.Unlock()
	if lag > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(lag):
		}
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: m.f.revision}}, m.sick()
}

func (m *member) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	return &pb.StatusResponse{Header: &pb.ResponseHeader{}, Leader: m.f.leader}, nil
}

func (m *member) MoveLeader(_ context.Context, q *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if i := slices.IndexFunc(m.f.list, func(x *pb.Member) bool { return x.Name == m.name }); i < 0 ||
		m.f.list[i].ID != m.f.leader {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	m.f.leader = q.TargetID
	for _, x := range m.f.list {
		if x.ID == q.TargetID {
			m.f.does = append(m.f.does, "lead "+x.Name)
		}
	}
	return &pb.MoveLeaderResponse{Header: &pb.ResponseHeader{}}, nil
}

func (m *member) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	if err := m.sick(); err != nil {
		return err
	}
	return to.Send(&pb.SnapshotResponse{Blob: m.f.snapshot})
}

func (m *member) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	if err := m.sick(); err != nil {
		return nil, err
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	return &pb.MemberListResponse{Header: &pb.ResponseHeader{}, Members: m.copies()}, nil
}

func (m *member) MemberAdd(_ context.Context, q *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	x := &pb.Member{ID: 99, PeerURLs: q.PeerURLs, IsLearner: q.IsLearner}
	m.f.list = append(m.f.list, x)
	m.f.does = append(m.f.does, "add "+q.PeerURLs[0])
	return &pb.MemberAddResponse{Header: &pb.ResponseHeader{}, Member: x, Members: m.copies()}, nil
}

func (m *member) MemberPromote(_ context.Context, q *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	for _, x := range m.f.list {
		if x.ID == q.ID {
			x.IsLearner = false
			m.f.does = append(m.f.does, "promote "+x.Name)
		}
	}
	return &pb.MemberPromoteResponse{Header: &pb.ResponseHeader{}, Members: m.copies()}, nil
}

func (m *member) MemberRemove(_ context.Context, q *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	i := slices.IndexFunc(m.f.list, func(x *pb.Member) bool { return x.ID == q.ID })
	if i < 0 {
		return nil, rpctypes.ErrGRPCMemberNotFound
	}
	m.f.does = append(m.f.does, "remove "+m.f.list[i].Name)
	m.f.list = slices.Delete(m.f.list, i, i+1)
	return &pb.MemberRemoveResponse{Header: &pb.ResponseHeader{}, Members: m.copies()}, nil
}
