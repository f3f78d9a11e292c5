package draft

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
)

// Wherever YAML lets a password stand it is not shown, and what stands beside it is.
func TestNoPasswordIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"password: hunter2":                                    "password: ********",
		"  - password: hunter2\n    user: a":                   "  - password: ********\n    user: a",
		"sudo-password: \"hunter2\" # note":                    "sudo-password: ********",
		"\"password\" : hunter2":                               "\"password\" : ********",
		"w1: {user: a, password: hunter2}":                     "w1: {user: a, password: ********}",
		"w1: {password: 'hunter2, too', port: 22}":             "w1: {password: ********, port: 22}",
		`w1: {"password":"hun\"ter2","user":"a"}`:              `w1: {"password":********,"user":"a"}`,
		"w1: { sudo-password: hunter2 }\nw2: {user: b}":        "w1: { sudo-password: ******** }\nw2: {user: b}",
		"w1: {\n  user: a,\n  password: hunter2,\n  port: 22}": "w1: {\n  user: a,\n  password: ********\n  port: 22}",
		"all: [{password: hunter2}, {user: a}]":                "all: [{password: ********}, {user: a}]",
		"password: |\n  hunter2\n\n  more2\nuser: a":           "password: ********\n  ********\n\n  ********\nuser: a",
		"password:\n  hunter2\nuser: a":                        "password:\n  ********\nuser: a",
		"password-from: env:PW":                                "password-from: env:PW",
		"w1: {password-from: env:PW, user: a}":                 "w1: {password-from: env:PW, user: a}",
	} {
		got := Masked([]byte(text))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if strings.Contains(got, "ter2") || strings.Contains(got, "more2") {
			t.Errorf("%s shows %s", text, got)
		}
	}
}

// A file that was written in one language and is reviewed in the other differs in what it says, not in its comments;
// comments of the user's own, which writing drops, are shown.
func TestCommentsOfTheOtherLanguageAreNoDifference(t *testing.T) {
	d := config.Draft{
		Machines: []config.Machine{{Name: "a", IP: "192.0.2.1", Roles: []bundle.Role{bundle.ControlPlane}}},
	}.WithValues(map[string]string{"cluster-id": "prod", "username": "ops", "eggo.hostname": "set"})
	changed := d.Clone()
	changed.Set("username", "admin")
	langs := []*i18n.Printer{i18n.NewPrinter(i18n.English), i18n.NewPrinter(i18n.Chinese)}
	for _, wrote := range langs {
		file := append([]byte(config.Modeline), d.Commented(wrote)...)
		for _, p := range langs {
			disk := NormalizeForDiff(file, "deploy.yaml", false, p)
			if got := Changed(Compare(disk, Text(d, false, p))); len(got) > 0 {
				t.Errorf("%s, reviewed in %s: %q", wrote.Lang(), p.Lang(), got)
			}
			got := Changed(Compare(disk, Text(changed, false, p)))
			if len(got) != 2 || !strings.HasPrefix(got[0], "- username: ops ") ||
				!strings.HasPrefix(got[1], "+ username: admin ") {
				t.Errorf("%s, reviewed in %s: %q", wrote.Lang(), p.Lang(), got)
			}
			own := append(bytes.Clone(file), "# ask Anna before you change this\n"...)
			disk = NormalizeForDiff(own, "deploy.yaml", false, p)
			if got := Changed(Compare(disk, Text(d, false, p))); !slices.Contains(got,
				"- # ask Anna before you change this") {
				t.Errorf("a comment of the user's is not shown: %q", got)
			}
		}
	}
}
