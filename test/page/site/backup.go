package site

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

// Backup has a backup of a cluster, and gives its name and the private key that decrypts it.
func (s *Site) Backup(ctx context.Context, cluster string, at time.Time) (name, identity string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", err
	}
	dir := filepath.Join(s.State, cluster)
	certs := filepath.Join(dir, backup.PKI)
	_, _, err = pki.Ensure(certs, pki.Spec{Domain: "cluster.local", Endpoint: "192.168.0.11",
		ServiceGateway: netip.MustParseAddr("10.32.0.1")}, time.Now())
	if err != nil {
		return "", "", err
	}
	ca, err := os.ReadFile(filepath.Join(certs, "ca.crt"))
	if err != nil {
		return "", "", err
	}
	snapshot := filepath.Join(s.State, "."+cluster+".db")
	defer os.Remove(snapshot)
	if err := phasestest.WriteSnapshot(snapshot, ca); err != nil {
		return "", "", err
	}
	members, err := backup.Sources(dir, snapshot)
	if err != nil {
		return "", "", err
	}
	lock, err := backup.RecipientsLock([]string{id.Recipient().String()})
	if err != nil {
		return "", "", err
	}
	name = backup.Name(cluster, at, "v1.34.2", "0123456789abcdef", backup.Schedule)
	all := filepath.Join(dir, "backups")
	err = os.MkdirAll(all, 0o700)
	return name, id.String(), errors.Join(err, backup.Write(ctx, filepath.Join(all, name), backup.Manifest{
		Cluster: cluster, At: at, Kubernetes: "v1.34.2", Revision: phasestest.Revision}, members, lock,
		func(int64, int64) {}))
}
