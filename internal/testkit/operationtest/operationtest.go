// Package operationtest provides a clock, a deploy.yaml and a user who answers questions to tests of operations.
package operationtest

import (
	"context"
	"time"
)

// Swift is a clock on which pauses, as between the tries of a step, are a hundredth as long. What waits for something
// outside, as for an answer, waits by the machine's clock still.
type Swift struct{}

// Now implements operation.Clock.
func (Swift) Now() time.Time { return time.Now() }

// Sleep implements operation.Clock.
func (Swift) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d / 100)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Nobody is the deploy.yaml of the cluster away, of one machine at which nothing listens.
const Nobody = `cluster-id: away
username: ops
masters: [{name: n1, ip: 127.0.0.1, port: 1, arch: amd64}]
nodes: [{name: n1, ip: 127.0.0.1, port: 1, arch: amd64}]
etcds: [{name: n1, ip: 127.0.0.1, port: 1, arch: amd64}]
service: {cidr: 10.32.0.0/16, dnsaddr: 10.32.0.10, gateway: 10.32.0.1, dns: {corednstype: pod, replicas: 1}}
network: {podcidr: 10.244.0.0/16, plugin: flannel}
runtime: containerd
package-src: {type: tar.gz, x86src: /no/such/bundle.tar.gz}
eggo: {password-from: prompt}
`
