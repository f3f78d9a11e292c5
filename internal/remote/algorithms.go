package remote

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// keyAlgoDSA is never used, whatever is allowed.
const keyAlgoDSA = "ssh-dss"

// sha1Only says whether an algorithm rests on SHA-1: as a signature, which can be forged, as the hash of a key
// exchange, or as a MAC.
func sha1Only(name string) bool {
	switch name {
	case ssh.KeyAlgoRSA, ssh.CertAlgoRSAv01, keyAlgoDSA, keyAlgoDSA + "-cert-v01@openssh.com":
		return true
	}
	return strings.Contains(name, "sha1")
}

// algorithms are what is offered to a node. legacy adds those with SHA-1, after all others; DSA and MACs of 96 bits are
// never offered.
func algorithms(legacy bool) ssh.Config {
	a := ssh.SupportedAlgorithms()
	c := ssh.Config{KeyExchanges: slices.DeleteFunc(a.KeyExchanges, sha1Only),
		MACs: slices.DeleteFunc(a.MACs, sha1Only), Ciphers: a.Ciphers}
	if legacy {
		c.KeyExchanges = append(c.KeyExchanges,
			ssh.InsecureKeyExchangeDH14SHA1, ssh.InsecureKeyExchangeDHGEXSHA1, ssh.InsecureKeyExchangeDH1SHA1)
		c.MACs = append(c.MACs, ssh.HMACSHA1)
	}
	return c
}

// hostKeyAlgorithms are the algorithms to ask for: those of the keys that are known, else all, in OpenSSH's order, so
// that the key that is kept or shown to a person is the one that ssh and ssh-keyscan show.
func hostKeyAlgorithms(known []string, legacy bool) []string {
	if !legacy {
		known = slices.DeleteFunc(slices.Clone(known), sha1Only)
	}
	if len(known) > 0 {
		return known
	}
	all := []string{
		ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512,
		ssh.KeyAlgoRSASHA256,
	}
	if legacy {
		all = append(all, ssh.KeyAlgoRSA)
	}
	return all
}

// errDSA says that a key can sign with SHA-1 only.
var errDSA = errors.New("a DSA key signs with SHA-1 only")

// modern keeps a key from signing with SHA-1.
func modern(s ssh.Signer, legacy bool) (ssh.MultiAlgorithmSigner, error) {
	as, ok := s.(ssh.AlgorithmSigner)
	kind, cert := strings.CutSuffix(s.PublicKey().Type(), "-cert-v01@openssh.com")
	if cert && strings.HasPrefix(kind, "sk-") {
		kind += "@openssh.com"
	}
	list := []string{kind}
	switch {
	case kind == keyAlgoDSA:
		return nil, errDSA
	case !ok:
		return nil, errors.New("the key cannot choose its algorithm")
	case kind == ssh.KeyAlgoRSA && legacy:
		list = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	case kind == ssh.KeyAlgoRSA:
		list = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return ssh.NewSignerWithAlgorithms(as, list)
}

// negotiationFault says that a node has nothing in common with us. If it would have with SHA-1, it says that.
func negotiationFault(err error, algo *ssh.AlgorithmNegotiationError, addr string, legacy bool) *event.Fault {
	if !legacy && slices.ContainsFunc(algo.RequestedAlgorithms, sha1Only) {
		return refused("ssh.legacy-algorithms", err, "addr", addr, "offered",
			strings.Join(algo.RequestedAlgorithms, ", "))
	}
	return refused("ssh.algorithms", err, "addr", addr)
}

// signatureFault says that a node takes signatures of RSA keys with SHA-1 only; nil if that is not so.
func signatureFault(err error, addr string, legacy bool) *event.Fault {
	if legacy || !strings.Contains(err.Error(), "no common public key signature algorithm") {
		return nil
	}
	return refused("ssh.legacy-algorithms", err, "addr", addr, "offered", ssh.KeyAlgoRSA)
}

// common says whether a node offers one of the algorithms.
func common(offered, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return slices.Contains(offered, k) })
}

// negotiation is the error of a failed negotiation in err's chain, nil if there is none.
func negotiation(err error) *ssh.AlgorithmNegotiationError {
	var algo *ssh.AlgorithmNegotiationError
	if errors.As(err, &algo) {
		return algo
	}
	return nil
}
