package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/output/spelling"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// val is a value of the file under its path.
type val struct {
	path string
	key  *yaml.Node // nil for the root and for items of a list
	node *yaml.Node
}

// at is where a problem with the value is shown: the value, or its key when there is nothing after it.
func (v val) at() position {
	if v.key != nil && (isNull(v.node) || v.node.Line == 0) {
		return position{v.key.Line, v.key.Column}
	}
	return position{v.node.Line, v.node.Column}
}

func (v val) item(i int) val {
	return val{path: fmt.Sprintf("%s[%d]", v.path, i), node: v.node.Content[i]}
}

// reader takes one value of the file into the cluster.
type reader func(val)

func (l *loader) problem(sev event.Severity, at position, key, code string, kv ...string) {
	if len(l.problems) >= maxProblems {
		l.more = true
		return
	}
	p := Problem{
		File: l.file, Line: min(max(at.line, 1), max(l.lines, 1)), Col: max(at.col, 1),
		Key: key, Code: code, Severity: sev, Args: map[string]string{"key": key},
	}
	maps.Copy(p.Args, event.M("", kv...).Args)
	l.problems = append(l.problems, p)
}

func (l *loader) errAt(at position, key, code string, kv ...string) {
	l.problem(event.Error, at, key, code, kv...)
}

func (l *loader) warnAt(at position, key, code string, kv ...string) {
	l.problem(event.Warning, at, key, code, kv...)
}

func (l *loader) err(v val, code string, kv ...string)  { l.errAt(v.at(), v.path, code, kv...) }
func (l *loader) warn(v val, code string, kv ...string) { l.warnAt(v.at(), v.path, code, kv...) }

// kind says whether the value is of that kind, and reports if not. An empty value is of no kind and no problem: it
// counts as absent.
func (l *loader) kind(v val, want yaml.Kind) bool {
	if v.node.Kind == want && !isNull(v.node) {
		return true
	}
	if text := v.node.Value; want == yaml.MappingNode && strings.ContainsRune(text, '：') {
		l.err(v, "config.full-width", "char", "：", "instead", ":")
		return false
	}
	if !isNull(v.node) {
		l.err(v, map[yaml.Kind]string{
			yaml.ScalarNode: "config.want-value", yaml.SequenceNode: "config.want-list",
			yaml.MappingNode: "config.want-map",
		}[want])
	}
	return false
}

// fields reads a map with known keys; others are problems, as are keys that stand there twice.
func (l *loader) fields(v val, table map[string]reader) {
	if !l.kind(v, yaml.MappingNode) {
		return
	}
	l.pairs(v, func(key *yaml.Node, sub val) {
		read, known := table[key.Value]
		if !known && strings.ContainsRune(key.Value, '：') {
			l.errAt(position{key.Line, key.Column}, sub.path, "config.full-width", "char", "：", "instead", ":")
			return
		}
		if !known {
			code, like := "config.unknown-key", spelling.Nearest(key.Value, slices.Collect(maps.Keys(table)))
			if like != "" {
				code = "config.misspelt-key"
			}
			l.errAt(position{key.Line, key.Column}, sub.path, code, "name", clip(key.Value), "like", like)
			return
		}
		l.given[sub.path] = sub.at()
		read(sub)
	})
}

// pairs visits the pairs of a map. The path of a key that is not plain is cut, because it is shown.
func (l *loader) pairs(v val, visit func(key *yaml.Node, sub val)) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if key.Kind != yaml.ScalarNode {
			l.errAt(position{key.Line, key.Column}, v.path, "config.key-kind")
			continue
		}
		path := event.Clean(clip(key.Value))
		if v.path != "" {
			path = v.path + "." + path
		}
		if first := seen[key.Value]; first != nil {
			l.errAt(position{key.Line, key.Column}, path, "config.duplicate-key", "name", clip(key.Value), "first",
				strconv.Itoa(first.Line))
			continue
		}
		seen[key.Value] = key
		visit(key, val{path: path, key: key, node: v.node.Content[i+1]})
	}
}

// items visits the items of a list.
func (l *loader) items(v val, read reader) {
	if !l.kind(v, yaml.SequenceNode) {
		return
	}
	for i := range v.node.Content {
		l.given[v.item(i).path] = v.item(i).at()
		read(v.item(i))
	}
}

// raw is the text of a scalar as it stands in the file, whatever YAML takes it for: 123456 and 007 are text here. ""
// means absent.
func (l *loader) raw(v val) (string, bool) {
	if !l.kind(v, yaml.ScalarNode) {
		return "", false
	}
	return v.node.Value, v.node.Value != ""
}

// line is raw text that holds no control characters.
func (l *loader) line(v val) (string, bool) {
	s, ok := l.raw(v)
	if !ok {
		return "", false
	}
	for _, r := range s {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || isBidi(r) || r == 0x2028 || r == 0x2029 {
			l.err(v, "config.control-in-value")
			return "", false
		}
	}
	if char, at, found := l.unseen(v, s); found {
		l.errAt(at, v.path, "config.blank-in-value", "char", char)
		return "", false
	}
	return s, true
}

// checked is text that its rule allows.
func (l *loader) checked(v val, r rule) (string, bool) {
	s, ok := l.line(v)
	if ok && !r.ok(s) {
		args := []string{"value", clip(s)}
		if r.example != "" {
			args = append(args, "example", r.example)
		}
		l.err(v, r.code, args...)
		return "", false
	}
	return s, ok
}

func (l *loader) text(dst *string, r rule) reader {
	return func(v val) {
		if s, ok := l.checked(v, r); ok {
			*dst = s
		}
	}
}

// secret takes any text of one line. What it was is never shown.
func (l *loader) secret(dst *string) reader {
	return func(v val) {
		s, ok := l.raw(v)
		remark := v.node.LineComment
		if v.key != nil {
			remark = cmp.Or(remark, v.key.LineComment)
		}
		if cutByRemark(v.node, remark) {
			l.warn(v, "config.secret-comment")
		}
		if ok && strings.ContainsAny(s, "\x00\n\r") {
			l.err(v, "config.secret-line")
			return
		}
		if ok && s != "" && Blank(s) {
			l.err(v, "config.secret-blank")
			return
		}
		if ok {
			*dst = s
		}
	}
}

// cutByRemark reports whether a value ends, or is empty, because of a # that belongs to it: a remark has a space behind
// that.
func cutByRemark(n *yaml.Node, remark string) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && len(remark) > 1 && remark[0] == '#' &&
		!strings.ContainsRune(" \t#", rune(remark[1]))
}

// oneOf is one of a few words; aliases maps other spellings, in lower case, to them. Case does not count.
func (l *loader) oneOf(dst *string, words []string, aliases map[string]string) reader {
	return func(v val) {
		s, ok := l.line(v)
		if !ok {
			return
		}
		low := strings.ToLower(s)
		if to, found := aliases[low]; found {
			low = to
		}
		if !slices.Contains(words, low) {
			l.err(v, "config.choice", "value", clip(s), "choices", strings.Join(words, ", "))
			return
		}
		*dst = low
	}
}

func (l *loader) integer(dst *int, low, high int) reader {
	return func(v val) {
		s, ok := l.line(v)
		if !ok {
			return
		}
		// No 0x, no 1e3, no leading zero: what YAML versions disagree about is not a number here.
		n, err := strconv.Atoi(s)
		if err != nil || strconv.Itoa(n) != s || n < low || n > high {
			l.err(v, "config.integer", "value", clip(s), "low", strconv.Itoa(low), "high", strconv.Itoa(high))
			return
		}
		*dst = n
	}
}

func (l *loader) boolean(dst *bool) reader {
	return func(v val) {
		s, ok := l.line(v)
		if !ok {
			return
		}
		switch strings.ToLower(s) {
		case "true", "yes", "on":
			*dst = true
		case "false", "no", "off":
			*dst = false
		default:
			l.err(v, "config.boolean", "value", clip(s))
		}
	}
}

func (l *loader) duration(dst *time.Duration, most time.Duration) reader {
	return func(v val) {
		s, ok := l.line(v)
		if !ok {
			return
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 || d > most {
			l.err(v, "config.duration", "value", clip(s), "max", most.String())
			return
		}
		*dst = d
	}
}

func (l *loader) addr(dst *netip.Addr) reader {
	return func(v val) {
		s, ok := l.line(v)
		if !ok {
			return
		}
		if several(s) {
			l.err(v, "config.dual-stack", "value", clip(s))
			return
		}
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.Unmap().Is4() &&
			(a.Unmap().As4()[0] == 0 || a.Unmap().As4()[0] >= 240) {
			l.err(v, "config.ip", "value", clip(s))
			return
		}
		*dst = a.Unmap()
	}
}

// several says whether there are several addresses or networks where one is asked for.
func several(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(one string) bool {
		host, _, _ := strings.Cut(one, "/")
		_, err := netip.ParseAddr(host)
		return err != nil
	})
}

func (l *loader) cidr(dst *netip.Prefix) reader {
	return func(v val) {
		if v.node.Kind == yaml.SequenceNode && len(v.node.Content) > 1 {
			l.err(v, "config.dual-stack", "value", clip(strings.Join(scalars(v.node), ", ")))
			return
		}
		s, ok := l.line(v)
		if !ok {
			return
		}
		if several(s) {
			l.err(v, "config.dual-stack", "value", clip(s))
			return
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			l.err(v, "config.cidr", "value", clip(s))
			return
		}
		if p != p.Masked() {
			l.err(v, "config.cidr-host-bits", "value", clip(s), "instead", p.Masked().String())
			return
		}
		*dst = p
	}
}

// serviceCIDR reads the network of the services. The API server refuses ranges of more than 2^20 addresses.
func (l *loader) serviceCIDR(v val) {
	var p netip.Prefix
	if l.cidr(&p)(v); !p.IsValid() {
		return
	}
	if size := p.Addr().BitLen() - p.Bits(); size > 20 || size < 4 {
		l.err(v, "config.service-size", "value", p.String())
	}
	l.c.ServiceCIDR = p
}

// scalars are the values of a list, as far as they are plain.
func scalars(n *yaml.Node) []string {
	var out []string
	for _, one := range n.Content {
		if one.Kind == yaml.ScalarNode {
			out = append(out, event.Clean(one.Value))
		}
	}
	return out
}

func (l *loader) texts(dst *[]string, r rule) reader {
	return func(v val) {
		l.items(v, func(v val) {
			if s, ok := l.checked(v, r); ok {
				*dst = append(*dst, s)
			}
		})
	}
}
