package operation

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A bundle of the version that an upgrade comes from lies elsewhere since it began: it is specified like the others,
// and the cluster's own deploy.yaml names it when preflight has passed.
func TestABundleOfBeforeHasMoved(t *testing.T) {
	f, d := upgradable(t)
	begun(t, f, upgrade.Begun{})
	f.heads["/b/moved-34-amd64"] = f.heads["/b/34-amd64"]
	delete(f.heads, "/b/34-amd64")
	p, err := guarded(t, upgradeTo("moved-34-amd64"), d)
	if err != nil || p.route.moved == nil || p.cluster.Source.Bundles["amd64"] != "/b/moved-34-amd64" ||
		p.cluster.Source.Bundles["arm64"] != "/b/34-arm64" {
		t.Fatalf("%v %+v", err, p.cluster.Source)
	}
	if err := p.route.moved(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, _, err := p.files.Config()
	if err != nil || !strings.Contains(string(text), "/b/moved-34-amd64") || !strings.Contains(string(text), "# ours") {
		t.Errorf("%v %s", err, text)
	}
	// One that can be read stays where it is.
	p, err = guarded(t, upgradeTo("34-arm64", "35-amd64", "35-arm64", "36-amd64", "36-arm64"), d)
	if err != nil || p.route.moved != nil {
		t.Errorf("%v %+v", err, p)
	}
	// A way back whose bundle cannot be read is not said to be closed for good.
	delete(f.heads, "/b/34-arm64")
	begun(t, f, upgrade.Begun{From: "v1.34.2", Hops: []upgrade.Hop{hop("v1.35.4", "35")}, Committed: true,
		Snapshot: "/s"})
	if _, err := guarded(t, request.Back{Common: request.OfCluster("sim")}, d); event.AsFault(err) == nil ||
		event.AsFault(err).Code == "upgrade.only-forward" {
		t.Error(err)
	}
}
