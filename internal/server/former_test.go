package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// leaves has a run, a snapshot and a backup of now, or of some time ago, in the state directory.
func (s *site) leaves(run string, ago time.Duration) {
	s.t.Helper()
	at := time.Now().Add(-ago).UTC()
	s.logs(run, "deploy", event.RunEnded{Outcome: event.OK})
	stamp := at.Format("20060102T150405Z")
	for _, file := range []string{"snapshots/" + stamp + ".db", "backups/one-" + stamp + ".backup"} {
		path := filepath.Join(s.root, "one", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			s.t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A new cluster has nothing of a deleted one with its name: neither its runs nor its snapshots. One that is imported
// again after its machines were kept has them.
func TestANewClusterHasNothingOfAFormerOne(t *testing.T) {
	s := begin(t)
	const one = "/api/v1/clusters/one"
	has := func(want bool, run string) {
		t.Helper()
		runs := s.want(s.call("vera", "GET", one+"/runs", ""), 200, "").text
		snapshots := s.want(s.call("vera", "GET", one+"/snapshots", ""), 200, "").text
		if strings.Contains(runs, run) != want || strings.Contains(snapshots, ".db") != want {
			t.Errorf("want %t: %s %s", want, runs, snapshots)
		}
		status, code := 404, "usage.no-run"
		if want {
			status, code = 200, ""
		}
		s.want(s.call("vera", "GET", one+"/runs/"+run, ""), status, code)
		s.want(s.call("vera", "GET", one+"/runs/"+run+"/events", ""), status, code)
		if !want {
			s.want(s.call("otto", "POST", one+"/runs/"+run+"/decisions", `{"step":"s","decision":"skip"}`), 404, code)
			s.want(s.call("ann", "POST", one+"/restore", `{"snapshot":"x.db"}`), 404, "api.no-snapshot")
		}
	}
	s.running()
	old := s.world.Newest("one")
	s.leaves(old.ID(), 0)
	has(true, old.ID())
	s.want(s.call("ann", "DELETE", one+"?machines=keep", ""), 200, "")
	s.want(s.call("ann", "POST", "/api/v1/clusters:import", `{"name":"one"}`), 202, "")
	s.reach("Running", nil)
	has(true, old.ID())
	s.want(s.call("ann", "DELETE", one, ""), 202, "")
	s.reach("Destroy", func() bool { return s.world.Newest("one") != old })
	s.world.Newest("one").Finish(nil)
	s.reachGone()
	past := time.Now().Add(-time.Hour)
	files, err := filepath.Glob(filepath.Join(s.root, "one", "snapshots", "*"))
	if err != nil || len(files) != 1 || os.Chtimes(files[0], past, past) != nil {
		t.Fatal(files, err)
	}
	s.running()
	has(false, old.ID())
	fresh := s.world.Newest("one")
	s.leaves(fresh.ID(), 0)
	has(true, fresh.ID())
}

// What the command line made after a cluster of that name was removed is another cluster, too.
func TestAFoundClusterHasNothingOfAFormerOne(t *testing.T) {
	s := begin(t)
	s.running()
	old := s.world.Newest("one")
	s.logs(old.ID(), "deploy", event.RunEnded{Outcome: event.OK})
	s.want(s.call("ann", "DELETE", "/api/v1/clusters/one?machines=keep", ""), 200, "")
	s.world.Begin("one", manager.Delete).Finish(nil)
	s.world.Begin("one", manager.Create).Finish(nil)
	s.reach("Running", nil)
	s.want(s.call("vera", "GET", "/api/v1/clusters/one/runs/"+old.ID(), ""), 404, "usage.no-run")
}
