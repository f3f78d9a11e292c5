package config

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Alone is the cluster of one machine of the draft, and the machine as its node, with the login and the settings of the
// draft, which may be wrong elsewhere.
func (d Draft) Alone(m Machine, file string) (*Cluster, Node, error) {
	c, _, err := d.Cluster(file)
	if err != nil {
		return nil, Node{}, err
	}
	if c == nil { // problems are reported where the value is typed; here they are skipped
		alone := Draft{KeepSecrets: true}.WithValues(map[string]string{
			"package-src.x86src": "x.tar.gz", "package-src.armsrc": "x.tar.gz",
		})
		for _, k := range []string{
			"cluster-id", "username", "password", "private-key-path", "eggo.sudo-password", "eggo.bastion",
			"eggo.machines",
			"eggo.known-hosts", "eggo.ssh-legacy-algorithms", "eggo.host-keys", "eggo.password-from",
			"eggo.sudo-password-from", "runtime",
		} {
			if v := d.Value(k); v != "" {
				if _, bad := CheckValue(k, v); !bad {
					alone.Set(k, v)
				}
			}
		}
		one := m
		one.Roles = append(slices.Clone(m.Roles), bundle.ControlPlane)
		if _, bad := CheckMachine("name", one.Name); bad || one.Name == "" {
			one.Name = "machine"
		}
		alone.Machines = []Machine{one}
		var problems Problems
		if c, problems, err = alone.Cluster(file); err != nil {
			return nil, Node{}, err
		}
		if c == nil {
			for _, p := range problems {
				if p.Severity == event.Error {
					return nil, Node{}, p.Fault()
				}
			}
		}
	}
	for _, n := range c.Nodes {
		if n.IP.String() == m.IP {
			n.Roles = slices.Clone(m.Roles)
			return c, n, nil
		}
	}
	return nil, Node{}, event.NewFault(event.ClassUsage, "config.ip", nil, "value", m.IP)
}
