package machines

import (
	"cmp"
	"net"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// jump is the bastions of a line, through which its machines are reached.
type jump struct {
	hops            string // in the way of ssh -J
	user, port, key string // of hops that do not say their own
}

// bastions are the hops of the line.
func (l *line) bastions() ([]config.Bastion, *event.Msg) {
	j := l.jump
	if j.hops == "" || strings.EqualFold(j.hops, "none") {
		return nil, nil
	}
	list, ok := config.Hops(j.hops)
	if !ok {
		return nil, because("machines.bastion-unread", "word", j.hops)
	}
	for i := range list {
		b := &list[i]
		b.User, b.PrivateKeyPath = cmp.Or(b.User, j.user), cmp.Or(b.PrivateKeyPath, j.key)
		if n, err := strconv.Atoi(j.port); err == nil && b.Port == 22 {
			b.Port = n
		}
	}
	return list, nil
}

// HopsText is a way through bastions as ssh -J has it, without keys.
func HopsText(list []config.Bastion) string {
	var out []string
	for _, b := range list {
		host := b.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		if b.User != "" {
			host = b.User + "@" + host
		}
		if b.Port != 0 && b.Port != 22 {
			host += ":" + strconv.Itoa(b.Port)
		}
		out = append(out, host)
	}
	return strings.Join(out, ",")
}

// keyOfHops is the private key of the first hop that has one.
func keyOfHops(list []config.Bastion) string {
	for _, b := range list {
		if b.PrivateKeyPath != "" {
			return b.PrivateKeyPath
		}
	}
	return ""
}

// through has the machines of the line be reached through hops, if nothing else was said.
func (l *line) through(list []config.Bastion) {
	if l.jump.hops != "" || len(list) == 0 {
		return
	}
	text := HopsText(list)
	l.set("bastion", text, text)
	if key := keyOfHops(list); key != "" {
		l.set("bastion-key", key, key)
	}
}

// hopsOf reads a map that describes a bastion, as k0sctl and RKE have it; one in it is reached before it. secret: it
// has a password or a key.
func hopsOf(n *yaml.Node, depth int) (list []config.Bastion, secret bool) {
	if n == nil || n.Kind != yaml.MappingNode || depth > 8 {
		return nil, false
	}
	b := config.Bastion{Port: 22}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := narrow(scalar(n.Content[i+1]))
		switch column := columnOf(n.Content[i].Value); column {
		case "host":
			b.Host = value
		case "user":
			b.User = value
		case "key":
			b.PrivateKeyPath = value
		case "port":
			if p, err := strconv.Atoi(value); err == nil {
				b.Port = p
			}
		case "secret":
			secret = secret || value != ""
		case "bastion":
			before, more := hopsOf(n.Content[i+1], depth+1)
			list, secret = append(list, before...), secret || more
		}
	}
	if b.Host != "" {
		list = append(list, b)
	}
	return list, secret
}

// jumpIn finds the bastions in arguments of ssh. dropped: there is a way through other hosts that is not understood.
func jumpIn(args string) (j jump, dropped bool) {
	list := words(args, " \t")
	for i := 0; i < len(list); i++ {
		option := list[i]
		next := ""
		if i+1 < len(list) {
			next = list[i+1]
		}
		switch {
		case option == "-J":
			j.hops = next
			i++
			continue
		case strings.HasPrefix(option, "-J"):
			j.hops = option[2:]
			continue
		case option == "-o":
			option = next
			i++
		case strings.HasPrefix(option, "-o"):
			option = option[2:]
		default:
			continue
		}
		key, value, ok := strings.Cut(option, "=")
		if !ok {
			key, value, _ = strings.Cut(option, " ")
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "proxyjump":
			j.hops = strings.TrimSpace(value)
		case "proxycommand":
			if j, ok = jumpOfCommand(value); !ok {
				return jump{}, true
			}
		}
	}
	return j, false
}

// jumpOfCommand reads a ProxyCommand that is ssh -W %h:%p to a bastion.
func jumpOfCommand(command string) (j jump, ok bool) {
	list := words(command, " \t\"'")
	if len(list) < 2 || list[0] != "ssh" && !strings.HasSuffix(list[0], "/ssh") {
		return j, strings.EqualFold(command, "none")
	}
	forwards := false
	for i := 1; i < len(list); i++ {
		value := ""
		if i+1 < len(list) {
			value = list[i+1]
		}
		switch w := list[i]; w {
		case "-W":
			forwards = true
			i++
		case "-p":
			j.port = value
			i++
		case "-l":
			j.user = value
			i++
		case "-i":
			j.key = value
			i++
		case "-o", "-F", "-b", "-c", "-E", "-m", "-S":
			i++
		default:
			switch {
			case strings.HasPrefix(w, "-W"):
				forwards = true
			case strings.HasPrefix(w, "-"):
			case j.hops == "":
				j.hops = w
			default: // a command that is executed there
				return jump{}, false
			}
		}
	}
	return j, forwards && j.hops != ""
}

// takeJump has the machines of the line be reached as its arguments of ssh say.
func (l *line) takeJump(j jump) {
	for _, x := range [][2]string{{"bastion", j.hops}, {"bastion-user", j.user}, {"bastion-port", j.port},
		{"bastion-key", j.key}} {
		if x[1] != "" {
			l.set(x[0], x[1], x[1])
		}
	}
}

// addressOfHop is a host of a list as a hop: its address, and the rest of its login.
func (l *line) addressOfHop() (b config.Bastion, ok bool) {
	if l.why != nil || len(l.ips)+len(l.hosts) != 1 {
		return b, false
	}
	port, _ := strconv.Atoi(cmp.Or(l.e.Port, "22")) // judged by set
	b = config.Bastion{Host: append(l.ips, l.hosts...)[0], Port: port, User: l.e.User, PrivateKeyPath: l.e.Key}
	_, ok = config.Hops(net.JoinHostPort(b.Host, strconv.Itoa(b.Port)))
	return b, ok
}

// dropJump notes that a way through other hosts is not taken over: a command of its own, a template.
func (l *List) dropJump(name string) {
	for i, m := range l.Notes {
		if m.Key == "machines.jump-dropped" {
			n, _ := strconv.Atoi(m.Args["count"])
			l.Notes[i] = event.M(m.Key, "count", strconv.Itoa(n+1), "name", m.Args["name"])
			return
		}
	}
	l.Notes = append(l.Notes, event.M("machines.jump-dropped", "count", "1", "name", name))
}
