package config

import (
	"cmp"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// The rules of single values. Each takes the row of the key, the path of the value in the Spec, and the value; the
// default holds where the value is not set or wrong.

// standard returns the value that holds when the key is not set.
func (k Key) standard() string {
	if k.Depends {
		return ""
	}
	return k.Default
}

// line reports control characters and invisible ones in a text.
func (l *loader) line(at spot, text string) (string, bool) {
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || isBidi(r) || r == 0x2028 || r == 0x2029 {
			l.err(at, "config.control-in-value")
			return "", false
		}
	}
	if char, pos, found := l.unseen(at, text); found {
		l.errAt(pos, at.path, "config.blank-in-value", "char", char)
		return "", false
	}
	return text, true
}

// checked reports whether a rule allows a text.
func (l *loader) checked(at spot, text string, r rule) bool {
	if _, ok := l.line(at, text); !ok {
		return false
	}
	if r.ok(text) {
		return true
	}
	args := []string{"value", clip(text)}
	if r.example != "" {
		args = append(args, "example", r.example)
	}
	l.err(at, r.code, args...)
	return false
}

// word returns a text, a choice or a secret.
func (l *loader) word(row, path, text string) string {
	k := l.table.byPath[row]
	if text == "" {
		return k.standard()
	}
	ok := false
	switch at := l.spot(path); k.Kind {
	case Secret:
		ok = l.secret(at, text)
	case Choice:
		text, ok = l.choice(at, k, text)
	default:
		ok = l.checked(at, text, k.rule)
	}
	if !ok {
		return k.standard()
	}
	return text
}

// secret takes any text of one line. What it was is never shown.
func (l *loader) secret(at spot, text string) bool {
	switch {
	case strings.ContainsAny(text, "\x00\n\r"):
		l.err(at, "config.secret-line")
	case Blank(text):
		l.err(at, "config.secret-blank")
	default:
		return true
	}
	return false
}

// choice is one of a few words, or another spelling of one. Case does not count.
func (l *loader) choice(at spot, k Key, text string) (string, bool) {
	if _, ok := l.line(at, text); !ok {
		return "", false
	}
	low := strings.ToLower(text)
	if to, found := k.Words[low]; found {
		low = to
	}
	if !slices.Contains(k.Choices, low) {
		l.err(at, "config.choice", "value", clip(text), "choices", strings.Join(k.Choices, ", "))
		return "", false
	}
	return low, true
}

// integer reads a number. No 0x, no 1e3, no leading zero: what YAML versions disagree about is not a number here.
func (l *loader) integer(at spot, k Key, text string) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < k.Low || n > k.High {
		l.err(at, "config.integer", "value", clip(text), "low", strconv.Itoa(k.Low), "high", strconv.Itoa(k.High))
		return 0
	}
	return n
}

// number returns a number, which a Spec that is no file may have beyond its limits.
func (l *loader) number(row, path string, n int) int {
	k := l.table.byPath[row]
	if n != 0 {
		n = l.integer(l.spot(path), k, strconv.Itoa(n))
	}
	standard, _ := strconv.Atoi(k.standard()) // "" is 0
	return cmp.Or(n, standard)
}

func (l *loader) yesNo(at spot, text string) bool {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off", "":
	default:
		l.err(at, "config.boolean", "value", clip(text))
	}
	return false
}

func (l *loader) duration(row, path, text string) time.Duration {
	k := l.table.byPath[row]
	standard, _ := time.ParseDuration(k.standard())
	if text == "" {
		return standard
	}
	at := l.spot(path)
	if _, ok := l.line(at, text); !ok {
		return standard
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > k.Most {
		l.err(at, "config.duration", "value", clip(text), "max", k.Most.String())
		return standard
	}
	return d
}

// addr returns an address; the zero value if there is none.
func (l *loader) addr(path, text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	at := l.spot(path)
	if _, ok := l.line(at, text); !ok {
		return netip.Addr{}
	}
	if several(text) {
		l.err(at, "config.dual-stack", "value", clip(text))
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a.Unmap().Is4() &&
		(a.Unmap().As4()[0] == 0 || a.Unmap().As4()[0] >= 240) {
		l.err(at, "config.ip", "value", clip(text))
		return netip.Addr{}
	}
	return a.Unmap()
}

// several reports whether there are several addresses or networks where one is expected.
func several(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(one string) bool {
		host, _, _ := strings.Cut(one, "/")
		_, err := netip.ParseAddr(host)
		return err != nil
	})
}

// addrs returns the addresses of a list.
func (l *loader) addrs(path string, list []string) (out []netip.Addr) {
	for i, text := range list {
		if a := l.addr(itemKey(path, i), text); a.IsValid() {
			out = append(out, a)
		}
	}
	return out
}

func (l *loader) network(path, text string) netip.Prefix {
	standard, _ := netip.ParsePrefix(l.table.byPath[path].standard())
	if text == "" {
		return standard
	}
	at := l.spot(path)
	if _, ok := l.line(at, text); !ok {
		return standard
	}
	if several(text) {
		l.err(at, "config.dual-stack", "value", clip(text))
		return standard
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		l.err(at, "config.cidr", "value", clip(text))
		return standard
	}
	if p != p.Masked() {
		l.err(at, "config.cidr-host-bits", "value", clip(text), "instead", p.Masked().String())
		return standard
	}
	return p
}

// serviceCIDR is the network of the services. The API server refuses ranges of more than 2^20 addresses.
func (l *loader) serviceCIDR(text string) netip.Prefix {
	p := l.network("service.cidr", text)
	if size := p.Addr().BitLen() - p.Bits(); size > 20 || size < 4 {
		l.err(l.spot("service.cidr"), "config.service-size", "value", p.String())
	}
	return p
}

// texts returns the items of a list that its rule allows.
func (l *loader) texts(row, path string, list []string) (out []string) {
	for i, text := range list {
		if text != "" && l.checked(l.spot(itemKey(path, i)), text, l.table.byPath[row].rule) {
			out = append(out, text)
		}
	}
	return out
}

// dst returns a directory on a node that files of the use may be put in.
func (l *loader) dst(use nodepath.Use, row, at, text string) string {
	s := l.word(row, at, text)
	switch {
	case s == "":
		return ""
	case !nodepath.Dir(use, s):
		l.err(l.spot(at), "config.dst", "value", clip(s), "choices", strings.Join(nodepath.Dirs(use), ", "))
		return ""
	}
	return path.Clean(s)
}

// cniBinDirs returns directories of plugins. Those that come with a bundle are put into the first, or into
// /opt/cni/bin.
func (l *loader) cniBinDirs(text string) (dirs []string) {
	const key = "cni-bin-dir"
	k := l.table.byPath[key]
	standard := strings.Split(k.Default, ",")
	if text == "" {
		return standard
	}
	at := l.spot(key)
	if _, ok := l.line(at, text); !ok {
		return standard
	}
	for dir := range strings.SplitSeq(text, ",") {
		if dir = strings.TrimSpace(dir); !ruleNodePath.ok(dir) {
			l.err(at, ruleNodePath.code, "value", clip(dir))
			return standard
		}
		dirs = append(dirs, path.Clean(dir))
	}
	// Plugins are only looked for in the others.
	if !slices.Contains(dirs, "/opt/cni/bin") && !nodepath.Dir(nodepath.Program, dirs[0]) {
		l.err(at, "config.dst", "value", clip(dirs[0]), "choices", strings.Join(nodepath.Dirs(nodepath.Program), ", "))
		return standard
	}
	return dirs
}

// require reports keys of a struct that have to be there and are not.
func (l *loader) require(path, shape string, of any) bool {
	all := true
	for _, k := range l.table.below[shape] {
		if !k.Needed || l.bad[below(path, k.name())] {
			continue
		}
		if l.table.field(reflect.ValueOf(of), k).IsZero() {
			l.err(l.spot(path), "config.missing", "name", k.name())
			all = false
		}
	}
	return all
}
