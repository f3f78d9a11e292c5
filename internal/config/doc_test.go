package config

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/nodepath"
)

// Every key that the program knows is explained.
func TestDocumentNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile("../../docs/deploy-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{c: &Cluster{}, once: map[string]val{}}
	keys := slices.Collect(maps.Keys(l.topLevel()))
	keys = append(keys, "name", "ip", "port", "arch", "bind-port", "cidr", "dnsaddr", "dns-address", "gateway", "corednstype", "imageversion", "replicas",
		"podcidr", "plugin-args", "pluginargs", "NetworkYamlPath", "dnsnames", "ips", "armsrc", "x86src", "distpath", "dstpath", "package-source", "srcpath",
		"kubernetes-master", "kubernetes-worker", "addition", "schedule", "timeout", "hostname", "sudo-password", "password-from", "sudo-password-from",
		"host-keys", "known-hosts", "ssh-legacy-algorithms", "bastion", "machines", "bundles")
	keys = append(keys, components...)
	keys = append(keys, allTypes...)
	keys = append(keys, schedules...)
	keys = append(keys, networkPlugins...)
	keys = append(keys, nodepath.Dirs(nodepath.Listed)...)
	for _, key := range keys {
		if !strings.Contains(string(doc), key) {
			t.Errorf("docs/deploy-yaml.md does not name %s", key)
		}
	}
}
