package profile

import (
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

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
	return uint64(len(key)) > 4+uint64(n) && string(key[4:4+n]) == words[0]
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
