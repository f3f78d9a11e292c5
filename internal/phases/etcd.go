package phases

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/engine"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// etcd makes the authorities and certificates, starts every member, and waits until each answers a linearized read.
func (r *run) etcd() []*engine.Step {
	members := r.Cluster.With(bundle.Etcd)
	certs := step(phaseEtcd, "certificates", "", verdict())
	certs.Apply = r.ensurePKI
	steps := []*engine.Step{certs}
	for _, n := range members {
		steps = append(steps, r.service(phaseEtcd, "start", n, []string{certs.ID, programs(n, groupEtcd), id(phaseInfra, "system", n.Name)}, r.etcdService, nil))
	}
	check := step(phaseEtcd, "health", "", ids(phaseEtcd, "start", members))
	check.Verify = r.etcdHealth
	check.Retry = engine.Retry{Tries: 30, Delay: time.Second, MaxDelay: 3 * time.Second}
	check.Timeout = 30 * time.Second
	return append(steps, check)
}

// service is the step that starts a unit of ours with its files. probe, when given, proves that it works.
func (r *run) service(phase, what string, n config.Node, needs []string, make func(config.Node) (node.Service, error), probe func(context.Context, *node.Node) error) *engine.Step {
	s := step(phase, what, n.Name, needs)
	s.Retry = engine.Retry{Tries: 2, Delay: 2 * time.Second}
	s.Check = r.asks(n.Name, func(ctx context.Context, nd *node.Node) (bool, error) {
		svc, err := make(n)
		if err != nil {
			return false, err
		}
		return nd.Running(ctx, svc)
	})
	s.Apply = r.onNode(n.Name, func(ctx context.Context, nd *node.Node) error {
		svc, err := make(n)
		if err != nil {
			return err
		}
		return nd.Start(ctx, svc)
	})
	if probe != nil {
		s.Verify = r.onNode(n.Name, probe)
	}
	return s
}

func (r *run) etcdService(n config.Node) (node.Service, error) {
	leaf := r.pki.Nodes[n.Name]
	var initial []string
	for _, m := range r.Cluster.With(bundle.Etcd) {
		initial = append(initial, m.Name+"="+httpsURL(m.IP.String(), 2380))
	}
	d := pkiDir + "/etcd/"
	u := unit{Description: "etcd, the store of Kubernetes", After: []string{"network-online.target"}, Wants: []string{"network-online.target"}, Type: "notify", Program: binDir + "etcd", Flags: map[string]string{
		"name": n.Name, "data-dir": "/var/lib/etcd/default.etcd",
		"listen-client-urls": httpsURL("127.0.0.1", 2379) + "," + httpsURL(n.IP.String(), 2379), "advertise-client-urls": httpsURL(n.IP.String(), 2379),
		"listen-peer-urls": httpsURL(n.IP.String(), 2380), "initial-advertise-peer-urls": httpsURL(n.IP.String(), 2380),
		"initial-cluster": strings.Join(initial, ","), "initial-cluster-state": "new", "initial-cluster-token": r.Cluster.EtcdToken,
		"client-cert-auth": "true", "trusted-ca-file": d + "ca.crt", "cert-file": d + "server.crt", "key-file": d + "server.key",
		"peer-client-cert-auth": "true", "peer-trusted-ca-file": d + "ca.crt", "peer-cert-file": d + "peer.crt", "peer-key-file": d + "peer.key",
	}}
	return node.Service{Unit: "etcd.service", Files: []node.File{
		plainFile(d+"ca.crt", r.pki.EtcdCA.Cert),
		plainFile(d+"server.crt", leaf.EtcdServer.Cert), secretFile(d+"server.key", leaf.EtcdServer.Key),
		plainFile(d+"peer.crt", leaf.EtcdPeer.Cert), secretFile(d+"peer.key", leaf.EtcdPeer.Key),
		plainFile(unitDir+"etcd.service", u.render()),
	}}, nil
}

// etcdClient talks to the members through the first one's SSH connection.
func (r *run) etcdClient(endpoints []string, via *node.Node) (*clientv3.Client, error) {
	cert, err := tls.X509KeyPair(r.pki.EtcdHealthcheckClient.Cert, r.pki.EtcdHealthcheckClient.Key)
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "pki.unreadable", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.pki.EtcdCA.Cert)
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 5 * time.Second,
		TLS:    &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12},
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return via.Dial(ctx, "tcp", addr)
		})},
	})
}

func (r *run) etcdHealth(ctx context.Context) error {
	for _, n := range r.Cluster.With(bundle.Etcd) {
		c, err := r.etcdClient([]string{"https://" + n.IP.String() + ":2379"}, r.node(n.Name))
		if err != nil {
			return err
		}
		get, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err = c.Get(get, "health")
		cancel()
		c.Close()
		if err != nil {
			f := event.NewFault(event.ClassFailed, "etcd.unhealthy", err, "log", r.node(n.Name).Journal(ctx, "etcd.service")).On(n.Name)
			f.Retry = true
			return f
		}
	}
	return nil
}
