package phases_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestWhatIsSentLiesWhereDeployYamlSays(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("the directories above the node's must be root's: run as root")
	}
	l := newLab(t, 1)
	l.Cluster.Source.DstPath = "/root/.eggo/packages"
	before := tree(t, l)
	deploy(t, l)
	for _, name := range []string{"m1", "w1"} {
		if to, err := os.Readlink(l.Nodes[name].Path("/var/lib/eggo-node/repo")); err != nil ||
			!strings.HasSuffix(to, "/root/.eggo/packages/eggo-node") {
			t.Error(name, to, err)
		}
		if _, err := os.Stat(l.Nodes[name].Path("/root/.eggo/packages/eggo-node/Packages")); err != nil {
			t.Error(err)
		}
	}
	if b, sum, err := run(t, l, phases.Deploy); err != nil || len(of[event.Change](b)) > 0 {
		t.Errorf("the second deploy: %v %v %+v", err, sum.Changed, of[event.Change](b))
	}
	cleanup(t, l, purge)
	if diff := cmp.Diff(before, tree(t, l)); diff != "" {
		t.Error("after a purge:", diff)
	}
}

func TestAPlaceThatOthersMayChangeIsRefused(t *testing.T) {
	long(t)
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"others may write": func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777)) },
		"a link":           func(t *testing.T, dir string) { must(t, os.Symlink("/", dir)) },
		"a file": func(t *testing.T, dir string) {
			must(t, os.WriteFile(dir, nil, 0o666), os.Chmod(dir, 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if os.Getuid() != 0 {
				t.Skip("the directories above the node's must be root's: run as root")
			}
			l := newLab(t, 1)
			l.Cluster.Source.DstPath = "/root/place"
			must(t, os.MkdirAll(l.Nodes["w1"].Path("/root"), 0o755))
			spoil(t, l.Nodes["w1"].Path("/root/place"))
			_, sum, err := run(t, l, phases.Deploy)
			if err == nil {
				t.Fatal("it was taken")
			}
			found := false
			for _, f := range sum.Failed {
				found = found || f.Fault != nil && f.Fault.Code == "node.unsafe-dir"
			}
			if !found {
				t.Errorf("%v %+v", err, sum.Failed)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
