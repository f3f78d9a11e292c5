package preflight

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/nodestest"
)

// theirs is a cluster that kubeadm has made, with a single control plane.
type theirs struct {
	objects takeover.Cluster
	server  takeover.Server
	err     error
}

func (o theirs) Objects(context.Context) (*takeover.Cluster, error) { return &o.objects, o.err }

func (o theirs) Server(context.Context, node.Host) (takeover.Server, error) { return o.server, nil }

// aPod is a static pod of a component with a flag that kubeadm does not set.
func aPod(component string) []byte {
	name, value := aFlag(component)
	return []byte("kind: Pod\nspec:\n  containers:\n  - command: [" + component + ", --" + name + "=" + value + "]\n")
}

func aFlag(component string) (name, value string) {
	if component == "etcd" {
		return "heartbeat-interval", "500"
	}
	return "v", "4"
}

// A cluster that was changed after its import is not taken over: deploy.yaml has no word of it.
func TestAClusterThatWasChangedAfterItsImport(t *testing.T) {
	server := takeover.Server{Manifests: map[string][]byte{}, PKI: map[string][]byte{"sa.key": []byte("key\n")}}
	for _, name := range takeover.Pods() {
		server.Manifests[name+".yaml"] = aPod(name)
	}
	const (
		proxy   = "kind: KubeProxyConfiguration\n"
		kubelet = "kind: KubeletConfiguration\ncgroupDriver: systemd\nstaticPodPath: /etc/kubernetes/manifests\n"
		plain   = "kind: EncryptionConfiguration\nresources:\n- providers:\n  - identity: {}\n"
	)
	for name, c := range map[string]struct {
		spoil func(in *Input, o *theirs)
		want  []string
	}{
		"as it was": {func(*Input, *theirs) {}, nil},
		"a flag that deploy.yaml does not have": {func(in *Input, _ *theirs) {
			in.Cluster.ExtraArgs = in.Cluster.ExtraArgs[1:]
		}, []string{"error import.lost-flags"}},
		"a setting": {func(_ *Input, o *theirs) { o.objects.Kubelet += "maxPods: 9\n" },
			[]string{"error import.lost-settings"}},
		"another key": {func(_ *Input, o *theirs) { o.server.PKI = map[string][]byte{"sa.key": []byte("x\n")} },
			[]string{"error import.changed-key"}},
		"a key that is lost here": {func(in *Input, _ *theirs) { in.StateDir += "/elsewhere" },
			[]string{"error state.read"}},
		"taken over": {func(in *Input, o *theirs) {
			in.Cluster.ExtraArgs, o.server.Ours = nil, takeover.Pods()
		}, nil},
		"another driver": {func(in *Input, _ *theirs) {
			in.Cluster.ExtraArgs, in.Cluster.Eggo.Driver = nil, "binary"
		}, nil},
		"a join": {func(in *Input, _ *theirs) { in.Cluster.ExtraArgs, in.Verb = nil, "join" }, nil},
		"not imported": {func(in *Input, _ *theirs) {
			in.Cluster.ExtraArgs = nil
			in.Fact(master.Name).RecordKinds = []string{"unit"}
		}, nil},
		"the API server does not answer": {func(_ *Input, o *theirs) {
			o.err = event.NewFault(event.ClassFailed, "kube.unreachable", nil)
		}, []string{"error kube.unreachable"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := theirs{server: server, objects: takeover.Cluster{Proxy: proxy, Kubelet: kubelet}}
			dir := t.TempDir()
			for file, text := range map[string]string{"sa.key": "key\n", "encryption-config.yaml": plain} {
				if err := os.MkdirAll(filepath.Join(dir, "pki"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "pki", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in, f := newInput(), nodestest.Good(master)
			f.Cluster, f.RecordKinds = "mine", []string{"imported"}
			in.StateDir, in.Runtime = dir, "containerd"
			in.Cluster.Eggo.Imported, in.Cluster.Eggo.Driver = true, "kubeadm"
			in.SetFact(master.Name, f)
			in.SetNode(master.Name, node.New(says{}, nil))
			for _, component := range takeover.Pods() {
				flag, value := aFlag(component)
				flag = "--" + flag
				if component == "etcd" {
					flag = "ETCD_HEARTBEAT_INTERVAL"
				}
				in.Cluster.ExtraArgs = append(in.Cluster.ExtraArgs, config.ExtraArgs{Component: component,
					Args: map[string]string{flag: value}})
			}
			c.spoil(in, &o)
			in.Theirs = o
			if got := nodestest.Codes(checkTakeoverSince().Cluster(t.Context(), in)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
