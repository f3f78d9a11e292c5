package runtimes

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// docker of the distribution's package, and cri-dockerd out of the bundle between it and the kubelet. dockerd is
// started as its package starts it, with a configuration of ours in the place of /etc/docker/daemon.json.
type docker struct{ r *payload.Payload }

// dockerCerts has the CAs of registries, by their hosts.
const dockerCerts = "/etc/docker/certs.d"

func (docker) Unit() string    { return layout.CRIDockerUnit }
func (docker) Units() []string { return []string{layout.DockerdUnit, layout.CRIDockerUnit} }
func (docker) Store() string   { return "/var/lib/docker" }

func (d docker) Trees() []node.Tree {
	return []node.Tree{{Path: "/etc/docker", Mode: 0o755}, {Path: "/var/lib/cri-dockerd", Mode: 0o755},
		{Path: "/opt/containerd", Mode: 0o711},
		{Path: "/var/lib/containerd", Mode: 0o711, Purge: true}, {Path: d.Store(), Mode: 0o710, Purge: true}}
}

func (docker) Dirs() []string             { return nil }
func (docker) Paths(config.Node) []string { return []string{layout.UnitDir + layout.CRIDockerUnit} }
func (docker) Seeds() bool                { return true }
func (docker) KeepsDigests() bool         { return false }
func (docker) List() string               { return dockerList }
func (docker) Load(archive string) string { return "docker load -q -i " + archive + " >/dev/null\n" }
func (docker) Stop() string               { return dockerStop }
func (docker) Executes() []string         { return []string{"cri-dockerd"} }
func (docker) Alive() string              { return "timeout 20 docker version >/dev/null\n" }
func (docker) Links(context.Context, config.Node, *node.Node) ([]string, string, error) {
	return nil, "", nil
}

// Early keeps dockerd from starting before it has our configuration: packages start it at once, and with its own it
// makes a bridge and packet filter rules, and drops what is forwarded.
func (docker) Early(config.Node) ([]node.File, error) {
	return []node.File{layout.PlainFile(layout.UnitDir+layout.DockerdUnit+".d/05-eggo.conf",
		[]byte(layout.WrittenByEggo+"[Unit]\nConditionPathExists="+layout.DockerConf+"\n"))}, nil
}

const dockerList = "command -v docker >/dev/null 2>&1 && docker image ls --format '{{.Repository}}:{{.Tag}}@' " +
	"2>/dev/null || true\n"

// dockerStop ends what cri-dockerd labels as its own; other containers are somebody's. dockerd leaves the networks
// mounted that it made: it is stopped here, where they are taken away, if it is ours.
//
//go:embed dockerstop.sh
var dockerStop string

func (d docker) Services(ctx context.Context, n config.Node, nd *node.Node) ([]node.Service, error) {
	start, err := dockerStart(ctx, nd)
	if err != nil {
		return nil, err
	}
	conf, err := d.config()
	if err != nil {
		return nil, err
	}
	drop := layout.WrittenByEggo + "[Service]\nExecStart=\nExecStart=" + start + " --config-file=" + layout.DockerConf +
		"\n"
	cri := systemd.Unit{Description: "Docker for the kubelet",
		After: []string{"network-online.target", layout.DockerdUnit},
		Wants: []string{"network-online.target", layout.DockerdUnit},
		Type:  "notify", Program: d.r.Program(n, "cri-dockerd"), Flags: map[string]string{
			"container-runtime-endpoint": d.r.RuntimeEndpoint(), "docker-endpoint": layout.DockerSocket,
			"pod-infra-container-image": d.r.PauseImage(d.r.BundleOf(n).Manifest()),
			"network-plugin":            "cni", "cni-bin-dir": strings.Join(d.r.CNIDirs(), ","),
			"cni-conf-dir": layout.CNIConfDir, "cni-cache-dir": "/var/lib/cni/cache",
			"streaming-bind-addr": "127.0.0.1:0", // the kubelet alone asks there
		}}
	return []node.Service{
		{Unit: layout.DockerdUnit, Files: append([]node.File{layout.PlainFile(layout.DockerConf, conf),
			layout.PlainFile(layout.UnitDir+layout.DockerdUnit+".d/10-eggo.conf", []byte(drop))},
			authorities(d.r.Cluster, dockerCerts)...), Places: []string{dockerCerts}},
		{Unit: layout.CRIDockerUnit, Files: []node.File{layout.PlainFile(layout.UnitDir+layout.CRIDockerUnit,
			cri.Render())}, Binaries: d.r.Binaries(n, d.Executes()...)},
	}, nil
}

// dockerStart is the command line of the package's unit: where dockerd is and which sockets it gets differ between
// distributions.
func dockerStart(ctx context.Context, nd *node.Node) (string, error) {
	out, err := nd.Query(ctx, `for f in /usr/lib/systemd/system/docker.service /lib/systemd/system/docker.service; do
  [ -r "$f" ] || continue
  sed -e ':a' -e '/\\$/{N;s/\\\n[ 	]*/ /;ta' -e '}' "$f" | sed -n 's/^ExecStart=//p' | tail -n 1
  break
done
`)
	if err != nil {
		return "", err
	}
	start := strings.TrimSpace(out)
	if word, _, _ := strings.Cut(start, " "); !strings.HasPrefix(word, "/") || strings.Contains(start, "\n") {
		return "", event.NewFault(event.ClassFailed, "runtime.no-unit", nil, "unit", layout.DockerdUnit).On(nd.Name())
	}
	return start, nil
}

// config is docker's daemon.json. The network of pods is CNI's: docker makes no bridge and no packet filter rules of
// its own. Containers outlive a restart of dockerd, as they do with the other runtimes.
func (d docker) config() ([]byte, error) {
	var mirrors []string
	for _, m := range d.r.Cluster.Mirrors() {
		mirrors = append(mirrors, m.URL)
	}
	doc := map[string]any{
		"exec-opts": []string{"native.cgroupdriver=systemd"}, "bridge": "none", "iptables": false, "ip-masq": false,
		"live-restore": true,
		"log-driver":   "json-file", "log-opts": map[string]any{"max-size": "100m", "max-file": "3"},
	}
	if len(mirrors) > 0 {
		doc["registry-mirrors"] = mirrors
	}
	if l := d.r.Cluster.InsecureRegistries; len(l) > 0 {
		doc["insecure-registries"] = l
	}
	return engineSettings(d.r, doc)
}

// engineSettings lays config-extra-args of the container engine over a runtime's JSON configuration, keys as it names
// them.
func engineSettings(r *payload.Payload, doc map[string]any) ([]byte, error) {
	for k, v := range r.Override("container-engine", map[string]string{}) {
		doc[k] = setting(v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc)
	return b.Bytes(), err
}
