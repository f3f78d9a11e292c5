package draft

import (
	"os"
	"testing"
)

// A deploy.yaml is none of the lists of machines that are read, neither as YAML nor with comments that YAML does not
// know, as in the manual.
func TestADeployYamlIsNoList(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../testdata/manual.yaml")
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

// A file of which no line is a machine is rejected once, for the reason of its first line.
func TestAFileOfWhichAllLinesAreWrong(t *testing.T) {
	t.Parallel()
	l, is := ListIn([]byte("# mine\n10.0.0.300 web\nno such thing\nat all here\n"))
	if !is || len(l.Rejected) != 1 || l.Rejected[0].Why.Key != "machines.octet" || l.Rejected[0].Line != 2 ||
		l.Rejected[0].Text != "10.0.0.300 web\nno such thing\nat all here" {
		t.Errorf("a list: %t, rejected %+v", is, l.Rejected)
	}
	told := ImportRemarks(l)
	if len(told) != 1 || told[0].Key != "machines.all-wrong" || told[0].Args["count"] != "3" ||
		told[0].Args["line"] != "2" {
		t.Errorf("told %+v", told)
	}
	if _, is := ListIn([]byte("# nothing\n\n")); is {
		t.Error("an empty file is a list")
	}
}
