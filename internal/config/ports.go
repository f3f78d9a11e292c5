package config

// The ports on which clients reach the API server, as text, because they are joined with hosts.
const (
	APIPort      = "6443" // of a control plane
	BalancerPort = "8443" // of a load balancer, unless loadbalance.bind-port has another
)

// PluginPorts are those on which a network plugin's own parts reach each other from node to node.
func PluginPorts(plugin string) []Port {
	switch plugin {
	case "flannel":
		return []Port{{8472, "udp"}} // VXLAN, the kernel's port for it
	case "calico":
		return []Port{{179, "tcp"}, {4789, "udp"}, {5473, "tcp"}} // BGP, VXLAN, Typha
	case "canal":
		return []Port{{8472, "udp"}, {5473, "tcp"}}
	case "cilium":
		return []Port{{8472, "udp"}, {4240, "tcp"}, {4244, "tcp"}} // VXLAN, health, Hubble
	case "kube-router":
		return []Port{{179, "tcp"}}
	case "weave":
		return []Port{{6783, "tcp"}, {6783, "udp"}, {6784, "udp"}}
	}
	return nil
}
