// Package diff says what two bundles, or two locks, have different: things added, removed, moved up or down, the layers
// that an image kept, and how many bytes are on one side alone. It compares descriptions and reads no bundle; version
// rules are given to it.
package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Kind of a thing: a bundle's kinds of members, but for images.tar, whose images are things of their own, and for what
// the spec names.
type Kind string

// The kinds, in the order in which changes are listed.
const (
	Deb      Kind = "deb"
	RPM      Kind = "rpm"
	Metadata Kind = "metadata"
	Binary   Kind = "binary"
	Addon    Kind = "addon"
	File     Kind = "file"
	Dir      Kind = "dir" // a file of an extra directory
	Image    Kind = "image"
	Install  Kind = "install" // a package that the spec names
)

// Kinds in the order in which changes are listed.
func Kinds() []Kind { return []Kind{Deb, RPM, Binary, Addon, File, Dir, Image, Metadata, Install} }

// Blob that a thing is made of, such as an image's layer.
type Blob struct {
	Digest string
	Size   int64 // bytes; -1 when it is not known
}

// Property of a side or of a thing, such as kubernetes v1.34.2.
type Property struct{ Name, Value string }

// Thing on one side. Kind and Name say which thing it is; the rest is compared.
type Thing struct {
	Kind    Kind
	Name    string
	Version string
	Sum     string // of its content: the same sum is the same content
	Origin  string // what it is the same as on other architectures: the digest of an image's index
	Size    int64  // bytes, of its blobs too
	Blobs   []Blob
	More    []Property // what else describes it, such as the roles that need it
}

// Side is what is compared: a bundle, or one architecture of a lock.
type Side struct {
	Arch       string
	Properties []Property // in the order in which they are shown; an absent one is empty
	Things     []Thing
}

// Versions has, for a kind, the rule by which its versions are ordered: below 0 when a is the older one. Without a rule
// a version is another one, neither up nor down.
type Versions map[Kind]func(a, b string) int

// Word says what happened to a thing; it stands in JSON.
type Word string

// The words. Changed is a thing of the same version whose content or description moved, or whose kind has no order of
// versions.
const (
	Added      Word = "added"
	Removed    Word = "removed"
	Upgraded   Word = "upgraded"
	Downgraded Word = "downgraded"
	Changed    Word = "changed"
)

// State of a thing on one side.
type State struct {
	Version string `json:"version,omitempty"`
	Sum     string `json:"sum,omitempty"`
	Size    int64  `json:"size"` // bytes
}

// Move of a property from one value to another.
type Move struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Layers of an image that moved.
type Layers struct {
	Kept     int   `json:"kept"`
	New      int   `json:"new"`
	NewBytes int64 `json:"new_bytes"` // of the new layers; -1 when not known
}

// Change of one thing. From is nil for an added one, To for a removed one.
type Change struct {
	Word   Word    `json:"change"`
	Kind   Kind    `json:"kind"`
	Name   string  `json:"name"`
	From   *State  `json:"from,omitempty"`
	To     *State  `json:"to,omitempty"`
	Layers *Layers `json:"layers,omitempty"`
	More   []Move  `json:"more,omitempty"` // other properties that moved
}

// Sizes of the content by where it is, in bytes; what a side has twice counts once.
type Sizes struct {
	OnlyA  int64 `json:"only_a"`
	OnlyB  int64 `json:"only_b"`
	Shared int64 `json:"shared"`
	// false when layers' sizes are not known: an image that moved then counts whole, on both sides
	Exact bool `json:"exact"`
}

// Difference of two sides.
type Difference struct {
	Properties []Move   `json:"properties"`
	Changes    []Change `json:"changes"`
	Same       int      `json:"same"` // things without a change
	// OtherBuilds are things of the same version whose content differs as the architectures do; they count as the same.
	// 0 within one architecture.
	OtherBuilds int   `json:"other_builds"`
	Bytes       Sizes `json:"bytes"`
}

// Empty says that the two sides are the same.
func (d *Difference) Empty() bool { return len(d.Properties) == 0 && len(d.Changes) == 0 }

// Sides compares a with b, which is the newer one.
func Sides(a, b Side, rules Versions) *Difference {
	d := &Difference{Properties: moves(a.Properties, b.Properties), Changes: []Change{},
		Bytes: sizes(a.Things, b.Things)}
	if a.Arch != b.Arch {
		d.Properties = append([]Move{{"arch", a.Arch, b.Arch}}, d.Properties...)
	}
	type key struct {
		kind Kind
		name string
	}
	left, right := map[key][]Thing{}, map[key][]Thing{}
	var keys []key
	note := func(to map[key][]Thing, things []Thing) {
		for _, t := range things {
			k := key{t.Kind, t.Name}
			if len(left[k])+len(right[k]) == 0 {
				keys = append(keys, k)
			}
			to[k] = append(to[k], t)
		}
	}
	note(left, a.Things)
	note(right, b.Things)
	slices.SortFunc(keys, func(x, y key) int {
		return cmp.Or(cmp.Compare(place(x.kind), place(y.kind)), cmp.Compare(x.kind, y.kind),
			cmp.Compare(x.name, y.name))
	})
	for _, k := range keys {
		for _, p := range pair(left[k], right[k], rules[k.kind]) {
			c, same, other := compare(p[0], p[1], a.Arch != b.Arch, rules[k.kind])
			switch {
			case other:
				d.OtherBuilds++
			case same:
				d.Same++
			default:
				d.Changes = append(d.Changes, c)
			}
		}
	}
	return d
}

// place of a kind in lists; kinds that are not known come last.
func place(k Kind) int {
	if i := slices.Index(Kinds(), k); i >= 0 {
		return i
	}
	return len(Kinds())
}

// moves lists the properties that differ, in a's order, those that only b has after them.
func moves(a, b []Property) []Move {
	out := []Move{}
	value := func(list []Property, name string) string {
		for _, p := range list {
			if p.Name == name {
				return p.Value
			}
		}
		return ""
	}
	for _, p := range a {
		if v := value(b, p.Name); v != p.Value {
			out = append(out, Move{p.Name, p.Value, v})
		}
	}
	for _, p := range b {
		known := slices.ContainsFunc(a, func(q Property) bool { return q.Name == p.Name })
		if !known && p.Value != "" {
			out = append(out, Move{p.Name, "", p.Value})
		}
	}
	return out
}

// pair matches things of one kind and name, which both sides may have several times (an image under several tags,
// packages of several versions): first those of the same version, then those of the same content, then the rest in the
// order of their versions.
func pair(a, b []Thing, rule func(a, b string) int) [][2]*Thing {
	a, b = slices.Clone(a), slices.Clone(b)
	var out [][2]*Thing
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	by := func(id func(*Thing) string) {
		at := map[string][]int{}
		for j := range b {
			if !usedB[j] {
				at[id(&b[j])] = append(at[id(&b[j])], j)
			}
		}
		for i := range a {
			if js := at[id(&a[i])]; !usedA[i] && len(js) > 0 {
				usedA[i], usedB[js[0]] = true, true
				at[id(&a[i])] = js[1:]
				out = append(out, [2]*Thing{&a[i], &b[js[0]]})
			}
		}
	}
	by(func(t *Thing) string { return t.Version + "\x00" + t.Sum })
	by(func(t *Thing) string { return t.Version })
	by(func(t *Thing) string { return t.Sum })
	order := func(things []Thing, used []bool) (rest []*Thing) {
		for i := range things {
			if !used[i] {
				rest = append(rest, &things[i])
			}
		}
		slices.SortStableFunc(rest, func(x, y *Thing) int {
			if rule != nil {
				return cmp.Or(rule(x.Version, y.Version), strings.Compare(x.Version, y.Version))
			}
			return strings.Compare(x.Version, y.Version)
		})
		return rest
	}
	restA, restB := order(a, usedA), order(b, usedB)
	for i := range max(len(restA), len(restB)) {
		var p [2]*Thing
		if i < len(restA) {
			p[0] = restA[i]
		}
		if i < len(restB) {
			p[1] = restB[i]
		}
		out = append(out, p)
	}
	return out
}

// compare says what happened to a thing; other: only its build for another architecture differs.
func compare(a, b *Thing, crossed bool, rule func(a, b string) int) (c Change, same, other bool) {
	switch {
	case a == nil:
		return Change{Word: Added, Kind: b.Kind, Name: b.Name, To: state(b)}, false, false
	case b == nil:
		return Change{Word: Removed, Kind: a.Kind, Name: a.Name, From: state(a)}, false, false
	}
	c = Change{Word: Changed, Kind: a.Kind, Name: a.Name, From: state(a), To: state(b)}
	if c.More = moves(a.More, b.More); len(c.More) == 0 {
		c.More = nil
	}
	if a.Version == b.Version && c.More == nil {
		if a.Sum == b.Sum {
			return c, true, false
		}
		if crossed && built(a, b) {
			return c, false, true
		}
	}
	if rule != nil && a.Version != b.Version {
		switch n := rule(a.Version, b.Version); {
		case n < 0:
			c.Word = Upgraded
		case n > 0:
			c.Word = Downgraded
		}
	}
	if a.Sum != b.Sum && len(a.Blobs)+len(b.Blobs) > 0 {
		c.Layers = layers(a, b)
	}
	return c, false, false
}

// built says whether the contents of two things of the same version may differ because their architectures do:
// packages, programs and what describes them may, manifests and files may not, and an image may unless its indexes are
// known to differ.
func built(a, b *Thing) bool {
	switch a.Kind {
	case Addon, File, Dir, Install:
		return false
	case Image:
		return a.Origin == "" || b.Origin == "" || a.Origin == b.Origin
	}
	return true
}

func state(t *Thing) *State { return &State{t.Version, t.Sum, t.Size} }

func layers(a, b *Thing) *Layers {
	had := map[string]bool{}
	for _, l := range a.Blobs {
		had[l.Digest] = true
	}
	var out Layers
	for _, l := range b.Blobs {
		switch {
		case had[l.Digest]:
			out.Kept++
			continue
		case l.Size < 0:
			out.NewBytes = -1
		case out.NewBytes >= 0:
			out.NewBytes += l.Size
		}
		out.New++
	}
	return &out
}

// sizes splits the content of both sides.
func sizes(a, b []Thing) Sizes {
	exact := true
	left, right := contents(a, &exact), contents(b, &exact)
	var s Sizes
	for sum, n := range left {
		if _, ok := right[sum]; ok {
			s.Shared += n
		} else {
			s.OnlyA += n
		}
	}
	for sum, n := range right {
		if _, ok := left[sum]; !ok {
			s.OnlyB += n
		}
	}
	s.Exact = exact
	return s
}

// contents are the sizes of what the things consist of by their sums: their blobs and what is left of them beside
// those.
func contents(things []Thing, exact *bool) map[string]int64 {
	out := map[string]int64{}
	for _, t := range things {
		rest, known := t.Size, true
		seen := map[string]bool{}
		for _, b := range t.Blobs {
			if b.Size < 0 {
				known = false
			} else if !seen[b.Digest] {
				rest -= b.Size
			}
			seen[b.Digest] = true
		}
		if !known {
			*exact = false
			out[t.Sum] = t.Size
			continue
		}
		for _, b := range t.Blobs {
			out[b.Digest] = b.Size
		}
		if t.Sum != "" {
			out[t.Sum] = max(rest, 0)
		}
	}
	return out
}
