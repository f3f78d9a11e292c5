package request

import (
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// VerbImport takes over a cluster that others have made.
const VerbImport Verb = "import"

// Import writes on the nodes of a cluster, whose CAs and deploy.yaml are in the state directory, that it is ours.
type Import struct {
	Common
	// Node is the control plane that the cluster was read from, or EggoDir the directory of the original eggo.
	Node    string `json:"node,omitempty"`
	EggoDir string `json:"eggo_dir,omitempty"`
	Login   Login  `json:"login,omitzero"`
	Port    int    `json:"port,omitempty"`
	// Password and Sudo say where the secrets come from, as deploy.yaml does.
	Password string `json:"password_from,omitempty"`
	Sudo     string `json:"sudo_password_from,omitempty"`
}

// Verb implements Request.
func (Import) Verb() Verb { return VerbImport }

// Call implements Request.
func (i Import) Call() event.Call {
	c := i.call("import")
	c.EggoDir, c.User, c.Key = i.EggoDir, i.Login.User, i.Login.Key
	c.PasswordFrom, c.SudoFrom = i.Password, i.Sudo
	if i.Node != "" {
		c.Nodes = []string{i.Node}
	}
	if i.Port != 22 {
		c.Port = i.Port
	}
	return c
}

// ImportRead says which cluster is read. It begins no run.
type ImportRead struct {
	Cluster  string // its name from now on
	Address  netip.Addr
	Port     int
	Login    Login
	Password string            // where it comes from: prompt, env:NAME, file:PATH
	Sudo     string            // likewise
	Bundles  map[string]string // by architecture, absolute
	HostKeys string
}

// ImportEggo says which cluster of the original eggo is read: its directory, with deploy.yaml and pki. It begins no
// run.
type ImportEggo struct {
	Dir      string // absolute
	HostKeys string
}
