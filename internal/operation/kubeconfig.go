package operation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// adminConf in a cluster's directory is the administrator's kubeconfig.
const adminConf = "admin.conf"

// KubeconfigResult is the administrator's kubeconfig of a cluster.
type KubeconfigResult struct {
	Cluster string
	Path    string // of the control host's own
	Text    []byte // with the private key: it is shown to nobody else
}

// Kubeconfig gives the administrator's kubeconfig, which a run made.
func Kubeconfig(ctx context.Context, st Store, q request.Kubeconfig) (*KubeconfigResult, error) {
	name, err := OnlyCluster(ctx, st, q.Cluster)
	if err != nil {
		return nil, err
	}
	files, err := st.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	if err := here(name, files); err != nil {
		return nil, err
	}
	path := filepath.Join(files.Dir(), adminConf)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, event.NewFault(event.ClassUsage, "kubeconfig.none", nil, "cluster", name, "path", path)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	return &KubeconfigResult{Cluster: name, Path: path, Text: text}, nil
}
