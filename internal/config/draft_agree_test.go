package config

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// agrees fails if a draft is valid and the file that is written of it is not, or the other way round. Values that
// cannot be read are not written: they are a problem of the draft alone.
func agrees(t *testing.T, what string, d Draft) {
	t.Helper()
	d.KeepSecrets = true
	_, unread := d.Spec()
	checked, problems := d.Check("f")
	loaded, found := Load(d.YAML(), "f")
	if len(unread) > 0 && checked == nil {
		return
	}
	if (checked == nil) != (loaded == nil) {
		t.Errorf("%s: the draft:\n%s\nits file:\n%s\n%s", what, dump(problems), dump(found), d.YAML())
		return
	}
	sameCluster(t, checked, loaded)
}

// small returns a draft that is valid.
func small() Draft {
	d := Draft{Machines: []Machine{{Name: "a", IP: "192.0.2.1",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Worker, bundle.Etcd}}}}
	d.Set("package-src.x86src", "/x.tar.gz")
	return d
}

func TestDraftCheck_AgreesWithItsFile(t *testing.T) {
	n, all := 0, append(examples(t), minimal, newLayout)
	for i, text := range all {
		if i%7 > 0 && i < len(all)-2 { // hostile values are in many of them
			continue
		}
		d, _ := ReadDraft([]byte(text), "f")
		if agrees(t, text, d); len(d.Machines) > 0 {
			n++
		}
		if t.Failed() {
			t.Fatal("no more are tried")
		}
	}
	if n < 200 {
		t.Errorf("%d drafts with machines: the search is broken", n)
	}
}

// What is pasted for a key that is typed as YAML is checked as it is written below that key.
func TestDraftCheck_AgreesOnYAMLThatIsTyped(t *testing.T) {
	deep := strings.Repeat("{a: ", 14) + "b" + strings.Repeat("}", 14)
	for _, s := range Settings() {
		if s.Kind != Block {
			continue
		}
		for _, value := range []string{"~", "null", "", " ", "{}", "[]", "# nothing", "---", "...", "---\n~", "--- {}",
			"{}\n...", "{}\r\n", "\r\n", "\ufeff{}", "%YAML 1.2\n---\n{}", "  {}", "{\n}", "a: b\n c: d", "\ta: b", "x",
			"'~'", `""`, "1", "true", "|\n x", "a: \u200bb", "a:\u00a0b", "# \a", "// nothing", deep, "<<: {}",
			"package-source: {}", "package-source: {type: ~}", "package-source: {srcpath: {}}", "master: []",
			"package-source: {type: '', srcpath: {amd64: /x.tar.gz}}", "package-source: {type: ''}",
			"package-source: {type: tar.gz, srcpath: {amd64: /x.tar.gz}}"} {
			d := small()
			if d.Set(s.Key, value); s.Key == "install" {
				agrees(t, s.Key+" beside package-src: "+value, d)
				d.Set("package-src.x86src", "")
			}
			agrees(t, s.Key+": "+value, d)
		}
		d := small()
		d.Set(s.Key, "~")
		if c, problems := d.Check("f"); c == nil {
			t.Errorf("%s: null says nothing: %s", s.Key, dump(problems))
		}
	}
	for value, code := range map[string]string{"a: b\r\nc: d": "config.crlf", "\ufeffa: b": "config.control",
		"---\na: b": "config.syntax", "a: b\n...": "config.syntax", "a: b\n\tc: d": "config.tab"} {
		if p, bad := CheckValue("eggo.machines", value); !bad || p.Code != code || p.Key != "eggo.machines" {
			t.Errorf("%q: %+v, want %s", value, p, code)
		}
	}
}

// A Spec cannot express that packages come from the network, that a map is empty, or a key twice.
func TestDecode_ReportsWhatNoSpecCanHold(t *testing.T) {
	for text, code := range map[string]string{
		"install: {package-source: {type: '', srcpath: {amd64: /x}}}": "config.online",
		"loadbalance: {}": "config.missing",
		"nodes: []\nworkers: [{name: a, ip: 192.0.2.1}]": "config.given-twice",
	} {
		if _, problems := Decode([]byte(text), "f"); !strings.Contains(dump(problems), code) || !problems.HasErrors() {
			t.Errorf("%s: %s, want %s", text, dump(problems), code)
		}
	}
	if c, problems := Load([]byte(minimal+"loadbalance: {}"), "f"); c != nil {
		t.Error(dump(problems))
	}
	d := small()
	d.Set("package-src.x86src", "")
	d.Set("install", "package-source: {type: '', srcpath: {amd64: /x}}")
	if c, problems := d.Check("f"); c != nil || !strings.Contains(dump(problems), "config.online") {
		t.Error(dump(problems))
	}
}
