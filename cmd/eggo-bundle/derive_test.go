package main

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// What is derived loads, for every system that there is a default for, and keeps the comments.
func TestADerivedSpecLoads(t *testing.T) {
	head := "cluster-id: c1\nmasters: [{name: m1, ip: 10.0.0.1, arch: amd64}]\napiserver-endpoint: 10.0.0.1:6443\n" +
		"package-src: {x86src: ./b.tar.gz}\n"
	for name, more := range map[string]string{
		"plain":   "",
		"runtime": "runtime: isulad\n",
		"docker":  "runtime: docker\n",
		"dns":     "service: {dns: {corednstype: binary}}\n",
		"plugin": "network: {plugin: calico, plugin-args: {NetworkYamlPath: " +
			"/etc/kubernetes/addons/calico-3.28.yaml}}\n",
		"addons": "addons: [{type: file, filename: a.yaml}, {type: file, filename: kube-flannel.yml}, {type: file, " +
			"filename: a.yaml}]\n",
		"lists": "pacakges: {master: [{name: socat, type: pkg}, {name: helm, type: binary, dst: /usr/local/bin}], " +
			"node: [{name: x.sh, type: shell, schedule: prejoin}]}\n",
		"images": "pause-image: registry.example.com/p/pause:3.9\nservice: {dns: {imageversion: v1.9.3}}\n",
	} {
		c, problems := config.Load([]byte(head+more), "deploy.yaml")
		if c == nil {
			t.Fatalf("%s: %v", name, problems)
		}
		for _, system := range assets.Systems() {
			for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
				text, err := assets.BundleSpec(system)
				if err != nil {
					t.Fatal(err)
				}
				d := derive(i18n.NewPrinter(lang), string(text), "deploy.yaml", c)
				s, err := spec.Parse([]byte(d.text()))
				if err != nil {
					t.Errorf("%s for %s: %v\n%s", name, system, err, d.text())
					continue
				}
				if name == "docker" && (s.Binaries[len(s.Binaries)-1].Name != "cri-dockerd" ||
					!strings.Contains(d.text(), "docker")) {
					t.Errorf("docker for %s has no cri-dockerd", system)
				}
				if name == "dns" && (s.Binaries[len(s.Binaries)-1].Name != "coredns") {
					t.Errorf("the spec for %s has no program coredns", system)
				}
				if name == "plugin" && (len(s.Addons) != 1 || s.Addons[0].Path.Name != "calico-3.28.yaml") ||
					name == "addons" && len(s.Addons) != 2 {
					t.Errorf("%s for %s has the addons %+v", name, system, s.Addons)
				}
				for _, line := range strings.Split(string(text), "\n") {
					if strings.HasPrefix(strings.TrimSpace(line), "#") && !strings.Contains(d.text(), line) {
						t.Errorf("%s for %s lost the comment %q", name, system, line)
					}
				}
			}
		}
	}
}
