package pki

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
)

// CheckTakeOver says whether the authorities of a cluster that others have made and its service account key can be
// used. They were read from the directory from of a machine: the faults are those of ReadExternal.
func CheckTakeOver(from string, files map[string][]byte, now time.Time) error {
	for _, name := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		if err := usable(from, name, files[name+".crt"], files[name+".key"], now); err != nil {
			return err
		}
	}
	if _, err := decodeKey(files["sa.key"]); err != nil {
		return externalFault("pki.external-bad", from, "sa.key", err)
	}
	return nil
}

// TakeOver puts them and the configuration of secrets at rest into dir, when CheckTakeOver has found nothing. What is
// there already and is another one is pki.external-differs: an authority is never exchanged.
func TakeOver(dir string, files map[string][]byte, now time.Time) error {
	names := []string{"ca.key", "ca.crt", "front-proxy-ca.key", "front-proxy-ca.crt", "etcd/ca.key", "etcd/ca.crt",
		"sa.key", "encryption-config.yaml"}
	for _, name := range names {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if want, is := files[name]; err == nil && is && !bytes.Equal(have, want) {
			return event.NewFault(event.ClassFailed, "pki.external-differs", nil, "file", filepath.Join(dir, name))
		}
	}
	m := &maker{dir: dir, now: now}
	m.directory(".")
	for _, name := range names {
		mode := os.FileMode(0o600)
		if filepath.Ext(name) == ".crt" {
			mode = 0o644
		}
		if data, is := files[name]; is && !m.exists(name) {
			m.write(name, data, mode)
		}
	}
	return m.err
}
