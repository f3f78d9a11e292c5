// Package clients reaches the API servers and the members of etcd, through the SSH connections of the nodes: whichever
// lives, the one that answered last first. In a dry run what would change something is announced and not sent.
package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/eggo-k8s/eggo/internal/phases/component/certs"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/node/inventory"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
)

// Clients reach the API servers and etcd through the nodes.
type Clients struct {
	*input.Env
	*inventory.Nodes
	*certs.Certs
	mu      sync.Mutex
	kube    *API
	lastAPI string // the control plane whose API server answered last
}

// NewAPI makes a client that reaches whichever API server lives.
func (r *Clients) NewAPI() (*API, error) {
	return newAPI(apiWay{r}, r.PKI().CA.Cert, r.PKI().Admin.Cert, r.PKI().Admin.Key, r.recorder())
}

// ConnectAPI makes the client that API returns from then on.
func (r *Clients) ConnectAPI() error {
	k, err := r.NewAPI()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kube = k
	return nil
}

// API is the client that the ready step made.
func (r *Clients) API() *API {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kube
}

// Readyz wants 200 of /readyz at addr, from a server with a certificate of the cluster.
func (r *Clients) Readyz(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error),
	addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := r.Get(ctx, dial, addr, "/readyz")
	if err != nil {
		return err
	}
	return body.Close()
}

// Get reads a path of the server at addr, which has a certificate of the cluster. It ends with ctx, and wants 200.
func (r *Clients) Get(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error),
	addr, path string) (io.ReadCloser, error) {
	cert, err := tls.X509KeyPair(r.PKI().Admin.Cert, r.PKI().Admin.Key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.PKI().CA.Cert)
	client := &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{cert}, RootCAs: pool, ServerName: "kubernetes",
			MinVersion: tls.VersionTLS12,
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	return nil, fmt.Errorf("%s: %s: %s", path, resp.Status, text)
}

// Unready says which checks of /readyz failed; the API server's answer names all sixty of them.
func Unready(err error) error {
	var failed []string
	for _, m := range regexp.MustCompile(`\[-\]([\w./-]+) failed`).FindAllStringSubmatch(err.Error(), -1) {
		failed = append(failed, strings.TrimPrefix(m[1], "poststarthook/"))
	}
	if len(failed) == 0 {
		return err
	}
	return errors.New("waiting for " + strings.Join(failed, ", "))
}

// EtcdClient talks to members through via: a node, or peerWay.
func (r *Clients) EtcdClient(ctx context.Context, endpoints []string, via Dialer) (*clientv3.Client, error) {
	conf, err := r.EtcdTLS()
	if err != nil {
		return nil, err
	}
	tries := uint(0) // etcd's own default, which continues until the time is over
	if wait.Dry(ctx) {
		tries = 1 // a dry run does not wait for an etcd that is not there yet
	}
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 5 * time.Second, MaxUnaryRetries: tries,
		TLS:    conf,
		Logger: zap.NewNop(),
		DialOptions: append(r.etcdRecorder(), grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn,
			error) {
			return via.Dial(ctx, "tcp", addr)
		})),
	})
}

// EtcdTLS is how a client of etcd is known to it.
func (r *Clients) EtcdTLS() (*tls.Config, error) {
	cert, err := tls.X509KeyPair(r.PKI().EtcdHealthcheckClient.Cert, r.PKI().EtcdHealthcheckClient.Key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.PKI().EtcdCA.Cert)
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// ReadThrough is a linearized read through the member at url.
func (r *Clients) ReadThrough(ctx context.Context, url string) error {
	c, err := r.EtcdClient(ctx, []string{url}, r.Peers())
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = c.Get(ctx, "health")
	return err
}

// ReadThroughAny is a linearized read through a member, on a machine that leaves or on one that stays.
func (r *Clients) ReadThroughAny(ctx context.Context, m *pb.Member) error {
	if len(m.ClientURLs) == 0 {
		return errors.New("it was never started")
	}
	c, err := r.EtcdClient(ctx, m.ClientURLs[:1], r.PeersAndRemoved())
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = c.Get(ctx, "health")
	return err
}

// MemberVersion is the version of a member of etcd that answers, has no alarm, and reads through the quorum.
func (r *Clients) MemberVersion(ctx context.Context, m *pb.Member) (string, error) {
	if len(m.ClientURLs) == 0 {
		return "", errors.New("it was never started")
	}
	c, err := r.EtcdClient(ctx, m.ClientURLs[:1], r.Peers())
	if err != nil {
		return "", err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	is, err := c.Status(ctx, m.ClientURLs[0])
	if err != nil {
		return "", err
	}
	if len(is.Errors) > 0 {
		return is.Version, errors.New(strings.Join(is.Errors, ", "))
	}
	_, err = c.Get(ctx, "health")
	return is.Version, err
}
