package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// identity makes the lab's key pair: root and ops of every node accept it.
func (l *Lab) identity(ctx context.Context) error {
	if _, err := os.Stat(l.IdentityFile() + ".pub"); err == nil {
		return nil
	}
	_ = os.Remove(l.IdentityFile())
	return program(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab-"+l.name, "-f",
		l.IdentityFile()).run()
}

// writeAccess writes known_hosts and ssh_config for the nodes there are.
func (l *Lab) writeAccess() error {
	nodes, err := l.Nodes()
	if err != nil {
		return err
	}
	var known, config strings.Builder
	for _, n := range nodes {
		address, err := l.Address(n)
		if err != nil {
			return err
		}
		keys, err := os.ReadFile(l.file(n, "hostkeys"))
		if os.IsNotExist(err) {
			continue // never started
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(keys)) {
			if f := strings.Fields(line); len(f) >= 2 {
				fmt.Fprintf(&known, "%s,%s %s %s\n", address, n, f[0], f[1])
			}
		}
		fmt.Fprintf(&config, "Host %s %s\n  HostName %s\n", n, address, address)
		if l.IsVM(n) { // ssh counts the exchange of keys in
			config.WriteString("  ConnectTimeout 60\n")
		}
	}
	fmt.Fprintf(&config, `Host *
  User root
  IdentityFile "%s"
  IdentitiesOnly yes
  UserKnownHostsFile "%s"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  ConnectTimeout 5
  LogLevel ERROR
`, l.IdentityFile(), l.KnownHosts())
	if err := renameio.WriteFile(l.KnownHosts(), []byte(known.String()), 0o644); err != nil {
		return err
	}
	return renameio.WriteFile(l.SSHConfig(), []byte(config.String()), 0o644)
}

// SSH prepares an ssh(1) to the node as root with the lab's key; without arguments it is a login shell. The
// arguments are one command line for the node's shell, joined by blanks, as ssh does.
func (l *Lab) SSH(ctx context.Context, node string, args ...string) *exec.Cmd {
	return program(ctx, "ssh", append([]string{"-F", l.SSHConfig(), node}, args...)...).Cmd
}

// Run runs a command line on the node as root over ssh and returns its stdout.
func (l *Lab) Run(ctx context.Context, node, line string) (string, error) {
	return command{l.SSH(ctx, node, line)}.output()
}

// RunAs runs a command line as a user who logs in with a password and no key; stdin may be empty.
func (l *Lab) RunAs(ctx context.Context, node, user, password, stdin, line string) (string, error) {
	dir, err := os.MkdirTemp(l.dir, "askpass")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// ssh asks this program for the password: neither an argument nor the environment carries it.
	ask := filepath.Join(dir, "ask")
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(ask, []byte("#!/bin/sh\ncat \"${0%/*}/password\"\n"), 0o700); err != nil {
		return "", err
	}
	c := program(ctx, "ssh", "-F", l.SSHConfig(), "-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1",
		"-l", user, node, line)
	c.Env = append(c.Env, "SSH_ASKPASS="+ask, "SSH_ASKPASS_REQUIRE=force")
	return c.stdin([]byte(stdin)).output()
}
