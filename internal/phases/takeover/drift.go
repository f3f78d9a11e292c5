package takeover

import (
	"bytes"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Drift compares a cluster that kubeadm has made, as it is now, with what its import has made of it: between an import
// and the deploy that takes the cluster over somebody may have changed it.
type Drift struct {
	*Cluster
	Has  func(component string, flag KubeletFlag) bool // whether config-extra-args has it; of etcd a variable
	Kept func(name string) ([]byte, error)             // a file of the state directory's pki
	// Serving says whether kubelets of deploy.yaml ask the cluster for their server certificates.
	Serving bool
}

// Lost are the flags, settings, variables, and keys that the cluster would run without.
func (s Drift) Lost() ([]event.Finding, error) {
	t := &taking{Cluster: s.Cluster, extra: map[string]map[string]string{}}
	t.manifests()
	t.proxy()
	t.kubelet()
	found := t.out
	t.out = nil
	lost, fields := map[string][]string{}, map[string][]string{}
	for _, component := range []string{etcd, apiServer, controller, scheduler, proxy, kubelet} {
		for _, name := range sorted(t.extra[component]) {
			flag := KubeletFlag{strings.TrimPrefix(name, "--"), t.extra[component][name]}
			if !s.Has(component, flag) {
				lost[component] = append(lost[component], event.Clean(name+"="+flag.Value))
			}
		}
	}
	for _, f := range found {
		args := f.Fault.Args
		switch {
		case f.Fault.Code == "import.setting":
			if args["setting"] != "serverTLSBootstrap" || !s.Serving {
				fields[args["component"]] = append(fields[args["component"]], args["setting"]+": "+args["value"])
			}
		case f.Fault.Code == "import.environment":
			t.refuse(f.Host, "import.lost-environment", "component", args["component"], "variables", args["names"])
		case f.Fault.Code == "import.no-proxy":
			t.refuse("", "import.without-proxy")
		case f.Severity == event.Error:
			t.out = append(t.out, f)
		}
	}
	of := map[string]string{proxy: "kube-proxy", kubelet: "kubelet-config"}
	for _, component := range sorted(lost) {
		what := strings.Join(lost[component], ", ")
		if of[component] == "" {
			t.refuse("", "import.lost-flags", "component", component, "flags", what)
			continue
		}
		t.refuse("", "import.lost-settings", "component", component, "map", of[component], "settings", what)
	}
	for _, component := range sorted(fields) {
		t.refuse("", "import.lost-fields", "component", component, "map", of[component], "settings",
			strings.Join(fields[component], ", "))
	}
	err := s.keys(t)
	return t.out, err
}

// keys compares those that control planes have with those of the state directory. The CAs of certificates are compared
// elsewhere: nobody can exchange them by copying a file.
func (s Drift) keys(t *taking) error {
	for _, one := range t.Servers {
		if slices.Contains(one.Ours, apiServer) {
			continue
		}
		t.publicKeys(one)
		found := len(t.out)
		is := map[string][]byte{encryptionName: []byte(plainSecrets), "sa.key": one.PKI["sa.key"]}
		t.encryption(one, map[string][]byte{})
		if len(t.out) > found {
			delete(is, encryptionName) // it cannot be understood
		} else if one.Encryption != nil {
			is[encryptionName] = one.Encryption
		}
		at := map[string]string{"sa.key": PKIDir + "/sa.key",
			encryptionName: EncryptionFile(one.Manifests[apiServer+".yaml"])}
		for _, name := range sorted(is) {
			kept, err := s.Kept(name)
			if err != nil {
				return err
			}
			if bytes.Equal(bare(is[name]), bare(kept)) || at[name] == "" && plain(kept) {
				continue
			}
			if at[name] == "" {
				t.refuse(one.Node, "import.encryption-off", "kept", "pki/"+name)
				continue
			}
			t.refuse(one.Node, "import.changed-key", "file", at[name], "kept", "pki/"+name)
		}
	}
	return nil
}

// bare is a text without what is blank.
func bare(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }
