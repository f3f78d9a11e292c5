package page

import (
	"context"
	"encoding/json"

	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// context returns the context of what a page asks for: its reader is the caller, in the language of the page.
func (v *visit) context() context.Context { return problem.Speaking(v.r.Context(), string(v.lang)) }

// cluster returns the cluster that the address of the page names, as an input of the service.
func (v *visit) cluster() server.InCluster {
	return server.InCluster{Cluster: v.r.PathValue("cluster")}
}

// matching binds a change to the cluster that the reader was shown.
func (v *visit) matching() server.Matching { return server.Matching{IfMatch: v.r.PostForm.Get("etag")} }

// upTo is a part of a list: at most n, after the entry that the address of the page names.
func (v *visit) upTo(n int) problem.Page {
	return problem.Page{After: v.r.URL.Query().Get("after"), Limit: n}
}

// listed returns nodes as a request has them: none is an empty list.
func listed(nodes []clusterspec.Node) []clusterspec.Node {
	return append([]clusterspec.Node{}, nodes...)
}

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
