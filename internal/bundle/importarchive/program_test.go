package importarchive

import (
	"debug/buildinfo"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// The version of a program is what its linker set, its module has, or the API of its server has.
func TestTheVersionThatTheToolchainRecorded(t *testing.T) {
	for want, info := range map[string]buildinfo.BuildInfo{
		"v1.29.1": {Path: "k8s.io/kubernetes/cmd/kubelet", Settings: []debug.BuildSetting{{Key: "-ldflags",
			Value: "-s -X 'k8s.io/component-base/version.gitVersion=v1.29.1' -X a.b=c"}}},
		"v2.1.4": {Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-X github.com/x/version.Version=2.1.4"}}},
		"v1.3.0": {Path: "github.com/opencontainers/runc", Main: debug.Module{Path: "github.com/opencontainers/runc",
			Version: "v1.3.0"}},
		"v1.34.2": {Path: "k8s.io/kubernetes/cmd/kubelet", Main: debug.Module{Path: "lab", Version: "(devel)"},
			Deps: []*debug.Module{{Path: "k8s.io/api", Version: "v0.34.2"},
				{Path: "k8s.io/kubernetes", Version: "v1.34.2"}}},
		"v3.6.4": {Path: "go.etcd.io/etcd/server/v3", Main: debug.Module{Path: "go.etcd.io/etcd/server/v3",
			Version: "(devel)"}, Deps: []*debug.Module{{Path: "go.etcd.io/etcd/api/v3", Version: "v3.6.4"}}},
		"": {Path: "x.test/y", Main: debug.Module{Path: "x.test/y", Version: "v0.0.0-20250101000000-abcdefabcdef"}},
	} {
		if got := recorded(&info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What the linker set is found wherever it is; two versions, and the default of an untagged build, are none.
func TestTheVersionThatTheLinkerSet(t *testing.T) {
	for _, at := range []int{1, 100, 1<<20 - 70, 1<<20 - 65, 1<<20 - 3, 1 << 20, 3 << 20} {
		text := strings.Repeat("\x00", at) + "v1.34.2\x00" + strings.Repeat("text v1.2.3 ", 100)
		if got, err := linked(strings.NewReader(text)); err != nil || got != "v1.34.2" {
			t.Errorf("at %d: %q %v", at, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "", "v1.34.2": "", "\x00v0.0.0-master\x00": "", "\x00v1.3\x00": "", "\x00v1.0.0\x00": "",
		"\x00v1.34.2\x00\x00v1.33.1\x00": "", "\x00v1.34.2\x00\x00v1.34.2\x00": "v1.34.2",
		"\x00v1.0.0\x00 \x00v1.34.2\x00": "v1.34.2", "\x00v1.34.2\x00 \x00v1.0.0\x00": "v1.34.2",
	} {
		if got, err := linked(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

// The operating system is read from the versions of the packages where those that show one agree.
func TestTheOperatingSystemOfPackages(t *testing.T) {
	for _, c := range []struct{ family, versions, id, release, codename string }{
		{"debian", "1.7.24~ds1-6+deb12u1 2.36-9+deb12u10 1.0", "debian", "12", "bookworm"},
		{"debian", "1.7.12-0ubuntu2~22.04.1", "ubuntu", "22.04", "jammy"},
		{"debian", "1.0 2.0", "", "", ""},
		{"debian", "1.0+deb12u1 2.0+deb11u1", "", "", ""},
		{"rpm", "1.4.6-1.oe1 3.4.14-2", "openEuler", "20.03", ""},
		{"rpm", "1.4.6-1.oe2203sp4", "openEuler", "22.03", ""},
		{"rpm", "1:1.4.6-1.el9_4.2 1.el9", "centos", "9", ""},
	} {
		s := &source{family: c.family}
		for _, v := range strings.Fields(c.versions) {
			s.packages = append(s.packages, pkg{version: v})
		}
		s.guess()
		if want := (bundle.OS{Family: c.family, ID: c.id, Release: c.release, Codename: c.codename}); s.os != want {
			t.Errorf("%s: %+v", c.versions, s.os)
		}
	}
}
