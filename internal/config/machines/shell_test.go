package machines

import (
	"strings"
	"testing"
)

// Addresses in an array of a shell, on one line or several, and ranges with blanks around their sign are read.
func TestArraysOfAShell(t *testing.T) {
	for text, want := range map[string]string{
		"declare -a IPS=(192.168.1.116 192.168.1.118 192.168.1.119)": "192.168.1.116 192.168.1.118 192.168.1.119",
		"IPS=(10.0.0.1)":                          "10.0.0.1",
		"export NODES=( 10.0.0.1 10.0.0.2 );":     "10.0.0.1 10.0.0.2",
		"IPS=(\n  10.0.0.1\n  10.0.0.2 worker\n)": "10.0.0.1 10.0.0.2",
		"IPS+=('10.0.0.1' \"10.0.0.2\")":          "10.0.0.1 10.0.0.2",
		"10.0.0.3 - 10.0.0.5":                     "10.0.0.3 10.0.0.4 10.0.0.5",
		"10.0.0.3 – 10.0.0.4 worker":              "10.0.0.3 10.0.0.4",
		"web 10.0.0.3 (rack 1)":                   "",
	} {
		l := Read(text)
		var got []string
		for _, e := range l.Entries {
			got = append(got, e.IP)
		}
		if strings.Join(got, " ") != want || (len(l.Rejected) > 0) != (want == "") {
			t.Errorf("%q: %v %v, want %s", text, got, l.Rejected, want)
		}
	}
}
