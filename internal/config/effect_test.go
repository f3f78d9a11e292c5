package config

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// What has no effect yet is refused by name and line; each row is valid and has exactly one such thing.
func TestUnsupportedNamesEveryKeyWithoutEffect(t *testing.T) {
	for _, tc := range []struct{ line, key string }{
		{"etcd-external: true\n", "etcd-external"},
	} {
		c, ps := Load([]byte(minimal+tc.line), "f")
		if c == nil {
			t.Errorf("%s%s", tc.line, dump(ps))
			continue
		}
		u := Unsupported(c)
		if len(u) != 1 || u[0].Key != tc.key || u[0].Line != 10 || u[0].Severity != event.Error || u[0].File != "f" {
			t.Errorf("%swant %s, got:\n%s", tc.line, tc.key, dump(u))
		}
		rendered(t, u)
	}
}

func TestUnsupportedShapes(t *testing.T) {
	for in, key := range map[string]string{
		"masters: [{name: a, ip: 192.168.0.1}]\ninstall: {package-source: {type: ''}}\n": "install.package-source.type",
	} {
		c, ps := Load([]byte(in), "f")
		if c == nil {
			t.Errorf("%s%s", in, dump(ps))
			continue
		}
		u := Unsupported(c)
		found := false
		for _, p := range u {
			found = found || p.Key == key
		}
		if !found {
			t.Errorf("%swant %s, got:\n%s", in, key, dump(u))
		}
		rendered(t, u)
	}
}

// Keys that are given with the value that holds anyway are no trouble.
func TestSupportedShapes(t *testing.T) {
	for _, line := range []string{
		"etcds: [{name: e, ip: 192.168.0.5}]\n", "external-ca: false\netcd-external: no\n",
		"runtime: Containerd\nruntime-endpoint: unix:///run/containerd/containerd.sock\n",
		"runtime: docker\ninsecure-registries: [m.example.com, 10.0.0.0/8]\nregistry-mirrors: " +
			"['https://m.example.com']\n", "runtime: iSulad\n", "runtime-endpoint: unix:///run/other.sock\n",
		"registry-mirrors: ['https://m.example.com', 'ghcr.io=http://m.example.com:5000/v2/ghcr.io', " +
			"'*=https://all.example.com']\ninsecure-registries: ['m.example.com:5000']\n",
		"apiserver-timeout: 2m\n", "addons: [{type: file, filename: kube-flannel.yml}]\n",
		"network: {plugin: Flannel, plugin-args: {}}\n",
		"pacakges: {etcd: [{name: etcd, type: binary, dstpath: /usr/local/bin}], node: [{name: containerd, type: " +
			"pkg, dstpath: ''}]}\n",
		"open-ports: {node: [{port: 179}]}\nregistry-mirrors: []\nconfig-extra-args: []\neggo: {hostname: set}\n",
	} {
		c, ps := Load([]byte(minimal+line), "f")
		if c == nil {
			t.Errorf("%s%s", line, dump(ps))
		} else if u := Unsupported(c); len(u) > 0 {
			t.Errorf("%s%s", line, dump(u))
		}
	}
}

// Rule 14: what the file names is compared with what the bundle has.
func TestMissingFromBundle(t *testing.T) {
	m := &bundle.Manifest{
		Arch:   "amd64",
		Images: []bundle.Image{{Name: "registry.k8s.io/pause:3.10.1"}},
		Members: []bundle.Member{
			{Path: "addons/kube-flannel.yml", Kind: bundle.Addon, Name: "kube-flannel.yml"},
			{Path: "etcd", Kind: bundle.Binary, Name: "etcd"},
			{Path: "containerd_1.deb", Kind: bundle.Deb, Name: "containerd"},
			{Path: "site.conf", Kind: bundle.ExtraFile, Name: "site.conf"},
			{Path: "go.sh", Kind: bundle.ExtraFile, Name: "go.sh"},
			{Path: "tools/a/x", Kind: bundle.ExtraDir, Name: "tools"},
		},
	}
	for line, want := range map[string]string{
		"addons: [{filename: kube-flannel.yml}]\npause-image: registry.k8s.io/pause:3.10.1\n":                        "",
		"pacakges: {etcd: [{name: etcd, type: binary, dstpath: /usr/bin}], node: [{name: containerd, type: pkg}]}\n": "",
		"pacakges: {master: [{name: addons, type: binary, dstpath: /etc/kubernetes}]}\n":                             "",
		"pacakges: {loadbalance: [{name: nginx, type: pkg}]}\n":                                                      "",
		"pacakges: {etcd: [{name: site.conf, type: file, dstpath: /tmp}, {name: tools, type: dir, dstpath: /tmp}, " +
			"{name: go.sh, type: shell, schedule: prejoin}]}\n": "",
		"pacakges: {master: [{name: pause, type: image}, {name: kube-flannel.yml, type: yaml}, {name: " +
			"'https://x.example/y.yaml', type: yaml}, {name: jq, type: repo}]}\n": "",
		"pacakges:\n  etcd:\n  - {name: a.conf, type: file, dstpath: /tmp}\n  - {name: site.conf, type: dir, " +
			"dstpath: /tmp}\n  - {name: no.sh, type: shell, schedule: prejoin}\n  - {name: agnhost, type: image}\n  " +
			"- {name: x.yaml, type: yaml}\n": "12:config.not-in-bundle 13:config.not-in-bundle " +
			"14:config.not-in-bundle 15:config.not-in-bundle 16:config.not-in-bundle",
		"addons: [{filename: calico.yaml}]\n":                                                         "10:config.not-in-bundle",
		"pause-image: registry.k8s.io/pause:3.2\n":                                                    "10:config.not-in-bundle",
		"pacakges: {etcd: [{name: etcd, type: pkg}],\n           node: [{name: socat, type: pkg}]}\n": "10:config.not-in-bundle 11:config.not-in-bundle",
	} {
		c, ps := Load([]byte(minimal+line), "f")
		if c == nil {
			t.Errorf("%s%s", line, dump(ps))
			continue
		}
		missing := c.MissingFrom(m)
		if got := codes(missing); got != want {
			t.Errorf("%sgot %q, want %q", line, got, want)
		}
		rendered(t, missing)
	}
}

func write(t *testing.T, dir, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(dir, "deploy.yaml")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoadFileWarnsOfAPasswordThatOthersCanRead(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	secret := minimal + "password: correct-horse-battery\n"
	for _, tc := range []struct {
		text string
		mode os.FileMode
		git  bool
		want string
	}{
		{secret, 0o600, false, ""},
		{secret, 0o644, false, "10:config.readable-secret"},
		{secret, 0o640, false, "10:config.readable-secret"},
		{secret, 0o600, true, "10:config.secret-in-git"},
		{minimal + "eggo: {sudo-password: correct-horse}\n", 0o604, false, "10:config.readable-secret"},
		{minimal, 0o644, true, ""},
	} {
		dir := t.TempDir()
		if tc.git {
			if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c, ps, err := LoadFile(write(t, dir, tc.text, tc.mode))
		if err != nil || c == nil || codes(ps) != tc.want {
			t.Errorf("mode %o: got %q, want %q (%v)", tc.mode, codes(ps), tc.want, err)
		}
		rendered(t, ps)
	}
}

func TestLoadFileMakesPathsAbsolute(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	text := strings.Replace(minimal, "/srv/eggo-amd64.tar.gz", "../b/eggo.tar.gz\n  armsrc: ~/arm.tar.gz", 1) +
		"private-key-path: ~/.ssh/k\neggo: {known-hosts: ~/kh, sudo-password-from: 'file:~/pw'}\n"
	c, ps, err := LoadFile(write(t, dir, text, 0o600))
	if c == nil || err != nil {
		t.Fatal(err, dump(ps))
	}
	for got, want := range map[string]string{
		c.Source.Bundles["amd64"]: filepath.Join(filepath.Dir(dir), "b/eggo.tar.gz"),
		c.Source.Bundles["arm64"]: home + "/arm.tar.gz",
		c.SSH.PrivateKeyPath:      home + "/.ssh/k", c.Eggo.KnownHosts: home + "/kh",
		c.Eggo.SudoPasswordFrom: "file:" + home + "/pw",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A key of the home directory is no key that deploy.yaml names: who loads the file may not use it.
func TestLoadFileTakesNoKeyOfTheUser(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh/id_rsa"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"": "", "private-key-path: ~/.ssh/id_rsa\n": home + "/.ssh/id_rsa"} {
		c, ps, err := LoadFile(write(t, t.TempDir(), minimal+line, 0o600))
		if c == nil || err != nil {
			t.Fatal(err, dump(ps))
		}
		if c.SSH.PrivateKeyPath != want {
			t.Errorf("%sgot %q, want %q", line, c.SSH.PrivateKeyPath, want)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 10<<20); err != nil { // 10 MB
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "none"): "config.no-file", dir: "config.not-a-file", "/dev/zero": "config.not-a-file",
		big: "config.too-large", "": "config.no-file",
	} {
		c, _, err := LoadFile(name)
		var f *event.Fault
		if c != nil || !errors.As(err, &f) || f.Code != want || f.Class != event.ClassUsage {
			t.Errorf("%q: %v", name, err)
			continue
		}
		for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			if text, next := i18n.NewPrinter(lang).Fault(f); next == "" || hole(text+next) {
				t.Errorf("%s: %q → %q", want, text, next)
			}
		}
	}
}

// Whatever goes into a template, what comes out is right or is refused by Load; it never means something else.
func TestTemplateLoadsInBothLanguages(t *testing.T) {
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for name, o := range map[string]TemplateOptions{
			"nothing":        {},
			"single machine": {Masters: []string{"10.0.0.1"}, Password: "s3cret-enough"},
			"the manual": {
				Name: "k8s-cluster", User: "username", Password: "password",
				Masters: []string{"192.168.0.1", "192.168.0.2"},
				Nodes:   []string{"192.168.0.3"}, Etcds: []string{"192.168.0.4"}, LoadBalancer: "192.168.0.5",
			},
			"all roles": {Masters: []string{"10.0.0.1"}, Nodes: []string{"10.0.0.1", "10.0.0.2"},
				Etcds: []string{"10.0.0.1"}, LoadBalancer: "10.0.0.1", PrivateKey: "/root/.ssh/my key"},
			"only workers": {Nodes: []string{"10.0.0.2"}, Arch: "arm64",
				Bundles: map[string]string{"amd64": "/a b.tar.gz"}},
		} {
			text := Template(o, p)
			c, ps := Load(text, "f")
			if c == nil {
				t.Errorf("%s %s: %s\n%s", lang, name, dump(ps), text)
				continue
			}
			if strings.Contains(string(text), "template.") || c.SSH.Password != o.Password || o.PrivateKey != "" &&
				c.SSH.PrivateKeyPath != o.PrivateKey {
				t.Errorf("%s %s:\n%s", lang, name, text)
			}
			if u := Unsupported(c); len(u) > 0 && name != "the manual" && name != "all roles" {
				t.Errorf("%s %s: deploy refuses its own template:\n%s", lang, name, dump(u))
			}
		}
	}
}

func TestTemplateQuotesWhatItIsGiven(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	for _, value := range append(hostile, "true", "null", "1e3", "0x10", "~", "a: b", "a #b", "a // b", "\U000e0001",
		"'", `\`) {
		if c, ps := Load(Template(TemplateOptions{Password: value}, p), "f"); c != nil && c.SSH.Password != value {
			t.Errorf("password %q became %q (%s)", value, c.SSH.Password, codes(ps))
		} else if c == nil && !strings.ContainsAny(value, "\n\x00") {
			t.Errorf("password %q: %s", value, dump(ps))
		}
		if c, _ := Load(Template(TemplateOptions{Name: value, User: value, PrivateKey: "/" + value,
			LoadBalancer: value}, p), "f"); c != nil {
			t.Errorf("%q was taken for a name, a user and an address", value)
		}
		if c, _ := Load(Template(TemplateOptions{User: value}, p), "f"); c != nil && c.SSH.User != value {
			t.Errorf("user %q became %q", value, c.SSH.User)
		}
	}
}

// A path below the home directory needs one; all others do without.
func TestWithoutAHomeDirectory(t *testing.T) {
	t.Setenv("HOME", "")
	below := minimal + "private-key-path: ~/.ssh/k\n"
	for name, load := range map[string]func() (*Cluster, error){
		"the file": func() (*Cluster, error) {
			c, _, err := LoadFile(write(t, t.TempDir(), below, 0o600))
			return c, err
		},
		"the wizard's": func() (*Cluster, error) {
			d, _ := ReadDraft([]byte(below), "deploy.yaml")
			c, _, err := d.Cluster("deploy.yaml")
			return c, err
		},
	} {
		c, err := load()
		if f := event.AsFault(err); f == nil || f.Code != "config.home" || f.Class != event.ClassUsage || c != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, ps, err := LoadFile(write(t, t.TempDir(), minimal, 0o600)); err != nil || c == nil {
		t.Error(err, dump(ps))
	}
}

// A file that is there and cannot be read is not one that is not there.
func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, minimal, 0o600)
	socket := filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	turning := filepath.Join(dir, "turning")
	if err := os.Symlink(turning, turning); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(file, "below"), socket, turning,
		filepath.Join(dir, strings.Repeat("long", 100))} {
		_, _, err := LoadFile(name)
		if f := event.AsFault(err); f == nil || f.Code != "config.unreadable" || f.Class != event.ClassUsage ||
			f.Args["file"] != name || strings.Contains(f.Cause, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
