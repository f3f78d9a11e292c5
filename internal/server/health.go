package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/problem"
)

// Health is what a cluster was from a time on.
type Health struct {
	At     time.Time `json:"at"`
	State  string    `json:"state"`
	Reason *Fault    `json:"reason,omitempty" doc:"Why the cluster was Unavailable, Unreachable or Connecting."`
}

// HealthInput selects a page of the health history of a cluster.
type HealthInput struct {
	InCluster
	After uint64 `query:"after" doc:"The value of next of the page before."`
	Limit int    `query:"limit" doc:"At most so many." minimum:"1" maximum:"500" default:"100"`
}

// healthOutput is the history, the newest first.
type healthOutput struct{ Body problem.List[Health] }

// history is the route of what the server saw of the health of clusters.
func (s *Server) history(api huma.API) {
	s.ListHealth = add(s, api, huma.Operation{OperationID: "list-health", Method: "GET",
		Path: "/clusters/{cluster}/health/history", Summary: "List the states that the cluster was in, and why",
		Tags: []string{"inspection"}}, access.View, s.health)
}

func (s *Server) health(ctx context.Context, _ access.Grant, in *HealthInput) (*healthOutput, error) {
	list, err := s.Manager.Health(ctx, in.Cluster, in.After, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &healthOutput{}
	out.Body.Items = []Health{}
	for i, h := range list {
		if i == in.Limit {
			out.Body.Next = strconv.FormatUint(list[i-1].Seq, 10)
			break
		}
		out.Body.Items = append(out.Body.Items, Health{h.At, string(h.State), faultOf(ctx, h.Reason)})
	}
	return out, nil
}

// readyIn is how long the database may take to answer.
const readyIn = 5 * time.Second

// ready says whether requests can be answered: the manager has read its clusters and works, and its database answers.
// Who asks may be anybody, and learns no more than the code of what is wrong.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyIn)
	defer cancel()
	if err := s.Manager.Ready(ctx); err != nil {
		problem.Write(w, r, event.NewFault(event.ClassFailed, "api.not-ready", nil, "code", event.AsFault(err).Code))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}
