package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "github.com/eggo-k8s/eggo/api/v1"
)

// candidates reads machines: "c1 role=control | w1 role=worker not-ready | w2 taken=other". Each is amd64, ready, clean
// and free unless a word says otherwise.
func candidates(text string) (out []Candidate) {
	for part := range strings.SplitSeq(text, "|") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		c := Candidate{Name: words[0], UID: "u-" + words[0], Arch: "amd64", Ready: true, Clean: true,
			Labels: map[string]string{}}
		for _, w := range words[1:] {
			key, value, _ := strings.Cut(w, "=")
			switch key {
			case "not-ready":
				c.Ready = false
			case "dirty":
				c.Clean = false
			case "maintenance":
				c.Maintenance = true
			case "release":
				c.Release = true
			case "arch":
				c.Arch = value
			case "taken":
				c.Taken = value
			case "uid":
				c.UID = value
			default:
				c.Labels[key] = value
			}
		}
		out = append(out, c)
	}
	return out
}

// bindings reads claims: "c1:mwe w1:w w2:w!"; ! is leaving.
func bindings(text string) (out []v1.BoundMachine) {
	roles := map[rune]v1.Role{'m': v1.RoleMaster, 'w': v1.RoleWorker, 'e': v1.RoleEtcd, 'l': v1.RoleLoadBalance}
	for _, word := range strings.Fields(text) {
		name, letters, _ := strings.Cut(word, ":")
		m := v1.BoundMachine{Name: name, UID: "u-" + name}
		for _, r := range letters {
			if r == '!' {
				m.Leaving = true
			} else {
				m.Roles = append(m.Roles, roles[r])
			}
		}
		out = append(out, m)
	}
	return out
}

func spelled(list []v1.BoundMachine) string {
	letters := map[v1.Role]string{v1.RoleMaster: "m", v1.RoleWorker: "w", v1.RoleEtcd: "e", v1.RoleLoadBalance: "l"}
	var out []string
	for _, m := range list {
		word := m.Name + ":"
		for _, r := range m.Roles {
			word += letters[r]
		}
		if m.Leaving {
			word += "!"
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func shorts(list []Shortage) string {
	var out []string
	for _, s := range list {
		word := fmt.Sprintf("%s%s %d/%d+%d", s.Role, s.Name, s.Have, s.Want, s.Free)
		for _, why := range slices.Sorted(maps.Keys(s.Why)) {
			word += fmt.Sprintf(" %s:%d", why, s.Why[why])
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// needs are numbers of machines with labels, "m1,role=control w3,role=worker l1".
func needs(text string) (out []Need) {
	roles := map[byte]v1.Role{'m': v1.RoleMaster, 'w': v1.RoleWorker, 'e': v1.RoleEtcd, 'l': v1.RoleLoadBalance}
	for _, word := range strings.Fields(text) {
		parts := strings.Split(word, ",")
		n := Need{Role: roles[word[0]], Labels: map[string]string{}}
		fmt.Sscan(parts[0][1:], &n.Number)
		for _, label := range parts[1:] {
			k, v, _ := strings.Cut(label, "=")
			n.Labels[k] = v
		}
		out = append(out, n)
	}
	return out
}

func TestAllocate(t *testing.T) {
	const lab = "c1 role=control | w1 role=worker | w2 role=worker | w3 role=worker | w4 role=worker"
	const taken = "c1 role=control taken=a | w1 role=worker taken=a | w2 role=worker taken=a | w3 role=worker taken=a"
	for name, c := range map[string]struct {
		needs, names, bound, pool, archs string
		want, short, held                string
	}{
		"new": {needs: "m1,role=control w3,role=worker", pool: lab,
			want: "c1:mwe w1:w w2:w w3:w"},
		"again": {needs: "m1 w3", bound: "c1:mwe w1:w w2:w w3:w", pool: taken,
			want: "c1:mwe w1:w w2:w w3:w"},
		"larger": {needs: "m1 w4", bound: "c1:mwe w1:w w2:w w3:w", pool: taken + " | w4",
			want: "c1:mwe w1:w w2:w w3:w w4:w"},
		"own etcd": {needs: "m1 e1 w1", pool: "a | b | c", want: "a:mw b:e c:w"},
		"balancer": {needs: "l1,role=worker m1 w1", pool: "a | b | c role=worker",
			want: "a:mwe c:l b:w"},
		"overlap: the only one for the second": {needs: "m1,x=1 w1,y=1", pool: "a x=1 y=1 | b x=1", want: "b:mwe a:w"},
		"overlap: any machine for the masters": {needs: "m1 w2,y=1", pool: "a y=1 | b y=1 | c", want: "c:mwe a:w b:w"},
		"overlap of three": {needs: "m1 e1,x=1 w1,y=1", pool: "a x=1 y=1 | b x=1 | c y=1 z=1",
			want: "b:mw a:e c:w"},
		"too few": {needs: "m1,role=control w5,role=worker", pool: lab,
			short: "master 0/1+1 labels:4, worker 0/5+4 labels:1"},
		"all reasons": {needs: "m1 w6", archs: "amd64", pool: "a | b not-ready | c dirty | d maintenance | " +
			"e taken=other | f arch=arm64",
			short: "master 0/1+1 arch:1 bound:1 maintenance:1 not-clean:1 not-ready:1, " +
				"worker 0/6+1 arch:1 bound:1 maintenance:1 not-clean:1 not-ready:1"},
		"larger, not enough": {needs: "m1 w5", bound: "c1:mwe w1:w w2:w w3:w", pool: taken + " | w4",
			want: "c1:mwe w1:w w2:w w3:w", short: "worker 3/5+1"},
		"no arch yet": {needs: "m1", archs: "amd64", pool: "a arch=", short: "master 0/1+0 arch:1"},
		"nothing released while something is missing": {needs: "m2 w2", bound: "c1:mwe w1:w w2:w w3:w", pool: taken,
			want: "c1:mwe w1:w w2:w w3:w", short: "master 1/2+0"},
		"fewer: the newest": {needs: "m1 w2", bound: "c1:mwe w3:w w1:w w2:w", pool: taken,
			want: "c1:mwe w3:w w1:w w2:w!"},
		"fewer: not ready": {needs: "m1 w2", bound: "c1:mwe w1:w w2:w w3:w", pool: "c1 | w1 not-ready | w2 | w3",
			want: "c1:mwe w1:w! w2:w w3:w"},
		"fewer: to be released": {needs: "m1 w2", bound: "c1:mwe w1:w w2:w w3:w",
			pool: "c1 | w1 not-ready | w2 release | w3", want: "c1:mwe w1:w w2:w! w3:w"},
		"leaving ones do not count": {needs: "m1 w2", bound: "c1:mwe w1:w! w2:w", pool: taken + " | w4",
			want: "c1:mwe w1:w! w2:w w4:w"},
		"labels changed: it stays": {needs: "m1 w1,role=worker", bound: "c1:mwe w1:w", pool: "c1 | w1 role=none",
			want: "c1:mwe w1:w"},
		"dead and released: replaced": {needs: "m1 w2", bound: "c1:mwe w1:w w2:w",
			pool: "c1 taken=a | w1 not-ready release taken=a | w2 taken=a | w4",
			want: "c1:mwe w1:w! w2:w w4:w"},
		"dead and released, no other": {needs: "m1 w2", bound: "c1:mwe w1:w w2:w",
			pool: "c1 taken=a | w1 not-ready release taken=a | w2 taken=a",
			want: "c1:mwe w1:w w2:w"},
		"its object is gone": {needs: "m1 w1", bound: "c1:mwe w1:w", pool: "c1 taken=a | w1 uid=new taken=a | w4",
			want: "c1:mwe w1:w! w4:w"},
		"the only control plane is replaced": {names: "d:me", bound: "c1:mwe", pool: "c1 taken=a | d",
			want: "c1:mwe! d:me"},
		"three become one": {needs: "m1", bound: "a:mwe b:mwe c:mwe", pool: "a | b | c",
			want: "a:mwe b:mwe! c:mwe!"},
		"one of three is dead": {needs: "m1", bound: "a:mwe b:mwe c:mwe", pool: "a not-ready | b | c",
			want: "a:mwe! b:mwe c:mwe!"},
		"two of three are dead": {needs: "m1", bound: "a:mwe b:mwe c:mwe", pool: "a not-ready | b not-ready | c",
			want: "a:mwe b:mwe c:mwe", held: "a b"},
		"a dead control plane is replaced": {needs: "m3", bound: "a:mwe b:mwe c:mwe",
			pool: "a not-ready release taken=a | b taken=a | c taken=a | d", want: "a:mwe! b:mwe c:mwe d:mwe"},
		"without a quorum none can join": {needs: "m3", bound: "a:mwe b:mwe c:mwe",
			pool: "a not-ready release taken=a | b not-ready release taken=a | c taken=a | d | e",
			want: "a:mwe b:mwe c:mwe d:mwe e:mwe", held: "a b"},
		"no role any more": {needs: "m1", bound: "a:mwe l:l", pool: "a | l", want: "a:mwe l:l!"},
		"by name":          {names: "b:mwe a:w", pool: "a | b | c", want: "b:mwe a:w"},
		"by name, one is missing": {names: "b:mwe x:w c:w", pool: "a | b | c taken=other",
			short: "x 0/1+0 missing:1, c 0/1+0 bound:1"},
		"by name, other roles": {names: "b:mwe a:we", bound: "b:mwe a:w", pool: "a taken=a | b taken=a",
			want: "b:mwe a:we"},
		"from numbers to names": {names: "c1:mwe w2:w", bound: "c1:mwe w1:w w2:w", pool: taken,
			want: "c1:mwe w1:w! w2:w"},
	} {
		w := Wanted{Cluster: "a", Needs: needs(c.needs), Archs: strings.Fields(c.archs)}
		for _, m := range bindings(c.names) {
			w.Names = append(w.Names, v1.ClusterMachine{Name: m.Name, Roles: m.Roles})
		}
		bound, pool := bindings(c.bound), candidates(c.pool)
		got := Allocate(w, bound, pool)
		if spelled(got.Machines) != c.want || shorts(got.Short) != c.short || strings.Join(got.Held, " ") != c.held {
			t.Errorf("%s: %q short %q held %q\nwant %q short %q held %q", name, spelled(got.Machines),
				shorts(got.Short), got.Held, c.want, c.short, c.held)
		}
		if spelled(bound) != c.bound {
			t.Errorf("%s: the argument has changed: %s", name, spelled(bound))
		}
		slices.Reverse(pool)
		if other := Allocate(w, bound, pool); spelled(other.Machines) != spelled(got.Machines) {
			t.Errorf("%s: another order gives %s", name, spelled(other.Machines))
		}
	}
}
