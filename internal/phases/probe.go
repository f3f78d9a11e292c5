package phases

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// probeLimit bounds the wait for a component that was just started.
const probeLimit = 60 * time.Second

// answers waits until a component on the node answers its health probe with 200: systemd calls a service started that dies a second
// later. The request goes through the node's SSH connection to the component itself, whose certificate on loopback is of its own making.
func answers(url, unit string) func(context.Context, *node.Node) error {
	return func(ctx context.Context, nd *node.Node) error {
		client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			DialContext: nd.Dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		}}
		limit, cancel := context.WithTimeout(ctx, probeLimit)
		defer cancel()
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			err := probe(limit, client, url)
			if err == nil {
				return nil
			}
			if rehearsed(ctx) {
				return errRehearsed
			}
			select {
			case <-limit.Done():
				f := event.NewFault(event.ClassFailed, "component.unhealthy", err, "unit", unit, "log", nd.Journal(ctx, unit)).On(nd.Name())
				f.Retry = true
				return f
			case <-tick.C:
			}
		}
	}
}

func probe(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
