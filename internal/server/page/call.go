package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// reply is what the API answers to a request of the page. It implements http.ResponseWriter.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *reply) Header() http.Header { return r.header }

// Write implements http.ResponseWriter.
func (r *reply) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) { r.status = status }

// get reads something of the API, as the reader of the page may.
func (p *Page) get(v *visit, path string, into any) error {
	return p.call(v, http.MethodGet, path, nil, into)
}

// call sends a request to the API in the name of the reader, with more headers by name and value. What is wrong is a
// problem, in the reader's language.
func (p *Page) call(v *visit, method, path string, body, into any, headers ...string) error {
	r, err := p.ask(v, method, path, body, headers...)
	if err != nil || into == nil || r.body.Len() == 0 {
		return err
	}
	return json.Unmarshal(r.body.Bytes(), into)
}

// ask is call with the whole answer.
func (p *Page) ask(v *visit, method, path string, body any, headers ...string) (*reply, error) {
	var text io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(b)
	}
	ctx := problem.Speaking(v.r.Context(), string(v.lang))
	q, err := http.NewRequestWithContext(ctx, method, server.Prefix+path, text)
	if err != nil {
		return nil, err
	}
	q.RemoteAddr, q.RequestURI = v.r.RemoteAddr, q.URL.RequestURI()
	q.Header.Set("Accept-Language", string(v.lang))
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r := &reply{header: http.Header{}}
	p.api.ServeHTTP(r, q)
	if r.status >= http.StatusMultipleChoices {
		said := &problem.Problem{}
		if err := json.Unmarshal(r.body.Bytes(), said); err != nil || said.Code == "" {
			return nil, fmt.Errorf("%s %s: status %d", method, path, r.status)
		}
		return nil, said
	}
	return r, nil
}

// in is the path of a cluster in the API, with more below it.
func in(cluster, more string) string { return "/clusters/" + url.PathEscape(cluster) + more }

// answer sends JSON to a script of the page.
func (v *visit) answer(body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, err = v.w.Write(text)
	return err
}
