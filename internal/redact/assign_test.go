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
	} {
		if got := Assigned(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
