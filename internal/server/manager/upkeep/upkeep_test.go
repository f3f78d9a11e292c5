package upkeep

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// host is a server and its files, and its clock.
type host struct {
	now     time.Time
	views   []manager.View
	backups map[string]time.Duration // age of the newest of the schedule; somebody else has just taken another one
	expires map[string]time.Duration // from now
	began   []string
	told    []string
	refuse  error
}

func (h *host) Clusters() (out []*manager.View) {
	for i := range h.views {
		out = append(out, &h.views[i])
	}
	return out
}

func (h *host) Begin(_ context.Context, name string, k manager.Kind, q manager.Request) (manager.View, error) {
	h.began = append(h.began, name+" "+string(k)+" "+q.By+" "+string(q.Request))
	return manager.View{}, h.refuse
}

func (h *host) Backups(_ context.Context, r manager.Record) ([]request.BackupInfo, error) {
	if r.Name == "broken" {
		return nil, event.NewFault(event.ClassUsage, "backup.directory", nil)
	}
	if age, is := h.backups[r.Name]; is {
		return []request.BackupInfo{{At: h.now.Add(time.Hour)}, {At: h.now},
			{At: h.now.Add(-age), Scheduled: true}}, nil
	}
	return nil, nil
}

func (h *host) Ends(cluster string) (leaf, authority time.Time) {
	if in, is := h.expires[cluster]; is {
		leaf = h.now.Add(in)
	}
	if in, is := h.expires[cluster+" CA"]; is {
		authority = h.now.Add(in)
	}
	return leaf, authority
}

func (h *host) Now() time.Time { return h.now }

// Sleep lets an hour pass, once.
func (h *host) Sleep(ctx context.Context, _ time.Duration) error {
	h.now = h.now.Add(time.Hour)
	if len(h.began) > 0 {
		return context.Canceled
	}
	return ctx.Err()
}

func view(name string, s state.State) manager.View {
	return manager.View{Record: manager.Record{Name: name}, State: s}
}

func TestWhatIsDueIsBegun(t *testing.T) {
	busy, far := view("busy", state.Running), view("far", state.Running)
	busy.Operation, far.Kubeconfig = &manager.Operation{}, true
	h := &host{now: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), views: []manager.View{busy, far,
		view("fresh", state.Running), view("old", state.Running), view("never", state.Running),
		view("ends", state.Running), view("broken", state.Running), view("new", state.Creating)},
		backups: map[string]time.Duration{"fresh": time.Hour, "old": 25 * time.Hour, "ends": time.Minute,
			"busy": 99 * time.Hour},
		expires: map[string]time.Duration{"ends": 29 * 24 * time.Hour, "fresh": 31 * 24 * time.Hour,
			"broken": time.Hour}}
	report := func(cluster string, err error) { h.told = append(h.told, cluster+" "+err.Error()) }
	u := &Upkeep{Plan: Plan{Renew: true, Every: 24 * time.Hour, Keep: 7, Recipients: []string{"age1x"}}, Clusters: h,
		Files: h, Clock: h, Report: report}
	u.Run(t.Context())
	want := `old backup schedule {"keep":7,"recipients":["age1x"]},never backup schedule ` +
		`{"keep":7,"recipients":["age1x"]},ends renew schedule {},broken renew schedule {}`
	if got := strings.Join(h.began, ","); got != want {
		t.Error(got)
	}
	if len(h.told) != 1 || !strings.HasPrefix(h.told[0], "broken") {
		t.Error(h.told)
	}
	// An hour later what is still due is begun again, and not before.
	h.began, h.now = nil, h.now.Add(-time.Minute)
	if u.look(t.Context()); len(h.began) > 0 {
		t.Error(h.began)
	}
	h.now, h.refuse = h.now.Add(time.Minute), errors.New("no")
	if u.look(t.Context()); len(h.began) != 4 || len(h.told) < 5 {
		t.Error(h.began, h.told)
	}
}

func TestNothingIsDueByItself(t *testing.T) {
	h := &host{views: []manager.View{view("one", state.Running)}, expires: map[string]time.Duration{"one": -time.Hour}}
	u := &Upkeep{Clusters: h, Files: h, Clock: h}
	if u.look(t.Context()); len(h.began) > 0 {
		t.Error(h.began)
	}
}

// A clock that is not trusted begins no renewal, which would issue certificates that are not valid yet; the backups of
// the schedule are taken.
func TestAClockThatIsAheadRenewsNothing(t *testing.T) {
	right := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	h := &host{now: right.AddDate(10, 0, 0), views: []manager.View{view("one", state.Running)},
		expires: map[string]time.Duration{"one": 60*24*time.Hour - right.AddDate(10, 0, 0).Sub(right)}}
	u := &Upkeep{Plan: Plan{Renew: true}, Clusters: h, Files: h, Clock: h, Trusted: func() time.Time { return right },
		Report: func(_ string, err error) { t.Error(err) }}
	if u.look(t.Context()); len(h.began) > 0 {
		t.Error(h.began)
	}
	u.Plan.Every = time.Hour
	if u.look(t.Context()); len(h.began) != 1 {
		t.Error(h.began)
	}
	u.Plan.Every, u.Trusted = 0, nil
	if u.look(t.Context()); len(h.began) != 2 {
		t.Error(h.began)
	}
}

// What waits for somebody is reported, once a day: a cluster that is not Running, a CA that ends, and backups that are
// dated in the future, which say nothing of how old the newest is.
func TestWhatWaitsForSomebodyIsReported(t *testing.T) {
	h := &host{now: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC), views: []manager.View{
		view("lost", state.Unreachable), view("failed", state.Unavailable), view("ends", state.Running),
		view("ahead", state.Running)},
		backups: map[string]time.Duration{"failed": time.Hour, "ends": time.Hour, "ahead": -time.Hour},
		expires: map[string]time.Duration{"ends CA": 24 * time.Hour}}
	u := &Upkeep{Plan: Plan{Renew: true, Every: 24 * time.Hour}, Clusters: h, Files: h, Clock: h,
		Report: func(cluster string, err error) { h.told = append(h.told, cluster+" "+event.AsFault(err).Code) }}
	u.look(t.Context())
	if got := strings.Join(h.began, ","); got != "ahead backup schedule {}" {
		t.Error(got)
	}
	want := "lost upkeep.waits,ends upkeep.authority,ahead upkeep.future"
	if got := strings.Join(h.told, ","); got != want {
		t.Error(got)
	}
	h.told = nil
	if u.look(t.Context()); len(h.told) > 0 {
		t.Error(h.told)
	}
	h.now = h.now.Add(tellIn)
	if u.look(t.Context()); len(h.told) < 3 {
		t.Error(h.told)
	}
}
