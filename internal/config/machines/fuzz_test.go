package machines

import (
	"net/netip"
	"strings"
	"testing"
)

// Whatever a person pastes is read to its end: each machine has an address or a host name, and what is rejected has a
// place and a reason.
func FuzzMachines(f *testing.F) {
	for _, s := range []string{"web-1 10.0.0.[1,3-5] worker", kubespray, "ip,name\n10.0.0.1,a",
		"all: {hosts: {a: {ip: 1.2.3.4}}}",
		"spec:\n  hosts:\n  - {name: a, address: 10.0.0.1}\n  roleGroups: {etcd: [a]}", "- {name: n, ip: 10.0.0.1}",
		"[a:children]\nb\n[b:children]\na\n[b]\nx", "a: &x {hosts: {h: *x}}",
		"x: &x {port: 22}\nnodes:\n- {<<: [*x], ip: 10.0.0.1}", "node[01:999999]", "ops@[::1]:22",
		"10.0.0.1, 10.0.0.[2-3]; fd00::1 # all", sshConfigText,
		"1\u20e3 10.0.0.1 bastion=a,b\n2\u00a010.0.0.2",
		"127.0.0.1 localhost\n10.0.0.1 a.b a", "sep=;\nx\nname;ip;role\n;;etcd",
		"[a]\nm ansible_ssh_common_args='-J x,y'",
		`[{"name":"a","ip":"10.0.0.1"}]`,
		"spec: {hosts: [{ssh: {address: a, bastion: {address: b, bastion: {host: c}}}}]}",
		"bastion_host: {address: b}\nnodes: [{address: a, role: etcd}]", "a.b a 10.0.0.{1..3} node[1:9:2]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := Read(text)
		if len(l.Entries) > Most {
			t.Fatalf("%d machines", len(l.Entries))
		}
		for _, e := range l.Entries {
			if _, err := netip.ParseAddr(e.IP); (err == nil) == (e.Host != "") {
				t.Fatalf("a machine with the address %q and the host %q", e.IP, e.Host)
			}
			if e.Host != "" && !hostName.MatchString(e.Host) {
				t.Fatalf("a host name %q", e.Host)
			}
			if e.Line < 1 || e.Line > breaks(text)+1 {
				t.Fatalf("line %d of %q", e.Line, text)
			}
		}
		for _, b := range l.Rejected {
			if b.Why.Key == "" || b.Line < 1 {
				t.Fatalf("rejected without a place or a reason: %+v", b)
			}
		}
	})
}

// breaks is how many line breaks a text has, of whichever kind.
func breaks(text string) (n int) {
	for _, r := range text {
		if strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) {
			n++
		}
	}
	return n
}
