package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/local"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
	"github.com/eggo-k8s/eggo/internal/testkit/remotetest"
)

// testHost is a control host for a state directory, with an environment of its own.
func testHost(t *testing.T, root string, environment map[string]string) *Host {
	t.Helper()
	getenv := func(name string) string { return environment[name] }
	return &Host{
		Root: root, Dir: t.TempDir(), Getenv: getenv,
		Printer: func() *i18n.Printer { return i18n.NewPrinter(i18n.English) },
		Deps: func() operation.Deps {
			d := local.Deps(local.Options{Root: root, SSH: dial.Options{Home: getenv("HOME")}})
			d.Clock, d.Unattended, d.Asker = operationtest.Swift{}, true, ask.Nobody{}
			return d
		},
	}
}

// A password that was given on the screen is not asked for again by what is looked at next, in whatever language; one
// that was refused is.
func TestAPasswordIsAskedForOnce(t *testing.T) {
	t.Parallel()
	srv := remotetest.New(t, remotetest.WithUser("root", "open sesame"))
	h := testHost(t, t.TempDir(), nil)
	text := strings.NewReplacer("127.0.0.1, port: 1,", srv.IP+", port: "+strconv.Itoa(srv.Port)+",", "username: ops",
		"username: root").Replace(operationtest.Nobody)
	saved := filepath.Join(h.Root, "away", store.ConfigName)
	if err := errors.Join(os.MkdirAll(filepath.Dir(saved), 0o700),
		os.WriteFile(saved, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	who := &operationtest.User{}
	stock := backend.Inventory{Common: request.OfCluster("away")}
	for range 2 {
		if _, err := h.Read(t.Context(), stock, who); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ask.password"}; !slices.Equal(who.Asked, want) {
		t.Errorf("asked for %v", who.Asked)
	}
	h.remember("away", map[string]string{"password": "another"})
	for range 2 {
		if _, err := h.Read(t.Context(), stock, who); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ask.password", "ask.password"}; !slices.Equal(who.Asked, want) {
		t.Errorf("asked for %v", who.Asked)
	}
}

// Who goes on with a run on the screen, after an edit or from the menu, has its limit and its hooks; failures are
// decided on the board.
func TestTheScreenTakesOverTheOptionsOfTheRun(t *testing.T) {
	t.Parallel()
	h := testHost(t, t.TempDir(), nil)
	if got := operation.LastOptions(t.Context(), h.store(), "rack"); got != nil {
		t.Errorf("of a cluster that nobody knows: %+v", got)
	}
	store, err := journal.Open(h.Root, "rack")
	if err != nil {
		t.Fatal(err)
	}
	for i, flags := range [][]string{{"--limit", "w9"},
		{"--limit", "w1,role:etcd", "--on-failure", "retry=2", "--cluster-prehook", "/a b.sh,worker"}} {
		log, err := store.NewRun("deploy", time.Date(2026, 11, 22, 9, i, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if err := event.NewBus(time.Now, log).Emit(event.RunStarted{Cluster: "rack", Verb: "deploy",
			Flags: flags}); err != nil {
			t.Fatal(err)
		}
		log.Close()
	}
	c := h.request(backend.Resume("rack")).Base()
	if !slices.Equal(c.Limit, []string{"w1", "role:etcd"}) ||
		!slices.Equal(c.Hooks.Before, []string{"/a b.sh,worker"}) ||
		c.OnFailure != (request.OnFailure{}) {
		t.Errorf("%+v", c)
	}
	log, err := store.NewRun("upgrade", time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if err := event.NewBus(time.Now, log).Emit(event.RunStarted{Cluster: "rack", Verb: "upgrade",
		Options: &event.RunOptions{OnFailure: "abort", Upgrade: &event.UpgradeOptions{Batch: "25%", Probe: "true",
			Soak: time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	log.Close()
	rack := request.ClusterRuns{ClusterInfo: request.ClusterInfo{Name: "rack"}}
	on, is := h.request(backend.UpgradeOn(rack)).(request.Upgrade)
	if !is || on.Batch != "25%" || on.Probe != "true" || on.Soak != time.Hour || on.OnFailure != (request.OnFailure{}) {
		t.Errorf("%+v", on)
	}
}
