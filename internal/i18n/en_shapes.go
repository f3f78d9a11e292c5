package i18n

// enShapes holds the sentences of clusters with several control planes, members of etcd and a load balancer.
func enShapes() map[string]string {
	return map[string]string{
		"phase.loadbalance": "Load balancer",

		"step.etcd.membership":           "Who is a member of etcd",
		"step.infrastructure.mask-nginx": "Keep nginx's own service from starting",
		"step.loadbalance.start":         "Start the load balancer",
		"step.loadbalance.ready":         "Reach the API through the load balancer",
		"step.check.control-plane":       "etcd, API servers and load balancer answer",

		"cli.certs.short":       "Certificates: list, renew",
		"cli.certs.list.short":  "List the certificates, as this machine and the nodes have them",
		"cli.certs.list.long":   "Lists the certificates of the state directory with their ends, and compares with them what each node has in its files and shows on its\nports. Exit code 1: one has expired, is another one, or cannot be seen; 3: one ends within 30 days.",
		"cli.certs.renew.short": "Issue all leaf certificates anew and bring them to the nodes",
		"cli.certs.renew.long":  "Issues every certificate but the authorities' anew and deploys: components restart one node at a time, each proved well before the\nnext, so that three control planes answer all the while. Kubelets renew their client certificates themselves.",
		"cli.flag.certs-output": "form of the list: table or json",
		"cli.flag.offline":      "only what this machine has; ask no node",

		"certs.header":            "NODE\tCERTIFICATE\tENDS\tSTATE\tAT",
		"certs.state.ok":          "ok",
		"certs.state.soon":        "ends soon",
		"certs.state.expired":     "EXPIRED",
		"certs.state.other":       "ANOTHER ONE",
		"certs.state.absent":      "ABSENT",
		"certs.state.silent":      "NO ANSWER",
		"certs.state.unreachable": "NODE UNREACHABLE",
		"next.renewed":            "All certificates are new; kubelets renew their client certificates themselves. To see them: {command}",

		"fault.certs.unwell":          "One of the certificates needs attention.",
		"fault.certs.unwell.next":     "eggo-tui certs renew issues all leaf certificates anew and brings them to the nodes.",
		"fault.certs.no-cluster":      "This machine has no certificates of the cluster {cluster} ({dir}).",
		"fault.certs.no-cluster.next": "Run deploy first, or this on the machine that installed the cluster; --state-dir names another directory.",

		"change.etcd-add": "add {member} to etcd's members",
		"change.mask":     "mask {unit}, which its package would start",
		"change.endpoint": "write the endpoint {endpoint} into {path}",

		"fault.preflight.selinux-balancer":      "SELinux is enforcing on {node}: it may keep nginx from listening on {port}, from reaching the API servers, or from writing /run/eggo-lb.",
		"fault.preflight.selinux-balancer.next": "On {node}: semanage port -a -t http_port_t -p tcp {port}; setsebool -P httpd_can_network_connect 1. If the balancer does not start, ausearch -m avc says what else is refused.",
		"fault.preflight.endpoint-told":         "{node} cannot resolve {name}, the name of the API; {addr} is added to its /etc/hosts for it.",
		"fault.preflight.endpoint-told.next":    "Add {name} to your DNS if other machines are to use it.",
		"fault.preflight.endpoint-unknown":      "{node} cannot resolve {name} (apiserver-endpoint), and deploy.yaml does not have its address.",
		"fault.preflight.endpoint-unknown.next": "Add {name} to your DNS or to /etc/hosts on {node}, or write an address as apiserver-endpoint.",

		"fault.balancer.no-nginx":       "{node}: nginx is not installed.",
		"fault.balancer.no-nginx.next":  "Use a bundle whose packages for loadbalancer have nginx, or name nginx under loadbalance in deploy.yaml's packages.",
		"fault.balancer.no-stream":      "{node}: its nginx cannot pass on TCP: it was built without the stream module.",
		"fault.balancer.no-stream.next": "Install an nginx with the stream module on {node}, or use another machine as load balancer.",
		"fault.balancer.silent":         "{node}: no API server answers through the load balancer's port {port}: {cause} {log}",
		"fault.balancer.silent.next":    "Check journalctl -u eggo-lb on {node}; it must reach port 6443 of the control planes.",

		"notice.etcd-stranger": "etcd has the member {member} ({url}), which deploy.yaml does not have; eggo-tui delete removes it",

		"fault.rolling.stopped":            "{what} was not restarted on {node}: it did not come up again on {other}.",
		"fault.rolling.stopped.next":       "Fix {what} on {other} first; the others keep running as they were. Then run deploy again.",
		"fault.kube.no-control-plane":      "No control plane can be reached.",
		"fault.kube.no-control-plane.next": "Start one of the control planes, and see whether SSH reaches it.",
		"fault.etcd.data-lost":             "No machine has etcd's data, though {joined} has joined the cluster: they are lost.",
		"fault.etcd.data-lost.next":        "Restore a snapshot (STATE/snapshots holds those that were made), or clean the cluster up and deploy it anew.",
		"fault.etcd.no-quorum":             "etcd has no quorum: {cause}",
		"fault.etcd.no-quorum.next":        "Start the members that are down (journalctl -u etcd on each of them); more than half of them must answer.",
		"fault.etcd.member-unwell":         "etcd's member {member} does not answer: {cause}",
		"fault.etcd.member-unwell.next":    "Fix it, or remove its node with eggo-tui delete, before another member is added: each dead member weakens the cluster.",
		"fault.etcd.not-listed":            "etcd does not list a member for {node}, though it has etcd's data.",
		"fault.etcd.not-listed.next":       "If its member was removed, move /var/lib/etcd/default.etcd on {node} away and run deploy again.",
	}
}
