package dial

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// The ssh command for a node knows the cluster's host keys at every hop, and carries no password.
func TestCommand(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	c := &config.Cluster{Nodes: []config.Node{
		{Name: "n1", IP: netip.MustParseAddr("192.0.2.1"), Port: 2222},
		{Name: "n2", IP: netip.MustParseAddr("2001:db8::2")},
	}}
	c.SSH = config.SSH{User: "ops", Password: "a-secret", PrivateKeyPath: "/keys/k 1"}
	cmd, err := Command(c, "/var/lib/eggo/c/known_hosts", "n1")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-o", `UserKnownHostsFile="/var/lib/eggo/c/known_hosts"`, "-o", "StrictHostKeyChecking=yes",
		"-i", "/keys/k 1", "-p", "2222", "-l", "ops", "192.0.2.1",
	}
	if !slices.Equal(cmd.Args[1:], want) {
		t.Errorf("%q\nwant %q", cmd.Args[1:], want)
	}
	c.Eggo.Bastions = []config.Bastion{{Host: "b1", Port: 22, Password: "a-secret"},
		{Host: "b2", Port: 23, User: "hop"}}
	if cmd, err = Command(c, "/k", "n2"); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(cmd.Args, " ")
	for _, w := range []string{"ProxyCommand=ssh", "-l hop", "[%h]:%p", "[%%h]:%%p", " b1", " b2", "2001:db8::2"} {
		if !strings.Contains(all, w) {
			t.Errorf("%q is not in %s", w, all)
		}
	}
	if strings.Contains(all, "a-secret") || strings.Count(all, "StrictHostKeyChecking=yes") != 3 {
		t.Error(all)
	}
	if _, err = Command(c, "/k", "n3"); event.AsFault(err).Code != "shell.no-node" {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = Command(c, "/k", "n1")
	if f := event.AsFault(err); f == nil || f.Code != "shell.no-ssh" || f.Class != event.ClassUsage {
		t.Error(err)
	}
}
