package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/phases/takeover"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Started is what Eggo starts a component of a node with: its flags, of etcd its environment, and its configuration.
type Started func(ctx context.Context, component string, n config.Node) (map[string]string, string, error)

// checkServices refuses to take over a node of the original eggo whose components run with what deploy.yaml does not
// have, or as another version than the bundle's: our units would start them otherwise.
func checkServices() Check {
	return Check{
		Name: "services", Needs: Ours,
		Codes: []string{"preflight.service-stopped", "preflight.service-dropin", "preflight.service-flags",
			"preflight.service-config", "preflight.service-data", "preflight.service-key",
			"preflight.service-unseen", "preflight.service-swap", "preflight.service-env", "state.read"},
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if !f.Imported() || !in.takesOver() || !in.deploysAll() || in.Started == nil || in.BundleOf(n) == nil {
				return nil
			}
			nd := in.Nodes.Node(n.Name)
			out, err := nd.Query(ctx, "APPLIED="+shell.Quote(node.Dir+"/applied")+"\nUNITS="+
				shell.Quote(strings.Join(takeover.Units(in.Owns(n)), " "))+"\n"+takeover.ServicesScript())
			if err != nil {
				return as(n.Name, err)
			}
			var found []event.Finding
			for _, s := range takeover.Services(out) {
				unit, err := nd.Unit(ctx, s.Name+".service")
				if err != nil {
					return as(n.Name, err)
				}
				if !unit.Active() {
					if !in.Equipped(n) && !slices.Contains(f.TheirUnits, s.Name+".service") {
						continue // ours will be the first
					}
					found = append(found, one(event.Error, n, "preflight.service-stopped", "component", s.Name)...)
					continue
				}
				is, err := in.service(ctx, n, f, s)
				if err != nil {
					return as(n.Name, err)
				}
				found = append(found, is...)
			}
			return found
		},
	}
}

// service is what stands against taking over one.
func (in *Input) service(ctx context.Context, n config.Node, f *facts.Facts, s takeover.Service) ([]event.Finding,
	error) {
	add := func(code string, kv ...string) []event.Finding {
		return one(event.Error, n, code, append([]string{"component", s.Name}, kv...)...)
	}
	var out []event.Finding
	if len(s.DropIns) > 0 {
		out = append(out, add("preflight.service-dropin", "files", cleaned(s.DropIns))...)
	}
	if s.Swap {
		out = append(out, add("preflight.service-swap")...)
	}
	if s.Hidden {
		out = append(out, add("preflight.service-unseen")...)
	}
	if !s.Observed {
		return out, nil
	}
	flags, conf, err := in.Started(ctx, s.Name, n)
	if err != nil {
		return nil, err
	}
	o := takeover.Original{KubeletOf: takeover.KubeletOf{Node: n.Name, IP: n.IP.String(), Resolv: f.Resolv,
		DNS: in.Cluster.DNSAddr.String(), Domain: in.Cluster.DNSDomain}, Socket: in.RuntimeEndpoint(), Ours: flags,
		Conf: conf, Has: in.hasArg}
	lost, settings := o.Lost(s)
	if len(lost) > 0 {
		out = append(out, add("preflight.service-flags", "flags", cleaned(lost))...)
	}
	if vars := o.LostVars(s); len(vars) > 0 {
		out = append(out, add("preflight.service-env", "variables", cleaned(vars))...)
	}
	if f.CgroupFS && s.Name == "kubelet" && in.hasArg("kubelet", takeover.KubeletFlag{Name: "cgroup-driver",
		Value: "systemd"}) {
		settings = append(settings, "cgroupDriver: cgroupfs")
	}
	if len(settings) > 0 {
		out = append(out, add("preflight.service-config", "file", event.Clean(s.File), "settings",
			cleaned(settings))...)
	}
	for _, e := range s.Env {
		if e.Name == takeover.EtcdDataDir && e.Value != in.EtcdData {
			out = append(out, add("preflight.service-data", "is", event.Clean(e.Value), "want", in.EtcdData)...)
		}
	}
	if s.HoldsKeys() {
		out = append(out, in.otherKeys(n, s)...)
	}
	if s.Version != "" {
		version := s.Version
		if s.Name == "etcd" { // as images have it
			version = strings.TrimPrefix(version, "v")
		}
		out = append(out, in.takenVersion(n, in.BundleOf(n).Manifest(), s.Name, version)...)
	}
	return out, nil
}

// otherKeys are keys that an API server reads and that are not those of the state directory: tokens of service accounts
// and Secrets could not be read any more.
func (in *Input) otherKeys(n config.Node, s takeover.Service) []event.Finding {
	var out []event.Finding
	private, err := os.ReadFile(filepath.Join(in.StateDir, "pki", "sa.key"))
	if err != nil {
		return as(n.Name, event.NewFault(event.ClassPreflight, "state.read", err))
	}
	if s.Public != "" && !pki.IsPublic(private, []byte(s.Public)) {
		var files []string
		for _, f := range s.Flags {
			if f.Name == "service-account-key-file" {
				files = append(files, f.Value)
			}
		}
		out = append(out, one(event.Error, n, "import.public-keys", "file", cleaned(files))...)
	}
	for flag, name := range map[string]string{"service-account-signing-key-file": "sa.key",
		"encryption-provider-config": "encryption-config.yaml"} {
		data, err := os.ReadFile(filepath.Join(in.StateDir, "pki", name))
		if err != nil {
			return as(n.Name, event.NewFault(event.ClassPreflight, "state.read", err))
		}
		text := strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(string(data))
		sum := sha256.Sum256([]byte(text))
		if s.KeySums[flag] != hex.EncodeToString(sum[:]) {
			out = append(out, one(event.Error, n, "preflight.service-key", "component", s.Name, "flag", "--"+flag,
				"file", "pki/"+name)...)
		}
	}
	return out
}

// hasArg says whether deploy.yaml gives a component a flag, or etcd a variable, with the same value.
func (in *Input) hasArg(component string, flag takeover.KubeletFlag) bool {
	name := flag.Name
	if component != "etcd" {
		name = "--" + name
	}
	return slices.ContainsFunc(in.Cluster.ExtraArgs, func(e config.ExtraArgs) bool {
		value, is := e.Args[name]
		return is && e.Component == component && value == flag.Value
	})
}

// cleaned are texts of a node for a sentence.
func cleaned(all []string) string {
	var out []string
	for _, x := range all {
		out = append(out, event.Clean(x))
	}
	return strings.Join(out, ", ")
}
