package config

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Every key that the loader reads can be filled in: it is a setting, stands inside of one that is typed as YAML, or
// belongs to the machines.
func TestEveryKeyIsASetting(t *testing.T) {
	all := theTable()
	seen := 0
	for _, k := range all.below[""] {
		_, is := all.setting(k)
		below := 0
		for _, s := range all.settings() {
			if strings.HasPrefix(s.Key, k.Path+".") {
				below++
			}
		}
		if seen += below; is {
			seen++
		}
		if k.Kind != Machines && is == (below > 0) {
			t.Errorf("%s: a setting %v, and %d below it", k.Path, is, below)
		}
	}
	if n := len(Settings()); seen != n || n < 40 {
		t.Fatalf("%d of %d settings: the search is broken", seen, n)
	}
}

// What a file says, its draft says, and the file that the draft makes.
func TestADraftOfAFileMakesTheSameCluster(t *testing.T) {
	manual, err := os.ReadFile("testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ := strings.Cut(string(manual), "\nnodes:")
	// two machines with one name are an error of the manual
	manual = []byte(head + "\nnodes:" + strings.Replace(tail, "test0", "test7", 1))
	p := i18n.NewPrinter(i18n.English)
	files := map[string][]byte{
		"manual":   manual,
		"template": Template(TemplateOptions{}, p),
		"with balancer": Template(TemplateOptions{Masters: []string{"192.0.2.1", "192.0.2.2"},
			Etcds: []string{"192.0.2.3"}, LoadBalancer: "192.0.2.1", Password: "it's \"so\" #1"}, p),
		"all sorts": []byte(`cluster-id: c
masters: [{name: a, ip: 192.0.2.1, port: 2222, arch: aarch64}]
loadbalance: {name: b, ip: 192.0.2.2, bind-port: 9443}
package-src: {armsrc: "a b.tar.gz", x86src: /x.tar.gz}
apiserver-cert-sans: {dnsnames: [x.example, "*.y.example"], ips: [192.0.2.9]}
config-extra-args:
- name: kubelet
  extra-args: {--v: "2"}
open-ports: {node: [{port: 179}]}
addons: [{filename: x.yaml}, {type: file, filename: y.yaml}]
registry-mirrors: ["https://m.example"]
service: {cidr: 10.40.0.0/16, dns: {replicas: 3}}
eggo: {bastion: [{host: 203.0.113.7, user: ops}], bundles: [z.tar.gz]}
`),
		"newer layout": []byte(`masters: [{name: a, ip: 192.0.2.1}]
workers: [{name: a, ip: 192.0.2.1}]
install:
  package-source: {type: tar.gz, srcpath: {x86: /x.tar.gz}}
`),
	}
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			want, problems := Load(data, "f")
			if want == nil {
				t.Fatal(problems)
			}
			d, _ := ReadDraft(data, "f")
			d.KeepSecrets = true
			got, problems := Load(d.YAML(), "f")
			if got == nil {
				t.Fatalf("%v\n%s", problems, d.YAML())
			}
			sameCluster(t, want, got)
			again, _ := ReadDraft(d.YAML(), "f")
			again.KeepSecrets = true
			if !d.Equal(again) {
				t.Errorf("the draft of what it makes is another one:\n%s", cmp.Diff(d, again))
			}
		})
	}
}

// sameCluster says what one cluster has other than another, but for where it stands in its file.
func sameCluster(t *testing.T, want, got *Cluster) {
	t.Helper()
	if want == nil && got == nil {
		return
	}
	if want == nil || got == nil {
		t.Fatalf("one of them is none: %v, %v", want, got)
	}
	for _, c := range []*Cluster{want, got} {
		c.given = nil
		for _, list := range c.Packages {
			for i := range list {
				list[i].key = ""
			}
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(Cluster{}, Package{}, position{}),
		cmp.Comparer(func(a, b interface{ String() string }) bool {
			return a.String() == b.String()
		})); d != "" {
		t.Errorf("another cluster:\n%s", d)
	}
}

func TestProblemsOfADraftStandAtWhatWasTyped(t *testing.T) {
	d := Draft{Machines: []Machine{
		{Name: "w", IP: "192.0.2.2", Roles: []bundle.Role{bundle.Worker}},
		{Name: "m", IP: "192.0.2.300", Roles: []bundle.Role{bundle.ControlPlane}},
		{Name: "w", IP: "192.0.2.4", Roles: []bundle.Role{bundle.Worker}},
		{Name: "x", IP: "192.0.2.5"},
		{Name: "y", IP: "192.0.2.5", Roles: []bundle.Role{bundle.Worker}},
	},
	}.WithValues(map[string]string{"service.cidr": "10.32.0.0/33", "config-extra-args": "- name: [",
		"registry-mirrors": "https://ok.example, nonsense url", "password": "secret",
		"eggo.bastion": "@/root/machines.txt"})
	c, problems := d.Check("deploy.yaml")
	if c != nil {
		t.Fatal("it is valid")
	}
	for key, code := range map[string]string{
		"service.cidr": "config.", "config-extra-args": "config.syntax", "registry-mirrors[1]": "config.mirror",
		"machines[1].ip": "config.", "machines[2]": "config.host-twice", "machines[3]": "config.no-role",
		"machines[4].ip": "config.shared-address", "eggo.bastion": "config.bastion",
	} {
		if !slices.ContainsFunc(problems, func(p Problem) bool {
			return p.Key == key && strings.HasPrefix(p.Code, code)
		}) {
			t.Errorf("no %s at %s: %v", code, key, problems)
		}
	}
	for _, keep := range []bool{false, true} { // a file that has the password asked for, and the password typed
		typed := d.Clone()
		typed.KeepSecrets = keep
		typed.Set("eggo.password-from", "prompt")
		if _, problems := typed.Check("x"); slices.ContainsFunc(problems,
			func(p Problem) bool { return p.Code == "config.two-secrets" }) {
			t.Errorf("keep %v: %v", keep, problems)
		}
		if text := string(typed.YAML()); strings.Contains(text, `password: "secret"`) != keep ||
			strings.Contains(text, "password-from: prompt") == keep {
			t.Errorf("keep %v:\n%s", keep, text)
		}
	}
	if strings.Contains(string(d.YAML()), "secret") || !strings.Contains(string(d.YAML()), "password-from: prompt") {
		t.Errorf("the password is written, or nothing says that it is asked for:\n%s", d.YAML())
	}
	for _, v := range [][2]string{{"cluster-id", "UPPER"}, {"service.cidr", "x"}, {"service.dns.replicas", "0"},
		{"eggo.bundles", "-x"}} {
		if p, bad := CheckValue(v[0], v[1]); !bad || p.Severity != event.Error {
			t.Errorf("%v is right", v)
		}
	}
	for _, v := range [][2]string{{"cluster-id", "prod"}, {"service.cidr", "10.9.0.0/16"},
		{"service.dnsaddr", "10.9.0.10"}, {"runtime", "docker"}, {"eggo.bastion", "ops@203.0.113.7"}} {
		if p, bad := CheckValue(v[0], v[1]); bad {
			t.Errorf("%v: %v", v, p)
		}
	}
	if _, bad := CheckMachine("ip", "192.0.2.999"); !bad {
		t.Error("192.0.2.999 is an address")
	}
	if p, bad := CheckMachine("name", "node-1"); bad {
		t.Error(p)
	}
}

// What the wizard writes has the comments of template and means the same as without them.
func TestTheCommentsOfADraftChangeNothing(t *testing.T) {
	roles := []bundle.Role{bundle.ControlPlane, bundle.Etcd, bundle.Worker, bundle.LoadBalancer}
	one := []Machine{{Name: "m1", IP: "192.0.2.1", Roles: roles[:3]}}
	all := map[string]string{"config-extra-args": "- name: kubelet # mine\n  extra-args: {--v: \"2\"}",
		"open-ports":   "node:\n- port: 179 # bgp",
		"pacakges":     "etcd:\n- {name: etcd, type: binary, dstpath: /usr/local/bin}",
		"eggo.bastion": "- host: 203.0.113.7\n  user: ops", "eggo.machines": "m1: {user: x}",
		"password": strings.Repeat("a #\"b", 40), "eggo.sudo-password": "s", "service.dns.replicas": "3",
		"eggo.bundles": "x.tar.gz, y.tar.gz", "addons": "x.yaml, y.yaml", "registry-mirrors": ",",
		"network.plugin-args": "NetworkYamlPath: /x.yaml", "package-src.armsrc": "/" + strings.Repeat("long/", 30)}
	drafts := map[string]Draft{
		"nothing":  {Machines: one},
		"blocks":   Draft{Machines: one, KeepSecrets: true}.WithValues(all),
		"prompted": Draft{Machines: one}.WithValues(map[string]string{"password": "x", "eggo.bundles": ","}),
		"broken":   Draft{}.WithValues(map[string]string{"config-extra-args": "- [", "eggo.machines": "# none"}),
		"balancer": {Machines: append(one, Machine{Name: "b", IP: "192.0.2.2", Roles: roles[3:]}), BindPort: "9443"},
	}
	for _, s := range Settings() { // one by one, so that what is not set stands beside each
		v := s.Default
		if given, is := all[s.Key]; is {
			v = given
		}
		if v == "" && s.Kind == Text {
			v = "10.32.0.10"
		}
		drafts[s.Key] = Draft{Machines: one, KeepSecrets: true}.WithValues(map[string]string{s.Key: v})
	}
	for _, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
		p := i18n.NewPrinter(lang)
		for name, d := range drafts {
			text := string(d.Commented(p))
			for line := range strings.Lines(text) {
				code, comment, _ := strings.Cut(strings.TrimSpace(line), "# ")
				if ansi.StringWidth(line) > 120 && (comment != "" || code == "") && !strings.Contains(code, `"`) {
					t.Errorf("%s %s: a long line: %s", lang, name, line)
				}
			}
			if strings.Contains(text, "template.") {
				t.Errorf("%s %s: a comment has no sentence:\n%s", lang, name, text)
			}
			want, problems := Load(d.YAML(), "f")
			got, others := Load([]byte(text), "f")
			if len(problems) != len(others) {
				t.Errorf("%s %s: %v\n%v\n%s", lang, name, problems, others, text)
			}
			sameCluster(t, want, got)
			bare, _ := ReadDraft(d.YAML(), "f")
			if again, _ := ReadDraft([]byte(text), "f"); !bare.Equal(again) || t.Failed() {
				t.Fatalf("%s %s: another draft:\n%s\n%s", lang, name, cmp.Diff(bare, again), text)
			}
		}
	}
}

// The lines of keys that are not set are those of template; what is set stands below its map.
func TestADraftOffersWhatTemplateDoes(t *testing.T) {
	p := i18n.NewPrinter(i18n.English)
	of := func(values map[string]string) string { return string(Draft{}.WithValues(values).Commented(p)) }
	offered := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			if m := regexp.MustCompile(`^ *# +([a-z0-9-]+):.*#`).FindStringSubmatch(line); m != nil {
				out = append(out, m[1])
			}
		}
		return out
	}
	tpl := offered(string(Template(TemplateOptions{}, p)))
	for _, key := range offered(of(nil)) {
		if !slices.Contains(tpl, key) {
			t.Errorf("template has no %s in comments", key)
		}
	}
	if text := of(nil); !strings.Contains(text, "\n# eggo: ") || !strings.Contains(text, "\n#   hostname: keep ") {
		t.Errorf("the program's keys are not offered:\n%s", text)
	}
	text := of(map[string]string{"eggo.host-keys": "strict", "service.dns.replicas": "3"})
	for _, want := range []string{"\neggo: ", "\n  # hostname: keep ", "\n  host-keys: strict ",
		"\n    # imageversion: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}

// A draft is saved as it was when its values were a map that all could see.
func TestDraft_IsSavedAsBefore(t *testing.T) {
	const saved = `{"machines":[{"name":"a","ip":"192.0.2.1","roles":["worker"]}],"bind-port":"9443",` +
		`"values":{"cluster-id":"prod"},"keep-secrets":true}`
	d := Draft{Machines: []Machine{{Name: "a", IP: "192.0.2.1", Roles: []bundle.Role{bundle.Worker}}}, BindPort: "9443",
		KeepSecrets: true}.WithValues(map[string]string{"cluster-id": "prod", "username": ""})
	data, err := json.Marshal(d)
	if string(data) != saved || err != nil {
		t.Errorf("%s, %v", data, err)
	}
	var again Draft
	if err := json.Unmarshal([]byte(saved), &again); err != nil || !d.Equal(again) || again.Count() != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	if data, err = json.Marshal(Draft{}); string(data) != `{"machines":null,"values":null}` || err != nil {
		t.Errorf("%s, %v", data, err)
	}
}
