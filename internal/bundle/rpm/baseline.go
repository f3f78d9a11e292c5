package rpm

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Installed is a package that the target has already.
type Installed struct {
	Name string
	EVR  EVR
	Arch string
}

const maxBaseline = 100000

// ReadBaseline reads the list that rpm -qa --qf '%{NAME}\t%{EPOCH}:%{VERSION}-%{RELEASE}\t%{ARCH}\n' prints: name,
// epoch:version-release ("(none)" for no epoch) and architecture, separated by tabs, one package in a line; empty lines
// and those that begin with "#" are skipped, and so are the keys that rpm keeps as packages (gpg-pubkey). Fault:
// "rpm.baseline".
func ReadBaseline(r io.Reader) ([]Installed, error) {
	var list []Installed
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 4096), 4096)
	n := 0
	bad := func(err error) ([]Installed, error) {
		return nil, event.NewFault(event.ClassUsage, "rpm.baseline", err, "line", fmt.Sprint(n))
	}
	for sc.Scan() {
		n++
		line := strings.TrimRight(sc.Text(), "\r")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return bad(fmt.Errorf("%d fields", len(f)))
		}
		epoch, rest, ok := strings.Cut(f[1], ":")
		if epoch == "(none)" {
			epoch = "0"
		}
		e := ParseEVR(rest)
		e.Epoch = epoch
		if f[0] == "gpg-pubkey" {
			continue
		}
		p := &Package{Name: f[0], Epoch: e.Epoch, Version: e.Version, Release: e.Release, Arch: f[2], Location: "x.rpm",
			Sum: Sum{Hex: "0"}, Size: 1}
		if err := p.valid(); err != nil || !ok || epoch == "" {
			return bad(fmt.Errorf("%.200q: %w", line, err))
		}
		if len(list) == maxBaseline {
			return bad(fmt.Errorf("more than %d packages", maxBaseline))
		}
		list = append(list, Installed{f[0], e, f[2]})
	}
	if err := sc.Err(); err != nil {
		n++
		return bad(err)
	}
	return list, nil
}

// baseline finds the installed packages in the repositories, whose metadata says what they provide. One that no
// repository has in that very version provides its name and version, and nothing else that would be known.
func (q *question) baseline(list []Installed) {
	for _, in := range list {
		i := slices.IndexFunc(q.x.byName[in.Name], func(p *Package) bool {
			return p.Arch == in.Arch && Compare(p.EVR(), in.EVR) == 0
		})
		if i >= 0 {
			q.installed[q.x.byName[in.Name][i]] = true
			continue
		}
		p := &Package{Name: in.Name, Epoch: in.EVR.Epoch, Version: in.EVR.Version, Release: in.EVR.Release,
			Arch: in.Arch}
		p.provides = []*Dep{{Name: in.Name, Op: EQ, EVR: in.EVR}}
		if isa := map[string]string{"aarch64": "aarch-64", "x86_64": "x86-64", "i686": "x86-32"}[in.Arch]; isa != "" {
			p.provides = append(p.provides, &Dep{Name: in.Name + "(" + isa + ")", Op: EQ, EVR: in.EVR})
		}
		for _, d := range p.provides {
			q.made[d.Name] = append(q.made[d.Name], p)
		}
		q.installed[p] = true
	}
}

// baselineList is what is installed, in a fixed order.
func (q *question) baselineList() []*Package {
	list := make([]*Package, 0, len(q.installed))
	for p := range q.installed {
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].NEVRA() < list[j].NEVRA() })
	return list
}

// byObsolete finds the packages that obsolete a name.
func (q *question) byObsolete() map[string][]*Package {
	if q.obsolete == nil {
		q.obsolete = map[string][]*Package{}
		for _, p := range q.x.list {
			for _, o := range p.obsoletes {
				if list := q.obsolete[o.Name]; len(list) == 0 || list[len(list)-1] != p {
					q.obsolete[o.Name] = append(list, p)
				}
			}
		}
	}
	return q.obsolete
}
