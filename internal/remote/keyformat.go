package remote

import (
	"bytes"
	"encoding/pem"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// foreignKey says what a file is that has no private key in a format that can be read, and how a private key is
// converted; nil if it may be one.
func foreignKey(raw []byte, file string) *event.Fault {
	raw = bytes.TrimSpace(raw)
	key, out := shell.Quote(file), shell.Quote(file+".openssh")
	for _, x := range []struct{ begin, format, command string }{
		{"PuTTY-User-Key-File-", "PuTTY (.ppk)", "puttygen " + key + " -O private-openssh-new -o " + out},
		{"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY", "ssh.com", "(umask 077; ssh-keygen -i -f " + key + " >" + out + ")"},
		{"-----BEGIN ENCRYPTED PRIVATE KEY", "PKCS#8", "cp -p " + key + " " + out + " && ssh-keygen -p -f " + out},
	} {
		if bytes.HasPrefix(raw, []byte(x.begin)) {
			return refused("ssh.key-format", nil, "file", file, "format", x.format, "command", x.command)
		}
	}
	for _, begin := range []string{"---- BEGIN SSH2 PUBLIC KEY", "-----BEGIN PUBLIC KEY", "-----BEGIN RSA PUBLIC KEY",
		"-----BEGIN CERTIFICATE"} {
		if bytes.HasPrefix(raw, []byte(begin)) {
			return refused("ssh.key-public", nil, "file", file)
		}
	}
	return nil
}

// onSecurityKey gives the public half of a private key file whose key is on a security key (FIDO), nil if it is not.
// Only an agent can sign with such a key.
func onSecurityKey(raw []byte) ssh.PublicKey {
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "OPENSSH PRIVATE KEY" {
		return nil
	}
	rest, is := bytes.CutPrefix(block.Bytes, []byte("openssh-key-v1\x00"))
	var head struct {
		Cipher, KDF, Options string
		Count                uint32
		Public               []byte
		Rest                 []byte `ssh:"rest"`
	}
	if !is || ssh.Unmarshal(rest, &head) != nil {
		return nil
	}
	pub, err := ssh.ParsePublicKey(head.Public)
	if err != nil || !strings.HasPrefix(pub.Type(), "sk-") {
		return nil
	}
	return pub
}
