package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/eggo-k8s/eggo/internal/config"
)

// OthersReady is othersReady.
func (r *Members) OthersReady(ctx context.Context, list []*pb.Member, replaced *pb.Member) error {
	return r.othersReady(ctx, list, replaced)
}

// Promote is promote.
func (r *Etcd) Promote(ctx context.Context, n config.Node) error { return r.promote(ctx, n) }
