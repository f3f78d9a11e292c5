package takeover

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// corefile are the addresses that CoreDNS forwards the root zone to, none when they are those of resolv.conf, and the
// lines that kubeadm does not write. Where zones of others are forwarded to is among these, and so is a forward of the
// root zone that deploy.yaml cannot say.
func corefile(text string) (upstreams, others []string) {
	known := []string{"errors", "health", "lameduck 5s", "ready", "kubernetes", "pods insecure", "fallthrough",
		"ttl 30", "prometheus :9153", "max_concurrent 1000", "cache 30", "disable success", "disable denial",
		"loop", "reload", "loadbalance", "}"}
	depth, root := 0, false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		bare := strings.TrimSpace(strings.TrimSuffix(line, "{"))
		if depth == 0 && line != "" {
			root = bare == ".:53" || bare == "."
		}
		to, forward := strings.CutPrefix(bare, "forward . ")
		addresses := addressesOf(to)
		switch {
		case bare == "", root && depth == 0, root && forward && to == "/etc/resolv.conf":
		case root && forward && addresses != nil:
			upstreams = addresses
		case !root, forward, !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(bare, k) }):
			others = append(others, event.Clean(bare))
		}
		depth += strings.Count(line, "{") - strings.Count(line, "}")
	}
	return upstreams, others
}

// addressesOf are the addresses in a text; nil when something else is among them.
func addressesOf(text string) []string {
	all := strings.Fields(text)
	for i, a := range all {
		a = strings.TrimSuffix(a, ":53")
		if ip, err := netip.ParseAddr(a); err != nil || !ip.Is4() {
			return nil
		}
		all[i] = a
	}
	return all
}
