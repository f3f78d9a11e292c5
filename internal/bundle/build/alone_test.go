package build_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/bundle/build/buildtest"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
)

// unplugged is a host without a network: no name is known. It counts what was tried.
type unplugged struct{ tries *atomic.Int32 }

func (u unplugged) RoundTrip(r *http.Request) (*http.Response, error) {
	u.tries.Add(1)
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "network is unreachable",
		Name: r.URL.Hostname(), IsTemporary: true}}
}

// A host without a network is told so once, not once for each file, and soon: six tries of each file would not help.
func TestABuildWithoutANetworkSaysItOnce(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	o := job(t, buildtest.New(t), "registry.test/app:1", "amd64", "arm64")
	o.Transport = unplugged{&tries}
	o.Report = func(e build.Event) {
		if e.Kind == build.Retrying {
			t.Errorf("each file says so: %+v", e)
		}
	}
	_, err := build.Build(context.Background(), o)
	all := fetch.Faults(err)
	if len(all) != 1 || all[0].Code != "fetch.no-network" {
		t.Fatalf("%d: %v", len(all), err)
	}
	if f := all[0]; f.Args["count"] == "1" || f.Args["hosts"] == "" || strings.Count(f.Cause, "unreachable") != 1 {
		t.Errorf("%+v", f)
	}
	if n := tries.Load(); n > 40 {
		t.Errorf("%d tries", n)
	}
}
