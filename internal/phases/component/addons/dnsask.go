package addons

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// askLimit bounds a question, as the resolver of a pod does.
const askLimit = 5 * time.Second

// resolves wants a server to know the address of kubernetes.default.svc, asked from a node. It is asked by TCP, which
// goes through the node's connection; the same process answers UDP.
func (r *Addons) resolves(ctx context.Context, nd *node.Node, server netip.Addr) error {
	name := "kubernetes.default.svc." + r.Cluster.DNSDomain + "."
	if err := askFor(ctx, nd, server, name, r.Cluster.ServiceGateway); err != nil {
		return r.silent(nd, server, layout.DNSPort, err)
	}
	return nil
}

// silent is the fault of a server that does not answer, or not rightly.
func (r *Addons) silent(nd *node.Node, server netip.Addr, port int, err error) error {
	f := event.NewFault(event.ClassFailed, "dns.silent", err, "server",
		net.JoinHostPort(server.String(), strconv.Itoa(port))).On(nd.Name())
	f.Retry = true
	return f
}

// askFor asks a server for the address of a name, which must be want.
func askFor(ctx context.Context, nd *node.Node, server netip.Addr, name string, want netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	what, err := dnsmessage.NewName(name)
	if err != nil {
		return err
	}
	kind := dnsmessage.TypeA
	if want.Is6() {
		kind = dnsmessage.TypeAAAA
	}
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 1, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: what, Type: kind, Class: dnsmessage.ClassINET}}}
	text, err := q.Pack()
	if err != nil {
		return err
	}
	c, err := clients.DialFrom(ctx, nd, "tcp", net.JoinHostPort(server.String(), strconv.Itoa(layout.DNSPort)))
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...)); err != nil {
		return err
	}
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	answer := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	var a dnsmessage.Message
	if err := a.Unpack(answer); err != nil {
		return err
	}
	return means(&a, name, want)
}

// means wants an answer to have the address.
func means(a *dnsmessage.Message, name string, want netip.Addr) error {
	if a.RCode != dnsmessage.RCodeSuccess {
		return errors.New(a.RCode.String())
	}
	for _, x := range a.Answers {
		var is netip.Addr
		switch b := x.Body.(type) {
		case *dnsmessage.AResource:
			is = netip.AddrFrom4(b.A)
		case *dnsmessage.AAAAResource:
			is = netip.AddrFrom16(b.AAAA)
		}
		if is == want {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s", name, want)
}

// metricsMost bounds what is read of a server's metrics.
const metricsMost = 4 << 20

// isService says whether who answers a node through the Service is a service of a control plane: its metrics name the
// address that it listens on, and a pod's do not.
func (r *Addons) isService(ctx context.Context, nd *node.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: nd.Dial, DisableKeepAlives: true}}
	at := net.JoinHostPort(r.Cluster.DNSAddr.String(), strconv.Itoa(layout.DNSMetrics))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, metricsMost))
	if err != nil {
		return false, err
	}
	if !bytes.Contains(text, []byte(`server="dns://`)) {
		return false, errors.New("no metrics of CoreDNS: " + resp.Status)
	}
	for _, n := range r.Cluster.With(bundle.ControlPlane) {
		addr := net.JoinHostPort(n.IP.String(), strconv.Itoa(layout.DNSPort))
		if bytes.Contains(text, []byte(`server="dns://`+addr+`"`)) {
			return true, nil
		}
	}
	return false, nil
}
