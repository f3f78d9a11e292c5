package draft

import (
	"os"
	"testing"
)

// A deploy.yaml is none of the lists of machines that are read, neither as YAML nor with comments that YAML does not
// know, as in the manual.
func TestADeployYamlIsNoList(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../config/testdata/manual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comments := "cluster-id: rack   // its name\nmasters:           // control planes\n- name: m1\n" +
		"  ip: 192.0.2.1    // address\n"
	for name, c := range map[string]struct {
		text string
		list bool
	}{
		"the manual's":   {string(manual), false},
		"other comments": {comments, false},
		"lines":          {"web-1 192.0.2.1 worker\nweb-2 192.0.2.2\n", true},
		"a list":         {"- {name: m1, ip: 192.0.2.1}\n", true},
	} {
		if l, is := ListIn([]byte(c.text)); is != c.list {
			t.Errorf("%s: a list: %t, %s with %d machines", name, is, l.Format, len(l.Entries))
		}
	}
}
