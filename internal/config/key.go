package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle/schema"
)

// Kind is how the value of a key is typed and written.
type Kind string

// The kinds. A List is typed with commas between its items; a Block is YAML, as it stands below its key in the file.
// The kinds from Address on are Text to the one who types them, but for Map and Machines, which nobody types.
const (
	Text     Kind = "text"
	Number   Kind = "number"
	Choice   Kind = "choice"
	YesNo    Kind = "yes-no"
	Path     Kind = "path" // of the jump host
	List     Kind = "list"
	Block    Kind = "block"
	Secret   Kind = "secret"
	Address  Kind = "address"
	Network  Kind = "network"
	Duration Kind = "duration"
	Map      Kind = "map"      // keys below it
	Machines Kind = "machines" // Draft.Machines
)

// Layout says in which layout of deploy.yaml a key stands.
type Layout string

// The layouts.
const (
	Both  Layout = ""
	Older Layout = "older"
	Newer Layout = "newer"
)

// Effect says what comes of a key.
type Effect string

// The effects.
const (
	Yes   Effect = ""      // what it says is done
	Later Effect = "later" // it is checked, and deploy refuses what it cannot do
	None  Effect = "none"  // it changes nothing by nature
)

// Place is where the wizard asks for a key: in a step, after those of smaller numbers; 0 is a step that has a form of
// its own. No step is the list of all keys.
type Place struct {
	Step string
	At   int
}

// Key is a row of the table of deploy.yaml: all that the program knows of one key. The loader, the settings, the
// wizard, the template, the documentation and the JSON Schema are made from it. What people read of it stands in the
// catalogue: template.PATH is the comment of the template, key.PATH what it means, wizard.field.PATH its label.
type Key struct {
	Path  string   // with dots between its words; of a key of a shape, "<machine>.name"
	Also  []string // other spellings of the last word
	Alias []string // spellings that are understood with a warning
	// Written is the one of Also that files of this program have; "" is the last word itself. The key may then not be
	// there in two spellings, even if both say the same.
	Written string
	Layout  Layout

	Kind      Kind
	Choices   []string          // of a Choice
	Words     map[string]string // other words for the choices, in lower case
	Low, High int               // of a Number
	Most      time.Duration     // of a Duration
	Of        string            // shape of the items of a list, or of the values of a map with any names
	Needed    bool              // it has to be there
	Effect    Effect

	Default string // what holds when nothing is said; "" if it follows from something else, or there is none
	Depends bool   // Default is what holds on a terminal only: the loader leaves the key empty
	Example string // in the template in the place of the default: a value, "# VALUE" in a comment, "-" for no line

	Wizard  Place
	Applies func(get func(key string) string) bool // whether the wizard asks for it, by other keys; nil: always

	rule   rule // of a Text, a Path, an item of a List
	to     func(l *loader, at any) any
	read   func(l *loader, at any) reader // nil: what to, Kind and rule say
	schema func(Key) *schema.Value        // nil: the same
}

// table is all keys, in the order of the manual, and by the path above them.
type table struct {
	keys  []Key
	below map[string][]Key
}

func newTable(keys []Key) *table {
	t := &table{keys: keys, below: map[string][]Key{}}
	for _, k := range keys {
		t.below[k.above()] = append(t.below[k.above()], k)
	}
	return t
}

// theTable is that of deploy.yaml. What reads a file has it in its loader.
var theTable = sync.OnceValue(func() *table { return newTable(Keys()) })

// above is the path of the map that the key stands in.
func (k Key) above() string { return k.Path[:max(0, strings.LastIndexByte(k.Path, '.'))] }

// name is the last word of the path.
func (k Key) name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// written is the spelling that files of this program have.
func (k Key) written() string { return cmp.Or(k.Written, k.name()) }

// words is the path as the catalogue has it.
func (k Key) words() string { return strings.NewReplacer("<", "", ">", "").Replace(k.Path) }

// find is the key with that path.
func (t *table) find(path string) (Key, bool) {
	for _, k := range t.below[Key{Path: path}.above()] {
		if k.Path == path {
			return k, true
		}
	}
	return Key{}, false
}

// canonical is the path of a key by any of its spellings.
func (t *table) canonical(path string) string {
	word := Key{Path: path}.name()
	for _, k := range t.below[Key{Path: path}.above()] {
		if slices.Contains(k.Also, word) || slices.Contains(k.Alias, word) {
			return k.Path
		}
	}
	return path
}

// object reads a map whose keys are those of the table below a path, into what at points to.
func (l *loader) object(v val, path string, at any) {
	l.fields(v, l.tableOf(path, v.path, at))
}

// tableOf are the readers of the keys below a path of the table, for a map that stands at where in the file.
func (l *loader) tableOf(path, where string, at any) map[string]reader {
	out := map[string]reader{}
	for _, k := range l.table.below[path] {
		read, name := k.reader(l, at), k.name()
		if len(k.Also)+len(k.Alias) == 0 {
			out[name] = read
			continue
		}
		once := where + " " + name
		out[name] = l.single(once, k.Written != "", read)
		for _, other := range k.Also {
			out[other] = out[name]
		}
		for _, other := range k.Alias {
			out[other] = l.single(once, false, l.alias(name, read))
		}
	}
	return out
}

// fill gives the keys below a path of the table their defaults.
func (l *loader) fill(path string, at any) {
	for _, k := range l.table.below[path] {
		switch {
		case k.Kind == Map:
			l.fill(k.Path, at)
		case k.Default != "" && !k.Depends:
			node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k.Default}
			k.reader(l, at)(val{path: k.Path, node: node})
		}
	}
}

// needed are the names of the keys below a path of the table that have to be there.
func (t *table) needed(path string) (out []string) {
	for _, k := range t.below[path] {
		if k.Needed {
			out = append(out, k.name())
		}
	}
	return out
}

// reader reads the key's value into what at points to.
func (k Key) reader(l *loader, at any) reader {
	switch {
	case k.read != nil:
		return k.read(l, at)
	case k.to == nil:
		path := k.Path // the closure holds no more of the row
		return func(v val) { l.object(v, path, at) }
	}
	switch to := k.to(l, at).(type) {
	case *string:
		switch {
		case k.Kind == Secret:
			return l.secret(to)
		case k.Kind == Choice:
			return l.oneOf(to, k.Choices, k.Words)
		}
		return l.text(to, k.rule)
	case *int:
		return l.integer(to, k.Low, k.High)
	case *bool:
		return l.boolean(to)
	case *time.Duration:
		return l.duration(to, k.Most)
	case *netip.Addr:
		return l.addr(to)
	case *netip.Prefix:
		return l.cidr(to)
	case *[]string:
		return l.texts(to, k.rule)
	case *[]netip.Addr:
		return l.addrs(to)
	default:
		panic(fmt.Sprintf("%s: nothing reads a %T", k.Path, to))
	}
}

// inCluster is the place of a key's value in the cluster.
func inCluster(f func(*Cluster) any) func(*loader, any) any {
	return func(l *loader, _ any) any { return f(l.c) }
}

// in is the place of a key's value in what stands in a list or a map of the file: a machine, a package.
func in[T any](f func(*T) any) func(*loader, any) any {
	return func(_ *loader, at any) any { return f(at.(*T)) }
}

// by reads with a method of the loader.
func by(f func(*loader, val)) func(*loader, any) reader {
	return func(l *loader, _ any) reader { return func(v val) { f(l, v) } }
}
