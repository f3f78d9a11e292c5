package nodepath

import (
	"path"
	"strings"
	"testing"
)

func TestWhereFilesMayGo(t *testing.T) {
	for _, tc := range []struct {
		use  Use
		file string
		why  string
	}{
		{Program, "/usr/local/bin/kubelet", ""},
		{Program, "/opt/cni/bin/bridge", ""},
		{Program, "/usr/bin/x/y", ""},
		{File, "/etc/kubernetes/site.conf", ""},
		{File, "/etc/kubernetes/addons/net.yaml", ""},
		{Tree, "/root/.eggo/site/a@b=c+d", ""},
		{File, "/etc/cni/net.d/10-site.conflist", ""},
		{Listed, "/etc/systemd/system/site.service", ""},
		{Listed, "/usr/lib/systemd/system/site.timer", ""},

		{File, "/etc/ld.so.preload", "not-listed"},
		{File, "/etc/sudoers.d/x", "not-listed"},
		{File, "/root/.ssh/authorized_keys", "not-listed"},
		{File, "/etc/cron.d/x", "not-listed"},
		{File, "/var/spool/cron/root", "not-listed"},
		{Program, "/usr/local/binevil/x", "not-listed"},
		{Program, "/usr/sbin/x", "not-listed"},
		{Program, "/usr/bin", "not-listed"},
		{Program, "/", "characters"},
		{Program, "/x", "not-listed"},
		{Program, "/etc/cni/net.d/x", "not-listed"},          // configuration, no programs
		{Program, "/opt/eggo/versions/1/etcd", "not-listed"}, // Eggo's own choice

		{Program, "/usr/bin/../../etc/x", "characters"},
		{Program, "/usr/bin/./x", "characters"},
		{Program, "/usr/bin//x", "characters"},
		{Program, "/usr/bin/x/", "characters"},
		{Program, "usr/bin/x", "characters"},
		{Program, "", "characters"},
		{Program, "/usr/bin/a b", "characters"},
		{Program, "/usr/bin/a%h", "characters"},
		{Program, "/usr/bin/$a", "characters"},
		{Program, "/usr/bin/`a`", "characters"},
		{Program, "/usr/bin/a'b", "characters"},
		{Program, `/usr/bin/a"b`, "characters"},
		{Program, `/usr/bin/a\b`, "characters"},
		{Program, "/usr/bin/a;b", "characters"},
		{Program, "/usr/bin/a\nb", "characters"},
		{Program, "/usr/bin/a\x1b[2J", "characters"},
		{Program, "/usr/bin/a\x00", "characters"},
		{Program, "/usr/bin/\u202ea", "characters"},
		{Program, "/usr/bin/Grüße", "characters"},
		{Program, "/usr/bin/-rf", "characters"},
		{Program, "/usr/bin/" + strings.Repeat("a", 256), "characters"},
		{Program, "/usr/bin" + strings.Repeat("/a", MaxDepth), "characters"},
		{Program, "/usr/bin/" + strings.Repeat("a/", 300), "characters"},

		{File, "/etc/systemd/system/site.service", "unit"}, // the manifest alone
		{Tree, "/etc/systemd/system/sshd.service.d/x.conf", "unit"},
		{Listed, "/etc/systemd/system/sshd.service.d/x.conf", "unit"},
		{Listed, "/etc/systemd/system/multi-user.target.wants/x.service", "unit"},
		{Listed, "/etc/systemd/system/getty@tty1.service", "unit"},
		{Listed, "/etc/systemd/system/.service", "unit"},
		{Listed, "/etc/systemd/system/x", "unit"},
		{Listed, "/etc/systemd/system/x.mount", "unit"},

		{File, "/etc/kubernetes/pki/ca.crt", "ours"},
		{File, "/etc/kubernetes/manifests/x.yaml", "ours"},
		{File, "/etc/kubernetes/admin.conf", "ours"},
		{Listed, "/etc/systemd/system/kubelet.service", "ours"},
		{Listed, "/etc/systemd/system/docker.socket", "ours"},
		{Listed, "/usr/lib/systemd/system/eggo-lb.service", "ours"},
	} {
		got := ""
		if err := Check(tc.use, tc.file); err != nil {
			got = Why(err)
		}
		if got != tc.why {
			t.Errorf("%d %q: %q, want %q", tc.use, tc.file, got, tc.why)
		}
	}
}

func TestDirectories(t *testing.T) {
	for dir, want := range map[string]bool{
		"/usr/bin": true, "/usr/bin/": true, "/usr/bin/x": true, "/opt/cni/bin": true, "/etc/kubernetes/addons": true,
		"/tmp/a": true, "/etc/cni/net.d": true,
		"/etc/systemd/system": true, "/etc/systemd/system/x": false, "/opt/cni/binevil": false, "/usr": false,
		"/": false, "": false, "usr/bin": false, "/tmp/../etc": false,
		"/usr/bin//x": false, "/tmp/./x": false, "/tmp/a b": false,
	} {
		if Dir(Listed, dir) != want {
			t.Errorf("%q: %v", dir, !want)
		}
	}
	for _, use := range []Use{Program, File, Tree, Spool} {
		if Dir(use, "/etc/systemd/system") {
			t.Errorf("%d may lie among the units", use)
		}
	}
}

func TestPackageNames(t *testing.T) {
	for name, want := range map[string]bool{
		"containerd_1.6.20~ds1-1+deb12u1_amd64.deb": true, "a-1^git1-1.x86_64.rpm": true, "x_1%3a2_all.deb": true,
		"repomd.xml": true,
		"":           false, ".x": false, "-x": false, "a b": false, "a'b": false, "a$b": false, "ä": false,
		"a\n": false, strings.Repeat("a", 256): false,
	} {
		if Package(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// What is accepted has the characters and stays below a directory of the list, whatever was tried.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"/usr/local/bin/kubelet", "/etc/systemd/system/x.service", "/usr/bin/../x",
		"/etc/kubernetes/pki/x", "/tmp//x", "/root/.eggo/-x"} {
		for use := range 5 {
			f.Add(use, s)
		}
	}
	f.Fuzz(func(t *testing.T, use int, file string) {
		u := Use(1) << (uint(use) % 5)
		if Check(u, file) != nil {
			return
		}
		if path.Clean(file) != file || len(file) > MaxLength || strings.Count(file, "/") > MaxDepth {
			t.Fatalf("%q is accepted", file)
		}
		if strings.ContainsFunc(file, func(r rune) bool {
			return r <= ' ' || r > '~' || strings.ContainsRune("\"'`$%\\;&|<>(){}[]*?!~#^:,", r)
		}) {
			t.Fatalf("%q has characters that it may not have", file)
		}
		below := false
		for _, d := range Dirs(u) {
			below = below || strings.HasPrefix(file, d+"/")
		}
		if !below || ours(file) {
			t.Fatalf("%q is accepted", file)
		}
	})
}
