package runs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// answerIn is how long an API server may take.
const answerIn = 5 * time.Second

// kubeconfig is what is read of one. Files, commands and plugins that it names are not: a server does not run them.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Clusters []struct {
		Name    string
		Cluster struct {
			Server string
			CA     string `yaml:"certificate-authority-data"`
		}
	}
	Contexts []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Users []struct {
		Name string
		User struct {
			Cert  string `yaml:"client-certificate-data"`
			Key   string `yaml:"client-key-data"`
			Token string
		}
	}
}

const (
	// idleFor is how long a connection to an API server is kept without a request: until the next look at its health.
	idleFor = time.Minute
	// silentFor limits the wait for an answer over a connection that was kept: a firewall may drop its packets.
	silentFor = 2 * time.Second
	// idleMost is how many are kept to one of them.
	idleMost = 1
	// smallBuffer is the size of the buffers of a connection: most answers are a word.
	smallBuffer = 1 << 10
)

// API is an API server, as a kubeconfig names it. It keeps a connection to one that is reached directly.
type API struct {
	Server string
	CA     []byte
	token  string
	client *http.Client
	// route returns how the API server is reached; nil: directly.
	route func() *apiRoute
}

// Importable refuses a kubeconfig that is not to be taken over. Besides what ReadKubeconfig refuses, that is a path in
// the URL of the server: it would have other requests sent than those of Kubernetes. Clusters that have one already
// keep it.
func Importable(text []byte) error {
	api, err := ReadKubeconfig(text)
	if err != nil {
		return err
	}
	if u, err := url.Parse(api.Server); err != nil || u.Path != "" {
		return event.NewFault(event.ClassUsage, "manager.kubeconfig", errors.New("the URL of the server has a path"))
	}
	return nil
}

// ReadKubeconfig reads a kubeconfig that holds all it needs. The URL of its server has neither a user and a password,
// which would be shown with it, nor a query. The error is a fault of class usage.
func ReadKubeconfig(text []byte) (*API, error) {
	api, err := readKubeconfig(text)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "manager.kubeconfig", err)
	}
	return api, nil
}

func readKubeconfig(text []byte) (*API, error) {
	var k kubeconfig
	if err := yaml.NewDecoder(io.LimitReader(bytes.NewReader(text), 1<<20)).Decode(&k); err != nil {
		return nil, errors.New("not a kubeconfig")
	}
	out, cluster, user := &API{}, "", ""
	for _, c := range k.Contexts {
		if c.Name == k.Current || k.Current == "" && len(k.Contexts) == 1 {
			cluster, user = c.Context.Cluster, c.Context.User
		}
	}
	var err error
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	for _, c := range k.Clusters {
		if c.Name != cluster {
			continue
		}
		out.Server = strings.TrimSuffix(c.Cluster.Server, "/")
		if out.CA, err = base64.StdEncoding.DecodeString(c.Cluster.CA); err != nil {
			return nil, errors.New("certificate-authority-data is not Base64")
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(out.CA) {
			return nil, errors.New("certificate-authority-data has no certificate")
		}
	}
	if u, err := url.Parse(out.Server); err != nil || u.Scheme != "https" || u.Hostname() == "" ||
		u.String() != "https://"+u.Host+u.EscapedPath() || !isPort(u.Port()) {
		return nil, fmt.Errorf("the server of the context %q is no https URL of a host alone", k.Current)
	}
	for _, u := range k.Users {
		if u.Name != user {
			continue
		}
		out.token = u.User.Token
		if u.User.Cert == "" {
			continue
		}
		cert, err1 := base64.StdEncoding.DecodeString(u.User.Cert)
		key, err2 := base64.StdEncoding.DecodeString(u.User.Key)
		pair, err3 := tls.X509KeyPair(cert, key)
		if errors.Join(err1, err2, err3) != nil {
			return nil, errors.New("the certificate and the key of the user do not fit")
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	if out.token == "" && len(trust.Certificates) == 0 {
		return nil, errors.New("the user has neither a certificate nor a token in the file")
	}
	out.client = &http.Client{
		// No proxy: the API server is near.
		Transport: &http.Transport{TLSClientConfig: trust, DialContext: out.dial, IdleConnTimeout: idleFor,
			MaxIdleConnsPerHost: idleMost, ReadBufferSize: smallBuffer, WriteBufferSize: smallBuffer},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return out, nil
}

// isPort reports whether the text is the port of a URL, which may have none.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// errSilent ends a request without an answer over a connection that was kept.
var errSilent = errors.New("no answer over a kept connection")

// Do sends a request, and returns the answer of a status below 300. A GET without an answer over a connection that was
// kept is sent again over a new one.
func (a *API) Do(ctx context.Context, method, path, kind string, body []byte) ([]byte, error) {
	text, err := a.try(ctx, method, path, kind, body)
	if errors.Is(err, errSilent) && ctx.Err() == nil {
		a.client.CloseIdleConnections()
		text, err = a.try(ctx, method, path, kind, body)
	}
	return text, err
}

// try sends a request once. The error is errSilent if a kept connection gave no answer to a GET. A connection that
// leads through a node is closed afterwards: to keep it would keep the login to the node, and the direct way would not
// be tried again.
func (a *API) try(ctx context.Context, method, path, kind string, body []byte) (text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	silent, far := time.AfterFunc(answerIn, func() { end(errSilent) }), false
	silent.Stop()
	defer silent.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if silent.Stop(); c.Reused && method == http.MethodGet {
			silent.Reset(silentFor)
		}
		if t, is := c.Conn.(*tls.Conn); is {
			_, far = t.NetConn().(tunneled)
		}
	}})
	q, err := http.NewRequestWithContext(ctx, method, a.Server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		q.Header.Set("Content-Type", kind)
	}
	if a.token != "" {
		q.Header.Set("Authorization", "Bearer "+a.token)
	}
	defer func() {
		if far {
			a.client.CloseIdleConnections()
		}
		if err != nil && errors.Is(context.Cause(ctx), errSilent) {
			err = errSilent
		}
	}()
	res, err := a.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err == nil && res.StatusCode >= 300 {
		err = refusalOf(res.Status, text)
	}
	return text, err
}

// refusalOf is an answer that is no success, with what Kubernetes says of it: a Status, or the checks of /readyz that
// failed. Of another server nothing is shown: who sees the fault may not be one who can read from there.
func refusalOf(status string, text []byte) error {
	var said struct{ Kind, Message string }
	if json.Unmarshal(text, &said) != nil || said.Kind != "Status" {
		said.Message = ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "[-]") {
				said.Message += line
			}
		}
	}
	if said.Message == "" {
		return errors.New(status)
	}
	return fmt.Errorf("%s: %s", status, event.Clean(said.Message[:min(len(said.Message), 200)]))
}

// Reach implements manager.Runner.
func (r *Runner) Reach(ctx context.Context, rec manager.Record) error {
	err := r.Here(ctx, rec.Name)
	if err != nil {
		return err
	}
	api, err := r.API(rec)
	if err != nil {
		return err
	}
	if _, err := api.Do(ctx, http.MethodGet, "/readyz", "", nil); err != nil {
		return event.NewFault(event.ClassFailed, "manager.unreachable", err, "cluster", rec.Name, "server", api.Server)
	}
	return nil
}

// Here refuses a cluster that was handed over from this host, with state.moved.
func (r *Runner) Here(ctx context.Context, cluster string) error {
	return operation.Here(ctx, r.store, cluster)
}

// dial opens a connection to the API server.
func (a *API) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if a.route != nil {
		if way := a.route(); way != nil {
			return way.dial(ctx, network, addr)
		}
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// API returns the API server of a cluster. Its kubeconfig is read again when the file has changed.
func (r *Runner) API(rec manager.Record) (*API, error) {
	path := r.Kubeconfig(rec)
	return r.apis.of(path, stats(path), func() (*API, error) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // it may be copied there later
			return nil, event.NewFault(event.ClassFailed, "manager.no-kubeconfig", nil, "cluster", rec.Name)
		}
		if err != nil {
			return nil, event.NewFault(event.ClassFailed, "state.read", err)
		}
		api, err := ReadKubeconfig(text)
		if err == nil {
			api.route = func() *apiRoute { return r.wayTo(rec) }
		}
		return api, err
	})
}
