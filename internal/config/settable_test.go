package config

import (
	"slices"
	"testing"
)

// Every key that a user can set is settable by a request, or is in the list below with the reason. A new key without
// either fails the test.
func TestWhichKeysAreSettable(t *testing.T) {
	refused := map[string]string{
		"cluster-id": "own field", "username": "own field", "password": "secret", "private-key-path": "file",
		"external-ca": "with external-ca-path", "external-ca-path": "file", "package-src.x86src": "file",
		"package-src.armsrc": "file", "install": "has files", "eggo.sudo-password": "secret",
		"eggo.password-from": "file or variable", "eggo.sudo-password-from": "file or variable",
		"eggo.host-keys": "own field", "eggo.known-hosts": "file", "eggo.registries": "has files and secrets",
		"eggo.bundles": "files", "eggo.imported": "written by an import",
	}
	local := []string{ruleLocalBase.code, ruleLocalPath.code, ruleSource.code}
	keys := SettableKeys()
	for _, s := range Settings() {
		k, _ := theTable().find(s.Key)
		why := refused[s.Key]
		switch {
		case (why == "") != k.Settable:
			t.Errorf("%s is classified neither as settable nor as refused, or as both (%q)", s.Key, why)
		case k.Settable && (k.Kind == Path || k.Kind == Secret || slices.Contains(local, k.rule.code)):
			t.Errorf("%s is settable and names a file or a secret", s.Key)
		}
		if k.Settable != Settable(s.Key) || k.Settable != slices.Contains(keys, s.Key) {
			t.Errorf("%s: Settable and SettableKeys differ", s.Key)
		}
		delete(refused, s.Key)
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == s.Key })
	}
	if len(refused) > 0 || len(keys) > 0 {
		t.Errorf("not keys that a user can set: %v, settable: %v", refused, keys)
	}
	for _, unknown := range []string{"", "eggo", "service", "masters", "<login>.user", "eggo.machines.w1"} {
		if Settable(unknown) {
			t.Errorf("%q is settable", unknown)
		}
	}
}
