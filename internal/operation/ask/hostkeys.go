package ask

import "slices"

// HostKey of a node that is contacted for the first time, or of a bastion.
type HostKey struct {
	Node, Addr, Type, Fingerprint string
	Serves                        int // of a bastion: how many machines are reached through it
}

// GroupKeys gives each key once, those of bastions first, then in the order of the names, and the place there of each
// key of the list. A bastion is asked about once, however many machines are behind it.
func GroupKeys(list []HostKey) (groups []HostKey, of []int) {
	type id struct{ addr, fingerprint string }
	counts := map[id]int{}
	for _, k := range list {
		x := id{k.Addr, k.Fingerprint}
		if counts[x]++; counts[x] == 1 {
			groups = append(groups, k)
		}
	}
	for i := range groups {
		if g := &groups[i]; g.Serves > 0 {
			g.Serves = max(g.Serves, counts[id{g.Addr, g.Fingerprint}])
		}
	}
	slices.SortStableFunc(groups, func(a, b HostKey) int {
		if (a.Serves > 0) != (b.Serves > 0) {
			return b.Serves - a.Serves
		}
		return byName(a.Node, b.Node)
	})
	for _, k := range list {
		of = append(of, slices.IndexFunc(groups, func(g HostKey) bool {
			return g.Addr == k.Addr && g.Fingerprint == k.Fingerprint
		}))
	}
	return groups, of
}

// SameKey is at how many addresses the key is shown that is shown at most of them; 0 when each has its own.
func SameKey(keys []HostKey) (most int) {
	addrs := map[string]map[string]bool{}
	for _, k := range keys {
		if addrs[k.Fingerprint] == nil {
			addrs[k.Fingerprint] = map[string]bool{}
		}
		addrs[k.Fingerprint][k.Addr] = true
		if n := len(addrs[k.Fingerprint]); n > 1 {
			most = max(most, n)
		}
	}
	return most
}

// KeyCheck is the result of comparing a key with a known_hosts file.
type KeyCheck string

// The checks. A key that differs from the file's cannot be trusted here.
const (
	KeyUnlisted KeyCheck = ""
	KeyVerified KeyCheck = "verified"
	KeyDiffers  KeyCheck = "differs"
)

// KnownHosts compares keys with a known_hosts file.
type KnownHosts func(path string, keys []HostKey) ([]KeyCheck, error)
