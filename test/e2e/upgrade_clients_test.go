package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// clients use a cluster while something is done to it. Each calls ten times a second and makes no second try: the API
// on a new connection for each call, the API on a connection that it keeps, the same with a write, and a Service by its
// ClusterIP from a node. Only an API server that stops may ask for one, on a kept connection, and seldom (decision
// 0055). A watch sees every write.
type clients struct {
	s                         *stand.Stand
	fresh, kept, write, serve *callers
	later                     *stand.Later
	writes                    *writes
	pressure                  *pressure
	began                     time.Time
}

// callers of a cluster, in the order of a report.
func (c *clients) callers() []*callers { return []*callers{c.fresh, c.kept, c.write, c.serve} }

// often is how often each of them calls.
const often = 100 * time.Millisecond

// useCluster begins. The API is asked at an address, the Service web from a node.
func useCluster(t *testing.T, s *stand.Stand, cluster, api, node string) *clients {
	t.Helper()
	ip, err := s.Kubectl(t.Context(), "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	must(t, "ClusterIP", err)
	tls := admin(t, s, cluster)
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: tls}}
	again := &stand.Later{RoundTripper: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: tls.Clone()}}
	kept := &http.Client{Transport: again}
	inside := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.Lab.Dial(ctx, node, network, address)
		}}}
	c := &clients{s: s, later: again, pressure: watchPressure(t), began: time.Now(),
		writes: newWrites(t, kept, "https://"+api+"/api/v1/namespaces/default/configmaps")}
	namespace := "https://" + api + "/api/v1/namespaces/default"
	c.fresh = callEach(t, "the API, each time on a new connection", often, 20*time.Second,
		func(ctx context.Context) error { return get(ctx, fresh, namespace, `"name":"default"`) })
	c.kept = callEach(t, "the API, on a kept connection", often, 20*time.Second,
		func(ctx context.Context) error { return get(ctx, kept, namespace, `"name":"default"`) })
	c.write = callEach(t, "the API with a write", often, 20*time.Second, c.writes.write)
	c.serve = callEach(t, "the Service at its ClusterIP from "+node, often, 5*time.Second,
		func(ctx context.Context) error { return get(ctx, inside, "http://"+ip+"/hostname", "web-") })
	return c
}

// end stops them and says what became of their calls. missed are the writes that the watch has not seen.
func (c *clients) end(t *testing.T) (failed map[string][]call, missed []int) {
	t.Helper()
	failed = map[string][]call{}
	c.pressure.during(c.s, "this machine meanwhile", c.began, time.Now())
	for _, one := range c.callers() {
		calls, bad := one.end(c.s)
		failed[one.name] = bad
		if len(bad) > 0 {
			last := bad[len(bad)-1]
			c.pressure.during(c.s, "this machine while calls had no answer", bad[0].began, last.began.Add(last.took))
		}
		if calls < 10 {
			t.Errorf("%s was called %d times only", one.name, calls)
		}
	}
	c.s.Say("of %d requests on kept connections, %d were repeated as an API server that stopped said",
		c.later.Asked.Load(), c.later.Repeated.Load())
	missed = c.writes.missed(t.Context())
	c.s.Say("the watch saw %d writes, began %d times again where it ended and %d times with a list, and missed %d: %v",
		len(c.writes.seen), c.writes.again, c.writes.lists, len(missed), missed)
	return failed, missed
}

// unharmed wants every call to have been answered, and the watch to have missed nothing.
func (c *clients) unharmed(t *testing.T) {
	t.Helper()
	failed, missed := c.end(t)
	for name, calls := range failed {
		if len(calls) > 0 {
			t.Errorf("%s was called %d times in vain; first %s", name, len(calls), calls[0])
		}
	}
	if len(missed) > 0 {
		t.Errorf("the watch missed the writes %v", missed)
	}
	if c.later.TooOften() {
		t.Errorf("%d of %d requests had to be repeated", c.later.Repeated.Load(), c.later.Asked.Load())
	}
}

// writes are changes of ConfigMaps, each with a number, and a watch of them.
type writes struct {
	client *http.Client
	url    string
	next   atomic.Int64
	stop   context.CancelFunc
	mu     sync.Mutex
	made   []int // that were answered
	seen   map[int]bool
	again  int // how often the watch was begun again
	lists  int // how often it had to begin with a list, because the server knew no more what came before
}

// objects are the ConfigMaps that are written in turn. Of writes to one and the same object the API makes those wait
// that another one has overtaken.
const objects = 50

// ofWritten is a selector of them.
const ofWritten = "labelSelector=written%3Dyes"

func newWrites(t *testing.T, client *http.Client, url string) *writes {
	t.Helper()
	w := &writes{client: client, url: url, seen: map[int]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	t.Cleanup(stop)
	version, err := w.begin(ctx)
	must(t, "ConfigMap", err)
	go w.watch(ctx, version)
	return w
}

// begin makes the ConfigMaps, and lists.
func (w *writes) begin(ctx context.Context) (string, error) {
	for i := range objects {
		body := fmt.Sprintf(`{"metadata":{"name":"written-%d","labels":{"written":"yes"}}}`, i)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := w.client.Do(req)
		if err != nil {
			return "", err
		}
		resp.Body.Close()
	}
	return w.list(ctx)
}

// list sees what is written at the moment, and gives the version of the API's objects.
func (w *writes) list(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"?"+ofWritten, nil)
	if err != nil {
		return "", err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []object
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return "", err
	}
	for _, o := range list.Items {
		w.see(o)
	}
	return list.Metadata.ResourceVersion, wants(list.Metadata.ResourceVersion != "", resp.Status)
}

// object is a ConfigMap.
type object struct {
	Metadata struct{ ResourceVersion string }
	Data     struct{ Count string }
}

func (w *writes) see(o object) {
	if n, err := strconv.Atoi(o.Data.Count); err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[n] = true
	}
}

func wants(ok bool, what string) error {
	if !ok {
		return errors.New(what)
	}
	return nil
}

// write makes the next change.
func (w *writes) write(ctx context.Context) error {
	n := int(w.next.Add(1))
	body := fmt.Sprintf(`{"data":{"count":"%d"}}`, n)
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, fmt.Sprintf("%s/written-%d", w.url, n%objects),
		strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	if err := answered(w.client, req, `"count"`); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, n)
	return nil
}

// watch sees changes until ctx ends. Where it is interrupted it begins again with what it has seen last, as clients do.
func (w *writes) watch(ctx context.Context, version string) {
	for ctx.Err() == nil {
		last, tooOld := w.one(ctx, version)
		version = last
		if tooOld {
			if now, err := w.list(ctx); err == nil {
				version = now
			}
		}
		w.mu.Lock()
		w.again++
		if tooOld {
			w.lists++
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(often):
		}
	}
}

// one watches until the server ends it, and gives the version of the last event. A server may know too little of the
// past to begin there.
func (w *writes) one(ctx context.Context, version string) (last string, tooOld bool) {
	url := w.url + "?watch=true&" + ofWritten + "&resourceVersion=" + version
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return version, false
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return version, false
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusGone {
		return version, true
	}
	for d := json.NewDecoder(resp.Body); ; {
		var e struct {
			Type   string
			Object object
		}
		if err := d.Decode(&e); err != nil || e.Type == "" { // it ended, or it is no watch but an error
			return version, false
		}
		if e.Type == "ERROR" {
			return version, true
		}
		w.see(e.Object)
		version = e.Object.Metadata.ResourceVersion
	}
}

// missed are the answered writes that the watch has not seen; it has some time to catch up.
func (w *writes) missed(ctx context.Context) []int {
	defer w.stop()
	var out []int
	_ = stand.Until(ctx, 30*time.Second, "every write is seen", func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		out = nil
		for _, n := range w.made {
			if !w.seen[n] {
				out = append(out, n)
			}
		}
		return wants(len(out) == 0, fmt.Sprint(out))
	})
	return out
}
