package config

import (
	"slices"
	"strings"
	"testing"
)

func TestBastions(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		want       []Bastion
		code       string // of the problem
	}{
		{name: "one as text", yaml: "bastion: b.example.com", want: []Bastion{{Host: "b.example.com", Port: 22}}},
		{name: "user and port", yaml: "bastion: ops@203.0.113.7:2222",
			want: []Bastion{{Host: "203.0.113.7", Port: 2222, User: "ops"}}},
		{name: "several with commas", yaml: "bastion: a@b1, b2:23",
			want: []Bastion{{Host: "b1", Port: 22, User: "a"}, {Host: "b2", Port: 23}}},
		{name: "IPv6", yaml: "bastion: \"[2001:db8::1]:23,[2001:db8::2]\"",
			want: []Bastion{{Host: "2001:db8::1", Port: 23}, {Host: "2001:db8::2", Port: 22}}},
		{name: "a map", yaml: "bastion: {host: b1, user: u, port: 24, private-key-path: /k, password-from: env:PW}",
			want: []Bastion{{Host: "b1", Port: 24, User: "u", PrivateKeyPath: "/k", PasswordFrom: "env:PW"}}},
		{name: "a list of both", yaml: "bastion: [u@b1, {host: b2, password: long-enough}]",
			want: []Bastion{{Host: "b1", Port: 22, User: "u"}, {Host: "b2", Port: 22, Password: "long-enough"}}},
		{name: "none", yaml: "bastion:", want: nil},
		{name: "no host", yaml: "bastion: {user: u}", code: "config.missing"},
		{name: "a flag", yaml: "bastion: -oProxyCommand=x", code: "config.bastion"},
		{name: "port out of range", yaml: "bastion: b:65536", code: "config.bastion"},
		{name: "empty hop", yaml: "bastion: \"a,,b\"", code: "config.bastion"},
		{name: "a name in brackets", yaml: "bastion: \"[b1]\"", code: "config.bastion"},
		{name: "IPv6 without brackets", yaml: "bastion: \"2001:db8::1\"", code: "config.bastion"},
		{name: "a zone", yaml: "bastion: \"[fe80::1%eth0]:22\"", code: "config.bastion"},
		{name: "the same twice", yaml: "bastion: [b1, \"b1:22\"]", code: "config.bastion-twice"},
		{name: "two secrets", yaml: "bastion: {host: b, password: long-enough, password-from: prompt}",
			code: "config.two-secrets"},
		{name: "nine", yaml: "bastion: \"a,b,c,d,e,f,g,h,i\"", code: "config.bastions-many"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, ps := Load([]byte(minimal+"eggo:\n  "+tc.yaml+"\n"), "f")
			if tc.code != "" {
				if !strings.Contains(codes(ps), tc.code) {
					t.Errorf("problems %s, want %s", codes(ps), tc.code)
				}
				rendered(t, ps)
				return
			}
			if c == nil {
				t.Fatal(dump(ps))
			}
			if !slices.Equal(c.Eggo.Bastions, tc.want) {
				t.Errorf("%+v, want %+v", c.Eggo.Bastions, tc.want)
			}
		})
	}
}
