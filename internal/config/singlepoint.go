package config

import (
	"net"
	"strconv"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// SinglePoint returns the control plane whose own address or name is the endpoint of a cluster with several control
// planes: while it is down, the API cannot be reached, although the others run.
func (c *Cluster) SinglePoint() (Node, bool) {
	planes := c.With(bundle.ControlPlane)
	host, _, err := net.SplitHostPort(c.Endpoint)
	if err != nil || len(planes) < 2 || len(c.With(bundle.LoadBalancer)) > 0 {
		return Node{}, false
	}
	for _, n := range planes {
		if host == n.IP.String() || host == n.Name {
			return n, true
		}
	}
	return Node{}, false
}

// SinglePointArgs are the arguments of the message about a single point, for front ends and preflight alike.
func (c *Cluster) SinglePointArgs(n Node) []string {
	return []string{"value", c.Endpoint, "name", n.Name, "count", strconv.Itoa(len(c.With(bundle.ControlPlane)))}
}

// advice lists, as warnings, what a valid deploy.yaml asks for and what its author probably does not want.
func advice(c *Cluster) (out Problems) {
	if n, ok := c.SinglePoint(); ok {
		key := "apiserver-endpoint"
		at := nearest(c.given, key)
		out = append(out, Problem{
			File: c.file, Line: at.line, Col: at.col, Key: key, Code: "config.endpoint-single",
			Severity: event.Warning, Args: event.M("", append(c.SinglePointArgs(n), "key", key)...).Args,
		})
	}
	return out
}
