// Package upkeep starts what is due in the clusters of a server: backups, and the renewal of certificates before they
// expire. These are operations like all others, in the name of the schedule.
//
// It may import manager, operation/request and phases/pki.
package upkeep

import (
	"context"
	"encoding/json"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/runs"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

const (
	// By is who asks for what is begun here.
	By = request.Schedule
	// lookEvery is how often it looks for what is due.
	lookEvery = 5 * time.Minute
	// againIn is how long it waits after it has begun something, however that ends.
	againIn = time.Hour
	// tellIn is how long it waits before it reports the same again.
	tellIn = 24 * time.Hour
)

// Plan says what is due when.
type Plan struct {
	Renew      bool          // certificates that expire within 30 days
	Every      time.Duration // age of the newest of them at which there is another backup; 0: none by themselves
	Keep       int           // of them, of each cluster; 0: all
	Recipients []string      // public keys of age: there is nobody to ask for a passphrase
}

// Clusters are those of a manager.
type Clusters interface {
	Clusters() []*manager.View
	Begin(ctx context.Context, name string, k manager.Kind, q manager.Request) (manager.View, error)
}

// Files are those of clusters on the control host.
type Files interface {
	Backups(ctx context.Context, r manager.Record) ([]request.BackupInfo, error)
	// Ends are when the first certificate expires that a renewal makes last longer, and when the first CA does.
	Ends(cluster string) (leaf, authority time.Time)
}

// Upkeep looks after the clusters.
type Upkeep struct {
	Plan     Plan
	Clusters Clusters
	Files    Files
	Clock    manager.Clock
	// Trusted is the time by which certificates are renewed: a run with a clock that is wrong would issue some that are
	// not valid yet. nil: that of Clock.
	Trusted func() time.Time
	// Report is told of what could not be begun, and of what a server cannot do about by itself.
	Report func(cluster string, err error)

	begun map[string]time.Time // by cluster and kind
	told  map[string]time.Time // by cluster and what
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
// cannot, and an operation that failed is somebody's to look at. That it waits for him is reported.
func (u *Upkeep) look(ctx context.Context) {
	for _, v := range u.Clusters.Clusters() {
		if v.Operation != nil || v.Kubeconfig {
			continue
		}
		switch v.State {
		case state.Running:
			if k := u.due(ctx, v.Record); k != "" {
				u.begin(ctx, v.Name, k)
			}
		case state.Unavailable, state.Unreachable:
			if k := u.due(ctx, v.Record); k != "" {
				u.tell(v.Name, string(k), event.NewFault(event.ClassFailed, "upkeep.waits", nil,
					"cluster", v.Name, "kind", string(k), "state", string(v.State)))
			}
		}
	}
}

// tell reports something once a day.
func (u *Upkeep) tell(cluster, what string, err error) {
	if u.told == nil {
		u.told = map[string]time.Time{}
	}
	key, now := cluster+" "+what, u.Clock.Now()
	if last, was := u.told[key]; was && now.Sub(last) < tellIn {
		return
	}
	u.told[key] = now
	u.Report(cluster, err)
}

// due is what is to be begun in a cluster; "": nothing. A backup goes first: a renewal restarts components.
func (u *Upkeep) due(ctx context.Context, r manager.Record) manager.Kind {
	now, cluster := u.Clock.Now(), r.Name
	rested := func(k manager.Kind) bool {
		last, was := u.begun[cluster+" "+string(k)]
		return !was || now.Sub(last) >= againIn
	}
	if u.Plan.Every > 0 && rested(manager.Backup) {
		list, err := u.Files.Backups(ctx, r)
		list = u.past(cluster, list)
		if err != nil {
			u.Report(cluster, err)
		} else if len(list) == 0 || now.Sub(list[0].At) >= u.Plan.Every {
			return manager.Backup
		}
	}
	if !u.Plan.Renew {
		return ""
	}
	if u.Trusted != nil {
		now = u.Trusted()
	}
	leaf, authority := u.Files.Ends(cluster)
	if !authority.IsZero() && now.Add(pki.RenewAhead).After(authority) {
		u.tell(cluster, "authority", event.NewFault(event.ClassPartial, "upkeep.authority", nil, "cluster", cluster,
			"date", authority.UTC().Format(time.DateOnly)))
	}
	if rested(manager.Renew) && !leaf.IsZero() && now.Add(pki.RenewAhead).After(leaf) {
		return manager.Renew
	}
	return ""
}

// past are the backups of the schedule that are not dated in the future. Those say nothing of how old the newest is:
// the clock was wrong when they were taken, or it is wrong now. One that somebody else took may have a key that only he
// has.
func (u *Upkeep) past(cluster string, list []request.BackupInfo) (out []request.BackupInfo) {
	for _, b := range list {
		switch {
		case !b.Scheduled:
		case b.At.After(u.Clock.Now()):
			u.tell(cluster, b.Path, event.NewFault(event.ClassPartial, "upkeep.future", nil, "path", b.Path))
		default:
			out = append(out, b)
		}
	}
	return out
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
