package draft

import (
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/config"
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
		d := config.Draft{Values: map[string]string{"eggo.bastion": c.text}}
		known := AskBastion(&d, "root", c.who)
		if known != (c.want != "") || known != strings.Contains(d.Values["eggo.bastion"], "prompt") {
			t.Errorf("%s of %s: %v, %s", c.who, c.text, known, d.Values)
		}
		if !known && d.Values["eggo.bastion"] != c.text {
			t.Errorf("%s became %s", c.text, d.Values)
		}
		if !strings.Contains(d.Values["eggo.bastion"], c.want) {
			t.Errorf("no %s in %s", c.want, d.Values)
		}
	}
}
