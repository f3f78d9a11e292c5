package redact

import "testing"

func TestAssignedSecretsGo(t *testing.T) {
	for in, want := range map[string]string{
		"web 10.0.0.1 ansible_password=geheim worker":       "web 10.0.0.1 ansible_password= worker",
		"web ansible_ssh_pass=a,b;c ansible_port=22":        "web ansible_ssh_pass= ansible_port=22",
		"ansible_become_password='two words' lb":            "ansible_become_password= lb",
		`ansible_sudo_pass="a \" b"c lb`:                    "ansible_sudo_pass= lb",
		"ANSIBLE_BECOME_PASS = geheim":                      "ANSIBLE_BECOME_PASS = ",
		"web:\n  ansible_password: my secret words\n  x: 1": "web:\n  ansible_password: \n  x: 1",
		`{"host":"10.0.0.1","password":"x","port":"22"}`:    `{"host":"10.0.0.1","password":,"port":"22"}`,
		"ansible_password=half":                             "ansible_password=",
		"ansible_password=":                                 "ansible_password=",
		"password-file=/root/pw password_path: /root/pw":    "password-file=/root/pw password_path: /root/pw",
		"ansible_ssh_private_key_file=/root/.ssh/id":        "ansible_ssh_private_key_file=/root/.ssh/id",
		"web-1 10.0.0.[1-9] worker arm64":                   "web-1 10.0.0.[1-9] worker arm64",
		"主节点 10.0.0.1\npassau 10.0.0.2:22":                  "主节点 10.0.0.1\npassau 10.0.0.2:22",

		// A quote in a value.
		"ansible_password: 'it''s secret'":          "ansible_password: ",
		"ansible_password: 'it's secret'\nx: 1":     "ansible_password: \nx: 1",
		`ansible_password: "a\" b"` + "\nx: 1":      "ansible_password: \nx: 1",
		"ansible_password='it''s secret' lb":        "ansible_password= lb",
		`{"password": "a", "token": 'b', "x": "c"}`: `{"password": , "token": , "x": "c"}`,

		// A value on the next lines.
		"password: >-\n  one\n\n  two: 2\nx: 1":                  "password: \nx: 1",
		"- password: |2\n    one\n  x: 1":                        "- password: \n  x: 1",
		"password:\n  my secret\n  words\nx: 1":                  "password:\nx: 1",
		"password: my secret\n  words\n":                         "password: \n",
		"password: \"my secret\n  wo: rds\"\nx: 1":               "password: \nx: 1",
		"p:\n  password: !vault |\n    $ANSIBLE\n    61\n  x: 1": "p:\n  password: \n  x: 1",
		"{\n  \"password\":\n    \"a\",\n  \"x\": 1\n}":          "{\n  \"password\":\n  \"x\": 1\n}",
		"password:\r\n  geheim\r\nx: 1":                          "password:\nx: 1",
		"tokens:\n  - geheim\nx: 1":                              "tokens:\nx: 1",
		"password:\nweb-1 10.0.0.1":                              "password:\nweb-1 10.0.0.1",

		// Names of secrets, and of machines.
		"adminPassword: a": "adminPassword: ",
		"bootstrapToken=a SSHPASS=b sshpass=c pass2=d passwort=e": "bootstrapToken= SSHPASS= sshpass= pass2= passwort=",
		"token-1: 10.0.0.5":                             "token-1: 10.0.0.5",
		"token-1: 10.0.0.5:2222 worker":                 "token-1: 10.0.0.5:2222 worker",
		"secret-1: \"10.0.0.5\", pass: fd00::5":         "secret-1: \"10.0.0.5\", pass: fd00::5",
		"pass-[1-9]: 10.0.0.[1-9]\ntoken=10.0.0.1-9":    "pass-[1-9]: 10.0.0.[1-9]\ntoken=10.0.0.1-9",
		"passau-1: {ansible_host: 10.0.0.2}":            "passau-1: {ansible_host: 10.0.0.2}",
		"pas-1: worker":                                 "pas-1: worker",
		"passau-1: worker":                              "passau-1: worker",
		"compass: host=10.0.0.3 arch=arm64":             "compass: host=10.0.0.3 arch=arm64",
		"secretary: web 10.0.0.4":                       "secretary: web 10.0.0.4",
		"token-1: {ip: 10.0.0.2, password: a}":          "token-1: {ip: 10.0.0.2, password: ",
		"token-1:\n  ansible_host: 10.0.0.2\n  pass: a": "token-1:\n  ansible_host: 10.0.0.2\n  pass: ",
		"tokens:\n  - 10.0.0.2\n  - 10.0.0.3":           "tokens:\n  - 10.0.0.2\n  - 10.0.0.3",
	} {
		if got := Assigned(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
