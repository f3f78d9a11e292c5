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
		{"5.1.3", "", "no wildcards in roles", "Roles of Kubernetes itself have them",
			"角色中不使用通配符", "Kubernetes 自带的角色含有通配符"},
		{"5.1.5", "", "default service accounts mount no token",
			"Kubernetes creates one in each namespace. No role is bound to them",
			"默认的 ServiceAccount 不挂载 token", "由 Kubernetes 在每个命名空间中创建，没有绑定任何角色"},
		{"5.1.6", "", "tokens are mounted only where necessary",
			"flannel and CoreDNS call the API server with theirs",
			"只在需要时挂载 token", "flannel 和 CoreDNS 用自己的 token 访问 API Server"},
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
