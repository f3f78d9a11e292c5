package config

import (
	"maps"
	"reflect"
	"slices"
)

// SameBesideNodes reports whether two deploy.yaml describe the same cluster except for its nodes and how they are
// logged in to. Both are to be as the cluster's own is saved: without relative paths.
func SameBesideNodes(a, b *Cluster) bool {
	bare := func(c, other *Cluster) Cluster {
		out := *c
		out.Eggo.Nodes = maps.Clone(c.Eggo.Nodes)
		maps.DeleteFunc(out.Eggo.Nodes, func(name string, _ NodeSettings) bool {
			return !slices.ContainsFunc(other.Nodes, func(n Node) bool { return n.Name == name })
		})
		if len(out.Eggo.Nodes) == 0 {
			out.Eggo.Nodes = nil
		}
		out.Nodes, out.SSH, out.given, out.file = nil, SSH{}, nil, ""
		out.Eggo.Machines, out.Eggo.Bastions = nil, nil
		out.Eggo.SudoPassword, out.Eggo.SudoPasswordFrom, out.Eggo.PasswordFrom = "", "", ""
		out.Eggo.HostKeys, out.Eggo.KnownHosts, out.Eggo.SSHLegacyAlgorithms = "", "", false
		return out
	}
	return reflect.DeepEqual(bare(a, b), bare(b, a))
}
