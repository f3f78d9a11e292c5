package machines

import (
	"regexp"
	"strings"
)

var (
	assigned = regexp.MustCompile(`([\p{L}_][\p{L}\p{N}_-]*)(=|:[ \t]+)("[^"]*"|'[^']*'|[^ \t]+)`)
	userinfo = regexp.MustCompile(`([\w.-]+):[^ \t@/]+@`)
)

// withoutSecrets is a text without the passwords that stand in it: password=WORD, user:WORD@host. A password goes to
// the next blank, whatever is in it.
func withoutSecrets(text string) (clean string, some bool) {
	clean = assigned.ReplaceAllStringFunc(text, func(s string) string {
		if columnOf(assigned.FindStringSubmatch(s)[1]) != "secret" {
			return s
		}
		some = true
		return ""
	})
	if userinfo.MatchString(clean) {
		clean, some = userinfo.ReplaceAllString(clean, "$1@"), true
	}
	return strings.TrimSpace(clean), some
}

// sayOf is a value as a line of words has it.
func sayOf(column, value string) string {
	if strings.ContainsAny(value, " \t,;|+{}") && column != "role" {
		value = `"` + strings.ReplaceAll(value, `"`, "") + `"`
	}
	switch column {
	case "host", "internal":
		return value
	}
	return column + "=" + strings.Join(strings.Fields(value), ",")
}

// columnOf returns the column that a word names, in any format, "" if it names none.
func columnOf(word string) string {
	word, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(word)), "(") // IP (management)
	switch strings.NewReplacer("_", "-", " ", "-").Replace(strings.Trim(word, "*: ")) {
	case "name", "hostname", "host-name", "hostname-override", "nodename", "alias", "名称", "主机名", "节点名",
		"节点名称":
		return "name"
	case "ip", "address", "addr", "host", "ansible-host", "ansible-ssh-host", "ip-address", "ipaddress", "ipv4",
		"ip地址", "ip-地址", "地址", "主机", "主机ip", "节点ip", "服务器ip":
		return "host"
	case "internaladdress", "internal-address", "internal-ipv4", "access-ip", "internal-ip", "private-ip", "privateip",
		"内网ip", "内网地址":
		return "internal"
	case "port", "ssh-port", "ansible-port", "ansible-ssh-port", "端口":
		return "port"
	case "user", "username", "login", "ansible-user", "ansible-ssh-user", "ssh-user", "用户", "用户名":
		return "user"
	case "key", "keypath", "key-path", "private-key", "privatekeypath", "private-key-path", "ssh-key-path",
		"identityfile",
		"ansible-ssh-private-key-file", "ansible-private-key-file", "密钥":
		return "key"
	case "bastion", "bastion-host", "jump", "jump-host", "jumphost", "proxyjump", "proxy-jump", "跳板机", "堡垒机":
		return "bastion"
	case "bastion-user", "bastionuser", "bastion-username":
		return "bastion-user"
	case "bastion-port", "bastionport":
		return "bastion-port"
	case "bastion-key", "bastionkeypath", "bastionprivatekeypath", "bastion-private-key-path":
		return "bastion-key"
	case "number", "no", "no.", "#", "id", "index", "序号", "编号":
		return "number" // of the row; it says nothing
	case "role", "roles", "角色":
		return "role"
	case "arch", "architecture", "架构":
		return "arch"
	case "password", "passwd", "pass", "ansible-password", "ansible-ssh-pass", "ansible-ssh-password", "sudo-password",
		"ansible-become-pass", "ansible-become-password", "ansible-sudo-pass", "privatekey", "ssh-key", "密码",
		"bastion-password", "bastionpassword", "bastionprivatekey":
		return "secret"
	}
	return ""
}
