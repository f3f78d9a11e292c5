package runtimes

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/phases/node/systemd"
	"github.com/eggo-k8s/eggo/internal/phases/payload"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// containerd of the distribution's package, with a drop-in that names a configuration of ours, or of the bundle's own
// program, with a unit of ours.
type containerd struct{ r *payload.Payload }

func (containerd) Unit() string    { return layout.ContainerdUnit }
func (containerd) Units() []string { return []string{layout.ContainerdUnit} }
func (containerd) Store() string   { return "/var/lib/containerd" }

func (d containerd) Trees() []node.Tree {
	return []node.Tree{{Path: "/opt/containerd", Mode: 0o711}, {Path: d.Store(), Mode: 0o711, Purge: true}}
}

// The package's directory: files of ours below it would let the package manager leave it behind.
func (containerd) Dirs() []string { return []string{path.Dir(layout.CertsDir)} }

func (d containerd) Paths(n config.Node) []string {
	var out []string
	if d.r.Program(n, "containerd") != "" {
		out = append(out, layout.UnitDir+layout.ContainerdUnit)
	}
	for _, f := range d.registries() {
		out = append(out, f.Path)
	}
	return out
}

// Executes: the kubelet's containers are started by shim and runc, which containerd finds by their names.
func (containerd) Executes() []string {
	return []string{"containerd", "containerd-shim-runc-v2", "runc"}
}
func (d containerd) Alive() string { return "timeout 20 " + d.ctr() + " version >/dev/null\n" }

func (containerd) Seeds() bool                            { return false }
func (containerd) Early(config.Node) ([]node.File, error) { return nil, nil }

func (d containerd) Services(ctx context.Context, n config.Node, nd *node.Node) ([]node.Service, error) {
	v, err := d.ask(ctx, n, nd)
	if err != nil {
		return nil, err
	}
	files := append([]node.File{layout.PlainFile(layout.ContainerdConf, []byte(d.config(n, v))), d.unitFile(n)},
		d.registries()...)
	return []node.Service{{Unit: layout.ContainerdUnit, Files: files, Places: []string{layout.CertsDir},
		Binaries: d.r.Binaries(n, d.Executes()...)}}, nil
}

// unitFile is a drop-in for the package's unit, or the whole unit of the bundle's program, as containerd's own release
// has it.
func (d containerd) unitFile(n config.Node) node.File {
	if program := d.r.Program(n, "containerd"); program != "" {
		return layout.PlainFile(layout.UnitDir+layout.ContainerdUnit,
			[]byte(layout.WrittenByEggo+
				"[Unit]\nDescription=containerd container runtime\nAfter=network.target dbus.service\n\n"+
				"[Service]\nExecStartPre=-/sbin/modprobe overlay\nExecStart="+systemd.ExecPath(program)+" --config "+
				layout.ContainerdConf+"\nType=notify\nDelegate=yes\nKillMode=process\n"+
				"Restart=always\nRestartSec=5\nLimitNPROC=infinity\nLimitCORE=infinity\nTasksMax=infinity\n"+
				"OOMScoreAdjust=-999\n\n[Install]\nWantedBy=multi-user.target\n"))
	}
	drop := layout.WrittenByEggo + "[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config " +
		layout.ContainerdConf + "\n"
	return layout.PlainFile(filepath.Join(layout.UnitDir, layout.ContainerdUnit+".d/10-eggo.conf"), []byte(drop))
}

// containerdVersion is major and minor.
type containerdVersion struct{ major, minor int }

func (v containerdVersion) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// ask asks the version that will run: the bundle's may only lie beside the one that runs so far.
func (d containerd) ask(ctx context.Context, n config.Node, nd *node.Node) (containerdVersion, error) {
	program := "containerd"
	if own := d.r.Binaries(n, program); len(own) > 0 {
		program = shell.Quote(own[0].File)
	}
	out, err := nd.Query(ctx, program+" --version 2>/dev/null || true\n")
	if err != nil {
		return containerdVersion{}, err
	}
	v, ok := parseContainerd(out)
	if !ok {
		return v, event.NewFault(event.ClassFailed, "runtime.version-unknown", nil, "program", "containerd", "says",
			event.Clean(strings.TrimSpace(out))).On(nd.Name())
	}
	return v, nil
}

// parseContainerd reads "containerd github.com/containerd/containerd/v2 v2.2.3 HASH"; Debian's has 1.6.20~ds1 there.
func parseContainerd(out string) (v containerdVersion, ok bool) {
	w := strings.Fields(out)
	if len(w) < 3 || w[0] != "containerd" {
		return v, false
	}
	parts := strings.SplitN(strings.TrimPrefix(w[2], "v"), ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	var err, err2 error
	v.major, err = strconv.Atoi(parts[0])
	v.minor, err2 = strconv.Atoi(parts[1])
	return v, err == nil && err2 == nil && v.major >= 1
}

// The names of the plugins of Kubernetes' side in the configuration's versions 2 (containerd 1.x) and 3 (2.x).
const (
	pluginCRI     = "io.containerd.grpc.v1.cri"
	pluginRuntime = "io.containerd.cri.v1.runtime"
	pluginImages  = "io.containerd.cri.v1.images"
)

// config is the whole configuration, in the version that this containerd calls its own.
func (d containerd) config(n config.Node, v containerdVersion) string {
	f := d.r.Fact(n.Name)
	cri := map[string]any{
		"cni": map[string]any{"conf_dir": layout.CNIConfDir},
		"containerd": map[string]any{"runtimes": map[string]any{"runc": map[string]any{
			"runtime_type": "io.containerd.runc.v2", "options": map[string]any{"SystemdCgroup": true},
		}}},
	}
	if !f.HasSysResource() {
		cri["restrict_oom_score_adj"] = true
	}
	if !f.AppArmor {
		cri["disable_apparmor"] = true
	}
	if cni := cri["cni"].(map[string]any); v.atLeast(2, 1) {
		cni["bin_dirs"] = d.r.CNIDirs()
	} else {
		cni["bin_dir"] = d.r.CNIDir()
	}
	pause := d.r.PauseImage(d.r.BundleOf(n).Manifest())
	registry := map[string]any{"config_path": layout.CertsDir}
	doc := map[string]any{}
	if v.major >= 2 {
		doc["version"] = 3
		doc["plugins"] = map[string]any{pluginRuntime: cri, pluginImages: map[string]any{
			"pinned_images": map[string]any{"sandbox": pause}, "registry": registry,
		}}
	} else {
		doc["version"] = 2
		cri["sandbox_image"], cri["registry"] = pause, registry
		doc["plugins"] = map[string]any{pluginCRI: cri}
	}
	if socket := d.socket(); socket != "" {
		doc["grpc"] = map[string]any{"address": socket}
	}
	for _, k := range slices.Sorted(maps.Keys(d.r.Override("container-engine", map[string]string{}))) {
		put(doc, settingPath(k, v), setting(d.r.Override("container-engine", map[string]string{})[k]))
	}
	return layout.WrittenByEggo + tomlText(doc)
}

// settingPath is where a setting of config-extra-args stands: its dots are tables; cri is the plugin of Kubernetes'
// side, and images the one that 2.x split off from it.
func settingPath(key string, v containerdVersion) []string {
	p := strings.Split(key, ".")
	switch {
	case p[0] == "cri" && v.major >= 2:
		return append([]string{"plugins", pluginRuntime}, p[1:]...)
	case p[0] == "images" && v.major >= 2:
		return append([]string{"plugins", pluginImages}, p[1:]...)
	case p[0] == "cri" || p[0] == "images":
		return append([]string{"plugins", pluginCRI}, p[1:]...)
	}
	return p
}

// put sets a value in nested tables, which it makes.
func put(table map[string]any, path []string, value any) {
	for _, k := range path[:len(path)-1] {
		sub, ok := table[k].(map[string]any)
		if !ok {
			sub = map[string]any{}
			table[k] = sub
		}
		table = sub
	}
	table[path[len(path)-1]] = value
}

// socket is the path of a socket that is not containerd's own; "" for that one.
func (d containerd) socket() string {
	if d.r.RuntimeEndpoint() == layout.CRISocket {
		return ""
	}
	return strings.TrimPrefix(d.r.RuntimeEndpoint(), "unix://")
}

// Links: before 2.1 there is one directory of plugins.
func (d containerd) Links(ctx context.Context, n config.Node, nd *node.Node) (from []string, to string, err error) {
	to = d.r.CNIDir()
	from = slices.DeleteFunc(slices.Clone(d.r.CNIDirs()), func(dir string) bool { return dir == to })
	if len(from) == 0 {
		return nil, to, nil
	}
	v, err := d.ask(ctx, n, nd)
	if err != nil || v.atLeast(2, 1) {
		return nil, to, err
	}
	return from, to, nil
}

// ctr is the client's command line.
func (d containerd) ctr() string {
	if s := d.socket(); s != "" {
		return "ctr -a " + shell.Quote(s) + " -n k8s.io"
	}
	return "ctr -n k8s.io"
}

func (d containerd) List() string {
	return "command -v ctr >/dev/null 2>&1 && " + d.ctr() +
		" images ls 2>/dev/null | awk 'NR>1 {print $1 \"@\" $3}' || true\n"
}

func (containerd) KeepsDigests() bool { return true }

func (d containerd) Load(archive string) string {
	return d.ctr() + " images import " + archive + " >/dev/null\n"
}

//go:embed containerdstop.sh
var containerdStop string

// Stop: every call is bounded, for a task that is not dead makes "tasks rm -f" wait for ever. A pod's sandbox ends
// after its containers: the shim of containerd 2 goes with the sandbox's task, and stays for ever if there is another
// one at that time. A shim that is left when there are no tasks has nothing to do any more: it may be of a pod that
// went when the machine lost its power.
func (d containerd) Stop() string {
	return strings.ReplaceAll(containerdStop, "@CTR@", d.ctr()) +
		unmount("^/run/containerd/io.containerd.runtime.v2.task/k8s.io/") +
		unmount("^/run/containerd/io.containerd.grpc.v1.cri/")
}

// registries are the mirrors and insecure registries as files of certs.d. A registry that is not secure is tried with a
// certificate of anybody's, then over http, as docker does.
func (d containerd) registries() []node.File {
	c := d.r.Cluster
	mirrors := map[string][]string{}
	for _, m := range c.Mirrors() {
		mirrors[m.Registry] = append(mirrors[m.Registry], m.URL)
	}
	for _, host := range c.InsecureRegistries {
		if _, ok := mirrors[host]; !ok {
			mirrors[host] = nil
		}
	}
	for host, r := range c.Eggo.Registries {
		if _, ok := mirrors[host]; !ok && len(r.CA) > 0 {
			mirrors[host] = nil
		}
	}
	out := authorities(c, layout.CertsDir)
	for _, registry := range slices.Sorted(maps.Keys(mirrors)) {
		var b strings.Builder
		b.WriteString(layout.WrittenByEggo)
		dir := registry
		switch {
		case registry == "*":
			dir = "_default"
		case registry == config.DefaultRegistry:
			b.WriteString("server = \"https://registry-1.docker.io\"\n")
		case c.InsecureHost(registry):
			fmt.Fprintf(&b, "server = %s\n", tomlString("http://"+registry))
		default:
			fmt.Fprintf(&b, "server = %s\n", tomlString("https://"+registry))
		}
		if len(c.Eggo.Registries[registry].CA) > 0 { // of the server itself
			fmt.Fprintf(&b, "ca = %s\n", tomlString(authority(layout.CertsDir, registry)))
		}
		secret := false
		for _, url := range mirrors[registry] {
			secret = d.host(&b, url, `"pull", "resolve"`) || secret
		}
		if c.InsecureHost(registry) {
			d.host(&b, "https://"+registry, `"pull", "resolve", "push"`)
			d.host(&b, "http://"+registry, `"pull", "resolve", "push"`)
		}
		make := layout.PlainFile
		if secret {
			make = layout.SecretFile
		}
		out = append(out, make(path.Join(layout.CertsDir, dir, "hosts.toml"), []byte(b.String())))
	}
	return out
}

// authority is the file with the CA of a registry, in a runtime's directory of certificates.
func authority(dir, registry string) string { return path.Join(dir, registry, "ca.crt") }

// authorities are the CAs of private registries.
func authorities(c *config.Cluster, dir string) []node.File {
	var out []node.File
	for _, host := range slices.Sorted(maps.Keys(c.Eggo.Registries)) {
		if ca := c.Eggo.Registries[host].CA; len(ca) > 0 {
			out = append(out, layout.PlainFile(authority(dir, host), ca))
		}
	}
	return out
}

// host is one that is asked. A path that begins with /v2 is the whole of it; behind another one containerd asks for
// /v2. The kubelet knows logins of the registries of images alone, so a mirror gets its own: the file is secret then.
func (d containerd) host(b *strings.Builder, url, capabilities string) (secret bool) {
	scheme, rest, _ := strings.Cut(url, "://")
	host, at, _ := strings.Cut(rest, "/")
	fmt.Fprintf(b, "\n[host.%s]\n  capabilities = [%s]\n", tomlString(strings.TrimSuffix(url, "/")), capabilities)
	if scheme == "https" && d.r.Cluster.InsecureHost(host) {
		b.WriteString("  skip_verify = true\n")
	}
	if at == "v2" || strings.HasPrefix(at, "v2/") {
		b.WriteString("  override_path = true\n")
	}
	private := d.r.Cluster.Eggo.Registries[host]
	if scheme == "https" && len(private.CA) > 0 {
		fmt.Fprintf(b, "  ca = %s\n", tomlString(authority(layout.CertsDir, host)))
	}
	auth := private.BasicAuth()
	if auth == "" || !strings.Contains(capabilities, "resolve") || strings.Contains(capabilities, "push") {
		return false
	}
	fmt.Fprintf(b, "  [host.%s.header]\n    authorization = %s\n", tomlString(strings.TrimSuffix(url, "/")),
		tomlString(auth))
	return true
}
