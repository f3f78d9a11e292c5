package operation

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
)

// The certificates of an imported cluster are those of its maker until a node has one of ours: then another one is
// wrong, and so is one that is missing.
func TestCertificatesOfAnImportedNode(t *testing.T) {
	const none = "MISSING"
	ours := map[string]pki.Certificate{"ca": {Authority: true, Fingerprint: "ca"},
		"nodes/n1/apiserver": {Fingerprint: "server"}, "admin": {Fingerprint: "admin"}, "kubelet": {Fingerprint: "k"}}
	for name, c := range map[string]struct {
		has  map[string]string // fingerprints by names
		want string
	}{
		"as its maker left it": {map[string]string{"ca": "ca", "nodes/n1/apiserver": "his", "admin": "his",
			"kubelet": none}, "ca= nodes/n1/apiserver= admin="},
		"taken over": {map[string]string{"ca": "ca", "nodes/n1/apiserver": "server", "admin": "admin", "kubelet": "k"},
			"ca= nodes/n1/apiserver= admin= kubelet="},
		"taken over, and spoiled": {map[string]string{"ca": "ca", "nodes/n1/apiserver": "server", "admin": "his",
			"kubelet": none}, "ca= nodes/n1/apiserver= admin=other kubelet=absent"},
		"of another CA": {map[string]string{"ca": "another", "nodes/n1/apiserver": "server", "admin": "admin",
			"kubelet": "k"}, "ca=other nodes/n1/apiserver= admin= kubelet="},
	} {
		var list []phases.NodeCertificate
		for _, n := range []string{"ca", "nodes/n1/apiserver", "admin", "kubelet"} {
			held := phases.NodeCertificate{Name: n, Why: "absent"}
			if f := c.has[n]; f != none {
				held.Why, held.Cert = "", &pki.Certificate{Authority: n == "ca", Fingerprint: f}
			}
			list = append(list, held)
		}
		var got []string
		for _, r := range asMade(heldBy(config.Node{Name: "n1"}, list, ours), list, ours) {
			got = append(got, r.Name+"="+r.State)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}
