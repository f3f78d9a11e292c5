package backend

import (
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Start is a run to be begun. Its request holds no secrets.
type Start struct {
	Request request.Request
	// Again: the cluster's last run is continued, and its limit and hooks hold.
	Again bool
	// Soon: another run of the cluster is about to end, and is waited for.
	Soon bool
}

// Resume is a deploy that continues the last run of a cluster.
func Resume(cluster string) Start {
	return Start{Request: request.Deploy{Common: request.OfCluster(cluster)}, Again: true}
}

// Answer is the result of a query, in the language of the front end that shows it.
type Answer func(p *i18n.Printer) document.Document

// Query asks about a cluster and changes nothing: Status, Plan or Inventory.
type Query interface {
	// Base names the cluster.
	Base() request.Common
	isQuery()
}

// Status asks how a cluster is.
type Status struct{ request.Common }

// Plan asks what a request would change.
type Plan struct{ request.Request }

// Inventory asks what a cleanup would remove; with Purge also data and images.
type Inventory struct {
	request.Common
	Purge bool
}

func (Status) isQuery()    {}
func (Plan) isQuery()      {}
func (Inventory) isQuery() {}
