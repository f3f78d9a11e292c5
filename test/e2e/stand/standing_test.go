package stand

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The cluster that the lab has is taken only if it is of the driver that is asked for.
func TestTheDriverOfTheLabsCluster(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ is, want, says string }{
		{"binary\n", "", ""}, {"kubeadm\n", "", ""}, {"binary\n", Binary, ""}, {"kubeadm\n", Kubeadm, ""},
		{"binary\n", Kubeadm, "the cluster in the lab is of the driver binary, not kubeadm"},
		{"kubeadm\n", Binary, "the cluster in the lab is of the driver kubeadm, not binary"},
	} {
		got, err := driverOf(row.is, row.want)
		switch {
		case row.says == "" && (err != nil || got != strings.TrimSpace(row.is)):
			t.Errorf("%+v: %q %v", row, got, err)
		case row.says != "" && (err == nil || err.Error() != row.says):
			t.Errorf("%+v: %v", row, err)
		}
	}
	s := &Stand{}
	_, err := s.Take(t.Context(), "x", "kubeadn", nil)
	if err == nil || !strings.Contains(err.Error(), "DRIVER=kubeadn") {
		t.Errorf("a driver that there is not: %v", err)
	}
}

func TestWhatKubectlSaysOfACluster(t *testing.T) {
	t.Parallel()
	if got := nodeNames("node/n1\nnode/n2\n"); !slices.Equal(got, []string{"n1", "n2"}) {
		t.Error(got)
	}
	const both = `{"clientVersion":{"gitVersion":"v1.35.4"},"serverVersion":{"gitVersion":"v1.34.2"}}`
	if got, err := serverVersion(both); err != nil || got != "v1.34.2" {
		t.Error(got, err)
	}
	for _, text := range []string{"", "{}", `{"clientVersion":{"gitVersion":"v1.35.4"}}`} {
		if got, err := serverVersion(text); err == nil {
			t.Errorf("%q is of the version %q", text, got)
		}
	}
}

// The deploy.yaml for kubeadm differs from the other one in its driver alone.
func TestByKubeadm(t *testing.T) {
	t.Parallel()
	s := &Stand{Dir: t.TempDir()}
	base := filepath.Join(s.Dir, "deploy.yaml")
	if err := os.WriteFile(base, []byte("cluster-id: a\neggo:\n  host-keys: strict\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := s.ByKubeadm(base, "pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "cluster-id: a\neggo:\n  driver: kubeadm\n  host-keys: strict\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
