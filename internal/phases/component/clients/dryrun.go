package clients

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"k8s.io/client-go/transport"

	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// recorder keeps a dry run's requests from changing the cluster; nil when it is none.
func (r *Clients) recorder() transport.WrapperFunc {
	if !r.Dry {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper { return &recordingTransport{next, r.Emit} }
}

// recordingTransport lets requests through that only read, or that the server itself is told to take for a dry run. The
// others it announces and answers itself, with the object as it was sent or as it stands.
type recordingTransport struct {
	next http.RoundTripper
	emit func(event.Event) error
}

// RoundTrip answers what would change something.
func (t *recordingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	reads := req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions
	patches := req.Method == http.MethodPatch && slices.Equal(req.URL.Query()["dryRun"], []string{"All"})
	if reads || patches {
		return t.next.RoundTrip(req)
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	desc := event.M("change.api", "method", req.Method, "path", req.URL.Path)
	if err := t.emit(event.Change{Step: engine.StepID(req.Context()), Desc: desc}); err != nil {
		return nil, err
	}
	kind := req.Header.Get("Content-Type")
	switch {
	case req.Method == http.MethodDelete:
		body, kind = []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`), "application/json"
	case req.Method == http.MethodPatch && !strings.Contains(kind, "apply-patch"):
		get := req.Clone(req.Context())
		get.Method, get.Body, get.ContentLength, get.URL.RawQuery = http.MethodGet, nil, 0, ""
		return t.next.RoundTrip(get)
	case req.Method == http.MethodPatch:
		kind = "application/json"
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}, nil
}

// etcdRecorder keeps a dry run's calls from changing etcd.
func (r *Clients) etcdRecorder() []grpc.DialOption {
	if !r.Dry {
		return nil
	}
	reads := []string{"/etcdserverpb.KV/Range", "/etcdserverpb.Cluster/MemberList", "/etcdserverpb.Maintenance/Status",
		"/etcdserverpb.Maintenance/Hash", "/etcdserverpb.Maintenance/HashKV"}
	refuse := func(ctx context.Context, method string) error {
		if slices.Contains(reads, method) {
			return nil
		}
		if err := r.Emit(event.Change{Step: engine.StepID(ctx),
			Desc: event.M("change.etcd", "method", strings.TrimPrefix(method, "/etcdserverpb."))}); err != nil {
			return err
		}
		return wait.ErrDry
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			if err := refuse(ctx, method); err != nil {
				return err
			}
			if wait.Dry(ctx) { // a step in a dry run does not wait for an etcd that is not there yet
				opts = append(slices.Clip(opts), grpc.WaitForReady(false))
			}
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn,
			method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			if err := refuse(ctx, method); err != nil {
				return nil, err
			}
			return stream(ctx, desc, cc, method, opts...)
		}),
	}
}
