// Package facts reads what a machine is and has: one read-only script, its answer, and what follows from it. It knows
// no runtime and no way of installing anything.
package facts

import (
	"context"
	_ "embed"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Facts of one machine, from one read-only script.
type Facts struct {
	Arch      string // amd64, arm64
	OS        map[string]string
	Hostname  string
	MachineID string
	Skew      time.Duration // the node's clock minus ours
	SkewError time.Duration // half the round trip
	Took      time.Duration // how long the machine needed for the first, fixed part of the script
	CPUs      int           // 0: not known
	Memory    int64         // bytes; 0: not known
	Addresses []string
	Swap      bool
	Systemd   bool
	Cgroup2   bool
	Caps      uint64
	Conntrack bool // nf_conntrack_max can be written
	AppArmor  bool
	Missing   []string // controllers, modules and programs that are not there
	Listening map[int]string
	Cluster   string     // that it is a node of; "" if of none
	NodeName  string     // under which name
	Owner     node.Owner // of that cluster
	// RecordFormat and RecordKinds are of that record: its format, if it says, and the kinds of what is in it.
	RecordFormat string
	RecordKinds  []string
	// KubeletDropIns are the names of drop-ins with which the kubelet of an imported node is started.
	KubeletDropIns []string
	TheirUnits     []string // those that ran on an imported node before
	NoManifest     []string // components that are static pods and have no manifest, not even one put aside
	TheirKubelet   bool     // the kubelet was among them, and so there was a container runtime
	CgroupFS       bool     // the kubelet of an imported node makes the cgroups of pods itself, without systemd
	Recorded       bool     // a record of ours is on it, though it may be nobody's any more
	CA, EtcdCA     string   // sha256 of the authorities' certificates on it; "" when there is none
	Kubelet        string   // version of the kubelet that runs, v1.34.2; "" when none does
	Joined         bool     // the kubelet has its own certificate
	Active         []string
	Present        []string // paths of another installation
	Free           map[string]FreeSpace
	Versions       []string // of binaries that are there, as node.VersionOf names them
	Resolv         string   // the resolv.conf for pods; "" when the machine has none
	Nameserver     bool     // it names one that is not this machine itself
	DNSTaken       string   // who listens on port 53 of the machine's address, or of all
	Kernel         string   // release, 6.1.0-32-amd64
	NoIPSet        bool     // the module ip_set is neither loaded nor there to be loaded
	NoIPVS         bool     // the same of the module ip_vs
	NoIPSetProgram bool     // there is no program ipset
	NoRoute        bool     // packets to Services have no way out
	Firewalls      []Firewall
	Runtimes       []string // that run, and not with our configuration
	OwnRuntimes    []string // those that have our configuration; two while one takes the place of the other
	DockerJSON     bool     // there is a daemon.json of docker's own
	NoExecTmp      bool
	// PkgManagers are the programs of package managers that lie on the machine; which of them is its own, its family
	// says.
	PkgManagers []string
	Nginx       bool   // there is one, whosever it is
	SELinux     bool   // it is enforcing, or will be when the machine starts again
	Resolves    string // the endpoint's name: yes, ours (by our own lines of /etc/hosts), no; "" for an address
}

// Imported says whether others have made the machine a node.
func (f *Facts) Imported() bool { return slices.Contains(f.RecordKinds, "imported") }

// FreeSpace of the file system that holds a path.
type FreeSpace struct {
	Device string
	Bytes  int64
}

const capSysResource = 24 // linux/capability.h

// HasSysResource says whether root may lower an oom_score_adj.
func (f *Facts) HasSysResource() bool { return f.Caps&(1<<capSysResource) != 0 }

// SpacePaths are where the installation puts its weight.
func SpacePaths() []string {
	return []string{node.Dir, "/usr/local/bin", node.VersionsDir, "/opt/cni/bin", "/var/lib/containerd",
		"/var/lib/docker", "/var/lib/isulad", "/usr"}
}

//go:embed facts.sh
var factsScript string

// Places are what Gather reads on the machine.
type Places struct {
	CA, EtcdCA string // certificates of a cluster's authorities
	Kubeconfig string // the kubelet's own, when it has joined
	Theirs     string // the same as the original eggo names it
	Kubelet    string // its configuration
	Manifests  string // of static pods, and where those are that were put aside
	Aside      string
	Markers    map[string]string // files by which a container runtime, the key, is known to be ours
	Unit       string            // the kubelet's unit
	Space      []string          // how much room there is, beside our usual places
}

// Gather reads the machine's facts: what stands in the way of its address ip, and of packets to the Services of which
// service is one, and whether it finds the endpoint, a name or "".
func Gather(ctx context.Context, n *node.Node, ip, service netip.Addr, endpoint string, now func() time.Time,
	p Places) (*Facts, error) {
	marks := make([]string, 0, len(p.Markers))
	for name, file := range p.Markers {
		marks = append(marks, name+":"+file)
	}
	sort.Strings(marks)
	script := strings.NewReplacer("@MARKERS@", strings.Join(marks, " "), "@PATHS@",
		strings.Join(append(SpacePaths(), p.Space...), " "), "@IP@", ip.String(), "@SERVICE@", service.String(),
		"@ENDPOINT@", shell.Quote(endpoint), "@DROPINS@", shell.Quote(p.Unit+".d"),
		"@CA@", shell.Quote(p.CA), "@ETCDCA@", shell.Quote(p.EtcdCA), "@KUBECONFIG@",
		shell.Quote(p.Kubeconfig), "@THEIRS@", shell.Quote(p.Theirs), "@KUBELET@",
		shell.Quote(p.Kubelet), "@MANIFESTS@", shell.Quote(p.Manifests), "@ASIDE@", shell.Quote(p.Aside)).
		Replace(factsScript + firewallScript)
	out, err := n.Query(ctx, script)
	if err != nil {
		return nil, err
	}
	f := Parse(out)
	f.TheirKubelet = slices.Contains(f.TheirUnits, p.Unit)
	// The clock is asked alone, so that the round trip that bounds its error is short.
	before := now()
	out, err = n.Query(ctx, "date +%s.%N")
	if err != nil {
		return nil, err
	}
	took := now().Sub(before)
	if sec, err := strconv.ParseFloat(strings.TrimSpace(out), 64); err == nil {
		theirs := time.Unix(int64(sec), int64((sec-float64(int64(sec)))*1e9))
		f.Skew, f.SkewError = theirs.Sub(before.Add(took/2)), took/2
	}
	return f, nil
}

// UsualTook is how long a machine of today needs for the first part of the script: some thirty programs are started.
const UsualTook = 200 * time.Millisecond

// mostSlowness bounds what a machine that was busy for a moment may add to the limits of a run.
const mostSlowness = 12

// Slowness returns how many times longer than usual the machine takes for its work: 1 for a machine of today or a
// faster one, at most 12.
func (f *Facts) Slowness() float64 {
	return min(max(1, f.Took.Seconds()/UsualTook.Seconds()), mostSlowness)
}

// HasAddress says whether the machine carries the address.
func (f *Facts) HasAddress(n config.Node) bool {
	for _, a := range f.Addresses {
		if a == n.IP.String() {
			return true
		}
	}
	return false
}
