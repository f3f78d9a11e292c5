package config

import "reflect"

// SameBesideNodes says whether two deploy.yaml describe the same cluster but for its nodes and how they are logged in
// to. Both are to be as the cluster's own is saved: without relative paths.
func SameBesideNodes(a, b *Cluster) bool {
	bare := func(c *Cluster) Cluster {
		out := *c
		out.Nodes, out.SSH, out.given, out.file = nil, SSH{}, nil, ""
		out.Eggo.Machines, out.Eggo.Bastions = nil, nil
		out.Eggo.SudoPassword, out.Eggo.SudoPasswordFrom, out.Eggo.PasswordFrom = "", "", ""
		out.Eggo.HostKeys, out.Eggo.KnownHosts, out.Eggo.SSHLegacyAlgorithms = "", "", false
		return out
	}
	return reflect.DeepEqual(bare(a), bare(b))
}
