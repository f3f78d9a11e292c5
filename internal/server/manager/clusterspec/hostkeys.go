package clusterspec

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/config"
)

// mostLines are how many wrong lines of one text are said.
const mostLines = 20

// logins says what is wrong with keys, passwords and known hosts, which a run would find out when it logs in.
func logins(s SSH) (out []Finding) {
	if s.Key != "" {
		_, err := ssh.ParsePrivateKey([]byte(s.Key))
		locked := new(ssh.PassphraseMissingError)
		switch {
		case errors.As(err, &locked):
			out = append(out, wrong("body.ssh.key", "ssh-key-locked"))
		case err != nil: // what it says may have parts of the key
			out = append(out, wrong("body.ssh.key", "ssh-key"))
		}
	}
	for _, f := range []struct{ field, value string }{
		{"ssh.password", s.Password}, {"ssh.sudo_password", s.SudoPassword},
	} {
		if f.value != "" && config.Blank(f.value) {
			out = append(out, wrong("body."+f.field, "empty", "field", f.field))
		}
	}
	return append(out, KnownHosts("body.ssh.known_hosts", s.KnownHosts)...)
}

// Wrong says what is wrong with another way to log in, of a cluster whose nodes no run has touched; nil: it stays.
func (s *SSH) Wrong() (out []Finding) {
	if s == nil {
		return nil
	}
	if s.User == "" {
		out = append(out, wrong("body.ssh.user", "empty", "field", "ssh.user"))
	}
	return append(out, logins(*s)...)
}

// Stays says that a cluster whose nodes a run has touched gets no other way to log in.
func (s *SSH) Stays() []Finding {
	if s == nil {
		return nil
	}
	return []Finding{wrong("body.ssh", "ssh-changed")}
}

// KnownHosts says which lines of a text are none of a file known_hosts, at that part of a request.
func KnownHosts(at, text string) (out []Finding) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || isKnownHost(line) {
			continue
		}
		if out = append(out, wrong(at, "known-hosts", "line", strconv.Itoa(n))); len(out) == mostLines {
			break
		}
	}
	return out
}

// isKnownHost says whether a line is one of a file known_hosts: perhaps a marker, then hosts, type and key. It takes
// what the package that reads such a file for a login takes.
func isKnownHost(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if words[0] == "@cert-authority" || words[0] == "@revoked" {
		words = words[1:]
	}
	if len(words) < 3 || !areHosts(words[0]) {
		return false
	}
	data, err := base64.StdEncoding.DecodeString(words[2])
	if err != nil {
		return false
	}
	key, err := ssh.ParsePublicKey(data)
	return err == nil && key.Type() == words[1]
}

// areHosts says whether a text is the hosts of a line of known_hosts: a hash, or names and addresses.
func areHosts(text string) bool {
	if text[0] == '@' {
		return false
	}
	if parts := strings.Split(text, "|"); text[0] == '|' {
		if len(parts) != 4 || parts[1] != "1" {
			return false
		}
		_, salt := base64.StdEncoding.DecodeString(parts[2])
		_, hash := base64.StdEncoding.DecodeString(parts[3])
		return salt == nil && hash == nil
	}
	for _, host := range strings.Split(text, ",") {
		name := strings.TrimPrefix(host, "!")
		if host != "" && name == "" {
			return false
		}
		if _, _, err := net.SplitHostPort(name); strings.HasPrefix(name, "[") && err != nil {
			return false
		}
	}
	return true
}

// isHostKey says whether a text is a public key, as in /etc/ssh/ssh_host_ed25519_key.pub: its type, the key in base64,
// and perhaps a comment.
func isHostKey(text string) bool {
	words := strings.Fields(text)
	if len(words) < 2 || len(text) > 4096 || strings.ContainsAny(text, "\r\n") || !slices.Contains([]string{
		"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"}, words[0]) {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil || len(key) < 4 { // it begins with the length of its type, and its type
		return false
	}
	n := binary.BigEndian.Uint32(key)
	if uint64(len(key)) <= 4+uint64(n) || string(key[4:4+n]) != words[0] {
		return false
	}
	_, err = ssh.ParsePublicKey(key)
	return err == nil
}

// hostKeys says what is wrong with the host keys of a node.
func hostKeys(at string, n Node) (out []Finding) {
	for i, text := range n.HostKeys {
		if !isHostKey(text) {
			out = append(out, wrong(at+".host_keys["+strconv.Itoa(i)+"]", "host-key", "name", n.Name))
		}
	}
	return out
}

// Accepted are the host keys of machines that a request has, by host:port: somebody has compared them.
func Accepted(nodes []Node, b *Balancer) map[string][]string {
	if b != nil {
		nodes = append(slices.Clone(nodes), b.node())
	}
	var out map[string][]string
	for _, n := range nodes {
		a, err := netip.ParseAddr(n.Address)
		if err != nil || len(n.HostKeys) == 0 {
			continue
		}
		if out == nil {
			out = map[string][]string{}
		}
		ssh := 22
		if n.Port != 0 {
			ssh = n.Port
		}
		at := net.JoinHostPort(a.Unmap().String(), strconv.Itoa(ssh))
		out[at] = append(out[at], n.HostKeys...)
	}
	return out
}
