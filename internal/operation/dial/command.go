package dial

import (
	"cmp"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Command is the ssh command for a node of the cluster, with the cluster's known host keys and by its bastions. No
// password is in it: ssh asks.
func Command(c *config.Cluster, known, name string) (*exec.Cmd, error) {
	i := slices.IndexFunc(c.Nodes, func(n config.Node) bool { return n.Name == name })
	if i < 0 {
		return nil, event.NewFault(event.ClassUsage, "shell.no-node", nil, "node", name)
	}
	found, err := exec.LookPath("ssh")
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "shell.no-ssh", err)
	}
	common := []string{"-o", "UserKnownHostsFile=" + optionPath(known), "-o", "StrictHostKeyChecking=yes"}
	n := c.Nodes[i]
	own := c.LoginOf(name)
	proxy := "" // a %h in the proxy of a proxy is doubled: each ssh takes one away
	for _, b := range own.Bastions {
		hop := append([]string{"ssh"}, common...)
		if proxy != "" {
			hop = append(hop, "-o", "ProxyCommand="+strings.ReplaceAll(proxy, "%", "%%"))
		}
		key, user := cmp.Or(b.PrivateKeyPath, own.PrivateKeyPath), cmp.Or(b.User, own.User)
		hop = append(hop, login(key, user, b.Host, b.Port)...)
		hop = append(hop[:len(hop)-1:len(hop)-1], "-W", "[%h]:%p", hop[len(hop)-1])
		for i := range hop {
			hop[i] = shell.Quote(hop[i])
		}
		proxy = strings.Join(hop, " ")
	}
	args := common
	if proxy != "" {
		args = append(args, "-o", "ProxyCommand="+proxy)
	}
	args = append(args, login(own.PrivateKeyPath, own.User, n.IP.String(), n.Port)...)
	return exec.Command(found, args...), nil
}

// login are the arguments of ssh for one machine, the machine last.
func login(key, user, addr string, port int) []string {
	var out []string
	if key != "" {
		out = append(out, "-i", key)
	}
	return append(out, "-p", strconv.Itoa(cmp.Or(port, 22)), "-l", user, addr)
}

// optionPath is a path as ssh reads it in its options: in quotes of its own, which are not those of the shell.
func optionPath(path string) string { return `"` + strings.ReplaceAll(path, `"`, `\"`) + `"` }
