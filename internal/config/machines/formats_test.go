package machines

import (
	"strings"
	"testing"
)

// Blanks of web pages, spreadsheets and input methods separate words, and what is not seen is not there, in each
// format.
func TestBlanksOfUnicode(t *testing.T) {
	for text, want := range map[string]string{
		"web-1\u00a010.0.0.1\u2009worker":                                        "web-1 10.0.0.1 worker",
		"\ufeffweb-1\u300010.0.0.1\u200b\u3000wor\u2060ker\u200e":                "web-1 10.0.0.1 worker",
		"10.0.0.1\u202810.0.0.2\u000b10.0.0.3":                                   "10.0.0.1\n10.0.0.2\n10.0.0.3",
		"name,\u00a0ip ,role\nm1\u200b,\u300010.0.0.1\u200e,master\u00a0":        "m1 10.0.0.1 control-plane",
		"- name:\u00a0m1\u200b\n\u00a0 ip: 10.0.0.1\u3000\n":                     "m1 10.0.0.1",
		"- name： m1\n  ip：10.0.0.1\n":                                            "m1 10.0.0.1",
		"[kube_node]\nm1\u00a0ansible_host=10.0.0.1\u200b\u3000ansible_user=ops": "m1 ops@10.0.0.1 worker",
		"127.0.0.1\u00a0localhost\n10.0.0.1\u3000m1\u200b\n":                     "m1 10.0.0.1",
		"Host\u00a0m1\n\u3000HostName\u00a010.0.0.1\u200b":                       "m1 10.0.0.1",
		"10。0．0。1，ｗｅｂ：，“m1”":                                                     "",
		"10。0．0。1，ｗｏｒｋｅｒ，ｎａｍｅ＝“m1”":                                              "m1 10.0.0.1 worker",
		"10.0.0.1～2 — worker":                                                    "10.0.0.1 worker\n10.0.0.2 worker",
	} {
		l := Read(text)
		if got := said(l.Entries); got != want {
			t.Errorf("%q\n got %q\nwant %q\n%s", text, got, want, reasons(l.Rejected))
		}
	}
}

// What a list has before its items is none of their words.
func TestBulletsAndNumbers(t *testing.T) {
	for _, bullet := range []string{"• ", "•", "- ", "* ", "*", "+ ", "> ", "– ", "1. ", "12) ", "3)",
		"（1）", "(2) ", "1、", "一、", "① ", "⑴", "[ ] ", "- [x] ", "- [ ] 1. ",
		"[7] ", "a) ", "1.2 ", "2.10. ", "1.2.3) ", "→ ", "✅ ", "1️⃣ ", "第1台：", "1.", "1 ", "--- "} {
		l := Read(bullet + "10.0.0.1 worker")
		if got := said(l.Entries); got != "10.0.0.1 worker" || len(l.Rejected) > 0 {
			t.Errorf("%q: %q %s", bullet, got, reasons(l.Rejected))
		}
	}
	for text, want := range map[string]string{
		"1 m1 10.0.0.1\n2 m2 10.0.0.2":                      "m1 10.0.0.1\nm2 10.0.0.2",
		"序号 主机名 IP 用途\n1 m1 10.0.0.1 master\n2 m2 10.0.0.2": "m1 10.0.0.1 control-plane\nm2 10.0.0.2",
		"101 10.0.0.1\n102 10.0.0.2":                        "101 10.0.0.1\n102 10.0.0.2",
		"1 10.0.0.1\n7 10.0.0.2":                            "1 10.0.0.1\n7 10.0.0.2",
		"10.0.0.1 → worker # the first":                     "10.0.0.1 worker",
		"10.0.0.1 // the first":                             "10.0.0.1",
		"----\n10.0.0.1\n====\n;;\nsep=;\n":                 "10.0.0.1",
		"10.0.0.1 a, 10.0.0.2 b":                            "a 10.0.0.1\nb 10.0.0.2",
		"10.0.0.{1..3}":                                     "10.0.0.1\n10.0.0.2\n10.0.0.3",
		"node[1:9:4] 10.0.0.[1:9:4]":                        "node1 10.0.0.1\nnode5 10.0.0.5\nnode9 10.0.0.9",
		"hostname\n10.0.0.1":                                "10.0.0.1",
	} {
		l := Read(text)
		if got := said(l.Entries); got != want || len(l.Rejected) > 0 {
			t.Errorf("%q: %q, want %q\n%s", text, got, want, reasons(l.Rejected))
		}
	}
	for text, want := range map[string]string{
		"节点一 10.0.0.1":                "1 name 节点一",
		`"web 1" 10.0.0.1`:            "1 name web 1",
		"10.0.0.1 name=my_db":         "1 name my_db",
		"10.0.0.1\nHostName 10.0.0.2": "2 column HostName",
		"10.0.0.1\nhostname":          "2 column hostname",
		"10.0.0.1 riscv64":            "1 arch riscv64",
		"10.0.0.1 node[1:9:0]":        "1 range [1:9:0] 1:9:0",
		"224.0.0.1":                   "1 no-machine 224.0.0.1",
		"10.0.0.1 bastion=a/b":        "1 bastion-unread a/b",
	} {
		if got := reasons(Read(text).Rejected); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Of the names of an address the short one is the machine's, in a hosts file and in lines out of one.
func TestHostsFiles(t *testing.T) {
	check(t, "127.0.0.1 localhost localhost.localdomain\n::1 localhost ip6-localhost\nff02::1 ip6-allnodes\n"+
		"127.0.1.1 control\nfe80::1%lo0 localhost\n10.0.0.1 node1.example.com node1 api # x\n10.0.0.2 master\n"+
		"10.0.0.3 db.example.com\n"+
		"10.0.0.1 again\n10.0.0.4 my_db\n", Hosts,
		"node1 10.0.0.1\nmaster 10.0.0.2 control-plane\ndb.example.com 10.0.0.3", "10 name my_db")
	check(t, "10.0.0.1 node1.example.com node1\n10.0.0.2 node2 node2.example.com worker\n127.0.1.1 me\nff02::1 all\n"+
		"10.0.0.3 master.example.com master\n", Lines,
		"node1 10.0.0.1\nnode2 10.0.0.2 worker\nmaster 10.0.0.3 control-plane", "")
	check(t, "10.0.0.1 a b\n10.0.0.2 c d\n", Lines, "", "1 word b\n2 word d")
	check(t, "127.0.0.1 master", Lines, "127.0.0.1 control-plane", "")
	l := Read("127.0.0.1 localhost\n10.0.0.1 m1")
	if got := reasons(l.Skipped); got != "1 no-machine 127.0.0.1" {
		t.Errorf("skipped %s", got)
	}
}

// A spreadsheet has a title, empty rows, frames, a row for another program, and cells that were one.
func TestSpreadsheets(t *testing.T) {
	check(t, "sep=;\nMachines of hall 3;;\n;;\nname;IP (management);role\nm1;10.0.0.1;master\n;;\n"+
		"name;IP (management);role\nm2;10.0.0.2;-\n", CSV, "m1 10.0.0.1 control-plane\nm2 10.0.0.2", "")
	check(t, "| name | ip | role |\n|------|:--:|------|\n| m1 | 10.0.0.1 | amd64, control plane |\n", CSV,
		"m1 10.0.0.1 control-plane amd64", "")
	check(t, "名称,主机名,内网IP,IP地址\n财务数据库,db1,10.1.0.1,10.0.0.1\n", CSV, "db1 10.0.0.1", "")
	merged := "name,ip,role\nm1,10.0.0.1,master\nm2,10.0.0.2,\n,,etcd\n"
	check(t, merged, CSV, "m1 10.0.0.1 control-plane\nm2 10.0.0.2", "4 merged-address")
	if l := Read(merged); len(l.Notes) != 1 || l.Notes[0].Key != "machines.merged-roles" {
		t.Errorf("merged cells are not said: %v", l.Notes)
	}
}

// JSON is read, and what is no list of machines has no machine called after a key of it.
func TestOtherStructures(t *testing.T) {
	two := "m1 10.0.0.1 control-plane\nm2 10.0.0.2"
	check(t, `[{"name":"m1","ip":"10.0.0.1","role":"master"},{"hostname":"m2","ip":"10.0.0.2"}]`, YAML, two, "")
	check(t, "{\n \"servers\": {\"list\": [\n  {\"name\": \"m1\", \"ip\": \"10.0.0.1\", \"role\": \"master\"},\n"+
		"  {\"name\": \"m2\", \"ip\": \"10.0.0.2\"}]}}", YAML, two, "")
	check(t, "[\n \"10.0.0.1\",\n \"10.0.0.2\"\n]", YAML, "10.0.0.1\n10.0.0.2", "")
	check(t, "%YAML 1.2\n---\n- {name: m1, ip: 10.0.0.1}\n", YAML, "m1 10.0.0.1", "")
	check(t, `{"_meta": {"hostvars": {"m1": {"ansible_host": "10.0.0.1", "ansible_port": 2222, "x": {"y": 1}},
		"other": {"ansible_host": "10.0.0.9"}}}, "all": {"children": ["ungrouped", "k8s"]},
		"k8s": {"children": ["kube_control_plane", "kube_node"]}, "kube_control_plane": {"hosts": ["m1"]},
		"kube_node": {"hosts": ["m1", "10.0.0.2"]}}`, Ansible, "m1 10.0.0.1:2222 control-plane+worker\n10.0.0.2 worker", "")
	check(t, `{"outputs": {"ips": {"value": ["10.0.0.1"]}}}`, Ansible, "", "1 yaml-nothing")
	check(t, "[amd64]\n10.0.0.1\n[arm64]\n10.0.0.2\n", AnsibleINI, "10.0.0.1 amd64\n10.0.0.2 arm64", "")
	check(t, "[master]\n10.0.0.1 m1\n[worker]\nw1 10.0.0.2\nw2 10.0.0.3 10.0.0.4\n- 10.0.0.5\n", AnsibleINI,
		"m1 10.0.0.1 control-plane\nw1 10.0.0.2 worker\n10.0.0.5 worker", "5 ini-word 10.0.0.4")
	check(t, "web:\n  hosts:\n    10.0.0.10\n    10.0.0.20\n", Ansible, "10.0.0.10\n10.0.0.20", "")
	check(t, "kind: Cluster\nmetadata:\n  name: x\n  spec:\n    hosts:\n    - {name: a, address: 10.0.0.1}\n"+
		"    roleGroups: {etcd: [a]}\n", KubeKey, "a 10.0.0.1 etcd", "")
}

const sshConfigText = `# mine
User ops
Include config.d/*

Host gate
  HostName 192.0.2.1
  Port 2222
  IdentityFile "~/.ssh/gate"

Host node1 node2
  HostName %h.example.com
  ProxyJump gate
Host node3
  hostname=10.0.0.3
  User root
  ProxyCommand ssh -q -W %h:%p -p 2200 ops@192.0.2.2
Host node4
  ProxyJump none
  HostName 10.0.0.4
Host node5
  HostName 10.0.0.5
  ProxyCommand nc -x proxy %h %p
Host node* !node9
  IdentityFile ~/.ssh/nodes
  ProxyJump gate
Match all
  ServerAliveInterval 5
`

// Bastions of other tools are taken over, or it is said that they are not.
func TestBastions(t *testing.T) {
	check(t, sshConfigText, SSHConfig, `
node1 ops@?node1.example.com key=~/.ssh/nodes via ops@192.0.2.1:2222 ~/.ssh/gate
node2 ops@?node2.example.com key=~/.ssh/nodes via ops@192.0.2.1:2222 ~/.ssh/gate
node3 ops@10.0.0.3 key=~/.ssh/nodes via ops@192.0.2.2:2200
node4 ops@10.0.0.4 key=~/.ssh/nodes
node5 ops@10.0.0.5 key=~/.ssh/nodes`, "")
	const key = "~/.ssh/b"
	for text, want := range map[string]string{
		"10.0.0.1 bastion=ops@192.0.2.1:2222":                         "10.0.0.1 via ops@192.0.2.1:2222",
		`10.0.0.1 bastion="a,ops@b" bastion-key=` + key:               "10.0.0.1 via a,ops@b " + key,
		"ip,bastion,bastion-user\n10.0.0.1,192.0.2.1,ops\n10.0.0.2,,": "10.0.0.1 via ops@192.0.2.1\n10.0.0.2",
		"spec:\n  hosts:\n  - {name: a, address: 10.0.0.1, bastion: 192.0.2.1, bastionPort: 2222, bastionUser: ops}\n" +
			"  roleGroups: {etcd: [a]}": "a 10.0.0.1 etcd via ops@192.0.2.1:2222",
		"bastion_host: {address: 192.0.2.1, user: ops, ssh_key_path: ~/.ssh/b}\nssh_key_path: ~/.ssh/n\nnodes:\n" +
			"- {address: 10.0.0.1, role: [etcd]}": "10.0.0.1 etcd key=~/.ssh/n via ops@192.0.2.1 " + key,
		"spec:\n  hosts:\n  - role: worker\n    ssh:\n      address: 10.0.0.1\n      bastion: {address: 192.0.2.1, " +
			"user: ops, bastion: {address: 192.0.2.2}}": "10.0.0.1 worker via 192.0.2.2,ops@192.0.2.1",
		"[all]\na ansible_host=10.0.0.1 ansible_ssh_common_args='-o ProxyCommand=\"ssh -W %h:%p -q " +
			"ops@192.0.2.1\"'": "a 10.0.0.1 via ops@192.0.2.1",
		"[all]\na ansible_host=10.0.0.1\n[all:vars]\nansible_ssh_common_args=-o StrictHostKeyChecking=no " +
			"-J ops@192.0.2.1": "a 10.0.0.1 via ops@192.0.2.1",
		"all: {hosts: {a: {ansible_host: 10.0.0.1, ansible_ssh_extra_args: '-o ProxyJump=192.0.2.1:2222'}}}": "a " +
			"10.0.0.1 via 192.0.2.1:2222",
	} {
		l := Read(text)
		if got := said(l.Entries); got != want || len(l.Rejected)+len(l.Notes) > 0 {
			t.Errorf("%s\n got %q\nwant %q\n%s %v", text, got, want, reasons(l.Rejected), l.Notes)
		}
		if again := said(Read(l.Text()).Entries); again != want {
			t.Errorf("%s\nread again is %q", l.Text(), again)
		}
	}
	for _, text := range []string{sshConfigText,
		"[all]\na ansible_host=10.0.0.1 ansible_ssh_common_args='-o ProxyCommand=\"nc -x p %h %p\"'",
		"[all]\na ansible_host=10.0.0.1 ansible_ssh_common_args='-o ProxyJump={{ jump }}'"} {
		if l := Read(text); len(l.Notes) == 0 || l.Notes[0].Key != "machines.jump-dropped" {
			t.Errorf("%s\nit is not said that the way is dropped: %v", text, l.Notes)
		}
	}
	l := Read("bastion_host: {address: 192.0.2.1, ssh_key: hunter2}\nnodes: [{address: 10.0.0.1, role: etcd}]")
	if l.Secrets != 1 || strings.Contains(said(l.Entries), "hunter2") {
		t.Errorf("%d secrets: %s", l.Secrets, said(l.Entries))
	}
}

// A range of names is a machine each: an address for all of them is refused where it stands, whether the line has it
// or a group.
func TestOneAddressForSeveralMachines(t *testing.T) {
	check(t, "[kube_node]\nm1 ansible_host=10.0.0.9\nw[1:3] ansible_host=10.0.0.1\n", AnsibleINI,
		"m1 10.0.0.9 worker", "3 one-address 10.0.0.1 3")
	check(t, "[kube_node]\nw[1:2] ansible_host=10.0.0.[1:2] ip=10.9.0.1 ansible_port=2222\n", AnsibleINI,
		"w1 10.0.0.1:2222 worker\nw2 10.0.0.2:2222 worker", "")
	check(t, "[kube_node]\nw[1:3] ansible_host=10.0.0.[1:2]\n", AnsibleINI, "", "2 names 3 2")
	check(t, "[kube_node]\nw[1:2] ansible_host={{ addr }} ip=10.0.0.1\n", AnsibleINI, "", "2 one-address 10.0.0.1 2")
	check(t, "[kube_node]\nw1\nw2\nw3 ip=10.0.0.3\n[kube_node:vars]\nansible_host=10.0.0.1\n", AnsibleINI,
		"", "2 one-address 10.0.0.1 3\n3 one-address 10.0.0.1 3\n4 one-address 10.0.0.1 3")
	check(t, "kube_node:\n  hosts:\n    w[1:2]: {ansible_host: 10.0.0.1}\n    m1: {ansible_host: 10.0.0.9}\n", Ansible,
		"m1 10.0.0.9 worker", "3 one-address 10.0.0.1 2")
	check(t, "kube_node:\n  hosts:\n    w[1:2]: {ansible_host: '10.0.0.[1:2]'}\n", Ansible,
		"w1 10.0.0.1 worker\nw2 10.0.0.2 worker", "")
}

// Nothing that another file or a condition says is read of ssh_config, and that is said.
func TestWhatIsNotFollowedOfSSHConfig(t *testing.T) {
	text := "Include config.d/*\n# Include none\nHost a\n  HostName 10.0.0.1\nMatch all\n  User ops\n" +
		"Match host b exec true\n  Port 2222\n"
	check(t, text, SSHConfig, "a ops@10.0.0.1", "")
	if l := Read(text); reasons([]Rejected{{Why: l.Notes[0]}}) != "0 ssh-unfollowed 1 2" {
		t.Error(l.Notes)
	}
	check(t, "Include ~/.ssh/hosts/*\n\nInclude other\n", SSHConfig, "", "1 ssh-unfollowed 1 2")
	if l := Read("Host a\n  HostName 10.0.0.1\nMatch all\n  User ops\n"); len(l.Notes) > 0 {
		t.Error(l.Notes)
	}
}
