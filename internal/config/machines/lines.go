package machines

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// readLines reads machines a line each: address, name, roles, port, architecture in any order, with blanks, commas or
// semicolons between, as people keep them in spreadsheets and notes. Signs and numbers of lists before them are none of
// their words. A word that is nothing else is the
// name where it stands before the address, or is said to be (name=…), or where several lines have one behind their
// address, each its own: anywhere else it may as well be a role that was mistyped, and the line is not understood.
// Where a line has no address, the word is a host name. A line of nothing but addresses is a machine for each.
func readLines(text []string) List {
	out := List{Format: Lines}
	text = withoutShell(text)
	var lines []*line
	header, pairs := false, columnsOfAddresses(text)
	for i, raw := range withoutNumbers(text) {
		if isEmpty(raw) {
			continue
		}
		if len(lines) == 0 && !header && isHeader(raw) {
			header = true
			continue
		}
		for _, one := range apart(raw, pairs) {
			l := readLine(one)
			l.at = i + 1
			lines = append(lines, l)
		}
		if len(lines) > Most {
			break // each is a machine, or will be
		}
	}
	named := header || ownNames(lines)
	for _, l := range lines {
		out.take(l, named)
	}
	return out
}

// take settles a machine.
func (l *List) take(m *line, named bool) {
	if l.full() {
		return
	}
	m.end(named)
	if m.secret {
		l.Secrets++
	}
	if m.why != nil {
		l.Rejected = append(l.Rejected, Rejected{Line: m.at, Text: m.text, Why: *m.why})
		return
	}
	l.Entries = append(l.Entries, m.entries()...)
}

// takeNamed is take of a line that stands alone.
func (l *List) takeNamed(m *line) { l.take(m, true) }

// ownNames reports whether the words behind the addresses are a column of names: several lines have one, and no two
// the same.
func ownNames(lines []*line) bool {
	seen := map[string]bool{}
	for _, l := range lines {
		if l.after == "" || l.alias {
			continue
		}
		if seen[l.after] {
			return false
		}
		seen[l.after] = true
	}
	return len(seen) > 1
}

// line is a line of machines as far as it was read.
type line struct {
	at     int
	text   string   // without passwords
	said   []string // what was said of the machine, if not in a line of words
	e      Entry
	ips    []string // addresses
	hosts  []string // host names, if there is no address
	names  []string // of as many machines
	after  string   // a word behind the address that is not known
	others []string // more of them
	alias  bool     // after is a name for sure: the short one of two
	asRole []string // words that were taken as roles
	jump   jump
	free   []string   // words that are not known while there is no address
	secret bool       // a password stood there
	why    *event.Msg // it is not understood
}

func readLine(text string) *line {
	text, secrets := withoutSecrets(text)
	l := &line{text: text, secret: secrets}
	list := words(braces.ReplaceAllStringFunc(text, func(s string) string {
		return strings.NewReplacer("{", "[", "}", "]", "..", "-").Replace(s)
	}), separators+"+{}")
	for i := 0; i < len(list) && l.why == nil; i++ {
		w := list[i]
		if !strings.ContainsFunc(w, isWordy) && !strings.HasPrefix(w, "#") && w != "//" { // an arrow, a line of a frame
			continue
		}
		// YAML's and people's "name: web": the value is the next word
		if strings.HasSuffix(w, ":") && i+1 < len(list) && columnOf(strings.TrimSuffix(w, ":")) != "" {
			i++
			w += list[i]
		}
		if strings.HasPrefix(w, "#") || w == "//" { // the rest is a remark
			break
		}
		l.word(w)
	}
	return l
}

// isWordy reports whether a word with this character says something.
func isWordy(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("[]_", r)
}

var (
	braces   = regexp.MustCompile(`[\w.-]\{[0-9a-zA-Z,.]+\}`) // of a shell: 10.0.0.{1..3}
	portWord = regexp.MustCompile(`\A:?([0-9]{1,5})\z`)
	setting  = regexp.MustCompile(`\A([^=:@/.\[]+)[=:](.*)\z`)
)

// word takes one word of the line.
func (l *line) word(w string) {
	if role, is := RoleOf(w); is {
		l.e.Roles, l.asRole = with(l.e.Roles, role), append(l.asRole, w)
		return
	}
	if arch, is := ArchOf(w); is {
		l.e.Arch = arch
		return
	}
	if otherArch(w) {
		l.why = because("machines.arch", "word", w)
		return
	}
	if m := setting.FindStringSubmatch(w); m != nil {
		if column := columnOf(m[1]); column != "" {
			l.set(column, m[2], w)
			return
		}
		if strings.Contains(w, "=") {
			l.why = because("machines.key", "key", m[1], "word", w)
			return
		}
	}
	if (l.ips != nil || l.hosts != nil) && l.e.Port == "" && portWord.MatchString(w) {
		l.set("port", strings.TrimPrefix(w, ":"), w)
		return
	}
	if strings.HasSuffix(w, ":") {
		l.why = because("machines.key", "key", strings.TrimSuffix(w, ":"), "word", w)
		return
	}
	t := targetOf(w)
	list, why := expand(t.host)
	if why != nil {
		l.why = why
		return
	}
	all, why := addresses(list)
	switch {
	case why != nil:
		l.why = why
	case all:
		l.reach(t, list, nil, w)
	case t.user != "" || t.port != "":
		l.reach(t, nil, list, w)
	case l.ips != nil && l.after == "" && l.e.Name == "" && l.names == nil:
		l.after = w
	case l.ips != nil:
		l.others = append(l.others, w)
	default:
		l.free = append(l.free, w)
	}
}

// reach says where the machines of the line are.
func (l *line) reach(t target, ips, hosts []string, word string) {
	switch {
	case l.ips != nil && (ips != nil || hosts != nil), l.hosts != nil && hosts != nil:
		l.why = because("machines.two-addresses", "word", word)
		return
	}
	if ips != nil { // an address says it better than a host name
		l.ips = ips
		l.free = append(l.free, l.hosts...)
		l.hosts = nil
	} else {
		l.hosts = hosts
	}
	if t.user != "" {
		l.e.User = t.user
	}
	if t.port != "" {
		l.set("port", t.port, word)
	}
}

// set takes a setting of the line, or a cell of a table.
func (l *line) set(column, value, word string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	if column != "secret" {
		var secrets bool
		value, secrets = withoutSecrets(value)
		l.secret = l.secret || secrets
		l.said = append(l.said, sayOf(column, value))
	}
	if l.why != nil { // the first problem is reported, and later values are kept
		l.secret = l.secret || column == "secret"
		return
	}
	switch column {
	case "name":
		l.names, l.why = namesIn(value)
	case "host", "internal":
		if column == "internal" && (l.ips != nil || l.hosts != nil) {
			return
		}
		t := targetOf(value)
		list, why := expand(t.host)
		if l.why = why; why != nil {
			return
		}
		all, why := addresses(list)
		switch {
		case why != nil:
			l.why = why
		case all:
			l.reach(t, list, nil, word)
		case l.ips != nil: // beside an address a host name is a name
			if l.names == nil {
				l.names, l.why = namesIn(value)
			}
		default:
			l.reach(t, nil, list, word)
		}
	case "port":
		if l.why = portOf(value); l.why == nil {
			l.e.Port = value
		}
	case "user":
		l.e.User = value
	case "key":
		l.e.Key = value
	case "bastion":
		l.jump.hops = value
	case "bastion-user":
		l.jump.user = value
	case "bastion-port":
		if l.why = portOf(value); l.why == nil {
			l.jump.port = value
		}
	case "bastion-key":
		l.jump.key = value
	case "role":
		roles, arch, wrong := rolesOf(value)
		if wrong != "" {
			l.why = unknownRole(wrong)
		}
		l.e.Roles, l.e.Arch = with(l.e.Roles, roles...), cmp.Or(l.e.Arch, arch)
	case "arch":
		arch, ok := ArchOf(value)
		if !ok {
			l.why = because("machines.arch", "word", value)
		}
		l.e.Arch = arch
	case "secret":
		l.secret = true
	}
}

func unknownRole(word string) *event.Msg {
	if like := mistyped(word); like != "" {
		return because("machines.like", "word", word, "like", like)
	}
	return because("machines.role", "word", word)
}

// name takes a word as the name, if it cannot as well be a role or an architecture that was mistyped. said: it
// stands where a name does.
func (l *line) name(word string, said bool) {
	like := mistyped(word)
	switch {
	case l.names != nil:
		l.why = because("machines.two-names", "word", word, "other", l.names[0])
	case like != "":
		l.why = because("machines.like", "word", word, "like", like)
	case columnOf(word) != "":
		l.why = because("machines.column", "word", word)
	case !said:
		l.why = because("machines.word", "word", word)
	default:
		l.names, l.why = namesIn(word)
	}
}

// namesIn are the names that a word says. One that cannot be the name of a host is none.
func namesIn(word string) ([]string, *event.Msg) {
	list, why := expand(word)
	for _, name := range list {
		if !config.IsHostName(strings.ToLower(name)) {
			return nil, because("machines.name", "word", name)
		}
	}
	return list, why
}

// aliased finds the short name among the words behind an address: the first part of another one, as in /etc/hosts. The
// short name may have been taken as a role.
func (l *line) aliased() {
	all := append([]string{l.after}, l.others...)
	for _, long := range all {
		short, _, is := strings.Cut(long, ".")
		same := func(w string) bool { return strings.EqualFold(w, short) }
		if is && (slices.ContainsFunc(all, same) || slices.ContainsFunc(l.asRole, same)) {
			l.after, l.others, l.alias = short, nil, true
			return
		}
	}
}

// end resolves the words that no column has taken. named: a word behind the address is the name.
func (l *line) end(named bool) {
	if l.after != "" {
		l.aliased()
	}
	for _, w := range l.free {
		switch {
		case l.why != nil:
		case l.ips == nil && l.hosts == nil && (strings.Contains(w, ".") || len(l.free) == 1):
			if like := mistyped(w); like != "" && l.names == nil {
				l.why = because("machines.like", "word", w, "like", like)
				continue
			}
			if l.hosts, l.why = expand(w); columnOf(w) != "" {
				l.why = because("machines.column", "word", w)
			}
		default:
			l.name(w, true)
		}
	}
	if l.ips == nil && l.hosts == nil { // its name is all that is known of it
		l.hosts = l.names
	}
	switch {
	case l.why != nil || l.after == "":
	case len(l.others) > 0 && l.names == nil: // which of them is the name is not known
		l.name(l.others[0], false)
	case l.alias && l.names == nil:
		l.names, l.why = namesIn(l.after)
	default:
		l.name(l.after, named)
	}
	if l.why == nil {
		l.why = l.count()
	}
	if l.why == nil {
		l.e.Bastions, l.why = l.bastions()
	}
}

// count compares names with what is named.
func (l *line) count() *event.Msg {
	n := max(len(l.ips), len(l.hosts))
	if n == 0 {
		return because("machines.no-address", "line", l.text)
	}
	for _, h := range l.hosts {
		if !hostName.MatchString(h) {
			return because("machines.host", "word", h)
		}
	}
	if len(l.names) > 1 && len(l.names) != n {
		return because("machines.names", "names", strconv.Itoa(len(l.names)), "count", strconv.Itoa(n))
	}
	return nil
}

// entries are the machines of the line.
func (l *line) entries() []Entry {
	n := max(len(l.ips), len(l.hosts))
	out := make([]Entry, 0, n)
	for i := range n {
		one := l.e
		one.Line = l.at
		one.Roles = append([]bundle.Role(nil), l.e.Roles...)
		one.Bastions = slices.Clone(l.e.Bastions)
		if l.ips != nil {
			one.IP = netip.MustParseAddr(l.ips[i]).Unmap().String()
		} else {
			one.Host = strings.TrimSuffix(l.hosts[i], ".")
		}
		switch {
		case len(l.names) == 1 && n > 1:
			one.Name = l.names[0] + "-" + strconv.Itoa(i+1)
		case len(l.names) > 0:
			one.Name = l.names[i]
		case l.ips == nil:
			if first, _, _ := strings.Cut(one.Host, "."); config.IsHostName(strings.ToLower(first)) {
				one.Name = first
			}
		}
		one.Name = strings.ToLower(one.Name)
		out = append(out, one)
	}
	return out
}
