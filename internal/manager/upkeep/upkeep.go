// Package upkeep begins by itself what is due in the clusters of a server: backups, and the renewal of certificates
// before they expire. What it begins are operations like all others, in the name of the schedule. It may import
// manager, the requests of operations and pki.
package upkeep

import (
	"context"
	"encoding/json"
	"time"

	"github.com/eggo-k8s/eggo/internal/manager"
	"github.com/eggo-k8s/eggo/internal/manager/runs"
	"github.com/eggo-k8s/eggo/internal/manager/state"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/pki"
)

const (
	// By is who asks for what is begun here.
	By = "schedule"
	// lookEvery is how often it looks for what is due.
	lookEvery = 5 * time.Minute
	// againIn is how long it waits after it has begun something, however that ends.
	againIn = time.Hour
)

// Plan says what is due when.
type Plan struct {
	Renew      bool          // certificates that expire within 30 days
	Every      time.Duration // age of the newest backup at which there is another one; 0: none by themselves
	Keep       int           // backups of each cluster; 0: all
	Recipients []string      // public keys of age: there is nobody to ask for a passphrase
}

// Clusters are those of a manager.
type Clusters interface {
	Clusters() []manager.View
	Begin(ctx context.Context, name string, k manager.Kind, q manager.Request) (manager.View, error)
}

// Files are those of clusters on the control host.
type Files interface {
	Backups(ctx context.Context, cluster string) ([]request.BackupInfo, error)
	Expiry(cluster string) time.Time
}

// Upkeep looks after the clusters.
type Upkeep struct {
	Plan     Plan
	Clusters Clusters
	Files    Files
	Clock    manager.Clock
	// Report is told of what could not be begun.
	Report func(cluster string, err error)

	begun map[string]time.Time // by cluster and kind
}

// Run looks for what is due until ctx ends.
func (u *Upkeep) Run(ctx context.Context) {
	for {
		u.look(ctx)
		if u.Clock.Sleep(ctx, lookEvery) != nil {
			return
		}
	}
}

// look begins what is due, at most one operation of each cluster that is Running with nothing in progress: others
// cannot, and an operation that failed is somebody's to look at.
func (u *Upkeep) look(ctx context.Context) {
	for _, v := range u.Clusters.Clusters() {
		if v.State != state.Running || v.Operation != nil || v.Kubeconfig {
			continue
		}
		if k := u.due(ctx, v.Name); k != "" {
			u.begin(ctx, v.Name, k)
		}
	}
}

// due is what is to be begun in a cluster; "": nothing. A backup goes first: a renewal restarts components.
func (u *Upkeep) due(ctx context.Context, cluster string) manager.Kind {
	now := u.Clock.Now()
	rested := func(k manager.Kind) bool {
		last, was := u.begun[cluster+" "+string(k)]
		return !was || now.Sub(last) >= againIn
	}
	if u.Plan.Every > 0 && rested(manager.Backup) {
		list, err := u.Files.Backups(ctx, cluster)
		if err != nil {
			u.Report(cluster, err)
		} else if len(list) == 0 || now.Sub(list[0].At) >= u.Plan.Every {
			return manager.Backup
		}
	}
	end := u.Files.Expiry(cluster)
	if u.Plan.Renew && rested(manager.Renew) && !end.IsZero() && now.Add(pki.RenewAhead).After(end) {
		return manager.Renew
	}
	return ""
}

func (u *Upkeep) begin(ctx context.Context, cluster string, k manager.Kind) {
	if u.begun == nil {
		u.begun = map[string]time.Time{}
	}
	u.begun[cluster+" "+string(k)] = u.Clock.Now()
	var p runs.Parameters
	if k == manager.Backup {
		p.Keep, p.Recipients = u.Plan.Keep, u.Plan.Recipients
	}
	text, err := json.Marshal(p)
	if err == nil {
		_, err = u.Clusters.Begin(ctx, cluster, k, manager.Request{By: By, Request: text})
	}
	if err != nil {
		u.Report(cluster, err)
	}
}
