package machines

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
)

// sshHost is a block of ssh_config.
type sshHost struct {
	at       int
	patterns []string
	options  map[string]string // by the keyword in lower case; the first counts
}

var (
	sshLine    = regexp.MustCompile(`\A([A-Za-z][A-Za-z0-9]+)[ \t]*[ \t=][ \t]*(.+)\z`)
	sshKeyword = regexp.MustCompile(`(?i)\A(?:hostname|user|port|identityfile|identitiesonly|proxyjump|proxycommand|` +
		`stricthostkeychecking|userknownhostsfile|forwardagent|serveraliveinterval|loglevel)\z`)
)

// isSSHConfig reports whether a text is a configuration of OpenSSH's client: a keyword in each line, Host among them.
func isSSHConfig(lines []string) bool {
	host, keyword, include := false, false, false
	for _, raw := range lines {
		text := narrow(raw)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		m := sshLine.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		include = include || strings.EqualFold(m[1], "Include")
		host = host || strings.EqualFold(m[1], "Host")
		keyword = keyword || sshKeyword.MatchString(m[1])
	}
	return (host || include) && keyword || include && !host
}

// unfollowed counts the lines that name other files, and those that are about hosts by more than their names. first is
// the line of the first of them.
func unfollowed(lines []string) (count, first int) {
	for i, raw := range lines {
		m := sshLine.FindStringSubmatch(narrow(raw))
		if m == nil || !strings.EqualFold(m[1], "include") &&
			(!strings.EqualFold(m[1], "match") || strings.EqualFold(strings.Trim(m[2], `"`), "all")) {
			continue
		}
		if count++; first == 0 {
			first = i + 1
		}
	}
	return count, first
}

// sshConfig are the blocks of a file.
type sshConfig []sshHost

func sshBlocks(lines []string) (out sshConfig) {
	out = sshConfig{{patterns: []string{"*"}, options: map[string]string{}}}
	for i, raw := range lines {
		m := sshLine.FindStringSubmatch(narrow(raw))
		if m == nil {
			continue
		}
		key, value := strings.ToLower(m[1]), strings.Trim(m[2], `"`)
		if key == "host" || key == "match" {
			h := sshHost{at: i + 1, options: map[string]string{}}
			if key == "host" {
				h.patterns = words(m[2], " \t")
			} else if strings.EqualFold(value, "all") {
				h.patterns = []string{"*"}
			}
			out = append(out, h)
			continue
		}
		if of := out[len(out)-1].options; of[key] == "" {
			of[key] = value
		}
	}
	return out
}

// matches reports whether a block is about a host.
func (h sshHost) matches(alias string) (is bool) {
	for _, p := range h.patterns {
		pattern, not := strings.CutPrefix(p, "!")
		if ok, _ := path.Match(pattern, alias); !ok {
			continue
		}
		if not {
			return false
		}
		is = true
	}
	return is
}

// of is the value of a keyword for a host: the first that is said.
func (c sshConfig) of(alias, keyword string) string {
	_, value := c.first(alias, keyword)
	return value
}

// first is the one of several keywords that is said first for a host, and its value.
func (c sshConfig) first(alias string, keywords ...string) (keyword, value string) {
	for _, h := range c {
		for _, k := range keywords {
			if v := h.options[k]; v != "" && h.matches(alias) {
				return k, v
			}
		}
	}
	return "", ""
}

// names reports whether a host has a block of its own.
func (c sshConfig) names(alias string) bool {
	return slices.ContainsFunc(c, func(h sshHost) bool { return slices.Contains(h.patterns, alias) })
}

// address is where a host is.
func (c sshConfig) address(alias string) string {
	if name := c.of(alias, "hostname"); name != "" {
		return strings.ReplaceAll(name, "%h", alias)
	}
	return alias
}

// through is the way to a host. used gets the hosts that are hops; dropped: a command that is no ssh -W.
func (c sshConfig) through(alias string, used map[string]bool, depth int) (out []config.Bastion, dropped bool) {
	keyword, text := c.first(alias, "proxyjump", "proxycommand")
	j := jump{hops: text}
	if keyword == "proxycommand" {
		ok := false
		if j, ok = jumpOfCommand(text); !ok {
			return nil, true
		}
	}
	list, why := (&line{jump: j}).bastions()
	if depth > 8 || why != nil {
		return nil, true
	}
	for i, b := range list {
		host := b.Host
		if !c.names(host) {
			out = append(out, b)
			continue
		}
		used[host] = true
		if i == 0 {
			before, not := c.through(host, used, depth+1)
			out, dropped = append(out, before...), dropped || not
		}
		b.Host = c.address(host)
		if b.User == "" {
			b.User = c.of(host, "user")
		}
		if n, err := strconv.Atoi(c.of(host, "port")); err == nil && b.Port == 22 {
			b.Port = n
		}
		b.PrivateKeyPath = c.of(host, "identityfile")
		out = append(out, b)
	}
	return out, dropped
}

// readSSHConfig reads the hosts of ssh_config. Those that others are reached through are bastions, and no machines.
func readSSHConfig(lines []string) List {
	out := List{Format: SSHConfig}
	c := sshBlocks(lines)
	used := map[string]bool{}
	var list []*line
	var names []string
	for _, h := range c {
		for _, alias := range h.patterns {
			if strings.ContainsAny(alias, "*?!") || slices.Contains(names, alias) || len(list) > Most {
				continue
			}
			l := &line{at: h.at}
			address := c.address(alias)
			l.set("host", address, address)
			if address != alias && !isAddress(alias) {
				l.set("name", alias, alias)
			}
			for _, x := range [][2]string{{"user", "user"}, {"port", "port"}, {"key", "identityfile"}} {
				v := c.of(alias, x[1])
				l.set(x[0], v, v)
			}
			hops, dropped := c.through(alias, used, 0)
			if l.through(hops); dropped {
				out.dropJump(alias)
			}
			list, names = append(list, l), append(names, alias)
		}
	}
	for i, l := range list {
		if !used[names[i]] {
			out.add(l)
		}
	}
	if n, first := unfollowed(lines); n > 0 {
		why := because("machines.ssh-unfollowed", "count", strconv.Itoa(n), "line", strconv.Itoa(first))
		if out.Notes = append(out.Notes, *why); len(list) == 0 {
			out.Notes, out.Rejected = nil, append(out.Rejected, whole(first, why))
		}
	}
	return out
}
