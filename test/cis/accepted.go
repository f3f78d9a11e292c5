package main

import (
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// accepted is a check that may fail, with the reason, in both languages.
type accepted struct {
	id             string
	driver         string // the only one where it may fail, "" for any
	wants, why     string
	wantsZh, whyZh string
}

// all are the accepted checks. docs/security.md has a row for each.
func all() []accepted {
	return []accepted{
		{"1.1.12", stand.Kubeadm, "data of etcd belong to `etcd:etcd`",
			"The pod that kubeadm makes runs etcd as root. The directory has the mode 0700",
			"etcd 的数据属于 `etcd:etcd`", "kubeadm 生成的 Pod 以 root 运行 etcd。目录的权限为 0700"},
		{"5.1.1", "", "`cluster-admin` only where required",
			"Only `system:masters` has it. The check's script needs bash as `/bin/sh`",
			"只在需要时使用 `cluster-admin`", "只有 `system:masters` 拥有它。检查脚本要求 `/bin/sh` 是 bash"},
		{"5.1.3", "", "no wildcards in roles",
			"Roles of Kubernetes itself have them. The check's script needs `jq`",
			"角色中不使用通配符", "Kubernetes 自带的角色含有通配符。检查脚本需要 `jq`"},
		{"5.1.5", "", "default service accounts are not used",
			"Kubernetes creates them, and no role is bound to them. The check's script needs `jq`",
			"不使用默认的 ServiceAccount", "由 Kubernetes 创建，没有绑定任何角色。检查脚本需要 `jq`"},
		{"5.1.6", "", "tokens are mounted only where necessary",
			"flannel and CoreDNS call the API server with theirs. The check's script needs `jq`",
			"只在需要时挂载 token", "flannel 和 CoreDNS 用自己的 token 访问 API Server。检查脚本需要 `jq`"},
	}
}

// acceptedFor is why a check may fail on a cluster of a driver.
func acceptedFor(driver, id string) (accepted, bool) {
	list := all()
	i := slices.IndexFunc(list, func(a accepted) bool {
		return a.id == id && (a.driver == "" || a.driver == driver)
	})
	if i < 0 {
		return accepted{}, false
	}
	return list[i], true
}

// plain is a text without the marks of Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }
