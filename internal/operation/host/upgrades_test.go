package host

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/operationtest"
)

// upgradable is a host with the cluster away, installed from a bundle of v1.34.2, and bundles beside that one.
func upgradable(t *testing.T) (h *Host, dir string) {
	t.Helper()
	h, dir = testHost(t, t.TempDir(), nil), t.TempDir()
	own := filepath.Join(dir, "own.tar.gz")
	text := strings.ReplaceAll(operationtest.Nobody, "/no/such/bundle.tar.gz", own)
	saved := filepath.Join(h.Root, "away", store.ConfigName)
	if err := errors.Join(os.MkdirAll(filepath.Dir(saved), 0o700),
		os.WriteFile(saved, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string][3]string{
		"own": {"v1.34.2", "amd64", "3.6.5"}, "old": {"v1.33.9", "amd64", "3.5.26"},
		"ten": {"v1.34.10", "amd64", "v3.6.7"}, "next": {"v1.35.4", "amd64", "3.6.7"},
		"arm": {"v1.35.4", "arm64", "3.6.7"},
	} {
		smallBundleOf(t, filepath.Join(dir, name+".tar.gz"), x[0], x[1], "etcd "+x[2])
	}
	return h, dir
}

// Offered is what is newer and for the nodes; a file that was named is shown whatever it is.
func TestBundlesOfAnUpgrade(t *testing.T) {
	t.Parallel()
	h, dir := upgradable(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "text"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := h.Upgrades(t.Context(), "away", []string{filepath.Join(dir, "arm.tar.gz"), filepath.Join(other, "text"),
		other, dir})
	if err != nil || got.From != "v1.34.2" || !slices.Equal(got.Arches, []string{"amd64"}) {
		t.Fatalf("%+v %v", got, err)
	}
	is := map[string]string{}
	var order []string
	for _, b := range got.Bundles {
		if !strings.HasPrefix(b.Path, dir) && !b.Named {
			continue // found on this machine, in a place that is always searched
		}
		if is[filepath.Base(b.Path)] = b.Kubernetes; b.Fault != nil {
			is[filepath.Base(b.Path)] = b.Fault.Code
		} else {
			order = append(order, b.Kubernetes+" "+b.Arch)
		}
	}
	if want := map[string]string{"ten.tar.gz": "v1.34.10", "next.tar.gz": "v1.35.4", "arm.tar.gz": "v1.35.4",
		"text": is["text"], filepath.Base(other): "bundle.none-here"}; !reflect.DeepEqual(is, want) ||
		!strings.HasPrefix(is["text"], "bundle.") {
		t.Errorf("%v, want %v", is, want)
	}
	if want := []string{"v1.34.10 amd64", "v1.35.4 amd64", "v1.35.4 arm64"}; !slices.Equal(order, want) {
		t.Errorf("%v", order)
	}
	if err := os.Remove(filepath.Join(dir, "own.tar.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Upgrades(t.Context(), "away", nil); err == nil || event.AsFault(err).Code != "upgrade.own-bundle" {
		t.Errorf("without its own bundle: %v", err)
	}
}

// Over which versions bundles lead, however they are ordered, and how each is reverted.
func TestWayOfAnUpgrade(t *testing.T) {
	t.Parallel()
	h, dir := upgradable(t)
	path := func(name string) string { return filepath.Join(dir, name+".tar.gz") }
	got, err := h.Way(t.Context(), "away", []string{path("next"), path("ten"), path("arm")})
	want := backend.Way{From: "v1.34.2", Hops: []backend.Hop{
		{Version: "v1.34.10", Arches: []string{"amd64"}, Back: backend.BackToTheEnd, Etcd: true},
		{Version: "v1.35.4", Arches: []string{"amd64", "arm64"}, Back: backend.BackInSoak,
			Soaks: true},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	smallBundleOf(t, path("later"), "v1.36.0", "amd64", "etcd 3.7.0")
	got, err = h.Way(t.Context(), "away", []string{path("next"), path("later")})
	if err != nil || len(got.Hops) != 2 || got.Hops[0].Back != backend.BackInSoak ||
		got.Hops[1].Back != backend.BackNone || !got.Hops[1].Soaks {
		t.Errorf("another minor of etcd: %+v %v", got, err)
	}
	if b := wayBack("v1.33.9", "v1.34.2"); b != backend.BackNever {
		t.Error(b)
	}
	for name, code := range map[string]string{"later": "upgrade.skipped", "old": "upgrade.older"} {
		if _, err := h.Way(t.Context(), "away", []string{path(name)}); err == nil || event.AsFault(err).Code != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	got, err = h.Way(t.Context(), "away", []string{path("arm")})
	if err != nil || len(got.Lacks([]string{"amd64"})) != 1 {
		t.Errorf("one architecture: %+v %v", got, err)
	}
	if _, err := h.Way(t.Context(), "away", []string{path("none")}); err == nil {
		t.Error("a bundle that is not there is taken")
	}
}

// The clusters say which upgrade is under way.
func TestUpgradeUnderWayIsKnown(t *testing.T) {
	t.Parallel()
	h, _ := upgradable(t)
	begun := upgrade.Begun{From: "v1.34.2", Hops: []upgrade.Hop{{Version: "v1.35.4"}, {Version: "v1.36.0"}},
		Committed: true, Snapshot: "/s.db"}
	if err := begun.Write(filepath.Join(h.Root, "away")); err != nil {
		t.Fatal(err)
	}
	list, err := h.Clusters(t.Context())
	want := &request.Upgrading{From: "v1.34.2", To: "v1.35.4", Target: "v1.36.0", Committed: true, Snapshot: "/s.db"}
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Upgrade, want) {
		t.Errorf("%+v %v", list, err)
	}
}

// What a plan fails at is told: a node that cannot be asked, the cluster's certificates that are not there.
func TestAPlanThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	h, dir := upgradable(t)
	q := request.NewUpgrade(request.OfCluster("away"), filepath.Join(dir, "next.tar.gz"))
	answer, err := h.Read(t.Context(), backend.Plan{Request: q}, &operationtest.User{})
	if err == nil || answer == nil {
		t.Fatalf("%v %v", answer, err)
	}
	var text strings.Builder
	for _, l := range answer(i18n.NewPrinter(i18n.English)).Lines() {
		text.WriteString(l.Text() + "\n")
	}
	if !strings.Contains(text.String(), "[status.no-pki]") || !strings.Contains(text.String(), "next.tar.gz") {
		t.Errorf("%v:\n%s", err, &text)
	}
}
