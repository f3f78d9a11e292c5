package config

import (
	"strings"
	"testing"
)

// An import says in deploy.yaml that others have made the cluster, and changes nothing else of the text.
func TestSetImported(t *testing.T) {
	const rest = "cluster-id: old # ours\nusername: root\nprivate-key-path: /root/.ssh/id_rsa\n" +
		"masters: [{name: m1, ip: 192.0.2.11}]\nnetwork: {podcidr: 10.200.0.0/16, plugin: calico}\n" +
		"package-src: {type: tar.gz, x86src: /bundle.tar.gz}\n"
	for name, c := range map[string]struct{ text, want string }{
		"of the original": {rest, rest + "eggo:\n  imported: true\n"},
		"with keys of ours": {rest + "eggo:\n  etcd-user: root # as it was\n", rest +
			"eggo:\n  etcd-user: root # as it was\n  imported: true\n"},
		"it does not":     {rest + "eggo: {imported: false}\n", rest + "eggo: {imported: true}\n"},
		"it does already": {rest + "eggo:\n  imported: true\n", rest + "eggo:\n  imported: true\n"},
		"without a value": {rest + "eggo:\n", rest + "eggo:\n  imported: true\n"},
	} {
		got, problems, err := SetImported([]byte(c.text), "deploy.yaml")
		if err != nil || problems.HasErrors() || string(got) != c.want {
			t.Errorf("%s: %v %v\n%s\nwant\n%s", name, err, problems, got, c.want)
		}
	}
	if _, _, err := SetImported([]byte("- a list\n"), "deploy.yaml"); err == nil {
		t.Error("a list is no deploy.yaml")
	}
	text := rest + "eggo:\n  imported: true\n"
	c, _ := Load([]byte(text), "deploy.yaml")
	list := ImportedByHand(c)
	if len(list) != 1 || !list.HasErrors() || list[0].Line != strings.Count(text, "\n") ||
		list[0].Code != "config.imported-by-hand" || list[0].Key != "eggo.imported" {
		t.Errorf("%+v", list)
	}
}
