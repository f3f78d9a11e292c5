package runtimes

import (
	"context"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
)

// isulad of the distribution's package. It reads one file, at a fixed place, and has no flags for CRI v1 and for
// systemd's cgroups. So that file is there, ours, before the package is installed: package managers keep a
// configuration that they find.
type isulad struct{ r *payload.Payload }

// isuladCerts has the CAs of registries, by their hosts.
const isuladCerts = "/etc/isulad/certs.d"

func (isulad) Unit() string    { return layout.IsuladUnit }
func (isulad) Units() []string { return []string{layout.IsuladUnit} }
func (isulad) Store() string   { return "/var/lib/isulad" }

func (d isulad) Trees() []node.Tree {
	return []node.Tree{{Path: d.Store(), Mode: 0o711, Purge: true}}
}

func (isulad) Dirs() []string             { return []string{"/etc/isulad"} }
func (isulad) Paths(config.Node) []string { return []string{layout.IsuladConf} }
func (isulad) Seeds() bool                { return true }
func (isulad) KeepsDigests() bool         { return false }
func (isulad) Load(archive string) string { return "isula load -i " + archive + " >/dev/null\n" }
func (isulad) Executes() []string         { return nil }
func (isulad) Alive() string              { return "timeout 20 isula version >/dev/null\n" }
func (isulad) Links(context.Context, config.Node, *node.Node) ([]string, string, error) {
	return nil, "", nil
}

// List: iSulad's table has repository and tag in two columns.
func (isulad) List() string {
	return "command -v isula >/dev/null 2>&1 && isula images 2>/dev/null | awk 'NR>1 {print $1 \":\" $2 \"@\"}' || " +
		"true\n"
}

func (isulad) Stop() string {
	return `if command -v isula >/dev/null 2>&1 && systemctl is-active --quiet isulad; then
  for i in 1 2 3 4 5 6; do
    ids=$(timeout 20 isula ps -aq) || break
    [ -n "$ids" ] || break
    for c in $ids; do timeout 20 isula rm -f "$c" >/dev/null 2>&1 || true; done
    sleep 0.5
  done
fi
` + unmount("^/var/lib/isulad/") + unmount("^/run/isulad/")
}

func (d isulad) Early(n config.Node) ([]node.File, error) {
	conf, err := d.config(n)
	if err != nil {
		return nil, err
	}
	return []node.File{layout.PlainFile(layout.IsuladConf, conf),
		layout.PlainFile(layout.IsuladMark, []byte("# Written by Eggo: iSulad's configuration is ours.\n"))}, nil
}

func (d isulad) Services(_ context.Context, n config.Node, _ *node.Node) ([]node.Service, error) {
	files, err := d.Early(n)
	files = append(files, authorities(d.r.Cluster, isuladCerts)...)
	return []node.Service{{Unit: layout.IsuladUnit, Files: files, Places: []string{isuladCerts}}}, err
}

// config is daemon.json as iSulad's manual has it for Kubernetes: CRI v1, which it leaves off, systemd's cgroups, which
// it has for runc alone, and CNI.
func (d isulad) config(n config.Node) ([]byte, error) {
	// It names mirrors by host, and takes those that are not secure from the other list.
	var mirrors []string
	insecure := slices.Clone(d.r.Cluster.InsecureRegistries)
	for _, m := range d.r.Cluster.Mirrors() {
		scheme, host, _ := strings.Cut(strings.TrimSuffix(m.URL, "/"), "://")
		mirrors = append(mirrors, host)
		if scheme == "http" && !slices.Contains(insecure, host) {
			insecure = append(insecure, host)
		}
	}
	endpoint := "unix:///var/run/isulad.sock"
	if e := d.r.Cluster.RuntimeEndpoint; e != "" {
		endpoint = e
	}
	doc := map[string]any{
		"hosts": []string{endpoint}, "graph": d.Store(), "state": "/var/run/isulad", "engine": "lcr",
		"default-runtime": "runc",
		"log-level":       "ERROR", "log-driver": "stdout", "pidfile": "/var/run/isulad.pid", "start-timeout": "2m",
		"image-opt-timeout": "5m",
		"storage-driver":    "overlay2", "storage-opts": []string{"overlay2.override_kernel_check=true"},
		"native.umask": "secure", "use-decrypted-key": true,
		"pod-sandbox-image": d.r.PauseImage(d.r.BundleOf(n).Manifest()), "network-plugin": "cni",
		"cni-bin-dir": strings.Join(d.r.CNIDirs(), ";"), "cni-conf-dir": layout.CNIConfDir,
		"enable-cri-v1": true, "systemd-cgroup": true,
	}
	if len(mirrors) > 0 {
		doc["registry-mirrors"] = mirrors
	}
	if len(insecure) > 0 {
		doc["insecure-registries"] = insecure
	}
	return engineSettings(d.r, doc)
}
