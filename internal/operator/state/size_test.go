package state

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/phases/pki"
)

// The size by which a deploy.yaml is refused is not below that of the certificates, and not far above it.
func TestFits(t *testing.T) {
	const controls, workers = 3, 60
	spec := pki.Spec{Domain: "cluster.local", ServiceGateway: netip.MustParseAddr("10.32.0.1"), Endpoint: "10.0.0.1"}
	for i := range controls + workers {
		spec.Machines = append(spec.Machines, pki.Machine{Name: fmt.Sprintf("a-machine-with-a-long-name-%d", i),
			IP: netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), ControlPlane: i < controls, Etcd: i < controls,
			Kubelet: true})
	}
	dir := t.TempDir()
	if _, _, err := pki.Ensure(filepath.Join(dir, "pki"), spec, time.Now()); err != nil {
		t.Fatal(err)
	}
	p := parts()[0]
	files, err := p.read(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := p.pack(files)
	if err != nil {
		t.Fatal(err)
	}
	is, most := size(data), sizeOfAll+(controls+workers)*sizeOfMachine+controls*sizeOfControl
	if is > most || is < most/3 {
		t.Errorf("%d files take %d bytes, and are counted as %d", len(files), is, most)
	}
	t.Log(is, most)
}
