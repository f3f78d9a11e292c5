package draft

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/machines"
)

// The password of a bastion is asked for in deploy.yaml, whichever way the bastion is written; the others stay.
func TestAPasswordOfABastionIsAskedFor(t *testing.T) {
	for _, c := range []struct{ text, who, want string }{
		{"ops@b.example", "ops@b.example", `"host":"b.example","password-from":"prompt"`},
		{"b.example:2222, c.example", "root@b.example:2222", `"port":2222},{"host":"c.example"`},
		{"[{host: b.example, user: ops}]", "ops@b.example:22", `"user":"ops"`},
		{"ops@b.example", "other@b.example", ""}, {"ops@b.example", "b.example", ""}, {"", "ops@b.example", ""},
		{"not a bastion!", "ops@b.example", ""},
	} {
		d := config.Draft{}.WithValues(map[string]string{"eggo.bastion": c.text})
		known := AskBastion(&d, "root", c.who)
		if known != (c.want != "") || known != strings.Contains(d.Value("eggo.bastion"), "prompt") {
			t.Errorf("%s of %s: %v, %s", c.who, c.text, known, d.Value("eggo.bastion"))
		}
		if !known && d.Value("eggo.bastion") != c.text {
			t.Errorf("%s became %s", c.text, d.Value("eggo.bastion"))
		}
		if !strings.Contains(d.Value("eggo.bastion"), c.want) {
			t.Errorf("no %s in %s", c.want, d.Value("eggo.bastion"))
		}
	}
}

// Bastions of a list that all machines have become the cluster's; others are those of their machines. None is taken for
// machines that join.
func TestBastionsOfAList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ all, own string }{
		"a 10.0.0.1 bastion=ops@b:2222\nc 10.0.0.2 bastion=ops@b:2222": {`"ops@b:2222"`, ""},
		"a 10.0.0.1 bastion=b bastion-key=~/.ssh/b": {
			`[{"host":"b","port":22,"private-key-path":"~/.ssh/b"}]`, ""},
		"a 10.0.0.1 bastion=b\nc 10.0.0.2": {"", `a: {bastion: "b"}`},
		"a 10.0.0.1 bastion=b bastion-key=/k\nc 10.0.0.2 bastion=d": {"",
			`a: {bastion: [{"host": "b", "port": 22, "private-key-path": "/k"}]}` + "\nc: {bastion: \"d\"}"},
	} {
		d := config.Draft{}
		l := machines.Read(text)
		AddMachines(&d, l.Entries, nil)
		if d.Value("eggo.bastion") != want.all || d.Value("eggo.machines") != want.own {
			t.Errorf("%s\nall %s\nown %s", text, d.Value("eggo.bastion"), d.Value("eggo.machines"))
		}
		for _, key := range []string{"eggo.bastion", "eggo.machines"} {
			if bad, is := config.CheckValue(key, d.Value(key)); is && bad.Code != "config.machine-unknown" {
				t.Errorf("%s: %+v", d.Value(key), bad)
			}
		}
		l = WithoutBastions(l)
		d = config.Draft{}
		AddMachines(&d, l.Entries, nil)
		if len(l.Notes) == 0 || l.Notes[0].Key != "machines.bastion-dropped" || d.Value("eggo.bastion") != "" {
			t.Errorf("%s: %v", text, l.Notes)
		}
	}
}
