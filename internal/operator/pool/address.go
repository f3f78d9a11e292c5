package pool

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/eggo-k8s/eggo/internal/config"
)

// refreshAddresses is how long the addresses of the cluster in which the operator runs are used before they are read
// again.
const refreshAddresses = 5 * time.Minute

// Addresses are those that are never logged in to: special ones, and those of the nodes, pods and services of the
// cluster in which the operator runs. It is for several goroutines.
type Addresses struct {
	Live client.Reader // nodes, service ranges, and the service kubernetes
	// More are ranges that the cluster does not show, such as pods of a network plugin with its own ranges.
	More config.Addresses
	Now  func() time.Time // nil: the clock of this host

	own  func() ([]net.Addr, error) // nil: those of this host
	mu   sync.Mutex
	list config.Addresses
	read time.Time
}

// Get returns the addresses. The error is that of reading the cluster: without an answer nothing may be logged in to.
func (a *Addresses) Get(ctx context.Context) (config.Addresses, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now
	if a.Now != nil {
		now = a.Now
	}
	if a.list != nil && now().Sub(a.read) < refreshAddresses {
		return a.list, nil
	}
	list, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	a.list, a.read = list, now()
	return list, nil
}

// Known returns the addresses that were read last; all addresses before the first time.
func (a *Addresses) Known() config.Addresses {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		return config.Addresses{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	}
	return a.list
}

func (a *Addresses) load(ctx context.Context) (config.Addresses, error) {
	out := append(config.SpecialAddresses(), a.More...)
	interfaces := a.own
	if interfaces == nil {
		interfaces = net.InterfaceAddrs
	}
	own, err := interfaces()
	if err != nil {
		return nil, fmt.Errorf("addresses of this host: %w", err)
	}
	for _, o := range own {
		out = add(out, o.String())
	}
	var nodes corev1.NodeList
	if err := a.Live.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("nodes: %w", err)
	}
	for _, n := range nodes.Items {
		for _, at := range n.Status.Addresses {
			out = add(out, at.Address)
		}
		for _, pods := range append(n.Spec.PodCIDRs, n.Spec.PodCIDR) {
			out = addRange(out, pods)
		}
	}
	var ranges networkingv1.ServiceCIDRList // since Kubernetes 1.33
	if err := a.Live.List(ctx, &ranges); err != nil && !meta.IsNoMatchError(err) && client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("ranges of services: %w", err)
	}
	for _, r := range ranges.Items {
		for _, cidr := range r.Spec.CIDRs {
			out = addRange(out, cidr)
		}
	}
	var api corev1.Service
	err = a.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}, &api)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("service kubernetes: %w", err)
	}
	for _, ip := range append(api.Spec.ClusterIPs, api.Spec.ClusterIP) {
		out = add(out, ip)
	}
	return out, nil
}

// add adds an address, which may have the length of its network; a name is none.
func add(list config.Addresses, text string) config.Addresses {
	if p, err := netip.ParsePrefix(text); err == nil {
		text = p.Addr().String()
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return list
	}
	a = a.Unmap().WithZone("")
	return append(list, netip.PrefixFrom(a, a.BitLen()))
}

// addRange adds a range.
func addRange(list config.Addresses, text string) config.Addresses {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return list
	}
	return append(list, p.Masked())
}
