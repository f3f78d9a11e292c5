package rpm

import (
	"errors"
	"fmt"
	"strings"
)

// Op is how a version is compared: a set of LT, GT and EQ.
type Op uint8

// The relations, as bits; 0 is any version.
const (
	LT Op = 1 << iota
	GT
	EQ
)

func (o Op) String() string {
	return [...]string{"", "<", ">", "<>", "=", "<=", ">=", "<=>"}[o&7]
}

// flagOf reads the names that primary.xml has for relations.
func flagOf(s []byte) (Op, bool) {
	switch string(s) {
	case "":
		return 0, true
	case "EQ":
		return EQ, true
	case "LT":
		return LT, true
	case "GT":
		return GT, true
	case "LE":
		return LT | EQ, true
	case "GE":
		return GT | EQ, true
	}
	return 0, false
}

func (o Op) flag() string {
	return [...]string{"", "LT", "GT", "", "EQ", "LE", "GE", ""}[o&7]
}

// Dep is a capability that a package provides, requires, conflicts with or obsoletes, with a range of versions. A rich
// dependency has all of its text, parentheses included, as its name.
type Dep struct {
	Name string
	Op   Op
	EVR  EVR
}

func (d *Dep) String() string {
	if d.Op == 0 {
		return d.Name
	}
	return d.Name + " " + d.Op.String() + " " + d.EVR.String()
}

func (d *Dep) rich() bool { return strings.HasPrefix(d.Name, "(") }

// ignored says that rpm itself answers for the requirement, not a package.
func (d *Dep) ignored() bool { return strings.HasPrefix(d.Name, "rpmlib(") }

// overlaps says whether what a package provides (p) is within what is required (d), names being equal: whether the two
// ranges have a version in common. A side without a version matches all; a side without a release matches each.
func (d *Dep) overlaps(p *Dep) bool {
	if d.Op == 0 || p.Op == 0 {
		return true
	}
	if d.Op&p.Op&(LT|GT) != 0 {
		return true // both go on in the same direction
	}
	c, release := compare(p.EVR, d.EVR)
	switch {
	case release && c < 0:
		return p.Op&EQ != 0
	case release && c > 0:
		return d.Op&EQ != 0
	case c < 0:
		return d.Op&LT != 0 || p.Op&GT != 0
	case c > 0:
		return d.Op&GT != 0 || p.Op&LT != 0
	}
	return d.Op&p.Op&EQ != 0
}

// holds says whether the package's own version is in the range.
func (d *Dep) holds(e EVR) bool { return d.overlaps(&Dep{Op: EQ, EVR: e}) }

// Bounds of one dependency. The longest rich dependencies of Fedora have some 20 operands.
const (
	maxDepName   = 16 << 10 // bytes
	maxRichDepth = 32
	maxRichTerms = 1000
)

// ParseDep reads a dependency as rpm prints it: "name", "name >= 1:2-3" or a rich one in parentheses, whose syntax is
// checked too.
func ParseDep(s string) (*Dep, error) {
	s = strings.TrimSpace(s)
	if len(s) > maxDepName {
		return nil, errors.New("dependency too long")
	}
	if strings.HasPrefix(s, "(") {
		if _, err := parseRich(s); err != nil {
			return nil, err
		}
		return &Dep{Name: s}, nil
	}
	f := strings.Fields(s)
	if len(f) != 1 && len(f) != 3 {
		return nil, fmt.Errorf("dependency %q", s)
	}
	return depOf(f)
}

// depOf reads name, or name, operator and version.
func depOf(f []string) (*Dep, error) {
	d := &Dep{Name: f[0]}
	if len(f) == 1 {
		return d, nil
	}
	switch f[1] {
	case "<":
		d.Op = LT
	case "<=", "=<":
		d.Op = LT | EQ
	case "=", "==":
		d.Op = EQ
	case ">=", "=>":
		d.Op = GT | EQ
	case ">":
		d.Op = GT
	default:
		return nil, fmt.Errorf("operator %q", f[1])
	}
	d.EVR = ParseEVR(f[2])
	if d.EVR.Version == "" {
		return nil, fmt.Errorf("version %q", f[2])
	}
	return d, nil
}

// expr is a rich dependency: one capability, or an operator over others.
// https://rpm-software-management.github.io/rpm/manual/boolean_dependencies.html
type expr struct {
	op   string // "" for dep; and, or, with, without, if, unless
	dep  *Dep
	args []*expr // two or more; if and unless: condition second, else third
}

func parseRich(s string) (*expr, error) {
	if len(s) > maxDepName {
		return nil, errors.New("dependency too long")
	}
	p := richParser{rest: s}
	e, err := p.group(0)
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = errors.New("text after the last parenthesis")
	}
	if err != nil {
		return nil, fmt.Errorf("dependency %.200q: %w", s, err)
	}
	return e, nil
}

type richParser struct {
	rest  string
	terms int
}

// group reads "(" operand [operator operand]... ")". All operators of one group are the same, but for else.
func (p *richParser) group(depth int) (*expr, error) {
	if depth > maxRichDepth {
		return nil, errors.New("nested too deeply")
	}
	if !p.eat("(") {
		return nil, errors.New("no parenthesis")
	}
	first, err := p.operand(depth)
	if err != nil {
		return nil, err
	}
	if p.eat(")") {
		return first, nil
	}
	op := p.word()
	switch op {
	case "and", "or", "with", "without", "if", "unless":
	default:
		return nil, fmt.Errorf("operator %q", op)
	}
	e := &expr{op: op, args: []*expr{first}}
	for {
		a, err := p.operand(depth)
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, a)
		if p.eat(")") {
			return e, nil
		}
		next, chains := p.word(), op == "and" || op == "or" || op == "with"
		if (op == "if" || op == "unless") && next == "else" && len(e.args) == 2 || chains && next == op {
			continue
		}
		return nil, fmt.Errorf("operator %q after %q", next, op)
	}
}

func (p *richParser) operand(depth int) (*expr, error) {
	if p.terms++; p.terms > maxRichTerms {
		return nil, errors.New("too many operands")
	}
	p.rest = strings.TrimLeft(p.rest, " \t")
	if strings.HasPrefix(p.rest, "(") {
		return p.group(depth + 1)
	}
	f := []string{p.word()}
	if f[0] == "" {
		return nil, errors.New("an operand is missing")
	}
	p.rest = strings.TrimLeft(p.rest, " \t")
	if p.rest != "" && strings.IndexByte("<>=", p.rest[0]) >= 0 {
		f = append(f, p.word(), p.word())
	}
	d, err := depOf(f)
	return &expr{dep: d}, err
}

func (p *richParser) eat(s string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t")
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

// word reads up to a space or to a parenthesis that closes the group; parentheses within a name, as in
// libc.so.6()(64bit), are part of it.
func (p *richParser) word() string {
	p.rest = strings.TrimLeft(p.rest, " \t")
	open, i := 0, 0
	for ; i < len(p.rest); i++ {
		c := p.rest[i]
		if c == ' ' || c == '\t' || c == ')' && open == 0 {
			break
		}
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

// names calls each for every capability in the expression.
func (e *expr) names(each func(*Dep)) {
	if e.dep != nil {
		each(e.dep)
	}
	for _, a := range e.args {
		a.names(each)
	}
}
