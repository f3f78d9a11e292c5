package draft

import (
	"strings"
	"testing"
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
