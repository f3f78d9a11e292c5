package deb

import (
	"fmt"
	"strings"
)

// Relation is one alternative of a relationship field: name[:qualifier] [(op version)].
type Relation struct {
	Name      string
	Qualifier string // any, native or an architecture; usually ""
	Op        string // <<, <=, =, >=, >>; "" for any version
	Version   string
}

func (r Relation) String() string {
	s := r.Name
	if r.Qualifier != "" {
		s += ":" + r.Qualifier
	}
	if r.Op != "" {
		s += " (" + r.Op + " " + r.Version + ")"
	}
	return s
}

// Clause is a list of alternatives, of which one must hold.
type Clause []Relation

func (c Clause) String() string {
	var s []string
	for _, r := range c {
		s = append(s, r.String())
	}
	return strings.Join(s, " | ")
}

// ParseRelations reads a relationship field of a binary package for the architecture arch (which decides architecture
// lists in brackets; restriction formulas in angle brackets stand only in source packages and are refused).
func ParseRelations(field, arch string) ([]Clause, error) {
	var out []Clause
	last := -1
	err := eachRelation(field, arch, func(group int, r Relation) {
		if group != last {
			out = append(out, nil)
		}
		last = group
		out[len(out)-1] = append(out[len(out)-1], r)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// eachRelation calls each for every alternative that applies to the architecture, with the number of the clause that it
// belongs to.
func eachRelation(field, arch string, each func(group int, r Relation)) error {
	for group := 0; field != ""; group++ {
		var part string
		part, field, _ = strings.Cut(field, ",")
		if strings.TrimSpace(part) == "" {
			continue
		}
		for more := true; more; {
			var alt string
			alt, part, more = strings.Cut(part, "|")
			r, applies, err := parseRelation(strings.TrimSpace(alt), arch)
			if err != nil {
				return err
			}
			if applies {
				each(group, r)
			}
		}
	}
	return nil
}

func parseRelation(s, arch string) (r Relation, applies bool, err error) {
	bad := func() (Relation, bool, error) { return Relation{}, false, fmt.Errorf("relationship %q", s) }
	rest := s
	end := strings.IndexAny(rest, " \t\n([<")
	if end < 0 {
		end = len(rest)
	}
	var qualified bool
	r.Name, r.Qualifier, qualified = strings.Cut(rest[:end], ":")
	if !validName(r.Name) || qualified && !validName(r.Qualifier) {
		return bad()
	}
	rest = strings.TrimSpace(rest[end:])
	if strings.HasPrefix(rest, "(") {
		in, after, ok := strings.Cut(rest[1:], ")")
		if !ok {
			return bad()
		}
		in = strings.TrimSpace(in)
		n := len(in) - len(strings.TrimLeft(in, "<>="))
		r.Op, r.Version = in[:n], strings.TrimSpace(in[n:])
		switch r.Op {
		case "<": // the old spelling of <=, still in some archives
			r.Op = "<="
		case ">":
			r.Op = ">="
		case "<<", "<=", "=", ">=", ">>":
		default:
			return bad()
		}
		if r.Version == "" || strings.ContainsFunc(r.Version, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return bad()
		}
		rest = strings.TrimSpace(after)
	}
	applies = true
	if strings.HasPrefix(rest, "[") {
		in, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return bad()
		}
		applies = archListHas(strings.Fields(in), arch)
		rest = strings.TrimSpace(after)
	}
	if rest != "" {
		return bad()
	}
	return r, applies, nil
}

func archListHas(list []string, arch string) bool {
	negated := false
	for _, a := range list {
		n, neg := strings.CutPrefix(a, "!")
		negated = negated || neg
		if n == arch || n == "any" || n == "linux-any" {
			return !neg
		}
	}
	return negated
}

func validName(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		case i > 0 && (c == '+' || c == '-' || c == '.' || c == '_'):
		default:
			return false
		}
	}
	return true
}

// holds says whether version v is within the relation.
func (r Relation) holds(v string) bool {
	if r.Op == "" {
		return true
	}
	c := Compare(v, r.Version)
	switch r.Op {
	case "<<":
		return c < 0
	case "<=":
		return c <= 0
	case "=":
		return c == 0
	case ">=":
		return c >= 0
	case ">>":
		return c > 0
	}
	return false
}
