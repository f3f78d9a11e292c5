package machines

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// said writes entries as a test reads them: NAME USER@ADDRESS:PORT ROLES ARCH key=FILE, what is missing left away.
func said(list []Entry) string {
	var out []string
	for _, e := range list {
		where := e.IP
		if where == "" {
			where = "?" + e.Host
		}
		if e.User != "" {
			where = e.User + "@" + where
		}
		if e.Port != "" {
			where += ":" + e.Port
		}
		words := []string{}
		for _, w := range []string{e.Name, where} {
			if w != "" {
				words = append(words, w)
			}
		}
		var roles []string
		for _, r := range e.Roles {
			roles = append(roles, string(r))
		}
		if len(roles) > 0 {
			words = append(words, strings.Join(roles, "+"))
		}
		if e.Arch != "" {
			words = append(words, e.Arch)
		}
		if e.Key != "" {
			words = append(words, "key="+e.Key)
		}
		if len(e.Bastions) > 0 {
			words = append(words, strings.TrimSpace("via "+HopsText(e.Bastions)+" "+keyOfHops(e.Bastions)))
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, "\n")
}

func reasons(list []Rejected) string {
	var out []string
	for _, b := range list {
		args := ""
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(b.Why.Args))) {
			args += " " + b.Why.Args[name]
		}
		out = append(out, fmt.Sprintf("%d %s%s", b.Line, strings.TrimPrefix(b.Why.Key, "machines."), args))
	}
	return strings.Join(out, "\n")
}

// check reads a text and compares format, machines and what was rejected.
func check(t *testing.T, text string, f Format, want, rejected string) {
	t.Helper()
	l := Read(text)
	if l.Format != f {
		t.Errorf("%s\nwas read as %s, want %s", text, l.Format, f)
	}
	if got := said(l.Entries); got != strings.TrimSpace(want) {
		t.Errorf("%s\n got\n%s\nwant\n%s", text, got, strings.TrimSpace(want))
	}
	if got := reasons(l.Rejected); got != strings.TrimSpace(rejected) {
		t.Errorf("%s\nrejected\n%s\nwant\n%s", text, got, strings.TrimSpace(rejected))
	}
}

func TestLinesOfWords(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1":                                 "10.0.0.1",
		"web-1 10.0.0.1 worker":                    "web-1 10.0.0.1 worker",
		"10.0.0.1 web":                             "",
		"10.0.0.1 web\n10.0.0.2 db":                "web 10.0.0.1\ndb 10.0.0.2",
		"m1,10.0.0.1,master+etcd,arm64,2222":       "m1 10.0.0.1:2222 control-plane+etcd arm64",
		"10.0.0.1:2222;lb":                         "10.0.0.1:2222 loadbalancer",
		"ops@10.0.0.1":                             "ops@10.0.0.1",
		"db ssh://ops@10.0.0.1:2222 etcd":          "db ops@10.0.0.1:2222 etcd",
		"10.0.0.[1,3,5-7]":                         "10.0.0.1\n10.0.0.3\n10.0.0.5\n10.0.0.6\n10.0.0.7",
		"10.0.0.11-12":                             "10.0.0.11\n10.0.0.12",
		"10.0.0.1, 10.0.0.2, 10.0.0.3":             "10.0.0.1\n10.0.0.2\n10.0.0.3",
		"10.0.0.1 10.0.0.2 # both":                 "10.0.0.1\n10.0.0.2",
		"10.0.0.1；ops@10.0.0.2:2222\n10.0.0.3":     "10.0.0.1\nops@10.0.0.2:2222\n10.0.0.3",
		"fd00::1、10.0.0.[2-3]":                     "fd00::1\n10.0.0.2\n10.0.0.3",
		"10.0.0.11-10.0.0.12 worker":               "10.0.0.11 worker\n10.0.0.12 worker",
		"node[1-2] 10.0.0.[11-12]":                 "node1 10.0.0.11\nnode2 10.0.0.12",
		"name=w[08-10] 10.0.0.[8-10]":              "w08 10.0.0.8\nw09 10.0.0.9\nw10 10.0.0.10",
		"gpu 10.0.[1-2].[1,9]":                     "gpu-1 10.0.1.1\ngpu-2 10.0.1.9\ngpu-3 10.0.2.1\ngpu-4 10.0.2.9",
		"10.0.0.1 port=2222 user=ops role=cp,etcd": "ops@10.0.0.1:2222 control-plane+etcd",
		"10.0.0.1 roles=[master,worker]":           "10.0.0.1 control-plane+worker",
		"10.0.0.1 key=~/.ssh/other name=a":         "a 10.0.0.1 key=~/.ssh/other",
		"web1.example.com worker":                  "web1 ?web1.example.com worker",
		"web1":                                     "web1 ?web1",
		"ops@web1:2222":                            "web1 ops@?web1:2222",
		"db web1.example.com":                      "db ?web1.example.com",
		"web[1-2].example.com":                     "web1 ?web1.example.com\nweb2 ?web2.example.com",
		"10.0.0.9 web1.example.com":                "",
		"10.0.0.9 a.example.com\n10.0.0.8 b":       "a.example.com 10.0.0.9\nb 10.0.0.8",
		"fd00::1 worker":                           "fd00::1 worker",
		"ops@[fd00::1]:2222":                       "ops@fd00::1:2222",
		"- {name: a, ip: 10.0.0.1}":                "a 10.0.0.1",
		"name: a ip: 10.0.0.1":                     "a 10.0.0.1",
		"# a remark\n\n10.0.0.1 # another":         "10.0.0.1",
		"IP NAME ROLE\n10.0.0.1 a worker":          "a 10.0.0.1 worker",
		"１０．０．０．１，控制平面；10.0.0.2":                   "",
		"１０．０．０．１，控制平面\nｗｅｂ 10。0。0。2 工作节点。": "10.0.0.1 control-plane\nweb 10.0.0.2 worker",
		"\ufeff10.0.0.1\r\n10.0.0.2\r":                "10.0.0.1\n10.0.0.2",
		`"web-1" 10.0.0.1`:                            "web-1 10.0.0.1",
		"::ffff:10.0.0.1":                             "10.0.0.1",
		"worker1 10.0.0.1\nmaster-02 10.0.0.2 lb":     "worker1 10.0.0.1\nmaster-02 10.0.0.2 loadbalancer",
		"10.0.0.1 name=wroker":                        "wroker 10.0.0.1",
		"10.0.0.1 password=hunter2":                   "10.0.0.1",
		"a 10.0.0.1 amd64 x86_64 22 worker,worker,cp": "a 10.0.0.1:22 worker+control-plane amd64",
	} {
		l := Read(text)
		if got := said(l.Entries); got != want {
			t.Errorf("%q\n got %q\nwant %q\n%s", text, got, want, reasons(l.Rejected))
		}
		if (want == "") != (len(l.Rejected) > 0) {
			t.Errorf("%q: rejected %q", text, reasons(l.Rejected))
		}
	}
}

func TestWhyALineIsRejected(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1 wroker":                    "1 like wroker worker",
		"matser 10.0.0.1":                    "1 like matser master",
		"10.0.0.1 amd46":                     "1 like amd46 amd64",
		"wroker":                             "1 like wroker worker",
		"10.0.0.1 worker database":           "1 word database",
		"web 10.0.0.1 db":                    "1 two-names db web",
		"10.0.0.300":                         "1 octet 10.0.0.300 300",
		"10.0.0":                             "1 address 10.0.0",
		"10.0.0.1.":                          "1 address 10.0.0.1.",
		"10.0.0.1/24":                        "1 network 10.0.0.1/24",
		"web 10.0.0.[3-1]":                   "1 range-backwards 1 3",
		"10.0.0.20-10":                       "1 range-backwards 10 20",
		"10.0.0.[1-300]":                     "1 octet 10.0.0.256 256",
		"10.0.0.[x]x":                        "1 address 10.0.0.xx",
		"10.0.0.[1..3]":                      "1 range [1..3] 1..3",
		"10.0.0.[1-3":                        "1 bracket 10.0.0.[1-3",
		"10.0.0.1-10.0.1.9":                  "1 range-wide 10.0.0.1-10.0.1.9",
		"node[1-3] 10.0.0.[1-2]":             "1 names 3 2",
		"10.0.0.1 10.0.0.2 worker":           "1 two-addresses 10.0.0.2",
		"a 10.0.0.1 10.0.0.2":                "1 two-addresses 10.0.0.2",
		"10.0.0.1, 300.0.0.2":                "1 octet 300.0.0.2 300",
		"10.0.0.1 1.2.3.4\n10.0.0.2 1.2.3.5": "1 two-addresses 1.2.3.4\n2 two-addresses 1.2.3.5",
		"10.0.0.1, 10.0.0.2:99999":           "1 port 99999",
		"10.0.0.1 22 2222":                   "1 word 2222",
		"10.0.0.1:99999":                     "1 port 99999",
		"10.0.0.1 port=ssh":                  "1 port ssh",
		"10.0.0.1 color=red":                 "1 key color=red color",
		"10.0.0.1 role=king":                 "1 role king",
		"10.0.0.1 role=wroker":               "1 like wroker worker",
		"10.0.0.1 arch=sparc":                "1 arch sparc",
		"web1 db1":                           "1 two-names db1 web1",
		"worker":                             "1 no-address worker",
		"a*b.example.com":                    "1 host a*b.example.com",
		"10.[0-99].[0-99].1":                 "1 too-many 1000",
		"10.0.0.[1-999999999]":               "1 too-many 1000",
		"10.0.0.1\n\n10.0.0.2 banana!":       "3 word banana!",
	} {
		l := Read(text)
		if got := reasons(l.Rejected); got != want {
			t.Errorf("%q\n got %q\nwant %q (%s)", text, got, want, said(l.Entries))
		}
	}
	many := Read(strings.Repeat("10.0.0.[1-200]\n", 6))
	if got := reasons(many.Rejected); got != "6 too-many 1000" || len(many.Entries) > 0 {
		t.Errorf("%s", got)
	}
}

func TestTables(t *testing.T) {
	check(t, "ip,name,role\n10.0.0.1,web,worker\n10.0.0.2,db,\"master,etcd\"\n", CSV, `
web 10.0.0.1 worker
db 10.0.0.2 control-plane+etcd`, "")
	check(t, "# machines of hall 3\nHostname;IP address;Rack;Port;Arch;Role\nA1;10.0.0.1;R7;2222;aarch64;\n"+
		"A2;;R8;;;\nA3;10.0.0.3;R9;x;;",
		CSV, "a1 10.0.0.1:2222 arm64\na2 ?A2", "5 port x")
	check(t, "name,ip,role\nm1,10.0.0.1,master\nw1 10.0.0.2 worker etcd\n10.0.0.2:2222\n", CSV,
		"m1 10.0.0.1 control-plane\nw1 10.0.0.2 worker+etcd\n10.0.0.2:2222", "")
	check(t, "名称\tIP\t角色\nm1\t10.0.0.1\t控制平面\n", CSV, "m1 10.0.0.1 control-plane", "")
	check(t, "host,user,key\nweb1.example.com,ops,~/.ssh/id\n", CSV, "web1 ops@?web1.example.com key=~/.ssh/id", "")
}

const kubespray = `
[all]
node1 ansible_host=10.0.0.1 ip=10.9.0.1 etcd_member_name=etcd1
node2 ansible_host=10.0.0.2 ansible_port=2222 ansible_ssh_private_key_file='~/.ssh/my key'
node[3:4].example.com ansible_ssh_pass=hunter2
bastion1 ansible_host=192.0.2.1

[kube_control_plane]
node1

[etcd:children]
kube_control_plane

[kube_node]
node2
node[3:4].example.com

[k8s_cluster:children]
kube_control_plane
kube_node

[all:vars]
ansible_user=ops     
ansible_become = true
[bastion]
bastion1
`

func TestInventoriesOfAnsible(t *testing.T) {
	check(t, kubespray, AnsibleINI, `
node1 ops@10.0.0.1 control-plane+etcd via ops@192.0.2.1
node2 ops@10.0.0.2:2222 worker key=~/.ssh/my key via ops@192.0.2.1
node3 ops@?node3.example.com worker via ops@192.0.2.1
node4 ops@?node4.example.com worker via ops@192.0.2.1`, "")
	l := Read(strings.Replace(kubespray, "[bastion]", "[db]", 1))
	if got := reasons(l.Skipped); got != "6 no-role bastion1" || l.Secrets != 2 {
		t.Errorf("skipped %q, %d secrets", got, l.Secrets)
	}
	check(t, "web1\nweb2:2222\n[db]\n10.0.0.7 ansible_user={{ admin }}\n10.0.0.300\n", AnsibleINI,
		"web1 ?web1\nweb2 ?web2:2222\n10.0.0.7", "5 octet 10.0.0.300 300")
	check(t, `
all:
  hosts:
    node1: {ansible_host: 10.0.0.1, ansible_port: 2222}
    node2: {ansible_host: 10.0.0.2}
    node3:
      ansible_host: 10.0.0.3
      ansible_password: hunter2
  vars: {ansible_user: root}
  children:
    kube_control_plane: {hosts: {node1: }}
    kube_node:
      hosts: {node2: , node3: }
      vars: {ansible_user: ops}
    etcd: {children: {kube_control_plane: }}
`, Ansible, `
node1 root@10.0.0.1:2222 control-plane+etcd
node2 ops@10.0.0.2 worker
node3 ops@10.0.0.3 worker`, "")
	check(t, "web:\n  hosts:\n    10.0.0.[1:2]:\n", Ansible, "10.0.0.1\n10.0.0.2", "")
}

// Anchors, aliases and merge keys mean what the YAML specification defines.
func TestAliasesAreFollowed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"variables of a group": {"all:\n  vars: &v {ansible_user: ops, ansible_port: 2222}\n  children:\n" +
			"    kube_node:\n      vars: *v\n      hosts: {w1: {ip: 10.0.0.1}}\n", "w1 ops@10.0.0.1:2222 worker"},
		"merged variables": {"x: &common {ansible_user: ops, ansible_port: 22}\nall:\n  hosts:\n    w1:\n" +
			"      <<: *common\n      ip: 10.0.0.1\n      ansible_user: root\n", "w1 root@10.0.0.1:22"},
		"several merged": {"x: &x {port: 2201}\ny: &y {port: 2202, arch: arm64}\nnodes:\n- {<<: [*x, *y], name: n, " +
			"ip: 10.0.0.1}\n", "n 10.0.0.1:2201 worker arm64"},
		"a machine in two lists": {"masters:\n- &m {name: m1, ip: 10.0.0.1}\nnodes:\n- *m\n",
			"m1 10.0.0.1 control-plane+worker"},
		"a list":         {"masters: &m\n- {name: m1, ip: 10.0.0.1}\netcds: *m\n", "m1 10.0.0.1 control-plane+etcd"},
		"the same hosts": {"etcd: {hosts: &h {a: {ip: 10.0.0.1}}}\nkube_node: {hosts: *h}\n", "a 10.0.0.1 etcd+worker"},
		"a value":        {"p: &p 2222\nnodes:\n- {ip: 10.0.0.1, port: *p}\n", "10.0.0.1:2222 worker"},
		"alias in an alias": {"x: &x {port: 2222}\ny: &y {<<: *x, arch: arm64}\nnodes:\n- {<<: *y, ip: 10.0.0.1}\n",
			"10.0.0.1:2222 worker arm64"},
	} {
		l := Read(c.text)
		if got := said(l.Entries); got != c.want || len(l.Rejected) > 0 {
			t.Errorf("%s: %s; rejected %s", name, got, reasons(l.Rejected))
		}
	}
}

// Aliases that stand for themselves, or for more than any list has, are refused before they are followed to their end.
func TestAliasesWithoutEnd(t *testing.T) {
	bomb := "a0: &a0 {ip: 10.0.0.1}\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, text := range map[string]string{
		"bomb":        bomb + "nodes: *a40\n",
		"itself":      "nodes: &x\n- *x\n",
		"merged":      "x: &x\n  <<: *x\n  ip: 10.0.0.1\nnodes: [*x]\n",
		"one another": "a: &a\n- &b\n  - *a\n  - *b\nnodes: *a\n",
	} {
		if l := Read(text); len(l.Entries) > 0 || reasons(l.Rejected) != "1 yaml-aliases 100000" {
			t.Errorf("%s: %s; rejected %s", name, said(l.Entries), reasons(l.Rejected))
		}
	}
}

func TestOtherTools(t *testing.T) {
	check(t, `
apiVersion: kubekey.kubesphere.io/v1alpha2
kind: Cluster
metadata: {name: sample}
spec:
  hosts:
  - {name: node1, address: 10.0.0.2, internalAddress: "10.1.0.2,2022::1", port: 8022, user: ubuntu, password: "Qcloud@123"}
  - {name: "node[2:3]", internalAddress: "10.0.0.[3:4]", privateKeyPath: "~/.ssh/id_rsa", arch: arm64}
  - {name: reg, address: 10.0.0.9}
  roleGroups:
    etcd: [node1]
    control-plane: [node1]
    worker: ["node[1:3]"]
    registry: [reg]
  controlPlaneEndpoint: {domain: lb.kubesphere.local, port: 6443}
---
apiVersion: installer.kubesphere.io/v1alpha1
kind: ClusterConfiguration
`, KubeKey, `
node1 ubuntu@10.0.0.2:8022 control-plane+etcd+worker
node2 10.0.0.3 worker arm64 key=~/.ssh/id_rsa
node3 10.0.0.4 worker arm64 key=~/.ssh/id_rsa`, "")
	check(t, `
apiVersion: kubekey.kubesphere.io/v1
kind: Inventory
spec:
  hosts:
    node1: {connector: {type: ssh, host: 10.0.0.1, port: 2222, user: root, password: x}, internal_ipv4: 10.1.0.1}
    node2: {internal_ipv4: 10.0.0.2}
  groups:
    k8s_cluster: {groups: [kube_control_plane, kube_worker]}
    kube_control_plane: {hosts: [node1]}
    kube_worker: {hosts: [node1, node2]}
    etcd: {hosts: [node1]}
`, KubeKey, `
node1 root@10.0.0.1:2222 control-plane+etcd+worker
node2 10.0.0.2 worker`, "")
	check(t, `
apiVersion: k0sctl.k0sproject.io/v1beta1
kind: Cluster
spec:
  hosts:
  - role: controller+worker
    ssh: {address: 10.0.0.1, user: root, port: 22, keyPath: ~/.ssh/id}
  - role: worker
    hostname: w1
    openSSH: {address: w1.example.com}
  - role: worker
    localhost: {enabled: true}
`, K0sctl, `
root@10.0.0.1:22 control-plane+worker key=~/.ssh/id
w1 ?w1.example.com worker`, "11 no-address role=worker")
	check(t, "masters:\n- name: m1\n  ip: 10.0.0.1\n  port: 22\n  arch: amd64\nworkers:\n- {name: m1, ip: 10.0.0.1, "+
		"port: 22}\n"+
		"- ip: 10.0.0.2\netcds: [{ip: 10.0.0.3}]\nloadbalance: {name: lb, ip: 10.0.0.4, bind-port: 8443}\n", YAML, `
m1 10.0.0.1:22 control-plane+worker amd64
10.0.0.2 worker
10.0.0.3 etcd
lb 10.0.0.4 loadbalancer`, "")
	check(t, "nodes:\n- {address: 10.0.0.1, user: rke, role: [controlplane, etcd], hostname_override: a}\n", YAML,
		"a rke@10.0.0.1 control-plane+etcd", "")
	check(t, "- name: n1\n  address: 10.0.0.1\n- 10.0.0.2 worker\n- [1]\n", YAML, "n1 10.0.0.1\n10.0.0.2 worker",
		"4 yaml-machine")
	check(t, "apiVersion: v1\nkind: Secret\n", Lines, "", "1 key apiVersion: apiVersion\n2 key kind: kind")
	check(t, "---\nspec: {hosts: [}\n", YAML, "", "1 yaml yaml: line 1: did not find expected node content")
	check(t, "all:\n  hosts: {}\n", Ansible, "", "1 yaml-nothing")
}

// What is rejected can be typed on: a line by itself, with all that was said of the machine, in whatever format.
func TestWhatIsRejectedCanBeReadAgain(t *testing.T) {
	for text, want := range map[string]string{
		"[kube_control_plane]\nm1 ansible_host=10.0.0.300 ansible_port=2222 ansible_user=ops": "10.0.0.300 name=m1 " +
			"port=2222 user=ops role=control-plane",
		"name,ip,role,rack\nw1,10.0.0,\"worker,etcd\",R7": "name=w1 10.0.0 role=worker,etcd",
		"spec:\n  hosts:\n  - role: worker\n    ssh: {address: 10.0.0.1, port: 99999, keyPath: ~/.ssh/id}": "role=worker " +
			"10.0.0.1 port=99999 key=~/.ssh/id",
		"a 10.0.0.1 wroker":              "a 10.0.0.1 wroker",
		"all: {hosts: {web: {port: 1}}}": "",
	} {
		l := Read(text)
		if got := l.Rest(); got != want {
			t.Errorf("%s\nleaves %q, want %q", text, got, want)
		}
		if again := Read(l.Rest()); want != "" && (len(again.Rejected) != 1 ||
			again.Rejected[0].Why.Key != l.Rejected[0].Why.Key) {
			t.Errorf("%q is rejected by %q, and was by %q", want, reasons(again.Rejected), reasons(l.Rejected))
		}
	}
	l := Read("web[1-3].example.com worker port=2222").Resolve(t.Context(), nil)
	if got := l.Rest(); got != "web1.example.com:2222 role=worker\nweb2.example.com:2222 role=worker\n"+
		"web3.example.com:2222 role=worker" {
		t.Errorf("%q", got)
	}
}

// No password is in anything that a list says, however it was written.
func TestNoPasswordIsTaken(t *testing.T) {
	for _, text := range []string{
		"10.0.0.300 password=hunter2,hunter2+hunter2", "wroker 10.0.0.1 ansible_password='hunter2 hunter2'",
		"ssh://ops:hunter2@10.0.0.1 wroker", "root:hunter2@web1",
		"host,user,password\n10.0.0.300,ops,hunter2\n10.0.0.1,ops,hunter2",
		"[all]\na ansible_host=10.0.0.300 ansible_become_pass=hunter2\n[all:vars]\nansible_password=hunter2",
		"spec: {hosts: [{name: a, address: 10.0.0.300, password: hunter2}], roleGroups: {etcd: [a]}}",
		"spec: {hosts: [{name: a, address: 10.0.0.300, privateKey: hunter2}], roleGroups: {etcd: [a]}}",
		"- {name: a, ip: 10.0.0.1, ssh_key: hunter2}\n- {ip: 10.0.0.300, password: hunter2}",
		"all: {hosts: {a: {ansible_host: 10.0.0.300, ansible_password: hunter2}}}",
		"10.0.0.1 name: a password: hunter2", "name: a\nip: 10.0.0.300\npassword: hunter2",
	} {
		l := Read(text)
		if l.Secrets == 0 {
			t.Errorf("%s: no password was counted", text)
		}
		if got := fmt.Sprintf("%+v", l); strings.Contains(got, "hunter2") {
			t.Errorf("%s\nsays %s", text, got)
		}
	}
}

func TestWhatIsNoLogin(t *testing.T) {
	check(t, "[web]\na ansible_host=10.0.0.1 port=8080 user=app key=API arch=ppc64le", AnsibleINI, "a 10.0.0.1", "")
	check(t, "ip,host,role\n10.0.0.1,web1.example.com,worker\n10.0.0.2,web2,worker", CSV,
		"web1.example.com 10.0.0.1 worker\nweb2 10.0.0.2 worker", "")
	check(t, "name,ip\n\"a,10.0.0.1\nb,10.0.0.2\n", CSV, "a 10.0.0.1\nb 10.0.0.2", "")
}
