package phasestest

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
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
			3:        {Key: []byte("/registry/configmaps/kube-system/kube-root-ca.crt"), Value: append([]byte("k8s\x00\x06ca.crt"), ca...)},
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

// etcdutl is the program of that name on a simulated member: it makes a data directory whose revision is bumped. What the API holds it
// leaves alone.
const etcdutl = `#!/bin/sh
[ "$1 $2" = 'snapshot restore' ] || exit 64
f=$3
shift 3
while [ $# -gt 0 ]; do
  case $1 in
  --data-dir) d=$2; shift ;;
  --bump-revision) b=$2; shift ;;
  --mark-compacted) ;;
  --*) shift ;;
  esac
  shift
done
[ -s "$f" ] || { echo "no snapshot $f" >&2; exit 1; }
[ ! -e "$d" ] || { echo "data-dir $d is there" >&2; exit 1; }
mkdir -p "$d/member"
cp "${d%/*}/default.etcd/member/id" "$d/member/id"
echo $((b + 4711)) >"$d/member/revision"
`

// store answers what a deploy, a snapshot, a restore and a cleanup ask of etcd.
type store struct {
	dir, ca string // the first member's data; the cluster's authority
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
}

func (s *store) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	text, _ := os.ReadFile(filepath.Join(s.dir, "member", "revision")) // none before the first restore
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: max(n, Revision)}}, nil
}

func (*store) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: 1}, Leader: 1, Version: "3.6.0", DbSize: 1 << 20}, nil
}

func (s *store) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	dir, err := os.MkdirTemp("", "eggo-etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ca, err := os.ReadFile(s.ca)
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

// serveEtcd answers on l until stop is called.
func serveEtcd(l net.Listener, from *store, conf *tls.Config) (stop func()) {
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(conf)))
	pb.RegisterKVServer(s, from)
	pb.RegisterMaintenanceServer(s, from)
	go func() { _ = s.Serve(l) }()
	return s.Stop
}
