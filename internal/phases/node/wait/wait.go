package wait

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Patience is for what comes by itself: about four minutes.
func Patience() engine.Retry {
	return engine.Retry{Tries: 240, Delay: 500 * time.Millisecond, MaxDelay: time.Second, Polls: true}
}

// Again is a fault after which the step is tried again.
func Again(code string, kv ...string) *event.Fault {
	f := event.NewFault(event.ClassFailed, code, nil, kv...)
	f.Retry = true
	return f
}

// ProbeLimit bounds the wait for a component that was just started.
const ProbeLimit = 60 * time.Second

// Answers waits until a component on the node answers its health probe with 200: systemd calls a service started that
// dies a second later. The request goes through the node's SSH connection to the component itself, whose certificate on
// loopback is of its own making.
func Answers(url, unit string) func(context.Context, *node.Node) error {
	return AnswersOr(url, func(ctx context.Context, nd *node.Node, err error) *event.Fault {
		return event.NewFault(event.ClassFailed, "component.unhealthy", err, "unit", unit, "log", nd.Journal(ctx, unit))
	})
}

// AnswersOr is Answers with the fault of a component that does not.
func AnswersOr(url string, fault func(context.Context, *node.Node, error) *event.Fault) func(context.Context,
	*node.Node) error {
	return func(ctx context.Context, nd *node.Node) error {
		client := &http.Client{Timeout: engine.Stretch(ctx, 5*time.Second), Transport: &http.Transport{
			//nolint:gosec // see above
			DialContext: nd.Dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		}}
		limit, cancel := context.WithTimeout(ctx, engine.Stretch(ctx, ProbeLimit))
		defer cancel()
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			err := probe(limit, client, url)
			if err == nil {
				return nil
			}
			if Dry(ctx) {
				return ErrDry
			}
			select {
			case <-limit.Done():
				f := fault(ctx, nd, err).On(nd.Name())
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

// Seconds is a duration as systemd and the messages have it: seconds with a decimal.
func Seconds(d time.Duration) string { return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64) }

// Until tries f until it succeeds, the limit is over or ctx is done; the last error counts. The limit is that of a fast
// node: a slow one gets more.
func Until(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, engine.Stretch(ctx, limit))
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if Dry(ctx) {
			return ErrDry
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
