package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestPrivateRegistries(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":    {"eggo: {registries: {}}\n", ""},
		"a login": {"eggo: {registries: {'r.local:5000': {username: 'robot$eggo', password: correct-horse}}}\n", ""},
		"from elsewhere": {"eggo: {registries: {docker.io: {username: eggo, password-from: 'env:PW'}, " +
			"'[2001:db8::1]:5000': {ca-path: ~/ca.crt}}}\n", ""},
		"both": {"eggo: {registries: {r.local: {username: e, password: correct-horse, password-from: prompt}}}\n",
			"10:config.two-secrets"},
		"no password": {"eggo: {registries: {r.local: {username: e}}}\n", "10:config.missing"},
		"no user":     {"eggo: {registries: {r.local: {password-from: prompt}}}\n", "10:config.missing"},
		"nothing":     {"eggo: {registries: {r.local: {}}}\n", "10:config.registry-empty"},
		"an address":  {"eggo: {registries: {'https://r.local': {ca-path: /ca}}}\n", "10:config.registry-host"},
		"a path":      {"eggo: {registries: {r.local/project: {ca-path: /ca}}}\n", "10:config.registry-host"},
		"a network":   {"eggo: {registries: {10.0.0.0/8: {ca-path: /ca}}}\n", "10:config.registry-host"},
		"a user with two": {"eggo: {registries: {r.local: {username: 'a:b', password-from: prompt}}}\n",
			"10:config.missing 10:config.account"},
		"a relative path": {"eggo: {registries: {r.local: {ca-path: ca.crt}}}\n",
			"10:config.registry-empty 10:config.local-path-base"},
		"a word too many": {"eggo: {registries: {r.local: {ca: x}}}\n",
			"10:config.registry-empty 10:config.unknown-key"},
		"insecure": {"eggo: {registries: {r.local: {ca-path: /ca}}}\ninsecure-registries: [r.local]\n",
			"10:config.registry-ca-insecure"},
		"a mirror": {"eggo: {registries: {r.local: {username: e, password-from: prompt}}}\n" +
			"registry-mirrors: ['https://r.local']\n", ""},
		"a mirror of docker": {"eggo: {registries: {r.local: {username: e, password-from: prompt}}}\n" +
			"runtime: isulad\nregistry-mirrors: ['https://r.local']\n", "10:config.mirror-login"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ps := Load([]byte(minimal+c.text), "f")
			if codes(ps) != c.want {
				t.Errorf("%q, want %q", codes(ps), c.want)
			}
			rendered(t, ps)
			for _, p := range ps {
				for _, v := range p.Args {
					if strings.Contains(v, "horse") {
						t.Errorf("a password in a problem: %+v", p)
					}
				}
			}
		})
	}
}

// Kubelets read a docker configuration; Docker Hub has a name of its own there.
func TestLoginsOfKubelets(t *testing.T) {
	c, ps := Load([]byte(minimal+"eggo: {registries: {'r.local:5000': {username: e, password: pass:word}, "+
		"docker.io: {username: d, password: secret-too}, ca.local: {ca-path: /ca}}}\n"), "f")
	if c == nil {
		t.Fatal(dump(ps))
	}
	data, err := c.PullLogins()
	want := `{
  "auths": {
    "https://index.docker.io/v1/": {
      "auth": "ZDpzZWNyZXQtdG9v"
    },
    "r.local:5000": {
      "auth": "ZTpwYXNzOndvcmQ="
    }
  }
}
`
	if err != nil || string(data) != want {
		t.Errorf("%v\n%s", err, data)
	}
	if c.Eggo.Registries["ca.local"].BasicAuth() != "" || c.Eggo.Registries["r.local:5000"].BasicAuth() !=
		"Basic ZTpwYXNzOndvcmQ=" {
		t.Error("headers")
	}
	if c, _ = Load([]byte(minimal), "f"); c == nil {
		t.Fatal("minimal")
	}
	if data, err := c.PullLogins(); data != nil || err != nil {
		t.Errorf("without a login: %s %v", data, err)
	}
}

const someCA = `-----BEGIN CERTIFICATE-----
MIIBUTCB+KADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMTAmNhMB4XDTI2
-----END CERTIFICATE-----
`

func TestCAsOfRegistriesAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, code string }{
		"torn":    {someCA, "config.registry-ca"},
		"a key":   {"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", "config.registry-ca"},
		"no PEM":  {"hello\n", "config.registry-ca"},
		"nothing": {"", "config.registry-ca"},
		"absent":  {"-", "config.no-file"},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if c.text != "-" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cluster := &Cluster{Eggo: Eggo{Registries: map[string]Registry{"r.local": {CAPath: file}, "x": {}}}}
		f := event.AsFault(cluster.ReadRegistryCAs())
		if f == nil || f.Code != c.code || f.Class != event.ClassUsage || f.Args["file"] != file {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
