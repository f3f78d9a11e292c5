package redact

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// redactorOf knows the secrets of a cluster whose deploy.yaml is text.
func redactorOf(t testing.TB, text string) *Redactor {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deploy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shown is all of a YAML file that is no key and no name: values and comments.
func shown(docs []*yaml.Node) string {
	var b strings.Builder
	var walk func(n *yaml.Node, key bool)
	walk = func(n *yaml.Node, key bool) {
		b.WriteString(n.HeadComment + "\n" + n.LineComment + "\n" + n.FootComment + "\n")
		if n.Kind == yaml.ScalarNode && !key {
			b.WriteString(n.Value + "\n")
		}
		for i, c := range n.Content {
			walk(c, n.Kind == yaml.MappingNode && i%2 == 0)
		}
	}
	for _, d := range docs {
		walk(d, false)
	}
	return b.String()
}

func hostileYAML() []string {
	return []string{
		"cluster-id: one\npassword: canary-1 # canary-1, not 2\nnodes: [{name: a, ip: 192.0.2.1}]\n",
		"password: |\n  canary-one\n  canary-two\nnodes: [a]\nnote: canary-two\n",
		"password: >-\n  canary folded\n  twice\n# the password is canary folded twice\nname: x\n",
		"{password: \"canary, b}\", nodes: [a, 'canary, b}']}\n",
		"password: name\nname: name\nother: my name is name\n",
		"password: &p canary-anchor\neggo: {sudo-password: *p, note: *p}\n",
		"note: &p canary-anchor\neggo:\n  sudo-password: *p\n",
		"base: &b {password: canary-in-base, user: root}\nnode: {<<: *b, name: x}\n",
		"secrets:\n  deep: [canary-deep, {er: canary-deeper}]\n  number: 4711471147\n  empty:\n",
		"\"pass\\x77ord\": canary-escaped\n? password\n: canary-explicit\n",
		"eggo:\n  password-from: env:SOME\n  # sudo-password: canary-comment\n",
		"password: 'it''s canary'\n---\npassword: \"canary\\nof two\"\n--- # canary\nx: canary\n",
		"password: \"-----BEGIN PRIVATE KEY-----\\nMIIEvcanarycanarycanarycanary\\n-----END PRIVATE KEY-----\"\n",
		"note: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEvcanarycanarycanarycanary\n  -----END PRIVATE KEY-----\nx: 1\n",
		"a: &a [*a, {password: canary-loop}]\ntoken: *a\n",
		"extra-args: {api-server: {--token-auth-file: /etc/x, env: [\"PASSWORD=canary-env\"]}}\n",
		"", "# only a comment\n", "- 1\n- password: canary\n", "password: !!binary Y2FuYXJ5\n",
		"password: 12345678\nport: 12345678\n",
	}
}

// checkYAML says what is wrong with a redacted file.
func checkYAML(t testing.TB, in string) {
	t.Helper()
	before, err := readYAML([]byte(in))
	if err != nil {
		return
	}
	r := redactorOf(t, in)
	out := r.YAML([]byte(in))
	after, err := readYAML(out)
	if err != nil || len(after) != len(before) {
		t.Fatalf("%v\n%d documents, not %d\nin:\n%s\nout:\n%s", err, len(after), len(before), in, out)
	}
	for i := range before {
		if !sameKeys(before[i], after[i]) {
			t.Fatalf("other keys\nin:\n%s\nout:\n%s", in, out)
		}
	}
	visible := shown(after)
	for _, s := range r.secretsIn([]byte(in)) {
		if len(strings.TrimSpace(s)) >= 4 && s != "root" && !strings.Contains(redacted, strings.TrimSpace(s)) &&
			strings.Contains(visible, strings.TrimSpace(s)) {
			t.Fatalf("%q is in it\nin:\n%s\nout:\n%s", s, in, out)
		}
	}
}

func TestARedactedYAMLHasItsKeysAndNoSecret(t *testing.T) {
	for _, in := range hostileYAML() {
		checkYAML(t, in)
		if out := string(redactorOf(t, in).YAML([]byte(in))); strings.Contains(out, "canary") ||
			strings.Contains(out, "Y2FuYXJ5") || strings.Contains(out, "12345678") ||
			strings.Contains(out, "4711471147") {
			t.Errorf("in:\n%s\nout:\n%s", in, out)
		}
	}
	if out := string(redactorOf(t, "").YAML([]byte("password: [canary\n"))); strings.Contains(out, "canary") {
		t.Error("what is no YAML is given away:", out)
	}
	const kept = "password-from: prompt\nprivate-key-path: /root/.ssh/id\netcd-token: etcd-cluster\nname: " +
		"etcd-cluster\n"
	if out := string(redactorOf(t, kept).YAML([]byte(kept))); out != kept {
		t.Error(out)
	}
}

func FuzzRedactYAML(f *testing.F) {
	for _, in := range hostileYAML() {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) { checkYAML(t, in) })
}

// A log's keys stay though a secret is called like one, and a secret goes though JSON writes it in another way.
func TestARedactedLogIsALogStill(t *testing.T) {
	r := redactorOf(t, "password: type\neggo: {sudo-password: \"a\\\"quoted\\\"<one>\"}\n")
	in := `{"seq":1,"type":"output","line":"the type is a\"quoted\"<one> \u0061\"quoted\"\u003cone\u003e","n":5}` +
		"\n" + `{"type":"cut off a\"quoted`
	out := string(r.JSON([]byte(in)))
	first, _, _ := strings.Cut(out, "\n")
	var line struct{ Type, Line string }
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Type != "output" ||
		line.Line != "the (redacted) is (redacted) (redacted)" {
		t.Errorf("%v\n%s", err, out)
	}
}
