package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

func system(kv ...string) *Facts {
	f := &Facts{OS: map[string]string{}, PkgManagers: []string{"apt-get", "dnf", "yum"}}
	for i := 0; i < len(kv); i += 2 {
		f.OS[kv[i]] = kv[i+1]
	}
	return f
}

func TestWhichBundleFitsASystem(t *testing.T) {
	debian := bundle.OS{Family: "debian", ID: "debian", Release: "12", Codename: "bookworm"}
	centos := bundle.OS{Family: "rpm", ID: "centos", Release: "9"}
	euler := bundle.OS{Family: "rpm", ID: "openEuler", Release: "24.03"}
	for name, c := range map[string]struct {
		f    *Facts
		want []bundle.OS
	}{
		"Debian": {system("ID", "debian", "VERSION_ID", "12", "VERSION_CODENAME", "bookworm"),
			[]bundle.OS{debian}},
		"Debian 13": {system("ID", "debian", "VERSION_ID", "13", "VERSION_CODENAME", "trixie"), nil},
		"Ubuntu": {system("ID", "ubuntu", "ID_LIKE", "debian", "VERSION_ID", "22.04", "VERSION_CODENAME",
			"jammy"), nil},
		"openEuler":       {system("ID", "openEuler", "VERSION_ID", "24.03"), []bundle.OS{euler}},
		"openEuler 22.03": {system("ID", "openEuler", "VERSION_ID", "22.03"), nil},
		"CentOS Stream":   {system("ID", "centos", "ID_LIKE", "rhel fedora", "VERSION_ID", "9"), []bundle.OS{centos}},
		"Rocky": {system("ID", "rocky", "ID_LIKE", "rhel centos fedora", "VERSION_ID", "9.4"),
			[]bundle.OS{centos}},
		"RHEL":   {system("ID", "rhel", "ID_LIKE", "fedora", "VERSION_ID", "9.5"), []bundle.OS{centos}},
		"RHEL 8": {system("ID", "rhel", "ID_LIKE", "fedora", "VERSION_ID", "8.9"), nil},
		"Fedora": {system("ID", "fedora", "VERSION_ID", "9"), nil},
		"nobody": {system(), nil},
	} {
		var got []bundle.OS
		for _, os := range []bundle.OS{debian, centos, euler} {
			if c.f.Fits(&bundle.Manifest{OS: os, Install: []bundle.Package{{Name: "runc"}}}) {
				got = append(got, os)
			}
			if !c.f.Fits(&bundle.Manifest{OS: os}) {
				t.Errorf("%s: a bundle without packages does not fit", name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
