package pool

import (
	"context"
	"fmt"

	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Target is a machine and how it is reached.
type Target struct {
	Name     string // as a node
	IP       netip.Addr
	Port     int
	Arch     string // as the user said; ""
	Cluster  string // that has the machine; ""
	Login    Login
	HostKeys []string // as in a .pub file: the machine has to show one of them
	FirstUse bool     // without HostKeys, the first key that the machine shows is accepted
	Hops     []Hop
}

// Hop is a bastion.
type Hop struct {
	Host     string
	Port     int
	Login    Login
	HostKeys []string
}

// Found is the result of a probe.
type Found struct {
	Facts    v1.MachineFacts
	HostKeys []string       // that are known or were accepted, as in a .pub file
	Problems []*event.Fault // errors of preflight
	Foreign  *event.Fault   // something of another installation; nil: there is none

	secret string // with which the login succeeded
}

// Prober logs in to machines. An error is an event.Fault, or it wraps that of the context.
type Prober interface {
	// Probe inspects a machine. Nothing is changed there.
	Probe(ctx context.Context, t Target) (*Found, error)
	// Purge removes from a machine what is recorded there, with its data. It takes minutes.
	Purge(ctx context.Context, t Target) error
}

// SSH logs in to machines with the means of an operation.
type SSH struct {
	Dialer operation.Dialer
	Clock  operation.Clock // nil: the clock of this host
	// Dir is where keys are kept meanwhile; "": the temporary directory. It should be in memory.
	Dir string
	// Who is shown to others who find a machine locked.
	Who journal.Holder
}

var _ Prober = (*SSH)(nil)

// Probe implements Prober.
func (s *SSH) Probe(ctx context.Context, t Target) (out *Found, err error) {
	err = s.with(t, func(q operation.ProbeRequest, d operation.Deps, _ string) error {
		got, err := operation.Probe(ctx, q, d, func(operation.ProbeStage) {})
		if err != nil {
			return err
		}
		out = found(got, t.Cluster == "")
		if out.HostKeys, err = keysOf(q.KnownHosts, address(t.IP.String(), t.Port)); err != nil {
			return event.NewFault(event.ClassFailed, "pool.scratch", err)
		}
		return nil
	})
	return out, err
}

// Purge implements Prober.
func (s *SSH) Purge(ctx context.Context, t Target) error {
	return s.with(t, func(q operation.ProbeRequest, d operation.Deps, dir string) error {
		state := filepath.Join(dir, "state")
		if err := os.Mkdir(state, 0o700); err != nil {
			return event.NewFault(event.ClassFailed, "pool.scratch", err)
		}
		return operation.Purge(ctx, q, d, state)
	})
}

// with calls do with a request for a machine, and a directory that has its keys and is removed afterwards.
func (s *SSH) with(t Target, do func(operation.ProbeRequest, operation.Deps, string) error) error {
	dir, err := os.MkdirTemp(s.Dir, "probe-")
	if err != nil {
		return event.NewFault(event.ClassFailed, "pool.scratch", err)
	}
	defer os.RemoveAll(dir)
	c, err := t.cluster(dir)
	if err != nil {
		return event.NewFault(event.ClassFailed, "pool.scratch", err)
	}
	known := filepath.Join(dir, "known_hosts")
	if err := os.WriteFile(known, t.knownHosts(), 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "pool.scratch", err)
	}
	policy := "strict"
	if t.FirstUse && len(t.HostKeys) == 0 {
		policy = "accept-new"
	}
	return do(operation.ProbeRequest{Cluster: c, Node: c.Nodes[0], KnownHosts: known, HostKeys: policy, Serves: 1},
		operation.Deps{Dialer: s.Dialer, Clock: s.Clock, Unattended: true, Who: s.Who}, dir)
}

// cluster returns the machine as the only node of a cluster. Private keys become files.
func (t Target) cluster(dir string) (*config.Cluster, error) {
	n := 0
	login := func(l Login) (string, error) {
		if len(l.Key) == 0 {
			return "", nil
		}
		n++
		file := filepath.Join(dir, "key-"+strconv.Itoa(n))
		return file, os.WriteFile(file, l.Key, 0o600)
	}
	key, err := login(t.Login)
	if err != nil {
		return nil, err
	}
	const some = "192.0.2.1" // the address of the machine follows below, whatever it is
	draft := config.Draft{KeepSecrets: true, Machines: []config.Machine{{Name: t.Name, IP: some, Arch: t.Arch,
		Roles: []bundle.Role{bundle.ControlPlane}}}}
	draft = draft.WithValues(map[string]string{"package-src.x86src": "x.tar.gz", "package-src.armsrc": "x.tar.gz"})
	if t.Cluster != "" {
		draft.Set("cluster-id", t.Cluster)
	}
	c, node, err := draft.Alone(draft.Machines[0], filepath.Join(dir, "deploy.yaml"))
	if err != nil {
		return nil, err
	}
	node.IP, node.Port = t.IP, t.Port
	node.Roles = []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd}
	c.Nodes = []config.Node{node}
	c.SSH = config.SSH{User: t.Login.User, Password: t.Login.Password, PrivateKeyPath: key}
	c.Eggo.SudoPassword = t.Login.SudoPassword
	for _, h := range t.Hops {
		key, err := login(h.Login)
		if err != nil {
			return nil, err
		}
		c.Eggo.Bastions = append(c.Eggo.Bastions, config.Bastion{Host: h.Host, Port: h.Port, User: h.Login.User,
			PrivateKeyPath: key, Password: h.Login.Password})
	}
	return c, nil
}

// knownHosts returns the keys of the machine and its bastions as a file of known hosts.
func (t Target) knownHosts() []byte {
	var b strings.Builder
	write := func(host string, port int, keys []string) {
		for _, key := range keys {
			if pub, ok := publicKey(key); ok {
				fmt.Fprintf(&b, "%s %s\n", address(host, port), pub)
			}
		}
	}
	write(t.IP.String(), t.Port, t.HostKeys)
	for _, h := range t.Hops {
		write(h.Host, h.Port, h.HostKeys)
	}
	return []byte(b.String())
}

// publicKey returns a public key without its comment.
func publicKey(text string) (string, bool) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), true
}

// fingerprint returns that of a public key; "" if it is none.
func fingerprint(text string) string {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return ""
	}
	return ssh.FingerprintSHA256(key)
}

// address returns a host as known_hosts has it.
func address(host string, port int) string {
	if port == 0 || port == 22 {
		return host
	}
	return "[" + host + "]:" + strconv.Itoa(port)
}

// keysOf returns the keys of a host in a file of known hosts.
func keysOf(file, host string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []string
	for len(data) > 0 {
		_, hosts, key, _, rest, err := ssh.ParseKnownHosts(data)
		if err != nil {
			break // the end
		}
		if slices.Contains(hosts, host) {
			out = append(out, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
		}
		data = rest
	}
	return out, nil
}

// found returns the result of a probe, as far as it is kept. All text of the machine is cleaned and bounded.
func found(r *operation.ProbeResult, free bool) *Found {
	text := func(s string) string { return event.Clip(event.Clean(s), 128) }
	f := r.Facts
	cgroup := "v1"
	if f.Cgroup2 {
		cgroup = "v2"
	}
	out := &Found{Facts: v1.MachineFacts{OS: text(f.OS["ID"]), OSVersion: text(f.OS["VERSION_ID"]), Arch: text(f.Arch),
		CPUs: int32(min(f.CPUs, 1<<20)), MemoryBytes: f.Memory, //nolint:gosec // bounded
		DiskBytes: r.Machine.DiskBytes >> 30 << 30, // whole GiB: a status is written when it changes
		MachineID: text(f.MachineID), HostName: text(f.Hostname), Kernel: text(f.Kernel), Cgroup: cgroup,
		Recorded: f.Recorded, Cluster: text(f.Cluster), Owner: text(f.Owner.ID), Kubelet: text(f.Kubelet)}}
	for _, p := range f.Present[:min(len(f.Present), 20)] {
		out.Facts.Present = append(out.Facts.Present, text(p))
	}
	foreign := []string{"preflight.other-cluster", "preflight.foreign-cluster", "preflight.leftovers"}
	for _, x := range r.Findings {
		problem := x.Fault
		switch {
		case x.Severity != event.Error:
		case slices.Contains(foreign, problem.Code):
			if out.Foreign == nil {
				out.Foreign = &problem
			}
		case free: // a cluster's own installation is none of its problems
			out.Problems = append(out.Problems, &problem)
		}
	}
	return out
}

// refused returns why an address must not be logged in to; nil if it may.
func refused(own config.Addresses, host string) *event.Fault {
	if a, is := config.HostAddress(host); is && own.Has(a) {
		return event.NewFault(event.ClassUsage, "pool.address", nil, "addr", host)
	}
	return nil
}
