package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// call is one call of a client.
type call struct {
	began time.Time
	took  time.Duration
	err   error
}

func (c call) String() string {
	return fmt.Sprintf("%s, %.1f s: %v", c.began.Format("15:04:05.0"), c.took.Seconds(), c.err)
}

// callers are the calls of a client that begins one at fixed times, whether the last one has its answer or not.
type callers struct {
	name string
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	all  []call
}

// callTwiceASecond begins; do is given limit for each call, which is made once.
func callTwiceASecond(t *testing.T, name string, limit time.Duration, do func(context.Context) error) *callers {
	t.Helper()
	return callEach(t, name, 500*time.Millisecond, limit, do)
}

// callEach is callTwiceASecond with other times.
func callEach(t *testing.T, name string, every, limit time.Duration, do func(context.Context) error) *callers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &callers{name: name, stop: stop}
	t.Cleanup(stop)
	c.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			c.wg.Go(func() {
				one, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
				defer cancel()
				began := time.Now()
				err := do(one)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.all = append(c.all, call{began, time.Since(began), err})
			})
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return c
}

// end stops the client, waits for the last answers, and tells how many calls there were, those that failed, and the
// slowest.
func (c *callers) end(s *stand.Stand) (calls int, failed []call) {
	c.stop()
	c.wg.Wait()
	slowest := call{}
	for _, one := range c.all {
		if one.err != nil {
			failed = append(failed, one)
		} else if one.took > slowest.took {
			slowest = one
		}
	}
	s.Say("%s was called %d times, %d times in vain; the slowest answer took %.1f s, at %s", c.name, len(c.all),
		len(failed), slowest.took.Seconds(), slowest.began.Format("15:04:05"))
	for _, f := range failed {
		s.Say("  %s", f)
	}
	return len(c.all), failed
}

// callAPI asks the API through the load balancer, each time on a new connection and without a second try.
func callAPI(t *testing.T, s *stand.Stand, cluster, balancer string) *callers {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: admin(t, s, cluster)}}
	url := "https://" + net.JoinHostPort(address(t, s, balancer), "8443") + "/api/v1/namespaces/default"
	return callTwiceASecond(t, "the API", 20*time.Second,
		func(ctx context.Context) error { return get(ctx, client, url, `"name":"default"`) })
}

// admin is what a client needs to be let in by the API.
func admin(t *testing.T, s *stand.Stand, cluster string) *tls.Config {
	t.Helper()
	dir := filepath.Join(s.State(), cluster, "pki")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key"))
	must(t, "certificate", err)
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	must(t, "authority", err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}
}

// callService asks the workload through its NodePort on a node.
func callService(t *testing.T, s *stand.Stand, node string) *callers {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + net.JoinHostPort(address(t, s, node), "30080") + "/hostname"
	return callTwiceASecond(t, "the Service", 5*time.Second,
		func(ctx context.Context) error { return get(ctx, client, url, "web-") })
}

// get wants 200 and a word in the answer.
func get(ctx context.Context, client *http.Client, url, word string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return answered(client, req, word)
}

// answered makes a call and wants 200 and a word in the answer.
func answered(client *http.Client, req *http.Request, word string) error {
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(text), word)) {
		err = errors.New(resp.Status + ": " + string(text))
	}
	return err
}
