package config

import (
	"fmt"
	"strings"
	"testing"
)

// A password that YAML reads as something else is reported where it is, and is not shown.
func TestPasswordsThatNeedQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"password: [hunter+2":              "10:11 config.secret-quotes [",
		"password: @hunter2":               "10:11 config.secret-quotes @",
		"password: 'hunter's'":             "10:11 config.secret-quotes '",
		"eggo:\n  sudo-password: %hunter2": "11:18 config.secret-quotes %",
		"password: #hunter2":               "10:1 config.secret-comment",
		"password: hunter #2":              "10:11 config.secret-comment",
		"password: hunter2 # of all":       "",
		"password: \"#hunter2\"":           "",
		"password: hunter#2":               "",
	} {
		var got []string
		_, ps := Load([]byte(minimal+text+"\n"), "f")
		for _, p := range ps {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s", p.Line, p.Col, p.Code, p.Args["char"])))
			if strings.Contains(fmt.Sprint(p), "hunter") {
				t.Errorf("%s: the password is shown: %v", text, p)
			}
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", text, s, want)
		}
	}
}

// What looks like a space and what is not seen is reported where it is, in characters: YAML takes both for letters.
func TestBlanksAndInvisibleCharactersHaveAPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"indentation":       {"masters:\n-\u00a0name: m0\n", "2:2 config.blank U+00A0"},
		"behind a key":      {"cluster-id:\u3000k8s\n", "1:12 config.blank U+3000"},
		"before a remark":   {"username: root\u2009# the user\n", "1:15 config.blank U+2009"},
		"in a word":         {"username: ro\u200bot\n", "1:13 config.invisible U+200B"},
		"mark of direction": {"username: root\u200e\n", "1:15 config.control"},
		"in quotes":         {"username: \"ro\u2060ot\"\n", "1:14 config.invisible U+2060"},
		"behind Chinese":    {"masters: # \u4e3b\n- {name: \u8282\u70b9\u00a0}\n", "2:12 config.blank U+00A0"},
		"quoted blank":      {minimal + "dns-domain: \"a\u00a0b\"\n", "10:15 config.blank-in-value U+00A0"},
		"as an escape":      {minimal + "dns-domain: \"a\\u00a0b\"\n", "10:13 config.blank-in-value U+00A0"},
		"each line once": {"a: \u00a0\u00a0\nb: 1\nc: \u00a0\u00a0\n",
			"1:4 config.blank U+00A0, 3:4 config.blank U+00A0"},
		"in a remark":        {minimal + "# \u3000\u8bf4\u660e\u00a0a\u200db // \u3000\n", ""},
		"in a quoted secret": {minimal + "password: \"a\u00a0secret\u3000word\"\n", ""},
	} {
		var got []string
		_, ps := Load([]byte(c.text), "f")
		for _, p := range ps {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d:%d %s %s", p.Line, p.Col, p.Code, p.Args["char"])))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}
