package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// follows wants every machine of a cluster to know who the others are now, and nobody else: looked up on the nodes, in
// what runs there, and in the API. nodes are all machines of the cluster with their roles.
func follows(t *testing.T, s *stand.Stand, nodes ...stand.Node) {
	t.Helper()
	must(t, "everybody knows who is there", stand.Until(t.Context(), time.Minute, "everybody knows who is there",
		func(ctx context.Context) error {
			l := look{ctx: ctx, s: s, nodes: nodes}
			l.servers()
			l.members()
			l.balancer()
			l.names()
			l.api()
			if len(l.wrong) > 0 {
				return fmt.Errorf("%s", strings.Join(l.wrong, "\n"))
			}
			return nil
		}))
}

// look is one look at all machines.
type look struct {
	ctx   context.Context
	s     *stand.Stand
	nodes []stand.Node
	wrong []string
}

// addresses of the machines with one of the roles, each put into a format, in order.
func (l *look) addresses(roles, format string) []string {
	var out []string
	for _, n := range l.nodes {
		if strings.ContainsAny(n.Roles, roles) {
			ip, err := l.s.Lab.Address(n.Name)
			l.note(n.Name, err)
			out = append(out, fmt.Sprintf(format, ip))
		}
	}
	slices.Sort(out)
	return out
}

func (l *look) note(where string, err error) {
	if err != nil {
		l.wrong = append(l.wrong, where+": "+err.Error())
	}
}

// on runs a command line on a node.
func (l *look) on(node, line string) string {
	out, err := l.s.Lab.Run(l.ctx, node, line)
	l.note(node, err)
	return out
}

// wants compares lists without regard to their order.
func (l *look) wants(where, what string, have, want []string) {
	have = slices.Clone(have)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: %s are %v, want %v", where, what, have, want))
	}
}

// servers: every API server runs with the members of etcd that there are, and shows a certificate with its own address,
// the endpoint's and the load balancer's. It may have more: a certificate that names who has left is not reissued
// for that.
func (l *look) servers() {
	for _, n := range l.nodes {
		if !strings.Contains(n.Roles, "m") {
			continue
		}
		flag := l.on(n.Name,
			`tr '\0' '\n' </proc/$(systemctl show -P MainPID kube-apiserver.service)/cmdline | sed -n 's/^--etcd-servers=//p'`)
		l.wants(n.Name, "--etcd-servers", strings.Split(strings.TrimSpace(flag), ","),
			l.addresses("e", "https://%s:2379"))
		own, err := l.s.Lab.Address(n.Name)
		l.note(n.Name, err)
		want := append([]string{own, "127.0.0.1", "10.32.0.1", l.endpoint()}, l.addresses("l", "%s")...)
		shown := l.shown(net.JoinHostPort(own, "6443"))
		missing := slices.DeleteFunc(want, func(a string) bool { return slices.Contains(shown, a) })
		l.wants(n.Name, "addresses that the API server's certificate lacks", missing, nil)
	}
}

// endpoint is the address by which all reach the API: the load balancer's, or that of the first control plane.
func (l *look) endpoint() string {
	for _, role := range []string{"l", "m"} {
		for _, n := range l.nodes {
			if strings.Contains(n.Roles, role) {
				ip, err := l.s.Lab.Address(n.Name)
				l.note(n.Name, err)
				return ip
			}
		}
	}
	return ""
}

// shown are the addresses in the certificate that a server shows.
func (l *look) shown(addr string) []string {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := d.DialContext(l.ctx, "tcp", addr)
	if err != nil {
		l.note(addr, err)
		return nil
	}
	defer c.Close()
	var out []string
	for _, ip := range c.(*tls.Conn).ConnectionState().PeerCertificates[0].IPAddresses {
		if ip.To4() != nil {
			out = append(out, ip.String())
		}
	}
	slices.Sort(out)
	return out
}

const etcdctl = "ETCDCTL_API=3 etcdctl --cacert /etc/kubernetes/pki/etcd/ca.crt --cert " +
	"/etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key --endpoints https://127.0.0.1:2379 "

// members: etcd has one on each machine that should have one, all vote, and each answers.
func (l *look) members() {
	for _, n := range l.nodes {
		if !strings.Contains(n.Roles, "e") {
			continue
		}
		var have, want []string
		for line := range strings.Lines(l.on(n.Name, etcdctl+"member list")) {
			f := strings.Split(strings.TrimSpace(line), ", ") // ID, status, name, peer URLs, client URLs, learner
			if len(f) == 6 {
				have = append(have, strings.Join(append(f[1:4:4], f[5]), " "))
			}
		}
		for _, m := range l.nodes {
			if strings.Contains(m.Roles, "e") {
				ip, err := l.s.Lab.Address(m.Name)
				l.note(m.Name, err)
				want = append(want, fmt.Sprintf("started %s https://%s:2380 false", m.Name, ip))
			}
		}
		l.wants(n.Name, "etcd's members", have, want)
		l.on(n.Name, etcdctl+"endpoint health")
	}
}

// balancer: its list is that of the control planes.
func (l *look) balancer() {
	for _, n := range l.nodes {
		if !strings.Contains(n.Roles, "l") {
			continue
		}
		l.wants(n.Name, "servers of the load balancer",
			strings.Fields(l.on(n.Name,
				`sed -n 's/^ *server \([0-9.:]*\) max_fails=1 .*/\1/p' /etc/eggo/nginx-lb.conf`)),
			l.addresses("m", "%s:6443"))
		l.on(n.Name, `systemctl is-active -q eggo-lb.service && /usr/sbin/nginx -t -q -c /etc/eggo/nginx-lb.conf`)
	}
}

// names: every machine knows the names of all.
func (l *look) names() {
	for _, n := range l.nodes {
		var want []string
		for _, m := range l.nodes {
			ip, err := l.s.Lab.Address(m.Name)
			l.note(m.Name, err)
			want = append(want, ip+" "+m.Name)
		}
		have := strings.Split(strings.TrimSpace(l.on(n.Name,
			`sed -n '/^# eggo begin$/,/^# eggo end$/p' /etc/hosts | grep -v '^#' | awk '{print $1" "$2}'`)), "\n")
		l.wants(n.Name, "names in /etc/hosts", have, want)
	}
}

// api: the Nodes, which of them are control planes, the endpoints of the API, and those of DNS, which must be pods of
// machines that are there.
func (l *look) api() {
	kubectl := func(args ...string) []string {
		out, err := l.s.Kubectl(l.ctx, args...)
		l.note("kubectl "+strings.Join(args, " "), err)
		return strings.Fields(out)
	}
	var kubelets, control []string
	for _, n := range l.nodes {
		if strings.ContainsAny(n.Roles, "mn") {
			kubelets = append(kubelets, n.Name)
		}
		if strings.Contains(n.Roles, "m") {
			control = append(control, n.Name)
		}
	}
	const names = "jsonpath={.items[*].metadata.name}"
	l.wants("the API", "nodes", kubectl("get", "nodes", "-o", names), kubelets)
	l.wants("the API", "control planes", kubectl("get", "nodes", "-l", "node-role.kubernetes.io/control-plane", "-o",
		names), control)
	l.wants("the API", "its endpoints", kubectl("get", "endpointslices", "kubernetes", "-o",
		"jsonpath={.endpoints[*].addresses[*]}"), l.addresses("m", "%s"))
	dns := kubectl("get", "endpointslices", "-n", "kube-system", "-l", "kubernetes.io/service-name=kube-dns", "-o",
		"jsonpath={.items[*].endpoints[*].nodeName}")
	if len(dns) != 2 {
		l.wrong = append(l.wrong, fmt.Sprintf("DNS has the endpoints on %v", dns))
	}
	for _, n := range dns {
		if !slices.Contains(kubelets, n) {
			l.wrong = append(l.wrong, "DNS has an endpoint on "+n)
		}
	}
}
