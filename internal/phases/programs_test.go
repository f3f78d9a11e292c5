package phases

import (
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
)

// A service starts the program where the list puts it.
func TestServicesStartWhatWasPlaced(t *testing.T) {
	r := newTestRun()
	r.SetFact(worker.Name, good(worker))
	r.Cluster.Packages[workerRole] = []config.Package{{Name: "kubelet", Type: "binary", Dst: "/usr/bin"}}
	if got := r.ProgramPath(worker, "kubelet"); got != "/usr/bin/kubelet" {
		t.Error(got)
	}
	if got := r.ProgramPath(master, "kubelet"); got != "/usr/local/bin/kubelet" {
		t.Error(got)
	}
}
