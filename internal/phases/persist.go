package phases

// Kept names a part of a cluster's files that must not be lost once a node depends on it.
type Kept string

// The parts.
const (
	KeptPKI        Kept = "pki"         // CAs, certificates and the bootstrap token
	KeptAdminConf  Kept = "admin.conf"  // the administrator's kubeconfig
	KeptKnownHosts Kept = "known_hosts" // the host keys that were accepted
	KeptConfig     Kept = "deploy.yaml" // the cluster's own deploy.yaml
	KeptRestore    Kept = "restore"     // how far a restore of etcd is
	KeptSnapshots  Kept = "snapshots"   // snapshots of etcd
)
