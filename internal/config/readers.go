package config

import (
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// single guards a key that has several spellings: the second that stands in the file is a problem. If both say the
// same, it is only a warning, unless the key is strict.
func (l *loader) single(canonical string, strict bool, read reader) reader {
	return func(v val) {
		first, twice := l.once[canonical]
		switch {
		case !twice:
			l.once[canonical] = v
			read(v)
		case sameNode(first.node, v.node) && strict:
			l.err(v, "config.same-twice", "other", first.path, "line", strconv.Itoa(first.at().line))
		case sameNode(first.node, v.node):
			l.warn(v, "config.same-twice", "other", first.path, "line", strconv.Itoa(first.at().line))
		default:
			l.err(v, "config.given-twice", "other", first.path, "line", strconv.Itoa(first.at().line))
		}
	}
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// alias reads a spelling that is understood but is not the format's.
func (l *loader) alias(canonical string, read reader) reader {
	return func(v val) {
		l.warnAt(position{v.key.Line, v.key.Column}, v.path, "config.alias-key", "name", v.key.Value, "instead",
			canonical)
		read(v)
	}
}

func (l *loader) pluginArgs(v val) {
	var path string
	l.object(v, "network.plugin-args", &path)
	if path != "" {
		l.c.PluginArgs["NetworkYamlPath"] = path
	}
}

var endpointName = regexp.MustCompile(`\A` + subdomain + `\z`)

// isEndpoint: host:port.
func isEndpoint(s string) bool {
	name, port, err := net.SplitHostPort(s)
	n, perr := strconv.Atoi(port)
	_, aerr := netip.ParseAddr(name)
	return err == nil && perr == nil && strconv.Itoa(n) == port && n >= 1 && n <= 65535 &&
		(aerr == nil || endpointName.MatchString(name))
}

// addrs reads a list of addresses.
func (l *loader) addrs(dst *[]netip.Addr) reader {
	return func(v val) {
		l.items(v, func(v val) {
			var a netip.Addr
			if l.addr(&a)(v); a.IsValid() {
				*dst = append(*dst, a)
			}
		})
	}
}

func (l *loader) cniBinDirs(v val) {
	s, ok := l.line(v)
	if !ok {
		return
	}
	var dirs []string
	for dir := range strings.SplitSeq(s, ",") {
		if dir = strings.TrimSpace(dir); !ruleNodePath.ok(dir) {
			l.err(v, ruleNodePath.code, "value", clip(dir))
			return
		}
		dirs = append(dirs, path.Clean(dir))
	}
	// Plugins are only looked for in the others.
	if !slices.Contains(dirs, "/opt/cni/bin") && !nodepath.Dir(nodepath.Program, dirs[0]) {
		l.err(v, "config.dst", "value", clip(dirs[0]), "choices", strings.Join(nodepath.Dirs(nodepath.Program), ", "))
		return
	}
	l.c.CNIBinDirs = dirs
}

func (l *loader) addons(v val) {
	seen := map[string]bool{}
	l.items(v, func(v val) {
		var a Addon
		l.fill("<addon>", &a)
		l.object(v, "<addon>", &a)
		if v.node.Kind != yaml.MappingNode {
			return
		}
		l.require(v, l.table.needed("<addon>")...)
		if a.Filename == "" {
			return
		}
		if seen[a.Filename] {
			l.warn(v, "config.twice-in-list", "value", a.Filename)
			return
		}
		seen[a.Filename] = true
		l.c.Addons = append(l.c.Addons, a)
	})
}

// require reports keys of the map that are missing or empty.
func (l *loader) require(v val, keys ...string) bool {
	all := true
	for _, key := range keys {
		found := false
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			n := v.node.Content[i+1]
			found = found || v.node.Content[i].Value == key &&
				(n.Kind != yaml.ScalarNode || n.Value != "" && !isNull(n))
		}
		if !found {
			l.err(v, "config.missing", "name", key)
			all = false
		}
	}
	return all
}

// moreBundles are paths beside package-src: of an architecture that has one already, for machines of another operating
// system.
func (l *loader) moreBundles(v val) {
	l.items(v, func(v val) {
		if s, ok := l.checked(v, ruleLocalPath); ok {
			if slices.Contains(l.c.Source.More, s) {
				l.warn(v, "config.twice-in-list", "value", s)
				return
			}
			l.c.Source.More = append(l.c.Source.More, s)
		}
	})
}
