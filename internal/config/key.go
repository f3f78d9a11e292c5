package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is how the value of a key is typed and written.
type Kind string

// The kinds. A List is typed with commas between its items; a Block is YAML, as it stands below its key in the file.
// Users type the kinds from Address on as Text. Map and Machines are never typed.
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

// Key is a row of the table of deploy.yaml: all that the program knows of one key. Its value is the
// field of Spec with that JSON name. The loader, the settings, the wizard, the template, the documentation and the JSON
// Schema are made from both. What people read of it stands in the
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
	// Settable: a request to the server and a Cluster of the operator may set the key. It names no file of the control
	// host and no password, has no field of its own there, and does not only record what an import found.
	Settable bool

	Default string // what holds when nothing is said; "" if it follows from something else, or there is none
	Depends bool   // Default is what holds on a terminal only: the loader leaves the key empty
	Example string // in the template in the place of the default: a value, "# VALUE" in a comment, "-" for no line

	Wizard  Place
	Applies func(get func(key string) string) bool // whether the wizard asks for it, by other keys; nil: always

	rule rule // of a Text, a Path, an item of a List
	form form // how it may be written, if Kind does not say it
}

// form is how the value of a key may be written, where that is not its type's own way.
type form string

// The forms.
const (
	oneOrList   form = "one-or-list" // one of a shape, or a list of one
	hops        form = "hops"        // bastions: one as text, one as a map, or a list of both
	byName      form = "by-name"     // a map of names to a shape
	byArch      form = "by-arch"     // a map of architectures to paths
	labelValues form = "labels"      // a map of labels to their values
	flagValues  form = "flags"       // a map of flags to values, or a list of flag=value
)

// table is all keys, in the order of the manual, by their paths, and by the path above them; and the fields of Spec
// that have them.
type table struct {
	keys   []Key
	byPath map[string]Key
	below  map[string][]Key
	fields map[reflect.Type]map[string][]int // by JSON name
}

func newTable(keys []Key) *table {
	t := &table{keys: keys, byPath: map[string]Key{}, below: map[string][]Key{},
		fields: map[reflect.Type]map[string][]int{}}
	for _, k := range keys {
		t.byPath[k.Path] = k
		t.below[k.above()] = append(t.below[k.above()], k)
	}
	t.index(reflect.TypeFor[Spec]())
	return t
}

// index collects the fields of a type of Spec, and of the types in it.
func (t *table) index(of reflect.Type) {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if _, is := t.fields[of]; is || of.Kind() != reflect.Struct {
		return
	}
	t.fields[of] = map[string][]int{}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			t.fields[of][name] = f.Index
			t.index(f.Type)
		}
	}
}

// field is the field of a key in a struct of Spec.
func (t *table) field(of reflect.Value, k Key) reflect.Value {
	return of.FieldByIndex(t.fields[of.Type()][k.written()])
}

// shape is the path above the keys of what stands in the value.
func (k Key) shape() string {
	if strings.HasPrefix(k.Of, "<") {
		return k.Of
	}
	return k.Path
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

// find returns the key with that path.
func (t *table) find(path string) (Key, bool) {
	k, is := t.byPath[path]
	return k, is
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
