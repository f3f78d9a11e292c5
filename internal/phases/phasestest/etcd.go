package phasestest

import (
	"context"
	"crypto/tls"
	"net"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// Snapshot is what the simulated etcd gives as its data.
const Snapshot = "the data of etcd"

// store answers what a deploy and a cleanup ask of etcd: a read, and a snapshot.
type store struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
}

func (*store) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: &pb.ResponseHeader{}}, nil
}

func (*store) Snapshot(_ *pb.SnapshotRequest, s pb.Maintenance_SnapshotServer) error {
	half := len(Snapshot) / 2
	if err := s.Send(&pb.SnapshotResponse{Blob: []byte(Snapshot[:half]), RemainingBytes: uint64(len(Snapshot) - half)}); err != nil {
		return err
	}
	return s.Send(&pb.SnapshotResponse{Blob: []byte(Snapshot[half:])})
}

// serveEtcd answers on l until stop is called.
func serveEtcd(l net.Listener, conf *tls.Config) (stop func()) {
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(conf)))
	pb.RegisterKVServer(s, &store{})
	pb.RegisterMaintenanceServer(s, &store{})
	go func() { _ = s.Serve(l) }()
	return s.Stop
}
