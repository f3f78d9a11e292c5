package phasestest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	_ "embed"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
)

// Revision is that of the simulated etcd's data, in its snapshots.
const Revision = 4711

// WriteSnapshot writes a snapshot as etcd makes them, of a cluster with the authority ca.
func WriteSnapshot(path string, ca []byte) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		members, err := tx.CreateBucket([]byte("members"))
		if err != nil {
			return err
		}
		if err := members.Put([]byte("8e9e05c52164694d"), []byte(`{"name":"m1"}`)); err != nil {
			return err
		}
		keys, err := tx.CreateBucket([]byte("key"))
		if err != nil {
			return err
		}
		for revision, kv := range map[uint64]mvccpb.KeyValue{
			3: {Key: []byte("/registry/configmaps/kube-system/kube-root-ca.crt"),
				Value: append([]byte("k8s\x00\x06ca.crt"), ca...)},
			Revision: {Key: []byte("/registry/namespaces/default")},
		} {
			value, err := kv.Marshal()
			if err != nil {
				return err
			}
			key := append(binary.BigEndian.AppendUint64(nil, revision), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
			if err := keys.Put(key, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return os.WriteFile(path, append(data, sum[:]...), 0o600)
}

// etcdutl is the program of that name on a simulated member: it makes a data directory whose revision is bumped. What
// the API holds it leaves alone.
//
//go:embed etcdutl.sh
var etcdutl string

// Etcd is the cluster of members in memory: who is listed, and who votes. Who runs and who has data is on the nodes.
type Etcd struct {
	lab *Lab

	mu   sync.Mutex
	list []*pb.Member
	next uint64
	data string // names the cluster's data, while a node has any
	// Asked are the changes of the membership, in order.
	asked  []string
	leader uint64 // elected when it does not run
	stays  bool   // it gives its office to nobody
}

// Stay has the member that leads give its office to nobody.
func (e *Etcd) Stay() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stays = true
}

// Leader is the name of the member that leads.
func (e *Etcd) Leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.elect()
	for _, m := range e.list {
		if m.ID == e.leader {
			return m.Name
		}
	}
	return ""
}

// elect has the first voter that runs lead, when the one that leads does not.
func (e *Etcd) elect() {
	e.refresh()
	first := uint64(0)
	for _, m := range e.list {
		if m.IsLearner || !e.runs(m) {
			continue
		}
		if m.ID == e.leader {
			return
		}
		if first == 0 {
			first = m.ID
		}
	}
	e.leader = first
}

// runs says whether a member runs.
func (e *Etcd) runs(m *pb.Member) bool {
	return slices.ContainsFunc(e.lab.Cluster.With(bundle.Etcd), func(n config.Node) bool {
		return slices.Contains(m.PeerURLs, "https://"+n.IP.String()+":2380") &&
			e.lab.Nodes[n.Name].active("etcd.service")
	})
}

// Changes are the changes of the membership that were asked for: "add 192.0.2.33", "promote e3", "remove e1".
func (e *Etcd) Changes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// Members lists names, a learner's with a question mark after it.
func (e *Etcd) Members() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refresh()
	var out []string
	for _, m := range e.list {
		name := m.Name
		if m.IsLearner {
			name += "?"
		}
		out = append(out, name)
	}
	return out
}

// era names the data: another one is an empty store.
func (e *Etcd) era() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refresh()
	return e.data
}

// refresh reads the nodes: members that run have a name, and the first of a cluster that begins brings the list of
// all.
func (e *Etcd) refresh() {
	any := false
	for _, n := range e.lab.Cluster.With(bundle.Etcd) {
		nd := e.lab.Nodes[n.Name]
		id, err := os.ReadFile(nd.Path("/var/lib/etcd/default.etcd/member/id"))
		if err != nil {
			continue
		}
		any = true
		if e.data == "" {
			e.data = string(id)
		}
		if len(e.list) == 0 {
			e.form(nd)
		}
		for _, m := range e.list {
			if slices.Contains(m.PeerURLs, "https://"+n.IP.String()+":2380") && nd.active("etcd.service") {
				m.Name, m.ClientURLs = n.Name, []string{"https://" + n.IP.String() + ":2379"}
			}
		}
	}
	if !any {
		e.data, e.list = "", nil
	}
}

func (e *Etcd) form(nd *Node) {
	conf, err := os.ReadFile(nd.Path("/etc/etcd/initial.conf"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(conf)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), `ETCD_INITIAL_CLUSTER="`)
		if !ok {
			continue
		}
		for _, m := range strings.Split(strings.TrimSuffix(rest, `"`), ",") {
			name, url, _ := strings.Cut(m, "=")
			e.next++
			e.list = append(e.list, &pb.Member{ID: e.next, Name: name, PeerURLs: []string{url}})
		}
	}
}

// quorum says whether more than half of the voters run.
func (e *Etcd) quorum() bool {
	e.refresh()
	voters, run := 0, 0
	for _, m := range e.list {
		if m.IsLearner {
			continue
		}
		voters++
		if e.runs(m) {
			run++
		}
	}
	return 2*run > voters
}

// server is one member.
type server struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	*Etcd
	node config.Node
}

func (s *server) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quorum() {
		return nil, rpctypes.ErrGRPCNoLeader
	}
	// none before the first restore
	text, _ := os.ReadFile(s.lab.Nodes[s.node.Name].Path("/var/lib/etcd/default.etcd/member/revision"))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: max(n, Revision)}}, nil
}

func (s *server) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elect()
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: s.id()}, Leader: s.leader, Version: "3.6.0",
		DbSize: 1 << 20}, nil
}

// id is that of the server's own member.
func (s *server) id() uint64 {
	for _, m := range s.list {
		if slices.Contains(m.PeerURLs, "https://"+s.node.IP.String()+":2380") {
			return m.ID
		}
	}
	return 0
}

func (s *server) MoveLeader(_ context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elect()
	if s.leader != s.id() {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	for _, m := range s.list {
		if m.ID == r.TargetID && !m.IsLearner && s.runs(m) && !s.stays {
			s.leader = m.ID
			return &pb.MoveLeaderResponse{Header: &pb.ResponseHeader{}}, nil
		}
	}
	return nil, rpctypes.ErrGRPCBadLeaderTransferee
}

func (s *server) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	dir, err := os.MkdirTemp("", "eggo-etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ca, err := os.ReadFile(filepath.Join(s.lab.StateDir(), "pki", "ca.crt"))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "snapshot")
	if err := WriteSnapshot(path, ca); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	half := len(data) / 2
	if err := to.Send(&pb.SnapshotResponse{Blob: data[:half], RemainingBytes: uint64(len(data) - half)}); err != nil {
		return err
	}
	return to.Send(&pb.SnapshotResponse{Blob: data[half:]})
}

func (s *server) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quorum() {
		return nil, rpctypes.ErrGRPCNoLeader
	}
	return &pb.MemberListResponse{Header: &pb.ResponseHeader{}, Members: s.members()}, nil
}

// members is a copy of the list: answers are written while the list keeps changing.
func (s *server) members() []*pb.Member {
	out := make([]*pb.Member, len(s.list))
	for i, m := range s.list {
		c := *m
		out[i] = &c
	}
	return out
}

func (s *server) MemberAdd(_ context.Context, r *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quorum() {
		return nil, rpctypes.ErrGRPCNoLeader
	}
	for _, m := range s.list {
		switch {
		case slices.Equal(m.PeerURLs, r.PeerURLs):
			return nil, rpctypes.ErrGRPCPeerURLExist
		case m.IsLearner && r.IsLearner:
			return nil, rpctypes.ErrGRPCTooManyLearners
		}
	}
	s.next++
	s.asked = append(s.asked, "add "+strings.TrimSuffix(strings.TrimPrefix(r.PeerURLs[0], "https://"), ":2380"))
	m := &pb.Member{ID: s.next, PeerURLs: r.PeerURLs, IsLearner: r.IsLearner}
	s.list = append(s.list, m)
	return &pb.MemberAddResponse{Header: &pb.ResponseHeader{}, Member: s.members()[len(s.list)-1],
		Members: s.members()}, nil
}

func (s *server) MemberRemove(_ context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(m *pb.Member) bool { return m.ID == r.ID })
	switch {
	case !s.quorum():
		return nil, rpctypes.ErrGRPCNoLeader
	case i < 0:
		return nil, rpctypes.ErrGRPCMemberNotFound
	}
	s.asked = append(s.asked, "remove "+s.list[i].Name)
	s.list = slices.Delete(s.list, i, i+1)
	return &pb.MemberRemoveResponse{Header: &pb.ResponseHeader{}, Members: s.members()}, nil
}

func (s *server) MemberPromote(_ context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh()
	for _, m := range s.list {
		switch {
		case m.ID != r.ID:
		case !m.IsLearner:
			return nil, rpctypes.ErrGRPCMemberNotLearner
		case m.Name == "":
			return nil, rpctypes.ErrGRPCLearnerNotReady
		default:
			s.asked = append(s.asked, "promote "+m.Name)
			m.IsLearner = false
			return &pb.MemberPromoteResponse{Header: &pb.ResponseHeader{}, Members: s.members()}, nil
		}
	}
	return nil, rpctypes.ErrGRPCMemberNotFound
}

// serve answers on l as the node's member until stop is called.
func (e *Etcd) serve(n config.Node, l net.Listener, conf *tls.Config) (stop func()) {
	s, m := grpc.NewServer(grpc.Creds(credentials.NewTLS(conf))), &server{Etcd: e, node: n}
	pb.RegisterKVServer(s, m)
	pb.RegisterMaintenanceServer(s, m)
	pb.RegisterClusterServer(s, m)
	go func() { _ = s.Serve(l) }()
	return s.Stop
}
