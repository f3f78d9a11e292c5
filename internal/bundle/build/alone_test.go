package build_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/testkit/buildtest"
)

// unplugged is a host without a network. It counts what was tried.
type unplugged struct {
	tries *atomic.Int32
	err   func(host string) error
}

func (u unplugged) RoundTrip(r *http.Request) (*http.Response, error) {
	u.tries.Add(1)
	return nil, u.err(r.URL.Hostname())
}

// A host without a network is told so once, not once for each file, and soon: six tries of each file would not help. So
// is one whose proxy does not work.
func TestABuildWithoutANetworkSaysItOnce(t *testing.T) {
	t.Parallel()
	for code, why := range map[string]func(host string) error{
		"fetch.no-network": func(host string) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "network is unreachable", Name: host,
				IsTemporary: true}}
		},
		"fetch.proxy": func(string) error {
			return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("10.0.0.1:3128: host unreachable")}
		},
	} {
		var tries atomic.Int32
		o := job(t, buildtest.New(t), "registry.test/app:1", "amd64", "arm64")
		o.Transport = unplugged{&tries, why}
		o.Report = func(e build.Event) {
			if e.Kind == build.Retrying {
				t.Errorf("each file says so: %+v", e)
			}
		}
		_, err := build.Build(context.Background(), o)
		all := fetch.Faults(err)
		if len(all) != 1 || all[0].Code != code {
			t.Fatalf("%d: %v", len(all), err)
		}
		f := all[0]
		if code == "fetch.no-network" && (f.Args["count"] == "1" || f.Args["hosts"] == "") ||
			strings.Count(f.Cause, "unreachable") != 1 {
			t.Errorf("%+v", f)
		}
		if n := tries.Load(); n > 40 {
			t.Errorf("%s: %d tries", code, n)
		}
	}
}
